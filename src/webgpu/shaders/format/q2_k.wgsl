// Q2_K: 256 weights in 84 bytes: 16 bytes, one for 16 weights (scale in the low half, minimum in
// the high one), 64 bytes of two bits, scale and minimum of all (f16, f16); value = d * scale * q -
// dmin * minimum. In each half of 128, byte l = 0 .. 31 holds weights l, 32 + l, 64 + l, 96 + l
// from its low end. Blocks are whole words. What every format gives is described in
// lib/weights.wgsl. SPDX-License-Identifier: MIT

const BLOCK: u32 = 256u;
const BLOCK_BYTES: u32 = 84u;

fn piece_offsets(c: u32) -> vec2<u32> { return twos_offsets(c); }

fn piece_at(block_at: u32, c: u32) -> Piece {
    let at = block_at >> 2u;
    let q = w_word(at + 4u + c % 16u) >> (c / 16u * 4u);
    let run = twos_offsets(c).x / 16u; // of the first group; the second's is 2 on
    let pairs = (w_word(at + run / 4u) >> (run % 4u * 8u)) & 0xffu;
    let pairs_b = (w_word(at + (run + 2u) / 4u) >> ((run + 2u) % 4u * 8u)) & 0xffu;
    let d = unpack2x16float(w_word(at + 20u));
    return Piece((d.x * f32(pairs & 15u)) * vec4<f32>(unpack4xU8(q & 0x03030303u)) -
                     vec4<f32>(d.y * f32(pairs >> 4u)),
                 (d.x * f32(pairs_b & 15u)) * vec4<f32>(unpack4xU8((q >> 2u) & 0x03030303u)) -
                     vec4<f32>(d.y * f32(pairs_b >> 4u)));
}
