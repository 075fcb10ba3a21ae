// Attention over a paged cache, for head dimensions of whole, aligned groups of eight. A workgroup
// serves a tile of up to TILE (at most 4) query vectors that share one KV head: the heads of a
// group, of one row or of neighbouring rows. It walks the positions WG at a time: each thread
// scores one position against the whole tile (queries lie in workgroup memory), the softmax is kept
// online, then the threads split (group of eight dimensions) x (slice of positions) to sum the
// values. Rows of several sequences in one tile are served sequence by sequence.
//
// Long contexts: SPAN positions a workgroup (IS_SPLIT), partial results to scratch; attention_join
// adds them up. Consts: WG = LANES, TILE, GROUP (query heads a KV head), HEAD_DIM, KV_TYPE, PAGE (a
// multiple of WG), SPAN, IS_SPLIT. SPDX-License-Identifier: MIT

struct Params {
    pages: Pages,
    // A unit is what a tile stays within: a row's group of heads, or those of all rows.
    n_units: u32,
    per_unit: u32, // query vectors in a unit, for one KV head
    n_tiles: u32,  // in a unit
    n_splits: u32,
    q_at: u32,
    q_row: u32, // strides
    q_head: u32,
    out_at: u32,
    n_groups: u32,
    scale: f32,
}

@group(0) @binding(0) var<storage, read> q: array<f32>;
@group(0) @binding(1) var<storage, read> k_pages: array<vec4<u32>>;
@group(0) @binding(2) var<storage, read> v_pages: array<vec4<u32>>;
@group(0) @binding(5) var<storage, read_write> out: array<f32>;
@group(1) @binding(0) var<uniform> P: Params;

const EIGHTS: u32 = HEAD_DIM / 8u;
const SLICES: u32 = WG / EIGHTS;
const PART: u32 = HEAD_DIM + 4u; // floats of a partial result: maximum, sum, two unused, the vector

struct Eight {
    a: vec4<f32>,
    b: vec4<f32>,
}

var<workgroup> queries: array<vec4<f32>, TILE * HEAD_DIM / 4u>;
var<workgroup> weights: array<vec4<f32>, WG>; // of each position, a component a query
var<workgroup> sums_a: array<vec4<f32>, WG>;
var<workgroup> sums_b: array<vec4<f32>, WG>;
var<workgroup> tile_sequences: vec4<u32>;
var<workgroup> tile_lengths: vec4<u32>;

fn eight_of_halves(v: vec4<u32>) -> Eight {
    return Eight(vec4<f32>(unpack2x16float(v.x), unpack2x16float(v.y)),
                 vec4<f32>(unpack2x16float(v.z), unpack2x16float(v.w)));
}

// The i-th eight of a vector of keys, of values.
fn keys(vector: u32, i: u32) -> Eight {
    let at = P.pages.k_at / 8u + vector * EIGHTS + i;
    if (KV_TYPE == F16) { return eight_of_halves(k_pages[at]); }
    return Eight(bitcast<vec4<f32>>(k_pages[at * 2u]), bitcast<vec4<f32>>(k_pages[at * 2u + 1u]));
}

fn values(vector: u32, i: u32) -> Eight {
    let at = P.pages.v_at / 8u + vector * EIGHTS + i;
    if (KV_TYPE == F16) { return eight_of_halves(v_pages[at]); }
    return Eight(bitcast<vec4<f32>>(v_pages[at * 2u]), bitcast<vec4<f32>>(v_pages[at * 2u + 1u]));
}

fn score(e: Eight, query: u32, i: u32) -> f32 {
    let at = query * (HEAD_DIM / 4u) + i * 2u;
    return dot(e.a, queries[at]) + dot(e.b, queries[at + 1u]);
}

// One position's scores against the tile.
fn scores(vector: u32) -> vec4<f32> {
    var s = vec4<f32>(0.0);
    for (var i = 0u; i < EIGHTS; i++) {
        let e = keys(vector, i);
        s.x += score(e, 0u, i);
        if (TILE > 1u) { s.y += score(e, 1u, i); }
        if (TILE > 2u) { s.z += score(e, 2u, i); }
        if (TILE > 3u) { s.w += score(e, 3u, i); }
    }
    return s * P.scale;
}

// The number among all query vectors of one of a KV head's.
fn number_of(query: u32, kv_head: u32) -> u32 {
    return query / GROUP * (GROUP * P.pages.n_kv_heads) + kv_head * GROUP + query % GROUP;
}

fn part_of(query: u32, kv_head: u32, split: u32) -> u32 {
    return (number_of(query, kv_head) * P.n_splits + split) * PART;
}

fn decay(x: vec4<f32>) -> vec4<f32> { return exp(max(x, vec4<f32>(-100.0))); }

// Adds the slices of one query's sums and stores the vector, or the partial one.
fn finish(thread: u32, a: vec4<f32>, b: vec4<f32>, is_there: bool, to: u32, factor: f32) {
    sums_a[thread] = a;
    sums_b[thread] = b;
    workgroupBarrier();
    if (thread < EIGHTS && is_there) {
        var t_a = sums_a[thread];
        var t_b = sums_b[thread];
        for (var s = 1u; s < SLICES; s++) {
            t_a += sums_a[s * EIGHTS + thread];
            t_b += sums_b[s * EIGHTS + thread];
        }
        t_a *= factor;
        t_b *= factor;
        let at = to + thread * 8u;
        for (var j = 0u; j < 4u; j++) {
            out[at + j] = t_a[j];
            out[at + 4u + j] = t_b[j];
        }
    }
    workgroupBarrier();
}

