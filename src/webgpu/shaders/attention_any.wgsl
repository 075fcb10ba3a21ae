// Attention over a paged cache for any head dimension and alignment: one workgroup a query vector,
// 64 positions at a time, element by element. The plain one. Consts: WG = LANES = 64, GROUP,
// HEAD_DIM, KV_TYPE, PAGE. SPDX-License-Identifier: MIT

struct Params {
    pages: Pages,
    n_queries: u32,
    q_at: u32,
    q_row: u32, // strides
    q_head: u32,
    out_at: u32,
    scale: f32,
}

@group(0) @binding(0) var<storage, read> q: array<f32>;
@group(0) @binding(1) var<storage, read> k_pages: array<u32>;
@group(0) @binding(2) var<storage, read> v_pages: array<u32>;
@group(0) @binding(5) var<storage, read_write> out: array<f32>;
@group(1) @binding(0) var<uniform> P: Params;

var<workgroup> weights: array<f32, WG>;
var<workgroup> sums: array<f32, HEAD_DIM>;
var<workgroup> row_shared: vec2<u32>;

fn key(i: u32) -> f32 { return elem_value(KV_TYPE, k_pages[elem_word(KV_TYPE, i)], i); }
fn value(i: u32) -> f32 { return elem_value(KV_TYPE, v_pages[elem_word(KV_TYPE, i)], i); }

@compute @workgroup_size(WG)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) grid: vec3<u32>,
        @builtin(local_invocation_index) thread: u32) {
    let query = group_index(group, grid);
    if (query >= P.n_queries) { return; }
    let n_heads = GROUP * P.pages.n_kv_heads;
    let head = query % n_heads;
    let kv_head = head / GROUP;
    if (thread == 0u) { row_shared = row_of(P.pages, query / n_heads, head == 0u); }
    for (var d = thread; d < HEAD_DIM; d += WG) { sums[d] = 0.0; }
    workgroupBarrier();
    let row = workgroupUniformLoad(&row_shared);
    let q_at = P.q_at + query / n_heads * P.q_row + head * P.q_head;
    var top = LOWEST;
    var sum = 0.0;
    for (var base = 0u; base < row.y; base += WG) {
        let position = base + thread;
        var s = LOWEST;
        if (position < row.y) {
            let vector = vector_of(P.pages, row.x, kv_head, position, thread == 0u);
            let at = P.pages.k_at + vector * HEAD_DIM;
            s = 0.0;
            for (var d = 0u; d < HEAD_DIM; d++) { s += q[q_at + d] * key(at + d); }
            s *= P.scale;
        }
        let new_top = max(top, lanes_max(vec4<f32>(s), thread).x);
        let old = exp(max(top - new_top, -100.0));
        let weight = select(0.0, exp(max(s - new_top, -100.0)), position < row.y);
        weights[thread] = weight;
        sum = sum * old + lanes_add(vec4<f32>(weight), thread).x;
        workgroupBarrier();
        top = new_top;
        let at = P.pages.v_at + vector_of(P.pages, row.x, kv_head, base, false) * HEAD_DIM;
        for (var d = thread; d < HEAD_DIM; d += WG) {
            var v = sums[d] * old;
            for (var i = 0u; i < min(WG, row.y - base); i++) {
                v += weights[i] * value(at + i * HEAD_DIM + d);
            }
            sums[d] = v;
        }
        workgroupBarrier();
    }
    let factor = select(1.0 / sum, 0.0, sum == 0.0);
    for (var d = thread; d < HEAD_DIM; d += WG) {
        out[P.out_at + query * HEAD_DIM + d] = sums[d] * factor;
    }
}
