// x @ w[id]^T, a pair of row and slot at a time: a team of LANES threads makes ROWS rows of the
// pair's expert. Lane l takes pieces l, l + LANES, ... of every row; x is f32. A part of w writes
// the pairs whose expert it holds; a bad id is flagged and its rows zeroed by the part that has
// IS_FIRST. Consts: WG, LANES, ROWS, IS_LONG, IS_FIRST. Formats: lib/weights.wgsl.
// SPDX-License-Identifier: MIT

struct Params {
    n: u32,       // rows of an expert here
    n_pairs: u32, // (row, slot) pairs here
    n_row_groups: u32, // workgroups for all rows of an expert
    n_slots: u32,
    n_pieces: u32, // in a row
    x_at: u32,     // vectors of four
    x_token: u32,  // from one token's rows to the next one's
    x_slot: u32,   // from one slot's row to the next one's, 0 when all slots share it
    w_at: u32,     // bytes
    w_stride: u32, // of a row
    expert_stride: u32,
    ids_at: u32,
    out_at: u32,
    first_expert: u32, // bound here
    expert_count: u32,
    n_experts: u32, // in all
}

@group(0) @binding(0) var<storage, read> x: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> ids: array<i32>;
@group(0) @binding(3) var<storage, read_write> out: array<f32>;
@group(1) @binding(0) var<uniform> P: Params;

fn times(p: Piece, a: vec4<f32>, b: vec4<f32>) -> f32 { return dot(p.a, a) + dot(p.b, b); }

@compute @workgroup_size(WG)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) grid: vec3<u32>,
        @builtin(local_invocation_index) thread: u32) {
    let lane = thread % LANES;
    let g = group_index(group, grid);
    let pair = g / P.n_row_groups;
    if (pair >= P.n_pairs) { return; }
    let id = ids[P.ids_at + pair];
    let expert = bitcast<u32>(id) - P.first_expert;
    let is_bad = bitcast<u32>(id) >= P.n_experts;
    if (expert >= P.expert_count && !(is_bad && IS_FIRST)) { return; }
    let row = (g % P.n_row_groups * (WG / LANES) + thread / LANES) * ROWS;
    var total = vec4<f32>(0.0);
    if (is_bad) {
        if (g % P.n_row_groups == 0u && thread == 0u) { flag_raise(id, P.n_experts); }
    } else {
        // Rows past the end are computed as the last one and not stored.
        let base = P.w_at + expert * P.expert_stride;
        let w0 = base + min(row, P.n - 1u) * P.w_stride;
        let w1 = base + min(row + 1u, P.n - 1u) * P.w_stride;
        let w2 = base + min(row + 2u, P.n - 1u) * P.w_stride;
        let w3 = base + min(row + 3u, P.n - 1u) * P.w_stride;
        let x0 = P.x_at + pair / P.n_slots * P.x_token + pair % P.n_slots * P.x_slot;
        var sum = vec4<f32>(0.0);
        var part = vec4<f32>(0.0);
        var count = 0u;
        for (var p = lane; p < P.n_pieces; p += LANES) {
            let o = row_offsets(p) / 4u;
            let a = x[x0 + o.x];
            let b = x[x0 + o.y];
            part.x += times(row_piece(w0, p), a, b);
            if (ROWS > 1u) { part.y += times(row_piece(w1, p), a, b); }
            if (ROWS > 2u) {
                part.z += times(row_piece(w2, p), a, b);
                part.w += times(row_piece(w3, p), a, b);
            }
            if (IS_LONG) { // straight sums of thousands lose too much
                count++;
                if (count % 32u == 0u) {
                    sum += part;
                    part = vec4<f32>(0.0);
                }
            }
        }
        total = lanes_add(sum + part, thread);
    }
    if (lane < ROWS && row + lane < P.n) { out[P.out_at + pair * P.n + row + lane] = total[lane]; }
}
