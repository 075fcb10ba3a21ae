// Rows of a quantised table by index, to f32: one thread a piece of eight. Parts and bad indices as
// in get_rows. Consts: IS_FIRST. Formats: lib/weights.wgsl. SPDX-License-Identifier: MIT

struct Params {
    n: u32,        // output pieces
    n_pieces: u32, // in a row
    w_at: u32,     // bytes
    w_stride: u32,
    ids_at: u32,
    out_at: u32,
    first_row: u32,
    row_count: u32,
    n_rows: u32, // in the whole table
}

@group(0) @binding(0) var<storage, read> ids: array<i32>;
@group(0) @binding(2) var<storage, read_write> out: array<f32>;
@group(1) @binding(0) var<uniform> P: Params;

fn put(at: u32, v: vec4<f32>) {
    out[at] = v.x;
    out[at + 1u] = v.y;
    out[at + 2u] = v.z;
    out[at + 3u] = v.w;
}

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) grid: vec3<u32>,
        @builtin(local_invocation_index) thread: u32) {
    let i = group_index(group, grid) * 64u + thread;
    if (i >= P.n) { return; }
    let p = i % P.n_pieces;
    let id = ids[P.ids_at + i / P.n_pieces];
    let row = bitcast<u32>(id);
    var v = Piece(vec4<f32>(0.0), vec4<f32>(0.0));
    if (row >= P.n_rows) {
        if (!IS_FIRST) { return; }
        if (p == 0u) { flag_raise(id, P.n_rows); }
    } else {
        if (row < P.first_row || row - P.first_row >= P.row_count) { return; }
        v = row_piece(P.w_at + (row - P.first_row) * P.w_stride, p);
    }
    let at = P.out_at + i / P.n_pieces * P.n_pieces * 8u;
    let o = row_offsets(p);
    put(at + o.x, v.a);
    put(at + o.y, v.b);
}
