// Q5_1: 32 weights in 24 bytes: scale and minimum (f16, f16), 4 bytes of fifth bits (weight i's is
// bit i), then 16 bytes: weight i is the low half of byte i, weight i + 16 the high one; value =
// scale * q + minimum. Blocks are whole words. What every format gives is described in
// lib/weights.wgsl. SPDX-License-Identifier: MIT

const BLOCK: u32 = 32u;
const BLOCK_BYTES: u32 = 24u;

fn piece_offsets(c: u32) -> vec2<u32> { return vec2<u32>(c * 4u, 16u + c * 4u); }

fn piece_at(block_at: u32, c: u32) -> Piece {
    let at = block_at >> 2u;
    let s = unpack2x16float(w_word(at));
    let fifth = w_word(at + 1u) >> (c * 4u);
    let q = w_word(at + 2u + c);
    let a = (q & 0x0f0f0f0fu) | (spread_bits(fifth) << 4u);
    let b = ((q >> 4u) & 0x0f0f0f0fu) | (spread_bits(fifth >> 16u) << 4u);
    return Piece(s.x * vec4<f32>(unpack4xU8(a)) + vec4<f32>(s.y),
                 s.x * vec4<f32>(unpack4xU8(b)) + vec4<f32>(s.y));
}
