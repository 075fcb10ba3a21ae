// IQ4_XS: 256 weights in 136 bytes: scale of all (f16), 8 scales of 6 bits (their upper two bits in
// one u16, their lower four in 4 bytes), 128 bytes: in each 32 weights, byte l = 0 .. 15 holds
// weight l in its low half, 16 + l in its high one, both numbers of one of 16 levels; value = d *
// (scale - 32) * level. Blocks are whole words. What every format gives is described in
// lib/weights.wgsl. SPDX-License-Identifier: MIT

const BLOCK: u32 = 256u;
const BLOCK_BYTES: u32 = 136u;
// -127 -104 -83 -65 -49 -35 -22 -10 1 13 25 38 53 69 89 113, as in the gguf package's quants.py
const LEVELS = vec4<u32>(0xbfad9881u, 0xf6eaddcfu, 0x26190d01u, 0x71594535u);

fn piece_offsets(c: u32) -> vec2<u32> {
    let first = c / 4u * 32u + c % 4u * 4u;
    return vec2<u32>(first, first + 16u);
}

fn piece_at(block_at: u32, c: u32) -> Piece {
    let at = block_at >> 2u;
    let run = c / 4u;
    let head = w_word(at);
    let low = (w_word(at + 1u) >> (run * 4u)) & 15u;
    let high = (head >> (16u + run * 2u)) & 3u;
    let s = unpack2x16float(head).x * (f32(low | (high << 4u)) - 32.0);
    let q = w_word(at + 2u + c);
    return Piece(s * levels(LEVELS, q), s * levels(LEVELS, q >> 4u));
}
