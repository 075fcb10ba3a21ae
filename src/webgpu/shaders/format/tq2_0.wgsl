// TQ2_0: 256 weights of -1, 0, 1 in 66 bytes: 64 bytes of two bits laid as Q2_K's, a scale (f16);
// value = d * (q - 1). What every format gives is described in lib/weights.wgsl.
// SPDX-License-Identifier: MIT

const BLOCK: u32 = 256u;
const BLOCK_BYTES: u32 = 66u;

fn piece_offsets(c: u32) -> vec2<u32> { return twos_offsets(c); }

fn piece_at(block_at: u32, c: u32) -> Piece {
    let s = w_half(block_at + 64u);
    let q = w_bytes(block_at + c % 16u * 4u) >> (c / 16u * 4u);
    return Piece(s * (vec4<f32>(unpack4xU8(q & 0x03030303u)) - vec4<f32>(1.0)),
                 s * (vec4<f32>(unpack4xU8((q >> 2u) & 0x03030303u)) - vec4<f32>(1.0)));
}
