// IQ3_XXS: 256 weights in 98 bytes: scale of all (f16), 64 bytes that number points of four
// magnitudes, and for each 32 weights a u32 of four 7-bit sets of signs and a 4-bit scale; value =
// d * (0.5 + scale) / 2 * magnitude, signed. What every format gives is described in
// lib/weights.wgsl, points and signs in lib/codebook.wgsl. SPDX-License-Identifier: MIT

const BLOCK: u32 = 256u;
const BLOCK_BYTES: u32 = 98u;

fn piece_offsets(c: u32) -> vec2<u32> { return vec2<u32>(c * 8u, c * 8u + 4u); }

fn piece_at(block_at: u32, c: u32) -> Piece {
    let head = w_bytes(block_at + 66u + c / 4u * 4u);
    let s = w_half(block_at) * (0.5 + f32(head >> 28u)) * 0.5;
    let signs = even_signs(head >> (c % 4u * 7u));
    let q = w_bytes(block_at + 2u + c * 2u);
    return Piece(s * signed_four(codebook_word(q & 0xffu), signs),
                 s * signed_four(codebook_word((q >> 8u) & 0xffu), signs >> 4u));
}
