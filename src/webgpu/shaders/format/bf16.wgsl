// Plain bf16 weights as blocks of 8. What every format gives is described in lib/weights.wgsl.
// SPDX-License-Identifier: MIT

const BLOCK: u32 = 8u;
const BLOCK_BYTES: u32 = 16u;

fn piece_offsets(c: u32) -> vec2<u32> { return vec2<u32>(0u, 4u); }

fn piece_at(block_at: u32, c: u32) -> Piece {
    let v = w_vec4(block_at >> 2u);
    let even = bitcast<vec4<f32>>(v << vec4<u32>(16u));
    let odd = bitcast<vec4<f32>>(v & vec4<u32>(0xffff0000u));
    return Piece(vec4<f32>(even.x, odd.x, even.y, odd.y), vec4<f32>(even.z, odd.z, even.w, odd.w));
}
