// Q1_0: 128 weights in 18 bytes: scale (f16), then 16 bytes of signs: bit i % 8 of byte i / 8 is
// set for a positive weight; value = d or -d. What every format gives is described in
// lib/weights.wgsl. SPDX-License-Identifier: MIT

const BLOCK: u32 = 128u;
const BLOCK_BYTES: u32 = 18u;

fn piece_offsets(c: u32) -> vec2<u32> { return vec2<u32>(c * 8u, c * 8u + 4u); }

fn piece_at(block_at: u32, c: u32) -> Piece {
    let s = w_half(block_at);
    let q = w_bytes(block_at + 2u + c / 4u * 4u) >> (c % 4u * 8u);
    return Piece(s * (vec4<f32>(unpack4xU8(spread_bits(q) << 1u)) - vec4<f32>(1.0)),
                 s * (vec4<f32>(unpack4xU8(spread_bits(q >> 4u) << 1u)) - vec4<f32>(1.0)));
}
