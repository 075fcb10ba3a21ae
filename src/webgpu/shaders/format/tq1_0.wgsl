// TQ1_0: 256 weights of -1, 0, 1 in 54 bytes: 48 + 4 bytes of base-3 digits, a scale (f16). Byte l
// of the first 32 holds weights 32 k + l in its digits k = 0 .. 4, byte l of the next 16 weights
// 160 + 16 k + l, byte l of the last 4 weights 240 + 4 k + l (k = 0 .. 3). A byte is the fraction
// of 256 whose first digits these are; value = d * (digit - 1). What every format gives is
// described in lib/weights.wgsl. SPDX-License-Identifier: MIT

const BLOCK: u32 = 256u;
const BLOCK_BYTES: u32 = 54u;

fn piece_offsets(c: u32) -> vec2<u32> { return vec2<u32>(c * 8u, c * 8u + 4u); }

// Weights 4 g .. 4 g + 3.
fn group_at(block_at: u32, g: u32) -> vec4<f32> {
    var at = g * 4u % 32u;
    var k = g / 8u;
    if (g >= 40u) {
        at = 32u + (g - 40u) % 4u * 4u;
        k = (g - 40u) / 4u;
    }
    if (g >= 60u) {
        at = 48u;
        k = g - 60u;
    }
    var power = select(1u, 3u, (k & 1u) != 0u) * select(1u, 9u, (k & 2u) != 0u);
    if (k == 4u) { power = 81u; }
    let bytes = unpack4xU8(w_bytes(block_at + at));
    return vec4<f32>((((bytes * power) & vec4<u32>(0xffu)) * 3u) >> vec4<u32>(8u)) - vec4<f32>(1.0);
}

fn piece_at(block_at: u32, c: u32) -> Piece {
    let s = w_half(block_at + 52u);
    return Piece(s * group_at(block_at, c * 2u), s * group_at(block_at, c * 2u + 1u));
}
