// a @ b for any strides and broadcast batches: a workgroup makes a TILE x TILE block of one batch's
// product, a thread 4 x 4 of it, over steps of 16 along k held in workgroup memory as [k][row];
// each step is summed by itself. Output f32. Also linear with plain weights that do not suit the
// piece kernels (b = w transposed, with a bias). Consts: RANK (of the batch), TILE (32 or 64), WG =
// TILE * TILE / 16, A_TYPE, B_TYPE, A_K_INNER and B_K_INNER (neighbouring threads load along k),
// HAS_BIAS, IS_ADDED (to what the output holds). SPDX-License-Identifier: MIT

struct Params {
    batch: Dims,
    a: View, // of the batch; the offset is the element's
    b: View,
    m: u32,
    n: u32,
    k: u32,
    n_tiles_m: u32,
    n_tiles_n: u32,
    n_groups: u32,
    a_m: u32, // strides
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

const STEP: u32 = 16u;

var<workgroup> tile_a: array<f32, STEP * TILE>;
var<workgroup> tile_b: array<f32, STEP * TILE>;

fn value_a(i: u32) -> f32 { return elem_value(A_TYPE, a[elem_word(A_TYPE, i)], i); }
fn value_b(i: u32) -> f32 { return elem_value(B_TYPE, b[elem_word(B_TYPE, i)], i); }

// Elements past the end are zeros.
fn load_tiles(thread: u32, at_a: u32, at_b: u32, first_m: u32, first_n: u32, first_k: u32) {
    for (var i = thread; i < TILE * STEP; i += WG) {
        let row = select(i % TILE, i / STEP, A_K_INNER);
        let k = select(i / TILE, i % STEP, A_K_INNER);
        var v = 0.0;
        if (first_m + row < P.m && first_k + k < P.k) {
            v = value_a(at_a + (first_m + row) * P.a_m + (first_k + k) * P.a_k);
        }
        tile_a[k * TILE + row] = v;
    }
    for (var i = thread; i < TILE * STEP; i += WG) {
        let col = select(i % TILE, i / STEP, B_K_INNER);
        let k = select(i / TILE, i % STEP, B_K_INNER);
        var v = 0.0;
        if (first_n + col < P.n && first_k + k < P.k) {
            v = value_b(at_b + (first_n + col) * P.b_n + (first_k + k) * P.b_k);
        }
        tile_b[k * TILE + col] = v;
    }
}

fn store(at: u32, row: u32, col: u32, v: vec4<f32>) {
    if (row >= P.m) { return; }
    for (var j = 0u; j < 4u; j++) {
        if (col + j < P.n) {
            var value = v[j];
            if (HAS_BIAS) { value += bias[P.bias_at + col + j]; }
            let i = at + row * P.out_m + col + j;
            if (IS_ADDED) { value += out[i]; }
            out[i] = value;
        }
    }
}

@compute @workgroup_size(WG)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) grid: vec3<u32>,
        @builtin(local_invocation_index) thread: u32) {
    let g = group_index(group, grid);
    if (g >= P.n_groups) { return; }
    let first_n = (g % P.n_tiles_n) * TILE;
    let first_m = (g / P.n_tiles_n % P.n_tiles_m) * TILE;
    let batch = g / P.n_tiles_n / P.n_tiles_m;
    let c = coords_of(P.batch, batch);
    let at_a = view_at(P.a, c);
    let at_b = view_at(P.b, c);
    let col = (thread % (TILE / 4u)) * 4u;
    let row = (thread / (TILE / 4u)) * 4u;
    var sum0 = vec4<f32>(0.0);
    var sum1 = vec4<f32>(0.0);
    var sum2 = vec4<f32>(0.0);
    var sum3 = vec4<f32>(0.0);
    for (var first_k = 0u; first_k < P.k; first_k += STEP) {
        load_tiles(thread, at_a, at_b, first_m, first_n, first_k);
        workgroupBarrier();
        var part0 = vec4<f32>(0.0);
        var part1 = vec4<f32>(0.0);
        var part2 = vec4<f32>(0.0);
        var part3 = vec4<f32>(0.0);
        for (var k = 0u; k < STEP; k++) {
            let i = k * TILE + col;
            let j = k * TILE + row;
            let v = vec4<f32>(tile_b[i], tile_b[i + 1u], tile_b[i + 2u], tile_b[i + 3u]);
            part0 += tile_a[j] * v;
            part1 += tile_a[j + 1u] * v;
            part2 += tile_a[j + 2u] * v;
            part3 += tile_a[j + 3u] * v;
        }
        sum0 += part0;
        sum1 += part1;
        sum2 += part2;
        sum3 += part3;
        workgroupBarrier();
    }
    let at = P.out_at + batch * P.out_batch;
    store(at, first_m + row, first_n + col, sum0);
    store(at, first_m + row + 1u, first_n + col, sum1);
    store(at, first_m + row + 2u, first_n + col, sum2);
    store(at, first_m + row + 3u, first_n + col, sum3);
}
