// Q8_0: 32 weights in 34 bytes: scale (f16), then 32 signed bytes; value = scale * q. Every other
// block starts in the middle of a word, so that quants are shifted together from two words. What
// every format gives is described in lib/weights.wgsl. SPDX-License-Identifier: MIT

const BLOCK: u32 = 32u;
const BLOCK_BYTES: u32 = 34u;

fn piece_offsets(c: u32) -> vec2<u32> { return vec2<u32>(c * 8u, c * 8u + 4u); }

fn piece_at(block_at: u32, c: u32) -> Piece {
    let at = block_at >> 2u;
    let is_odd = (block_at & 2u) != 0u;
    let first = w_word(at);
    let q0 = w_word(at + 1u + c * 2u);
    let q1 = w_word(at + 2u + c * 2u);
    var lo = q0;
    var hi = q1;
    var scale = first >> 16u;
    if (!is_odd) {
        scale = first & 0xffffu;
        lo = (w_word(at + c * 2u) >> 16u) | (q0 << 16u);
        hi = (q0 >> 16u) | (q1 << 16u);
    }
    let s = unpack2x16float(scale).x;
    return Piece(s * vec4<f32>(unpack4xI8(lo)), s * vec4<f32>(unpack4xI8(hi)));
}
