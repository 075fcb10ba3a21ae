// Pointwise functions of dense f32 tensors of one shape, four elements a thread. The last vector
// may reach past the tensor's end, into the padding of its storage. Consts: FUNC.
// SPDX-License-Identifier: MIT

struct Params {
    n: u32, // vectors
    a_at: u32,
    b_at: u32,
    out_at: u32,
}

@group(0) @binding(0) var<storage, read> a: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read> b: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read_write> out: array<vec4<f32>>;
@group(1) @binding(0) var<uniform> P: Params;

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) grid: vec3<u32>,
        @builtin(local_invocation_index) thread: u32) {
    let i = group_index(group, grid) * 256u + thread;
    if (i >= P.n) { return; }
    let x = a[P.a_at + i];
    let y = b[P.b_at + i];
    out[P.out_at + i] = vec4<f32>(function_f32(x.x, y.x), function_f32(x.y, y.y),
                                  function_f32(x.z, y.z), function_f32(x.w, y.w));
}
