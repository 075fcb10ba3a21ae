// IQ2_XS: 256 weights in 74 bytes: scale of all (f16), a u16 for each 8 weights (9 bits number a
// point of eight magnitudes, 7 are a set of signs), a 4-bit scale for each 16; value = d * (0.5 +
// scale) / 4 * magnitude, signed. What every format gives is described in lib/weights.wgsl, points
// and signs in lib/codebook.wgsl. SPDX-License-Identifier: MIT

const BLOCK: u32 = 256u;
const BLOCK_BYTES: u32 = 74u;

fn piece_offsets(c: u32) -> vec2<u32> { return vec2<u32>(c * 8u, c * 8u + 4u); }

fn piece_at(block_at: u32, c: u32) -> Piece {
    let q = w_bytes(block_at + 2u + c * 2u) & 0xffffu;
    let scale = (w_byte(block_at + 66u + c / 4u) >> (c / 2u % 2u * 4u)) & 15u;
    let s = w_half(block_at) * (0.5 + f32(scale)) * 0.25;
    return wide_point(q & 511u, even_signs(q >> 9u), s);
}
