// x @ w[id]^T for plain weights of any row length, one output a thread. Parts and bad ids as in
// linear_ids_vec. Sums are added up in chunks of 64. Consts: W_TYPE, IS_FIRST.
// SPDX-License-Identifier: MIT

struct Params {
    n: u32,       // rows of an expert here
    n_pairs: u32, // (row, slot) pairs here
    n_slots: u32,
    k: u32,
    x_at: u32,
    x_token: u32,  // from one token's rows to the next one's
    x_slot: u32,   // from one slot's row to the next one's, 0 when all slots share it
    w_at: u32, // elements
    w_stride: u32, // of a row
    expert_stride: u32,
    ids_at: u32,
    out_at: u32,
    first_expert: u32, // bound here
    expert_count: u32,
    n_experts: u32, // in all
}

@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read> w: array<u32>;
@group(0) @binding(2) var<storage, read> ids: array<i32>;
@group(0) @binding(3) var<storage, read_write> out: array<f32>;
@group(1) @binding(0) var<uniform> P: Params;

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) grid: vec3<u32>,
        @builtin(local_invocation_index) thread: u32) {
    let i = group_index(group, grid) * 64u + thread;
    if (i >= P.n * P.n_pairs) { return; }
    let pair = i / P.n;
    let id = ids[P.ids_at + pair];
    let expert = bitcast<u32>(id) - P.first_expert;
    var sum = 0.0;
    if (bitcast<u32>(id) >= P.n_experts) {
        if (!IS_FIRST) { return; }
        if (i % P.n == 0u) { flag_raise(id, P.n_experts); }
    } else {
        if (expert >= P.expert_count) { return; }
        let w0 = P.w_at + expert * P.expert_stride + i % P.n * P.w_stride;
        let x0 = P.x_at + pair / P.n_slots * P.x_token + pair % P.n_slots * P.x_slot;
        for (var first = 0u; first < P.k; first += 64u) {
            var part = 0.0;
            for (var j = first; j < min(first + 64u, P.k); j++) {
                part += x[x0 + j] * elem_value(W_TYPE, w[elem_word(W_TYPE, w0 + j)], w0 + j);
            }
            sum += part;
        }
    }
    out[P.out_at + i] = sum;
}
