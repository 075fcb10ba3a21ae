// Decodes quantised blocks of any strides into a dense f32, f16 or bf16 tensor: one thread a piece
// of eight. Consts: RANK, OUT_TYPE. Formats: lib/weights.wgsl. SPDX-License-Identifier: MIT

struct Params {
    dims: Dims, // in blocks
    src: View,
    n: u32, // pieces
    w_at: u32, // bytes
    out_at: u32, // first word
}

@group(0) @binding(0) var<storage, read_write> out: array<u32>;
@group(1) @binding(0) var<uniform> P: Params;

fn put(at: u32, v: vec4<f32>) {
    let b = vec4<u32>(elem_encode(OUT_TYPE, v.x), elem_encode(OUT_TYPE, v.y),
                      elem_encode(OUT_TYPE, v.z), elem_encode(OUT_TYPE, v.w));
    if (elem_is_16(OUT_TYPE)) {
        out[P.out_at + at / 2u] = b.x | (b.y << 16u);
        out[P.out_at + at / 2u + 1u] = b.z | (b.w << 16u);
    } else {
        out[P.out_at + at] = b.x;
        out[P.out_at + at + 1u] = b.y;
        out[P.out_at + at + 2u] = b.z;
        out[P.out_at + at + 3u] = b.w;
    }
}

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) grid: vec3<u32>,
        @builtin(local_invocation_index) thread: u32) {
    let i = group_index(group, grid) * 64u + thread;
    if (i >= P.n) { return; }
    let block = view_at(P.src, coords_of(P.dims, i / PIECES));
    let v = piece_at(P.w_at + block * BLOCK_BYTES, i % PIECES);
    let o = row_offsets(i);
    put(o.x, v.a);
    put(o.y, v.b);
}
