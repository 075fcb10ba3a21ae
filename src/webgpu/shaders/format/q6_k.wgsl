// Q6_K: 256 weights in 210 bytes, two halves of 128: the low 4 bits of each (128 bytes), the high 2
// bits (64 bytes), 16 signed scales (one for 16 weights), a scale of all (f16); value = scale *
// scale_i * (q - 32). In a half, with l = 0 .. 31: byte l of the low bits holds weights l and 64 +
// l, byte 32 + l weights 32 + l and 96 + l; byte l of the high bits all four, from its low end in
// the order l, 32 + l, 64 + l, 96 + l. What every format gives is described in lib/weights.wgsl.
// SPDX-License-Identifier: MIT

const BLOCK: u32 = 256u;
const BLOCK_BYTES: u32 = 210u;

// Piece c: half c / 16, word c % 16 of its low bits.
fn piece_offsets(c: u32) -> vec2<u32> {
    let first = c / 16u * 128u + c % 16u * 4u;
    return vec2<u32>(first, first + 64u);
}

fn piece_at(block_at: u32, c: u32) -> Piece {
    let part = c % 16u / 8u; // weights below or above 32 in each 64
    let low = w_bytes(block_at + c * 4u);
    let high = w_bytes(block_at + 128u + c / 16u * 32u + c % 8u * 4u) >> (part * 2u);
    let a = (low & 0x0f0f0f0fu) | ((high & 0x03030303u) << 4u);
    let b = ((low >> 4u) & 0x0f0f0f0fu) | (((high >> 4u) & 0x03030303u) << 4u);
    let scale_at = block_at + 192u + c / 16u * 8u + part * 2u + c % 8u / 4u;
    let s = w_half(block_at + 208u);
    return Piece((s * w_signed_byte(scale_at)) * (vec4<f32>(unpack4xU8(a)) - vec4<f32>(32.0)),
                 (s * w_signed_byte(scale_at + 4u)) * (vec4<f32>(unpack4xU8(b)) - vec4<f32>(32.0)));
}
