// NVFP4: 64 weights in 36 bytes: 4 scales (E4M3 without a sign) for 16 weights each, then 8 bytes
// for each of these: byte l holds weight l in its low half, 8 + l in its high one, both FP4 E2M1;
// value = scale * fp4. Blocks are whole words. What every format gives is described in
// lib/weights.wgsl. SPDX-License-Identifier: MIT

const BLOCK: u32 = 64u;
const BLOCK_BYTES: u32 = 36u;
// twice the values of FP4
const LEVELS = vec4<u32>(0x03020100u, 0x0c080604u, 0xfdfeff00u, 0xf4f8fafcu);

fn piece_offsets(c: u32) -> vec2<u32> {
    let first = c / 2u * 16u + c % 2u * 4u;
    return vec2<u32>(first, first + 8u);
}

// Half the scale, for the levels are doubled. 0x7f, a NaN in E4M3, counts as 0.
fn half_scale(code: u32) -> f32 {
    let exponent = (code >> 3u) & 15u;
    let mantissa = code & 7u;
    if (code == 0x7fu) { return 0.0; }
    if (exponent == 0u) { return f32(mantissa) * 0.0009765625; }
    return f32(8u + mantissa) * bitcast<f32>((exponent + 116u) << 23u);
}

fn piece_at(block_at: u32, c: u32) -> Piece {
    let at = block_at >> 2u;
    let s = half_scale((w_word(at) >> (c / 2u * 8u)) & 0xffu);
    let q = w_word(at + 1u + c);
    return Piece(s * levels(LEVELS, q), s * levels(LEVELS, q >> 4u));
}
