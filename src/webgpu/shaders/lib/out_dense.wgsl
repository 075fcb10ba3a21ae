// Dense outputs of 32-bit or 16-bit elements, word by word. The kernel has the binding `out:
// array<u32>`, P.n (elements), P.out_at (the first element) and result_bits(i), the low bits of
// element i. A word at either end that is only half the tensor's keeps its other half; within a
// dispatch nobody else writes it. Consts: OUT_TYPE. SPDX-License-Identifier: MIT

fn store_word(word: u32) {
    if (!elem_is_16(OUT_TYPE)) {
        if (word < P.n) { out[P.out_at + word] = result_bits(word); }
        return;
    }
    let shift = P.out_at & 1u;
    let second = word * 2u + 1u - shift; // the element in the high half
    let has_first = second > 0u && second - 1u < P.n;
    let has_second = second < P.n;
    if (!has_first && !has_second) { return; }
    let at = P.out_at / 2u + word;
    var bits = 0u;
    if (has_first) { bits = result_bits(second - 1u); } else { bits = out[at] & 0xffffu; }
    if (has_second) { bits |= result_bits(second) << 16u; } else { bits |= out[at] & 0xffff0000u; }
    out[at] = bits;
}
