// IQ4_NL: 32 weights in 18 bytes: scale (f16), then 16 bytes: weight i is the low half of byte i,
// weight i + 16 the high one, both numbers of one of 16 levels; value = scale * level. What every
// format gives is described in lib/weights.wgsl. SPDX-License-Identifier: MIT

const BLOCK: u32 = 32u;
const BLOCK_BYTES: u32 = 18u;
// -127 -104 -83 -65 -49 -35 -22 -10 1 13 25 38 53 69 89 113, as in the gguf package's quants.py
const LEVELS = vec4<u32>(0xbfad9881u, 0xf6eaddcfu, 0x26190d01u, 0x71594535u);

fn piece_offsets(c: u32) -> vec2<u32> { return vec2<u32>(c * 4u, 16u + c * 4u); }

fn piece_at(block_at: u32, c: u32) -> Piece {
    let s = w_half(block_at);
    let q = w_bytes(block_at + 2u + c * 4u);
    return Piece(s * levels(LEVELS, q), s * levels(LEVELS, q >> 4u));
}
