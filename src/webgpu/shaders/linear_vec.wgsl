// x @ w^T for few rows of x: a team of LANES threads makes ROWS rows of w times X_ROWS rows of x
// (their product at most 4, so that the sums fit one vector). Lane l takes pieces l, l + LANES, ...
// of every row; x is f32. Consts: WG, LANES, ROWS, X_ROWS, HAS_BIAS, IS_LONG. Formats:
// lib/weights.wgsl. SPDX-License-Identifier: MIT

struct Params {
    n: u32,   // rows of w here
    n_x: u32, // rows of x here
    n_row_groups: u32, // workgroups for all rows of w
    n_pieces: u32, // in a row
    x_at: u32,     // vectors of four, as all of x's
    x_stride: u32,
    w_at: u32, // bytes
    w_stride: u32,
    out_at: u32, // elements
    out_stride: u32,
    bias_at: u32,
}

@group(0) @binding(0) var<storage, read> x: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> bias: array<f32>;
@group(0) @binding(3) var<storage, read_write> out: array<f32>;
@group(1) @binding(0) var<uniform> P: Params;

fn times(p: Piece, a: vec4<f32>, b: vec4<f32>) -> f32 { return dot(p.a, a) + dot(p.b, b); }

@compute @workgroup_size(WG)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) grid: vec3<u32>,
        @builtin(local_invocation_index) thread: u32) {
    let lane = thread % LANES;
    let g = group_index(group, grid);
    let row = (g % P.n_row_groups * (WG / LANES) + thread / LANES) * ROWS;
    let first_x = g / P.n_row_groups * X_ROWS;
    // Rows past the end, of either, are computed as the last one and not stored.
    let w0 = P.w_at + min(row, P.n - 1u) * P.w_stride;
    let w1 = P.w_at + min(row + 1u, P.n - 1u) * P.w_stride;
    let w2 = P.w_at + min(row + 2u, P.n - 1u) * P.w_stride;
    let w3 = P.w_at + min(row + 3u, P.n - 1u) * P.w_stride;
    let x0 = P.x_at + min(first_x, P.n_x - 1u) * P.x_stride;
    let x1 = P.x_at + min(first_x + 1u, P.n_x - 1u) * P.x_stride;
    let x2 = P.x_at + min(first_x + 2u, P.n_x - 1u) * P.x_stride;
    let x3 = P.x_at + min(first_x + 3u, P.n_x - 1u) * P.x_stride;
    var sum = vec4<f32>(0.0);
    var part = vec4<f32>(0.0);
    var count = 0u;
    for (var p = lane; p < P.n_pieces; p += LANES) {
        let o = row_offsets(p) / 4u;
        let a0 = x[x0 + o.x];
        let b0 = x[x0 + o.y];
        let p0 = row_piece(w0, p);
        part.x += times(p0, a0, b0);
        if (X_ROWS == 1u) {
            if (ROWS > 1u) { part.y += times(row_piece(w1, p), a0, b0); }
            if (ROWS > 2u) {
                part.z += times(row_piece(w2, p), a0, b0);
                part.w += times(row_piece(w3, p), a0, b0);
            }
        } else {
            let a1 = x[x1 + o.x];
            let b1 = x[x1 + o.y];
            part.y += times(p0, a1, b1);
            if (X_ROWS == 2u && ROWS > 1u) {
                let p1 = row_piece(w1, p);
                part.z += times(p1, a0, b0);
                part.w += times(p1, a1, b1);
            }
            if (X_ROWS > 2u) { part.z += times(p0, x[x2 + o.x], x[x2 + o.y]); }
            if (X_ROWS > 3u) { part.w += times(p0, x[x3 + o.x], x[x3 + o.y]); }
        }
        if (IS_LONG) { // straight sums of thousands lose too much
            count++;
            if (count % 32u == 0u) {
                sum += part;
                part = vec4<f32>(0.0);
            }
        }
    }
    let total = lanes_add(sum + part, thread);
    // Lane j stores sum j: row j / X_ROWS, x row j % X_ROWS.
    let store_row = row + lane / X_ROWS;
    let store_x = first_x + lane % X_ROWS;
    if (lane < ROWS * X_ROWS && store_row < P.n && store_x < P.n_x) {
        var value = total[lane];
        if (HAS_BIAS) { value += bias[P.bias_at + store_row]; }
        out[P.out_at + store_x * P.out_stride + store_row] = value;
    }
}
