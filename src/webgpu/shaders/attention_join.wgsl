// Second step of attention over long contexts: one workgroup adds the partial results of one query
// vector. Consts: HEAD_DIM. SPDX-License-Identifier: MIT

struct Params {
    n_queries: u32,
    n_splits: u32,
    out_at: u32,
}

// (query, split): maximum and sum, two unused; then the vector
@group(0) @binding(0) var<storage, read> parts: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read_write> out: array<f32>;
@group(1) @binding(0) var<uniform> P: Params;

const FOURS: u32 = HEAD_DIM / 4u;
const PART: u32 = FOURS + 1u;

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) grid: vec3<u32>,
        @builtin(local_invocation_index) thread: u32) {
    let query = group_index(group, grid);
    if (query >= P.n_queries) { return; }
    let first = query * P.n_splits * PART;
    var top = LOWEST;
    // A split past the row's length has nothing but its sum of 0.
    for (var s = 0u; s < P.n_splits; s++) {
        let head = parts[first + s * PART];
        if (head.y > 0.0) { top = max(top, head.x); }
    }
    for (var i = thread; i < FOURS; i += 64u) {
        var sum = 0.0;
        var v = vec4<f32>(0.0);
        for (var s = 0u; s < P.n_splits; s++) {
            let head = parts[first + s * PART];
            if (head.y > 0.0) {
                let weight = exp(max(head.x - top, -100.0));
                sum += weight * head.y;
                v += weight * parts[first + s * PART + 1u + i];
            }
        }
        v *= select(1.0 / sum, 0.0, sum == 0.0);
        let at = P.out_at + query * HEAD_DIM + i * 4u;
        for (var j = 0u; j < 4u; j++) { out[at + j] = v[j]; }
    }
}
