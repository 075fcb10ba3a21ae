// First step of argmax: a workgroup finds the largest element of one chunk of a row, any strides,
// as a pair (key, index). The second step is argmax_join. Consts: RANK (of the rows), CHUNK,
// X_TYPE. SPDX-License-Identifier: MIT

struct Params {
    rows: Dims,
    x: View,
    k: u32,
    x_stride: u32, // along the axis
    n_chunks: u32, // in a row
    n_groups: u32,
}

@group(0) @binding(0) var<storage, read> x: array<u32>;
// (row, chunk): key, index in the row
@group(0) @binding(1) var<storage, read_write> best: array<vec2<u32>>;
@group(1) @binding(0) var<uniform> P: Params;

fn key_of(i: u32) -> u32 { return key_of_bits(elem_bits(X_TYPE, x[elem_word(X_TYPE, i)], i)); }

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) grid: vec3<u32>,
        @builtin(local_invocation_index) thread: u32) {
    let g = group_index(group, grid);
    if (g >= P.n_groups) { return; }
    let at = view_at(P.x, coords_of(P.rows, g / P.n_chunks));
    let first = (g % P.n_chunks) * CHUNK;
    var mine = vec2<u32>(0u, 0xffffffffu);
    for (var i = first + thread; i < min(first + CHUNK, P.k); i += 256u) {
        mine = better(mine, vec2<u32>(key_of(at + i * P.x_stride), i));
    }
    mine = best_of_group(mine, thread);
    if (thread == 0u) { best[g] = mine; }
}
