// Copies dense memory, four words a thread. SPDX-License-Identifier: MIT

struct Params {
    n: u32, // vectors
    src_at: u32,
    out_at: u32,
}

@group(0) @binding(0) var<storage, read> src: array<vec4<u32>>;
@group(0) @binding(1) var<storage, read_write> out: array<vec4<u32>>;
@group(1) @binding(0) var<uniform> P: Params;

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) grid: vec3<u32>,
        @builtin(local_invocation_index) thread: u32) {
    let i = group_index(group, grid) * 256u + thread;
    if (i >= P.n) { return; }
    out[P.out_at + i] = src[P.src_at + i];
}
