// Rows of a plain table of any float type by index, to f32. A part of a split table writes only the
// rows it owns; a bad index is flagged and its row zeroed by the part that has IS_FIRST. One thread
// an element. Consts: W_TYPE, IS_FIRST. SPDX-License-Identifier: MIT

struct Params {
    n: u32, // output elements
    k: u32,
    w_at: u32,
    ids_at: u32,
    out_at: u32,
    first_row: u32,
    row_count: u32,
    n_rows: u32, // in the whole table
}

@group(0) @binding(0) var<storage, read> ids: array<i32>;
@group(0) @binding(1) var<storage, read> w: array<u32>;
@group(0) @binding(2) var<storage, read_write> out: array<f32>;
@group(1) @binding(0) var<uniform> P: Params;

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) grid: vec3<u32>,
        @builtin(local_invocation_index) thread: u32) {
    let i = group_index(group, grid) * 256u + thread;
    if (i >= P.n) { return; }
    let id = ids[P.ids_at + i / P.k];
    let row = bitcast<u32>(id);
    if (row >= P.n_rows) {
        if (IS_FIRST) {
            if (i % P.k == 0u) { flag_raise(id, P.n_rows); }
            out[P.out_at + i] = 0.0;
        }
        return;
    }
    if (row < P.first_row || row - P.first_row >= P.row_count) { return; }
    let e = P.w_at + (row - P.first_row) * P.k + i % P.k;
    out[P.out_at + i] = elem_value(W_TYPE, w[elem_word(W_TYPE, e)], e);
}
