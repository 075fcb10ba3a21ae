// Plain bf16 weights as blocks of 8. What every format gives is described in lib/weights.wgsl.
// SPDX-License-Identifier: MIT

const BLOCK: u32 = 8u;
const BLOCK_BYTES: u32 = 16u;

fn piece_offsets(c: u32) -> vec2<u32> { return vec2<u32>(0u, 4u); }

fn piece_at(block_at: u32, c: u32) -> Piece {
    let v = w_vec4(block_at >> 2u);
    return Piece(bitcast<vec4<f32>>(vec4<u32>(v.x << 16u, v.x & 0xffff0000u, v.y << 16u, v.y & 0xffff0000u)),
                 bitcast<vec4<f32>>(vec4<u32>(v.z << 16u, v.z & 0xffff0000u, v.w << 16u, v.w & 0xffff0000u)));
}
