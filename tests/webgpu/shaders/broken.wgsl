// Does not compile, on purpose. SPDX-License-Identifier: MIT

struct Params { value: u32, n_groups: u32 }

@group(1) @binding(0) var<uniform> P: Params;
@group(0) @binding(0) var<storage, read_write> out: array<u32>;

@compute @workgroup_size(1)
fn main() {
    out[0] = no_such_function(P.value);
}
