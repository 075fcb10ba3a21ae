// IQ2_XXS: 256 weights in 66 bytes: scale of all (f16), then for each 32 weights 4 bytes that
// number points of eight magnitudes and a u32 of four 7-bit sets of signs and a 4-bit scale; value
// = d * (0.5 + scale) / 4 * magnitude, signed. What every format gives is described in
// lib/weights.wgsl, points and signs in lib/codebook.wgsl. SPDX-License-Identifier: MIT

const BLOCK: u32 = 256u;
const BLOCK_BYTES: u32 = 66u;

fn piece_offsets(c: u32) -> vec2<u32> { return vec2<u32>(c * 8u, c * 8u + 4u); }

fn piece_at(block_at: u32, c: u32) -> Piece {
    let run = block_at + 2u + c / 4u * 8u;
    let head = w_bytes(run + 4u);
    let s = w_half(block_at) * (0.5 + f32(head >> 28u)) * 0.25;
    let signs = even_signs(head >> (c % 4u * 7u));
    return wide_point(w_byte(run + c % 4u), signs, s);
}
