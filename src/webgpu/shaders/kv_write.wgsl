// Writes rows of keys or values into their slots of a paged cache, converted to its type. One
// thread an element; lib/out_plain or out_atomic holds the pages. A bad slot is flagged and writes
// nothing. Consts: OUT_TYPE, PAGE. SPDX-License-Identifier: MIT

struct Params {
    n: u32, // elements of x
    n_heads: u32,
    head_dim: u32,
    n_slots: u32,
    x_at: u32,
    x_row: u32, // strides
    x_head: u32,
    slots_at: u32,
    out_at: u32,
}

@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(2) var<storage, read> slots: array<i32>;
@group(1) @binding(0) var<uniform> P: Params;

@compute @workgroup_size(128)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) grid: vec3<u32>,
        @builtin(local_invocation_index) thread: u32) {
    let i = group_index(group, grid) * 128u + thread;
    if (i >= P.n) { return; }
    let d = i % P.head_dim;
    let head = i / P.head_dim % P.n_heads;
    let row = i / P.head_dim / P.n_heads;
    let slot = bitcast<u32>(slots[P.slots_at + row]);
    if (slot >= P.n_slots) {
        if (d == 0u && head == 0u) { flag_raise(bitcast<i32>(slot), P.n_slots); }
        return;
    }
    let at = ((slot / PAGE * P.n_heads + head) * PAGE + slot % PAGE) * P.head_dim + d;
    let v = x[P.x_at + row * P.x_row + head * P.x_head + d];
    out_store(OUT_TYPE, P.out_at + at, elem_encode(OUT_TYPE, v));
}
