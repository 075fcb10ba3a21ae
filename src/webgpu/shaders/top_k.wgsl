// The k largest of a row, largest first: a workgroup a row, one pass over it for each. A pass finds
// the best of what comes after the one before, so rows of any length need no memory. Consts:
// X_TYPE. SPDX-License-Identifier: MIT

struct Params {
    n_rows: u32,
    n: u32, // in a row
    k: u32,
    x_at: u32,
    out_at: u32,
}

@group(0) @binding(0) var<storage, read> x: array<u32>;
@group(0) @binding(1) var<storage, read_write> out: array<i32>;
@group(1) @binding(0) var<uniform> P: Params;

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) grid: vec3<u32>,
        @builtin(local_invocation_index) thread: u32) {
    let row = group_index(group, grid);
    if (row >= P.n_rows) { return; }
    let at = P.x_at + row * P.n;
    var last = vec2<u32>(0u, 0u);
    for (var i = 0u; i < P.k; i++) {
        var mine = vec2<u32>(0u, 0xffffffffu);
        for (var e = thread; e < P.n; e += 256u) {
            let pair = vec2<u32>(
                key_of_bits(elem_bits(X_TYPE, x[elem_word(X_TYPE, at + e)], at + e)), e);
            let is_after = pair.x < last.x || (pair.x == last.x && pair.y > last.y);
            if (i == 0u || is_after) { mine = better(mine, pair); }
        }
        last = best_of_group(mine, thread);
        workgroupBarrier(); // before the next pass writes what this one still reads
        if (thread == 0u) { out[P.out_at + row * P.k + i] = bitcast<i32>(last.y); }
    }
}
