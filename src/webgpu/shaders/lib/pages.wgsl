// What the attention kernels share: a paged cache's addresses, and the rows' sequences and lengths,
// checked. A row is (sequence, length); one that is out of range is flagged and counts as empty.
// SPDX-License-Identifier: MIT

struct Pages {
    n_pages: u32,
    n_kv_heads: u32,
    n_sequences: u32,
    max_pages: u32, // of a sequence
    table_at: u32,
    rows_at: u32,
    k_at: u32, // elements
    v_at: u32,
}

@group(0) @binding(3) var<storage, read> table: array<i32>;
@group(0) @binding(4) var<storage, read> rows: array<i32>;

// (sequence, length) of a row.
fn row_of(pages: Pages, row: u32, may_raise: bool) -> vec2<u32> {
    let sequence = rows[pages.rows_at + row * 2u];
    let length = rows[pages.rows_at + row * 2u + 1u];
    if (bitcast<u32>(sequence) >= pages.n_sequences) {
        if (may_raise) { flag_raise(sequence, pages.n_sequences); }
        return vec2<u32>(0u, 0u);
    }
    if (bitcast<u32>(length) > pages.max_pages * PAGE) {
        if (may_raise) { flag_raise(length, pages.max_pages * PAGE + 1u); }
        return vec2<u32>(0u, 0u);
    }
    return vec2<u32>(bitcast<u32>(sequence), bitcast<u32>(length));
}

// The number of a position's vector among all of (page, head, position); a bad page is flagged and
// read as page 0.
fn vector_of(pages: Pages, sequence: u32, head: u32, position: u32, may_raise: bool) -> u32 {
    let page = table[pages.table_at + sequence * pages.max_pages + position / PAGE];
    var p = bitcast<u32>(page);
    if (p >= pages.n_pages) {
        if (may_raise) { flag_raise(page, pages.n_pages); }
        p = 0u;
    }
    return (p * pages.n_kv_heads + head) * PAGE + position % PAGE;
}