@compute @workgroup_size(WG)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) grid: vec3<u32>,
        @builtin(local_invocation_index) thread: u32) {
    let g = group_index(group, grid);
    if (g >= P.n_groups) { return; }
    let split = g % P.n_splits;
    let kv_head = g / P.n_splits % P.pages.n_kv_heads;
    let tile = g / P.n_splits / P.pages.n_kv_heads;
    let unit = tile / P.n_tiles;
    let first = tile % P.n_tiles * TILE; // in the unit
    let count = min(TILE, P.per_unit - first);
    let first_query = unit * P.per_unit + first; // of this KV head: row * GROUP + head in the group

    if (thread == 0u) {
        var s = vec4<u32>(0u);
        var l = vec4<u32>(0u);
        for (var j = 0u; j < count; j++) {
            let r = row_of(P.pages, (first_query + j) / GROUP, kv_head == 0u && split == 0u);
            s[j] = r.x;
            l[j] = r.y;
        }
        tile_sequences = s;
        tile_lengths = l;
    }
    let sequences = workgroupUniformLoad(&tile_sequences);
    let lengths = workgroupUniformLoad(&tile_lengths);
    let longest = max(max(lengths.x, lengths.y), max(lengths.z, lengths.w));
    if (IS_SPLIT && longest <= split * SPAN) { // nothing here: the join has to know
        if (thread < count) { out[part_of(first_query + thread, kv_head, split) + 1u] = 0.0; }
        return;
    }
    for (var i = thread; i < count * (HEAD_DIM / 4u); i += WG) {
        let query = first_query + i / (HEAD_DIM / 4u);
        let head = kv_head * GROUP + query % GROUP;
        let at = P.q_at + query / GROUP * P.q_row + head * P.q_head + i % (HEAD_DIM / 4u) * 4u;
        queries[i] = vec4<f32>(q[at], q[at + 1u], q[at + 2u], q[at + 3u]);
    }
    workgroupBarrier();

    var top = vec4<f32>(LOWEST);
    var sum = vec4<f32>(0.0);
    var a0 = vec4<f32>(0.0);
    var a1 = vec4<f32>(0.0);
    var a2 = vec4<f32>(0.0);
    var a3 = vec4<f32>(0.0);
    var b0 = vec4<f32>(0.0);
    var b1 = vec4<f32>(0.0);
    var b2 = vec4<f32>(0.0);
    var b3 = vec4<f32>(0.0);
    let eight = thread % EIGHTS;
    let slice = thread / EIGHTS;
    for (var j = 0u; j < TILE; j++) {
        // The queries of this one's sequence, unless an earlier one was of it.
        let sequence = sequences[j];
        let is_mine = sequences == vec4<u32>(sequence);
        let is_seen = (j > 0u && is_mine.x) || (j > 1u && is_mine.y) || (j > 2u && is_mine.z);
        let own = select(vec4<u32>(0u), lengths, is_mine);
        var end = max(max(own.x, own.y), max(own.z, own.w));
        var begin = 0u;
        if (IS_SPLIT) {
            begin = split * SPAN;
            end = min(end, begin + SPAN);
        }
        if (is_seen) { end = 0u; }
        for (var base = begin; base < end; base += WG) {
            let position = base + thread;
            let is_in = vec4<u32>(position) < own;
            var s = vec4<f32>(LOWEST);
            if (position < end) {
                let vector = vector_of(P.pages, sequence, kv_head, position, thread == 0u);
                s = select(s, scores(vector), is_in);
            }
            let new_top = max(top, lanes_max(s, thread));
            let old = decay(top - new_top);
            let weight = select(vec4<f32>(0.0), decay(s - new_top), is_in);
            weights[thread] = weight;
            sum = sum * old + lanes_add(weight, thread);
            workgroupBarrier(); // before `weights` is read
            top = new_top;
            a0 *= old.x;
            b0 *= old.x;
            if (TILE > 1u) {
                a1 *= old.y;
                b1 *= old.y;
            }
            if (TILE > 2u) {
                a2 *= old.z;
                b2 *= old.z;
            }
            if (TILE > 3u) {
                a3 *= old.w;
                b3 *= old.w;
            }
            if (slice < SLICES) {
                let first_vector = vector_of(P.pages, sequence, kv_head, base, false);
                for (var i = slice; i < min(WG, end - base); i += SLICES) {
                    let v = values(first_vector + i, eight);
                    let f = weights[i];
                    a0 += f.x * v.a;
                    b0 += f.x * v.b;
                    if (TILE > 1u) {
                        a1 += f.y * v.a;
                        b1 += f.y * v.b;
                    }
                    if (TILE > 2u) {
                        a2 += f.z * v.a;
                        b2 += f.z * v.b;
                    }
                    if (TILE > 3u) {
                        a3 += f.w * v.a;
                        b3 += f.w * v.b;
                    }
                }
            }
            workgroupBarrier(); // before `weights` is written again
        }
    }
    for (var j = 0u; j < TILE; j++) {
        let query = first_query + j;
        var to = P.out_at + number_of(query, kv_head) * HEAD_DIM;
        var factor = select(1.0 / sum[j], 0.0, sum[j] == 0.0);
        if (IS_SPLIT) {
            let part = part_of(query, kv_head, split);
            if (thread == 0u && j < count) {
                out[part] = top[j];
                out[part + 1u] = sum[j];
            }
            to = part + 4u;
            factor = 1.0;
        }
        var a = a0;
        var b = b0;
        if (j == 1u) {
            a = a1;
            b = b1;
        }
        if (j == 2u) {
            a = a2;
            b = b2;
        }
        if (j == 3u) {
            a = a3;
            b = b3;
        }
        finish(thread, a, b, j < count, to, factor);
    }
}
