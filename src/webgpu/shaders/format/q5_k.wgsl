// Q5_K: Q4_K with a fifth bit: 256 weights in 176 bytes, the fifth bits in the 32 bytes before the
// last 128: bit i of byte l for weight 32 i + l. Blocks are whole words. What every format gives is
// described in lib/weights.wgsl. SPDX-License-Identifier: MIT

const BLOCK: u32 = 256u;
const BLOCK_BYTES: u32 = 176u;

fn piece_offsets(c: u32) -> vec2<u32> { return fours_offsets(c); }

fn piece_at(block_at: u32, c: u32) -> Piece {
    let at = block_at >> 2u;
    let fifth = w_word(at + 4u + c % 8u) >> (c / 8u * 2u);
    let q = w_word(at + 12u + c);
    let s = sixes(at, c / 8u);
    let a = (q & 0x0f0f0f0fu) | ((fifth & 0x01010101u) << 4u);
    let b = ((q >> 4u) & 0x0f0f0f0fu) | (((fifth >> 1u) & 0x01010101u) << 4u);
    return Piece(s.x * vec4<f32>(unpack4xU8(a)) - vec4<f32>(s.z),
                 s.y * vec4<f32>(unpack4xU8(b)) - vec4<f32>(s.w));
}
