// Counts, for each workgroup's number, how often it ran, and those past the end in the last word.
// Bindings: 0 out. SPDX-License-Identifier: MIT

struct Params { value: u32, n_groups: u32 }

@group(1) @binding(0) var<uniform> P: Params;
@group(0) @binding(0) var<storage, read_write> out: array<atomic<u32>>;

@compute @workgroup_size(1)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) grid: vec3<u32>) {
    let g = group_index(group, grid);
    atomicAdd(&out[min(g, P.n_groups)], 1u);
}
