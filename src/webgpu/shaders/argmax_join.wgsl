// Second step of argmax: a workgroup joins the chunks of one row. SPDX-License-Identifier: MIT

struct Params {
    n_chunks: u32,
    n_rows: u32,
    out_at: u32,
}

@group(0) @binding(0) var<storage, read> best: array<vec2<u32>>;
@group(0) @binding(1) var<storage, read_write> out: array<i32>;
@group(1) @binding(0) var<uniform> P: Params;

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) grid: vec3<u32>,
        @builtin(local_invocation_index) thread: u32) {
    let row = group_index(group, grid);
    if (row >= P.n_rows) { return; }
    var mine = vec2<u32>(0u, 0xffffffffu);
    for (var i = thread; i < P.n_chunks; i += 256u) {
        mine = better(mine, best[row * P.n_chunks + i]);
    }
    mine = best_of_group(mine, thread);
    if (thread == 0u) { out[P.out_at + row] = i32(mine.y); }
}
