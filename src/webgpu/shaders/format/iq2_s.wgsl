// IQ2_S: 256 weights in 82 bytes: scale of all (f16), 32 bytes with the low 8 bits of each 10-bit
// number of a point of eight magnitudes, 32 bytes of signs, 8 bytes with the upper 2 bits of the
// numbers, a 4-bit scale for each 16 weights; value = d * (0.5 + scale) / 4 * magnitude, signed.
// What every format gives is described in lib/weights.wgsl, points and signs in lib/codebook.wgsl.
// SPDX-License-Identifier: MIT

const BLOCK: u32 = 256u;
const BLOCK_BYTES: u32 = 82u;

fn piece_offsets(c: u32) -> vec2<u32> { return vec2<u32>(c * 8u, c * 8u + 4u); }

fn piece_at(block_at: u32, c: u32) -> Piece {
    let high = (w_byte(block_at + 66u + c / 4u) >> (c % 4u * 2u)) & 3u;
    let scale = (w_byte(block_at + 74u + c / 4u) >> (c / 2u % 2u * 4u)) & 15u;
    let s = w_half(block_at) * (0.5 + f32(scale)) * 0.25;
    let point = w_byte(block_at + 2u + c) | (high << 8u);
    return wide_point(point, w_byte(block_at + 34u + c), s);
}
