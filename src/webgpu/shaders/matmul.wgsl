// a @ b for any strides and broadcast batches, one thread an output: the plain one. Sums go in
// chunks of 64 along k. Output f32. Consts: RANK (of the batch), A_TYPE, B_TYPE, HAS_BIAS, IS_ADDED
// (to what the output holds). SPDX-License-Identifier: MIT

struct Params {
    batch: Dims,
    a: View, // of the batch; the offset is the element's
    b: View,
    m: u32,
    n: u32,
    k: u32,
    total: u32, // outputs
    a_m: u32,   // strides
    a_k: u32,
    b_k: u32,
    b_n: u32,
    out_at: u32,
    out_batch: u32, // strides of the output
    out_m: u32,
    bias_at: u32,
}

@group(0) @binding(0) var<storage, read> a: array<u32>;
@group(0) @binding(1) var<storage, read> b: array<u32>;
@group(0) @binding(2) var<storage, read> bias: array<f32>;
@group(0) @binding(3) var<storage, read_write> out: array<f32>;
@group(1) @binding(0) var<uniform> P: Params;

fn value_a(i: u32) -> f32 { return elem_value(A_TYPE, a[elem_word(A_TYPE, i)], i); }
fn value_b(i: u32) -> f32 { return elem_value(B_TYPE, b[elem_word(B_TYPE, i)], i); }

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) grid: vec3<u32>,
        @builtin(local_invocation_index) thread: u32) {
    let i = group_index(group, grid) * 64u + thread;
    if (i >= P.total) { return; }
    let col = i % P.n;
    let row = i / P.n % P.m;
    let batch = i / P.n / P.m;
    let c = coords_of(P.batch, batch);
    let at_a = view_at(P.a, c) + row * P.a_m;
    let at_b = view_at(P.b, c) + col * P.b_n;
    var sum = 0.0;
    for (var first = 0u; first < P.k; first += 64u) {
        var part = 0.0;
        for (var k = first; k < min(first + 64u, P.k); k++) {
            part += value_a(at_a + k * P.a_k) * value_b(at_b + k * P.b_k);
        }
        sum += part;
    }
    if (HAS_BIAS) { sum += bias[P.bias_at + col]; }
    let at = P.out_at + batch * P.out_batch + row * P.out_m + col;
    if (IS_ADDED) { sum += out[at]; }
    out[at] = sum;
}
