// Weights of any format, eight at a time. A format (format/<name>.wgsl) reads the words of binding
// `w` through w_word and w_vec4 (lib/words.wgsl or lib/words_vec4.wgsl) and gives: BLOCK,
// BLOCK_BYTES      weights in a block (a multiple of 8) and its bytes (a multiple of 2)
// piece_at(block_at, c)   piece c of the block at byte block_at: two groups of four neighbouring
// weights as f32 piece_offsets(c)        where in the block the two groups lie (multiples of 4)
// Pieces 0 .. BLOCK / 8 - 1 are a whole block. SPDX-License-Identifier: MIT

struct Piece {
    a: vec4<f32>,
    b: vec4<f32>,
}

const PIECES: u32 = BLOCK / 8u; // in a block

// Piece p of the row at byte row_at.
fn row_piece(row_at: u32, p: u32) -> Piece {
    return piece_at(row_at + (p / PIECES) * BLOCK_BYTES, p % PIECES);
}

// Where in the row the two groups of piece p lie.
fn row_offsets(p: u32) -> vec2<u32> {
    return vec2<u32>((p / PIECES) * BLOCK) + piece_offsets(p % PIECES);
}

// The word at any byte: for blocks that are no whole words.
fn w_bytes(at: u32) -> u32 {
    let shift = (at & 3u) * 8u;
    let low = w_word(at >> 2u);
    if (shift == 0u) { return low; }
    return (low >> shift) | (w_word((at >> 2u) + 1u) << (32u - shift));
}

fn w_half(at: u32) -> f32 { return unpack2x16float(w_bytes(at)).x; }

fn w_byte(at: u32) -> u32 { return (w_word(at >> 2u) >> ((at & 3u) * 8u)) & 0xffu; }

fn w_signed_byte(at: u32) -> f32 { return f32(bitcast<i32>(w_bytes(at) << 24u) >> 24u); }

// What several formats share.

// Bits 0 .. 3, one in each byte.
fn spread_bits(bits: u32) -> u32 { return ((bits & 15u) * 0x00204081u) & 0x01010101u; }

// The level that the low half of each byte numbers, of 16 signed bytes in order.
fn levels(table: vec4<u32>, q: u32) -> vec4<f32> {
    let number = unpack4xU8(q & 0x0f0f0f0fu);
    let is_odd = (number & vec4<u32>(4u)) != vec4<u32>();
    let low = select(vec4<u32>(table.x), vec4<u32>(table.y), is_odd);
    let high = select(vec4<u32>(table.z), vec4<u32>(table.w), is_odd);
    let word = select(low, high, (number & vec4<u32>(8u)) != vec4<u32>());
    let top = word << (vec4<u32>(24u) - (number & vec4<u32>(3u)) * 8u);
    return vec4<f32>(bitcast<vec4<i32>>(top) >> vec4<u32>(24u));
}

// Groups of blocks with two bits a weight: word c % 16 of them, its bits 4 (c / 16) and up.
fn twos_offsets(c: u32) -> vec2<u32> {
    let first = c % 16u / 8u * 128u + c / 16u * 64u + c % 8u * 4u;
    return vec2<u32>(first, first + 32u);
}

// Groups of blocks with four bits a weight: word c of them.
fn fours_offsets(c: u32) -> vec2<u32> {
    let first = c / 8u * 64u + c % 8u * 4u;
    return vec2<u32>(first, first + 32u);
}

// Scale and minimum of sub-blocks 2 i and 2 i + 1 of a block at word `at`: (scale, scale, minimum,
// minimum). Words: d and dmin (f16, f16), then 12 bytes. Sub-blocks 0 .. 3: the low six bits of
// bytes s and 4 + s; 4 .. 7: the halves of byte 4 + s, above them the upper two bits of bytes s - 4
// and s.
fn sixes(at: u32, i: u32) -> vec4<f32> {
    let shift = i % 2u * 16u;
    let a = w_word(at + 1u) >> shift;
    let b = w_word(at + 2u) >> shift;
    var scales = a & 0x3f3fu;
    var minimums = b & 0x3f3fu;
    if (i >= 2u) {
        let c = w_word(at + 3u) >> shift;
        scales = (c & 0x0f0fu) | ((a >> 2u) & 0x3030u);
        minimums = ((c >> 4u) & 0x0f0fu) | ((b >> 2u) & 0x3030u);
    }
    let d = unpack2x16float(w_word(at));
    return vec4<f32>(d.x, d.x, d.y, d.y) *
           vec4<f32>(unpack4xU8((scales & 0xffffu) | (minimums << 16u)));
}
