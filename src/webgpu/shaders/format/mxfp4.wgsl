// MXFP4: 32 weights in 17 bytes: the exponent of a power of two, then 16 bytes: weight i is the low
// half of byte i, weight i + 16 the high one, both FP4 E2M1; value = 2^(e - 127) * fp4 (OCP
// Microscaling specification 1.0). What every format gives is described in lib/weights.wgsl.
// SPDX-License-Identifier: MIT

const BLOCK: u32 = 32u;
const BLOCK_BYTES: u32 = 17u;
// twice the values of FP4
const LEVELS = vec4<u32>(0x03020100u, 0x0c080604u, 0xfdfeff00u, 0xf4f8fafcu);

fn piece_offsets(c: u32) -> vec2<u32> { return vec2<u32>(c * 4u, 16u + c * 4u); }

fn piece_at(block_at: u32, c: u32) -> Piece {
    // Half the scale, for the levels are doubled; the two smallest are subnormal as f32.
    let e = w_bytes(block_at) & 0xffu;
    let s = bitcast<f32>(select((e - 1u) << 23u, 0x00200000u << (e & 1u), e < 2u));
    let q = w_bytes(block_at + 1u + c * 4u);
    return Piece(s * levels(LEVELS, q), s * levels(LEVELS, q >> 4u));
}
