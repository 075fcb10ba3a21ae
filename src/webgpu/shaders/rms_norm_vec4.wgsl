// x * weight / sqrt(mean(x^2) + eps) for rows of whole, aligned vectors of f32: a team of LANES
// threads makes a row. Consts: WG, LANES, HAS_WEIGHT. SPDX-License-Identifier: MIT

struct Params {
    n_rows: u32,
    k: u32,    // vectors in a row, as every offset and stride here
    x_at: u32,
    x_stride: u32, // from row to row
    weight_at: u32,
    out_at: u32,
    eps: f32,
}

@group(0) @binding(0) var<storage, read> x: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read> weight: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read_write> out: array<vec4<f32>>;
@group(1) @binding(0) var<uniform> P: Params;

@compute @workgroup_size(WG)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) grid: vec3<u32>,
        @builtin(local_invocation_index) thread: u32) {
    let row = group_index(group, grid) * (WG / LANES) + thread / LANES;
    let at = P.x_at + min(row, P.n_rows - 1u) * P.x_stride;
    var sum = vec4<f32>(0.0);
    for (var i = thread % LANES; i < P.k; i += LANES) {
        let v = x[at + i];
        sum += v * v;
    }
    let total = dot(lanes_add(sum, thread), vec4<f32>(1.0));
    if (row >= P.n_rows) { return; }
    let scale = 1.0 / sqrt(total / f32(P.k * 4u) + P.eps);
    for (var i = thread % LANES; i < P.k; i += LANES) {
        var y = x[at + i] * scale;
        if (HAS_WEIGHT) { y *= weight[P.weight_at + i]; }
        out[P.out_at + row * P.k + i] = y;
    }
}
