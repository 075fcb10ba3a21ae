// Q8_K: 256 weights in 292 bytes: scale (f32), 256 signed bytes, then sums that are not needed
// here; value = scale * q. Blocks are whole words. What every format gives is described in
// lib/weights.wgsl. SPDX-License-Identifier: MIT

const BLOCK: u32 = 256u;
const BLOCK_BYTES: u32 = 292u;

fn piece_offsets(c: u32) -> vec2<u32> { return vec2<u32>(c * 8u, c * 8u + 4u); }

fn piece_at(block_at: u32, c: u32) -> Piece {
    let at = block_at >> 2u;
    let s = bitcast<f32>(w_word(at));
    return Piece(s * vec4<f32>(unpack4xI8(w_word(at + 1u + c * 2u))),
                 s * vec4<f32>(unpack4xI8(w_word(at + 2u + c * 2u))));
}
