// IQ1_S: 256 weights in 50 bytes: scale of all (f16), 32 bytes with the low 8 bits of each 11-bit
// number of a point of eight values -1, 0, 1, then for each 32 weights a u16: four times the upper
// 3 bits, a 3-bit scale, the sign of a shift by 1/8; value = d * (2 * scale + 1) * (point + shift).
// What every format gives is described in lib/weights.wgsl, points and signs in lib/codebook.wgsl.
// SPDX-License-Identifier: MIT

const BLOCK: u32 = 256u;
const BLOCK_BYTES: u32 = 50u;

fn piece_offsets(c: u32) -> vec2<u32> { return vec2<u32>(c * 8u, c * 8u + 4u); }

fn piece_at(block_at: u32, c: u32) -> Piece {
    let head = w_bytes(block_at + 34u + c / 4u * 2u);
    let s = w_half(block_at) * f32(2u * ((head >> 12u) & 7u) + 1u);
    let high = (head >> (c % 4u * 3u)) & 7u;
    let shift = select(0.125, -0.125, (head & 0x8000u) != 0u);
    return shifted_point(w_byte(block_at + 2u + c) | (high << 8u), shift, s);
}
