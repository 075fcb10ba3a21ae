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

fn w_signed_byte(at: u32) -> f32 { return f32(bitcast<i32>(w_bytes(at) << 24u) >> 24u); }
