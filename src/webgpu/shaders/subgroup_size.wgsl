// Measures the subgroup size: each of 2 x 64 threads writes it, or 0 where the threads are not
// numbered in order or a sum over the subgroup is not what it must be.
// Bindings: 0 out. SPDX-License-Identifier: MIT

struct SubgroupSizeParams { first: u32, value: u32 }

@group(1) @binding(0) var<uniform> P: SubgroupSizeParams;
@group(0) @binding(0) var<storage, read_write> out: array<u32>;

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) grid: vec3<u32>,
        @builtin(local_invocation_index) thread: u32, @builtin(subgroup_size) size: u32,
        @builtin(subgroup_invocation_id) lane: u32) {
    let count = subgroupAdd(1u);
    let i = group_index(group, grid) * 64u + thread;
    let is_linear = lane == thread % size;
    if (i < 128u) { out[P.first + i] = select(0u, size, is_linear && count == min(size, 64u)); }
}
