// The start-up self test: each of 2 x 64 threads writes the parameter it got, and its own number.
// Bindings: 0 out. SPDX-License-Identifier: MIT

struct Params { first: u32, value: u32 }

@group(1) @binding(0) var<uniform> P: Params;
@group(0) @binding(0) var<storage, read_write> out: array<u32>;

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) grid: vec3<u32>,
        @builtin(local_invocation_index) thread: u32) {
    let i = group_index(group, grid) * 64u + thread;
    if (i >= 128u) { return; }
    out[P.first + i] = P.value * 4096u + i;
}
