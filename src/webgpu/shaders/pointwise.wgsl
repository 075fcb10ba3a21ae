// Pointwise functions of one or two tensors of any strides and mixed types; the output is dense.
// One thread makes one word of the output: one 32-bit element or two 16-bit ones. A unary function
// binds its input twice. Consts: RANK, FUNC, A_TYPE, B_TYPE, OUT_TYPE. SPDX-License-Identifier: MIT

struct Params {
    dims: Dims,
    a: View,
    b: View,
    n: u32,      // elements
    out_at: u32,
}

@group(0) @binding(0) var<storage, read> a: array<u32>;
@group(0) @binding(1) var<storage, read> b: array<u32>;
@group(0) @binding(2) var<storage, read_write> out: array<u32>;
@group(1) @binding(0) var<uniform> P: Params;

fn result_bits(i: u32) -> u32 {
    let c = coords_of(P.dims, i);
    let i_a = view_at(P.a, c);
    let i_b = view_at(P.b, c);
    let bits_a = elem_bits(A_TYPE, a[elem_word(A_TYPE, i_a)], i_a);
    let bits_b = elem_bits(B_TYPE, b[elem_word(B_TYPE, i_b)], i_b);
    if (OUT_TYPE == I32) {
        return bitcast<u32>(function_i32(bitcast<i32>(bits_a), bitcast<i32>(bits_b)));
    }
    let y = function_f32(elem_decode(A_TYPE, bits_a), elem_decode(B_TYPE, bits_b));
    return elem_encode(OUT_TYPE, y);
}

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) grid: vec3<u32>,
        @builtin(local_invocation_index) thread: u32) {
    store_word(group_index(group, grid) * 256u + thread);
}
