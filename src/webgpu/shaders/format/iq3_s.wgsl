// IQ3_S: 256 weights in 110 bytes: scale of all (f16), 64 bytes with the low 8 bits of each 9-bit
// number of a point of four magnitudes, 8 bytes with their ninth bits, 32 bytes of signs, a 4-bit
// scale for each 32 weights; value = d * (1 + 2 * scale) * magnitude, signed. What every format
// gives is described in lib/weights.wgsl, points and signs in lib/codebook.wgsl.
// SPDX-License-Identifier: MIT

const BLOCK: u32 = 256u;
const BLOCK_BYTES: u32 = 110u;

fn piece_offsets(c: u32) -> vec2<u32> { return vec2<u32>(c * 8u, c * 8u + 4u); }

fn piece_at(block_at: u32, c: u32) -> Piece {
    let ninth = w_byte(block_at + 66u + c / 4u) >> (c % 4u * 2u);
    let signs = w_byte(block_at + 74u + c);
    let scale = (w_byte(block_at + 106u + c / 8u) >> (c / 4u % 2u * 4u)) & 15u;
    let s = w_half(block_at) * f32(1u + 2u * scale);
    let q = w_bytes(block_at + 2u + c * 2u);
    let a = (q & 0xffu) | ((ninth & 1u) << 8u);
    let b = ((q >> 8u) & 0xffu) | ((ninth & 2u) << 7u);
    return Piece(s * signed_four(codebook_word(a), signs),
                 s * signed_four(codebook_word(b), signs >> 4u));
}
