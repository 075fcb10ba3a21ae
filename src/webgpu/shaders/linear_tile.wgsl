// x @ w^T for many rows of x: a workgroup makes TILE_X x TILE_W outputs, a thread 4 x 4 of them,
// over steps of 32 along k held in workgroup memory as [k][row]. Each step is summed by itself and
// added (straight sums over thousands lose too much). x is f32. Consts: WG = TILE_X * TILE_W / 16,
// TILE_X, TILE_W, HAS_BIAS. Formats: lib/weights.wgsl. SPDX-License-Identifier: MIT

struct Params {
    n: u32,   // rows of w here
    n_x: u32, // rows of x here
    n_pieces: u32,
    n_tiles_w: u32,
    x_at: u32, // vectors of four
    x_stride: u32,
    w_at: u32, // bytes
    w_stride: u32,
    out_at: u32, // elements
    out_stride: u32,
    bias_at: u32,
    n_groups: u32,
}

@group(0) @binding(0) var<storage, read> x: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> bias: array<f32>;
@group(0) @binding(3) var<storage, read_write> out: array<f32>;
@group(1) @binding(0) var<uniform> P: Params;

const STEP: u32 = 32u; // along k: 4 pieces

var<workgroup> tile_x: array<f32, STEP * TILE_X>;
var<workgroup> tile_w: array<f32, STEP * TILE_W>;

fn put_x(at: u32, v: vec4<f32>) {
    tile_x[at] = v.x;
    tile_x[at + TILE_X] = v.y;
    tile_x[at + 2u * TILE_X] = v.z;
    tile_x[at + 3u * TILE_X] = v.w;
}

fn put_w(at: u32, v: vec4<f32>) {
    tile_w[at] = v.x;
    tile_w[at + TILE_W] = v.y;
    tile_w[at + 2u * TILE_W] = v.z;
    tile_w[at + 3u * TILE_W] = v.w;
}

// What a thread fetches for a step, while the one before is being multiplied.
const X_FETCHES: u32 = TILE_X * 8u / WG;
const W_FETCHES: u32 = TILE_W * 4u / WG;

struct Fetched {
    x: array<vec4<f32>, X_FETCHES>,
    w: array<Piece, W_FETCHES>,
}

// Both tiles hold k in the order of the format's pieces. Rows and pieces past the end are zeros.
fn fetch(thread: u32, first_x: u32, first_w: u32, first_piece: u32) -> Fetched {
    var f: Fetched;
    for (var j = 0u; j < X_FETCHES; j++) {
        let i = thread + j * WG;
        let row = first_x + i % TILE_X;
        let four = i / TILE_X; // two to a piece
        let p = first_piece + four / 2u;
        f.x[j] = vec4<f32>(0.0);
        if (row < P.n_x && p < P.n_pieces) {
            let o = row_offsets(p);
            f.x[j] = x[P.x_at + row * P.x_stride + select(o.x, o.y, four % 2u == 1u) / 4u];
        }
    }
    for (var j = 0u; j < W_FETCHES; j++) {
        let i = thread + j * WG;
        let row = first_w + i % TILE_W;
        let p = first_piece + i / TILE_W;
        f.w[j] = Piece(vec4<f32>(0.0), vec4<f32>(0.0));
        if (row < P.n && p < P.n_pieces) { f.w[j] = row_piece(P.w_at + row * P.w_stride, p); }
    }
    return f;
}

fn put(f: Fetched, thread: u32) {
    var g = f;
    for (var j = 0u; j < X_FETCHES; j++) {
        let i = thread + j * WG;
        put_x(i / TILE_X * 4u * TILE_X + i % TILE_X, g.x[j]);
    }
    for (var j = 0u; j < W_FETCHES; j++) {
        let i = thread + j * WG;
        let at = i / TILE_W * 8u * TILE_W + i % TILE_W;
        put_w(at, g.w[j].a);
        put_w(at + 4u * TILE_W, g.w[j].b);
    }
}

fn store(row: u32, col: u32, v: vec4<f32>) {
    if (row >= P.n_x) { return; }
    let at = P.out_at + row * P.out_stride + col;
    for (var j = 0u; j < 4u; j++) {
        if (col + j < P.n) {
            var value = v[j];
            if (HAS_BIAS) { value += bias[P.bias_at + col + j]; }
            out[at + j] = value;
        }
    }
}

@compute @workgroup_size(WG)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) grid: vec3<u32>,
        @builtin(local_invocation_index) thread: u32) {
    let g = group_index(group, grid);
    if (g >= P.n_groups) { return; }
    let first_w = (g % P.n_tiles_w) * TILE_W;
    let first_x = (g / P.n_tiles_w) * TILE_X;
    let col = (thread % (TILE_W / 4u)) * 4u;
    let row = (thread / (TILE_W / 4u)) * 4u;
    var sum0 = vec4<f32>(0.0);
    var sum1 = vec4<f32>(0.0);
    var sum2 = vec4<f32>(0.0);
    var sum3 = vec4<f32>(0.0);
    var next = fetch(thread, first_x, first_w, 0u);
    for (var p = 0u; p < P.n_pieces; p += 4u) {
        put(next, thread);
        workgroupBarrier();
        next = fetch(thread, first_x, first_w, p + 4u);
        var part0 = vec4<f32>(0.0);
        var part1 = vec4<f32>(0.0);
        var part2 = vec4<f32>(0.0);
        var part3 = vec4<f32>(0.0);
        for (var k = 0u; k < STEP; k++) {
            let i = k * TILE_W + col;
            let j = k * TILE_X + row;
            let b = vec4<f32>(tile_w[i], tile_w[i + 1u], tile_w[i + 2u], tile_w[i + 3u]);
            part0 += tile_x[j] * b;
            part1 += tile_x[j + 1u] * b;
            part2 += tile_x[j + 2u] * b;
            part3 += tile_x[j + 3u] * b;
        }
        sum0 += part0;
        sum1 += part1;
        sum2 += part2;
        sum3 += part3;
        workgroupBarrier();
    }
    store(first_x + row, first_w + col, sum0);
    store(first_x + row + 1u, first_w + col, sum1);
    store(first_x + row + 2u, first_w + col, sum2);
    store(first_x + row + 3u, first_w + col, sum3);
}
