// x * weight / sqrt(mean(x^2) + eps) over the last axis, rows and elements of x with any strides,
// output dense: a team of LANES threads makes a row. lib/out_plain or out_atomic holds the output.
// Consts: RANK (of the rows), WG, LANES, X_TYPE, OUT_TYPE, HAS_WEIGHT, IS_LONG.
// SPDX-License-Identifier: MIT

struct Params {
    rows: Dims,
    x: View,
    n_rows: u32,
    k: u32,
    x_stride: u32, // along the row
    out_at: u32,
    weight_at: u32,
    eps: f32,
}

@group(0) @binding(0) var<storage, read> x: array<u32>;
@group(0) @binding(2) var<storage, read> weight: array<f32>;
@group(1) @binding(0) var<uniform> P: Params;

fn value(i: u32) -> f32 { return elem_value(X_TYPE, x[elem_word(X_TYPE, i)], i); }

@compute @workgroup_size(WG)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) grid: vec3<u32>,
        @builtin(local_invocation_index) thread: u32) {
    let row = group_index(group, grid) * (WG / LANES) + thread / LANES;
    let at = view_at(P.x, coords_of(P.rows, min(row, P.n_rows - 1u)));
    var sum = 0.0;
    var part = 0.0;
    var count = 0u;
    for (var i = thread % LANES; i < P.k; i += LANES) {
        let v = value(at + i * P.x_stride);
        part += v * v;
        if (IS_LONG) { // straight sums of thousands lose too much
            count++;
            if (count % 64u == 0u) {
                sum += part;
                part = 0.0;
            }
        }
    }
    let total = lanes_add(vec4<f32>(sum + part), thread).x;
    if (row >= P.n_rows) { return; }
    let scale = 1.0 / sqrt(total / f32(P.k) + P.eps);
    for (var i = thread % LANES; i < P.k; i += LANES) {
        var y = value(at + i * P.x_stride) * scale;
        if (HAS_WEIGHT) { y *= weight[P.weight_at + i]; }
        out_store(OUT_TYPE, P.out_at + row * P.k + i, elem_encode(OUT_TYPE, y));
    }
}
