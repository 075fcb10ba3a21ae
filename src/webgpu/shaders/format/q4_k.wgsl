// Q4_K: 256 weights in 144 bytes: scale and minimum of all (f16, f16), 12 bytes with 8 scales and 8
// minimums of 6 bits (lib/weights.wgsl, sixes), 128 bytes: in each 64 weights, byte l = 0 .. 31
// holds weight l in its low half, 32 + l in its high one; value = d * scale * q - dmin * minimum.
// Blocks are whole words. What every format gives is described in lib/weights.wgsl.
// SPDX-License-Identifier: MIT

const BLOCK: u32 = 256u;
const BLOCK_BYTES: u32 = 144u;

fn piece_offsets(c: u32) -> vec2<u32> { return fours_offsets(c); }

fn piece_at(block_at: u32, c: u32) -> Piece {
    let at = block_at >> 2u;
    let q = w_word(at + 4u + c);
    let s = sixes(at, c / 8u);
    return Piece(s.x * vec4<f32>(unpack4xU8(q & 0x0f0f0f0fu)) - vec4<f32>(s.z),
                 s.y * vec4<f32>(unpack4xU8((q >> 4u) & 0x0f0f0f0fu)) - vec4<f32>(s.w));
}
