// Copies a tensor of any strides into a dense one, converting on the way. One thread writes one
// whole word. Consts: RANK, SRC_TYPE, OUT_TYPE. SPDX-License-Identifier: MIT

struct Params {
    dims: Dims,
    src: View,
    n: u32,      // elements
    out_at: u32,
}

@group(0) @binding(0) var<storage, read> src: array<u32>;
@group(0) @binding(1) var<storage, read_write> out: array<u32>;
@group(1) @binding(0) var<uniform> P: Params;

fn result_bits(i: u32) -> u32 {
    let at = view_at(P.src, coords_of(P.dims, i));
    return elem_convert(SRC_TYPE, OUT_TYPE, elem_bits(SRC_TYPE, src[elem_word(SRC_TYPE, at)], at));
}

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) grid: vec3<u32>,
        @builtin(local_invocation_index) thread: u32) {
    store_word(group_index(group, grid) * 256u + thread);
}
