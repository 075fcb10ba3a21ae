// kv_write for 16-bit pages with an even head_dim: one thread owns a whole word, so nothing is
// exchanged. Consts: OUT_TYPE, PAGE. SPDX-License-Identifier: MIT

struct Params {
    n: u32, // pairs of x
    n_heads: u32,
    half_dim: u32, // head_dim / 2
    n_slots: u32,
    x_at: u32,
    x_row: u32, // strides
    x_head: u32,
    slots_at: u32,
    out_at: u32, // words
}

@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> out: array<u32>;
@group(0) @binding(2) var<storage, read> slots: array<i32>;
@group(1) @binding(0) var<uniform> P: Params;

@compute @workgroup_size(128)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) grid: vec3<u32>,
        @builtin(local_invocation_index) thread: u32) {
    let i = group_index(group, grid) * 128u + thread;
    if (i >= P.n) { return; }
    let d = i % P.half_dim;
    let head = i / P.half_dim % P.n_heads;
    let row = i / P.half_dim / P.n_heads;
    let slot = bitcast<u32>(slots[P.slots_at + row]);
    if (slot >= P.n_slots) {
        if (d == 0u && head == 0u) { flag_raise(bitcast<i32>(slot), P.n_slots); }
        return;
    }
    let at = ((slot / PAGE * P.n_heads + head) * PAGE + slot % PAGE) * P.half_dim + d;
    let x_at = P.x_at + row * P.x_row + head * P.x_head + d * 2u;
    let low = elem_encode(OUT_TYPE, x[x_at]);
    let high = elem_encode(OUT_TYPE, x[x_at + 1u]);
    out[P.out_at + at] = low | (high << 16u);
}
