// Copies a tensor of any strides into one of any strides, converting on the way; one thread an
// element. lib/out_plain or lib/out_atomic holds the output. Consts: RANK, SRC_TYPE, OUT_TYPE.
// SPDX-License-Identifier: MIT

struct Params {
    dims: Dims,
    src: View,
    out: View,
    n: u32,
}

@group(0) @binding(0) var<storage, read> src: array<u32>;
@group(1) @binding(0) var<uniform> P: Params;

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) grid: vec3<u32>,
        @builtin(local_invocation_index) thread: u32) {
    let i = group_index(group, grid) * 256u + thread;
    if (i >= P.n) { return; }
    let c = coords_of(P.dims, i);
    let at = view_at(P.src, c);
    let bits = elem_bits(SRC_TYPE, src[elem_word(SRC_TYPE, at)], at);
    out_store(OUT_TYPE, view_at(P.out, c), elem_convert(SRC_TYPE, OUT_TYPE, bits));
}
