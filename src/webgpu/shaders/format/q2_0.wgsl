// Q2_0: 64 weights in 18 bytes: scale (f16), then 16 bytes of two bits in order, from the low end;
// value = d * (q - 1). What every format gives is described in lib/weights.wgsl.
// SPDX-License-Identifier: MIT

const BLOCK: u32 = 64u;
const BLOCK_BYTES: u32 = 18u;

fn piece_offsets(c: u32) -> vec2<u32> { return vec2<u32>(c * 8u, c * 8u + 4u); }

fn four_of(byte: u32) -> vec4<f32> {
    let q = (vec4<u32>(byte) >> vec4<u32>(0u, 2u, 4u, 6u)) & vec4<u32>(3u);
    return vec4<f32>(q) - vec4<f32>(1.0);
}

fn piece_at(block_at: u32, c: u32) -> Piece {
    let s = w_half(block_at);
    let q = w_bytes(block_at + 2u + c / 2u * 4u) >> (c % 2u * 16u);
    return Piece(s * four_of(q), s * four_of(q >> 8u));
}
