// Q5_0: 32 weights in 22 bytes: scale (f16), 4 bytes of fifth bits (weight i's is bit i), then 16
// bytes: weight i is the low half of byte i, weight i + 16 the high one; value = scale * (q - 16).
// What every format gives is described in lib/weights.wgsl. SPDX-License-Identifier: MIT

const BLOCK: u32 = 32u;
const BLOCK_BYTES: u32 = 22u;

fn piece_offsets(c: u32) -> vec2<u32> { return vec2<u32>(c * 4u, 16u + c * 4u); }

fn piece_at(block_at: u32, c: u32) -> Piece {
    let s = w_half(block_at);
    let fifth = w_bytes(block_at + 2u) >> (c * 4u);
    let q = w_bytes(block_at + 6u + c * 4u);
    let a = (q & 0x0f0f0f0fu) | (spread_bits(fifth) << 4u);
    let b = ((q >> 4u) & 0x0f0f0f0fu) | (spread_bits(fifth >> 16u) << 4u);
    return Piece(s * (vec4<f32>(unpack4xU8(a)) - vec4<f32>(16.0)),
                 s * (vec4<f32>(unpack4xU8(b)) - vec4<f32>(16.0)));
}
