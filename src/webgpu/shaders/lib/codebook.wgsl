// The points of the formats that have a codebook (src/format/codebooks.h): bytes, four to a word.
// The buffer holds all codebooks, a format's from word CODEBOOK_AT; it is the last binding of the
// kernel, number CODEBOOK. SPDX-License-Identifier: MIT

@group(0) @binding(CODEBOOK) var<storage, read> codebook: array<u32>;

fn codebook_word(i: u32) -> u32 { return codebook[CODEBOOK_AT + i]; }

// Four magnitudes, negated where one of the bits 0 .. 3 is set.
fn signed_four(word: u32, signs: u32) -> vec4<f32> {
    let minus = vec4<f32>(unpack4xU8(spread_bits(signs)));
    return vec4<f32>(unpack4xU8(word)) * (vec4<f32>(1.0) - 2.0 * minus);
}

// The eight signs that the low seven bits stand for: the number of minus signs is even.
fn even_signs(bits: u32) -> u32 {
    let seven = bits & 127u;
    return seven | ((countOneBits(seven) & 1u) << 7u);
}

// Eight magnitudes with signs.
fn wide_point(number: u32, signs: u32, scale: f32) -> Piece {
    return Piece(scale * signed_four(codebook_word(number * 2u), signs),
                 scale * signed_four(codebook_word(number * 2u + 1u), signs >> 4u));
}

// Eight signed values, shifted.
fn shifted_point(number: u32, shift: f32, scale: f32) -> Piece {
    let a = vec4<f32>(unpack4xI8(codebook_word(number * 2u)));
    let b = vec4<f32>(unpack4xI8(codebook_word(number * 2u + 1u)));
    return Piece(scale * (a + vec4<f32>(shift)), scale * (b + vec4<f32>(shift)));
}
