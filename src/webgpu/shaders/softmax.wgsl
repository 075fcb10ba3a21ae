// exp(x - max) / sum over the last axis, rows and elements with any strides: a team of LANES
// threads makes a row. Maximum and sum are found in one pass (the sum is rescaled when the maximum
// grows). At most 64 elements a thread, so that the sum keeps its precision; longer rows are
// softmax_part's. lib/out_plain or out_atomic holds the output. Consts: RANK (of the rows), WG,
// LANES, X_TYPE, OUT_TYPE. SPDX-License-Identifier: MIT

struct Params {
    rows: Dims,
    x: View,
    out: View,
    n_rows: u32,
    k: u32,
    x_stride: u32, // along the axis
    out_stride: u32,
}

@group(0) @binding(0) var<storage, read> x: array<u32>;
@group(1) @binding(0) var<uniform> P: Params;

fn value(i: u32) -> f32 { return elem_value(X_TYPE, x[elem_word(X_TYPE, i)], i); }

@compute @workgroup_size(WG)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) grid: vec3<u32>,
        @builtin(local_invocation_index) thread: u32) {
    let row = group_index(group, grid) * (WG / LANES) + thread / LANES;
    let c = coords_of(P.rows, min(row, P.n_rows - 1u));
    let at = view_at(P.x, c);
    var top = LOWEST;
    var sum = 0.0;
    for (var i = thread % LANES; i < P.k; i += LANES) {
        let v = value(at + i * P.x_stride);
        if (v > top) {
            sum = sum * exp_negative(top - v) + 1.0;
            top = v;
        } else {
            sum += exp_negative(v - top);
        }
    }
    let row_top = lanes_max(vec4<f32>(top), thread).x;
    let total = lanes_add(vec4<f32>(sum * exp_negative(top - row_top)), thread).x;
    if (row >= P.n_rows) { return; }
    let out_at = view_at(P.out, c);
    for (var i = thread % LANES; i < P.k; i += LANES) {
        let y = exp_negative(value(at + i * P.x_stride) - row_top) / total;
        out_store(OUT_TYPE, out_at + i * P.out_stride, elem_encode(OUT_TYPE, y));
    }
}
