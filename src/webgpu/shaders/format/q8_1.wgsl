// Q8_1: 32 weights in 36 bytes: scale and a sum that is not needed here (f16, f16), then 32 signed
// bytes; value = scale * q. Blocks are whole words. What every format gives is described in
// lib/weights.wgsl. SPDX-License-Identifier: MIT

const BLOCK: u32 = 32u;
const BLOCK_BYTES: u32 = 36u;

fn piece_offsets(c: u32) -> vec2<u32> { return vec2<u32>(c * 8u, c * 8u + 4u); }

fn piece_at(block_at: u32, c: u32) -> Piece {
    let at = block_at >> 2u;
    let s = unpack2x16float(w_word(at)).x;
    return Piece(s * vec4<f32>(unpack4xI8(w_word(at + 1u + c * 2u))),
                 s * vec4<f32>(unpack4xI8(w_word(at + 2u + c * 2u))));
}
