// Second step of softmax over long rows: a workgroup joins the chunks' maxima and sums of its row,
// then writes one chunk. lib/out_plain or out_atomic holds the output. Consts: RANK (of the rows),
// WG = LANES, CHUNK, X_TYPE, OUT_TYPE. SPDX-License-Identifier: MIT

struct Params {
    rows: Dims,
    x: View,
    out: View,
    k: u32,
    x_stride: u32, // along the axis
    out_stride: u32,
    n_chunks: u32, // in a row
    n_groups: u32,
}

@group(0) @binding(0) var<storage, read> x: array<u32>;
@group(0) @binding(2) var<storage, read> parts: array<vec2<f32>>; // (row, chunk): maximum, sum
@group(1) @binding(0) var<uniform> P: Params;

@compute @workgroup_size(WG)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) grid: vec3<u32>,
        @builtin(local_invocation_index) thread: u32) {
    let g = group_index(group, grid);
    if (g >= P.n_groups) { return; }
    let row = g / P.n_chunks;
    var top = LOWEST;
    for (var i = thread; i < P.n_chunks; i += WG) { top = max(top, parts[row * P.n_chunks + i].x); }
    let row_top = lanes_max(vec4<f32>(top), thread).x;
    var sum = 0.0;
    for (var i = thread; i < P.n_chunks; i += WG) {
        let part = parts[row * P.n_chunks + i];
        sum += part.y * exp_negative(part.x - row_top);
    }
    let total = lanes_add(vec4<f32>(sum), thread).x;
    let c = coords_of(P.rows, row);
    let at = view_at(P.x, c);
    let out_at = view_at(P.out, c);
    let first = (g % P.n_chunks) * CHUNK;
    for (var i = first + thread; i < min(first + CHUNK, P.k); i += WG) {
        let e = at + i * P.x_stride;
        let y = exp_negative(elem_value(X_TYPE, x[elem_word(X_TYPE, e)], e) - row_top) / total;
        out_store(OUT_TYPE, out_at + i * P.out_stride, elem_encode(OUT_TYPE, y));
    }
}
