// Q3_K: 256 weights in 110 bytes: 32 bytes of third bits (bit i of byte l for weight 32 i + l), 64
// bytes of two bits laid as Q2_K's, 16 scales of 6 bits, a scale of all (f16); value = d * (scale -
// 32) * (q - 4). Scale i: the half i / 8 of byte i % 8, and above it two bits of byte 8 + i % 4,
// the i / 4-th. What every format gives is described in lib/weights.wgsl.
// SPDX-License-Identifier: MIT

const BLOCK: u32 = 256u;
const BLOCK_BYTES: u32 = 110u;

fn piece_offsets(c: u32) -> vec2<u32> { return twos_offsets(c); }

fn scale_of(block_at: u32, run: u32) -> f32 {
    let low = (w_bytes(block_at + 96u + run % 8u) >> (run / 8u * 4u)) & 15u;
    let high = (w_bytes(block_at + 104u + run % 4u) >> (run / 4u * 2u)) & 3u;
    return f32(low | (high << 4u)) - 32.0;
}

fn piece_at(block_at: u32, c: u32) -> Piece {
    let q = w_bytes(block_at + 32u + c % 16u * 4u) >> (c / 16u * 4u);
    let third = w_bytes(block_at + c % 8u * 4u) >> (twos_offsets(c).x / 32u);
    let a = (q & 0x03030303u) | ((third & 0x01010101u) << 2u);
    let b = ((q >> 2u) & 0x03030303u) | (((third >> 1u) & 0x01010101u) << 2u);
    let run = twos_offsets(c).x / 16u;
    let d = w_half(block_at + 108u);
    return Piece((d * scale_of(block_at, run)) * (vec4<f32>(unpack4xU8(a)) - vec4<f32>(4.0)),
                 (d * scale_of(block_at, run + 2u)) * (vec4<f32>(unpack4xU8(b)) - vec4<f32>(4.0)));
}
