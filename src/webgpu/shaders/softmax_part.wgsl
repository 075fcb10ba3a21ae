// First step of softmax over long rows: a workgroup finds the maximum and the sum of one chunk of a
// row. The second step is softmax_write. Consts: RANK (of the rows), WG = LANES, CHUNK, X_TYPE.
// SPDX-License-Identifier: MIT

struct Params {
    rows: Dims,
    x: View,
    k: u32,
    x_stride: u32, // along the axis
    n_chunks: u32, // in a row
    n_groups: u32,
}

@group(0) @binding(0) var<storage, read> x: array<u32>;
// (row, chunk): maximum, sum
@group(0) @binding(1) var<storage, read_write> parts: array<vec2<f32>>;
@group(1) @binding(0) var<uniform> P: Params;

@compute @workgroup_size(WG)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) grid: vec3<u32>,
        @builtin(local_invocation_index) thread: u32) {
    let g = group_index(group, grid);
    if (g >= P.n_groups) { return; }
    let at = view_at(P.x, coords_of(P.rows, g / P.n_chunks));
    let first = (g % P.n_chunks) * CHUNK;
    var top = LOWEST;
    var sum = 0.0;
    for (var i = first + thread; i < min(first + CHUNK, P.k); i += WG) {
        let e = at + i * P.x_stride;
        let v = elem_value(X_TYPE, x[elem_word(X_TYPE, e)], e);
        if (v > top) {
            sum = sum * exp_negative(top - v) + 1.0;
            top = v;
        } else {
            sum += exp_negative(v - top);
        }
    }
    let chunk_top = lanes_max(vec4<f32>(top), thread).x;
    let total = lanes_add(vec4<f32>(sum * exp_negative(top - chunk_top)), thread).x;
    if (thread == 0u) { parts[g] = vec2<f32>(chunk_top, total); }
}
