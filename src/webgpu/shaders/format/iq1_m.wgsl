// IQ1_M: 256 weights in 56 bytes: 32 bytes with the low 8 bits of each 11-bit number of a point of
// eight values -1, 0, 1, 16 bytes (half a byte for each point: the upper 3 bits and the sign of a
// shift by 1/8), four u16 with four 3-bit scales each, for 16 weights, and in their top 4 bits the
// parts of the scale of all (f16); value = d * (2 * scale + 1) * (point + shift). Blocks are whole
// words. What every format gives is described in lib/weights.wgsl, points and signs in
// lib/codebook.wgsl. SPDX-License-Identifier: MIT

const BLOCK: u32 = 256u;
const BLOCK_BYTES: u32 = 56u;

fn piece_offsets(c: u32) -> vec2<u32> { return vec2<u32>(c * 8u, c * 8u + 4u); }

fn piece_at(block_at: u32, c: u32) -> Piece {
    let low = w_word((block_at + 48u) >> 2u);
    let high = w_word((block_at + 52u) >> 2u);
    let d = ((low >> 12u) & 0xfu) | ((low >> 24u) & 0xf0u) | ((high >> 4u) & 0xf00u) |
            ((high >> 16u) & 0xf000u);
    let scales = select(low, high, c >= 16u) >> (c / 8u % 2u * 16u);
    let s = unpack2x16float(d).x * f32(2u * ((scales >> (c / 2u % 4u * 3u)) & 7u) + 1u);
    let half = w_byte(block_at + 32u + c / 2u) >> (c % 2u * 4u);
    let shift = select(0.125, -0.125, (half & 8u) != 0u);
    return shifted_point(w_byte(block_at + c) | ((half & 7u) << 8u), shift, s);
}
