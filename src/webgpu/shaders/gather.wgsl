// Elements of rows by index, to f32; a bad index is flagged and reads 0. One thread an element.
// Consts: X_TYPE. SPDX-License-Identifier: MIT

struct Params {
    count: u32, // output elements
    n: u32,     // in a row of x
    k: u32,     // in a row of ids
    x_at: u32,
    ids_at: u32,
    out_at: u32,
}

@group(0) @binding(0) var<storage, read> x: array<u32>;
@group(0) @binding(1) var<storage, read> ids: array<i32>;
@group(0) @binding(2) var<storage, read_write> out: array<f32>;
@group(1) @binding(0) var<uniform> P: Params;

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) grid: vec3<u32>,
        @builtin(local_invocation_index) thread: u32) {
    let i = group_index(group, grid) * 64u + thread;
    if (i >= P.count) { return; }
    let id = ids[P.ids_at + i];
    var value = 0.0;
    if (bitcast<u32>(id) < P.n) {
        let e = P.x_at + i / P.k * P.n + bitcast<u32>(id);
        value = elem_value(X_TYPE, x[elem_word(X_TYPE, e)], e);
    } else {
        flag_raise(id, P.n);
    }
    out[P.out_at + i] = value;
}
