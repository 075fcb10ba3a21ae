// Copies word 0 of one buffer to word P.value of another. Bindings: 0 in, 1 out.
// SPDX-License-Identifier: MIT

struct Params { value: u32, n_groups: u32 }

@group(1) @binding(0) var<uniform> P: Params;
@group(0) @binding(0) var<storage, read> source: array<u32>;
@group(0) @binding(1) var<storage, read_write> out: array<u32>;

@compute @workgroup_size(1)
fn main() {
    out[P.value] = source[0];
}
