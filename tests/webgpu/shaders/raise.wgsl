// Notes the parameter as a bad index when it is 10 or more. Bindings: 0 out.
// SPDX-License-Identifier: MIT

struct Params { value: u32, n_groups: u32 }

@group(1) @binding(0) var<uniform> P: Params;
@group(0) @binding(0) var<storage, read_write> out: array<u32>;

@compute @workgroup_size(1)
fn main() {
    if (P.value >= 10u) {
        flag_raise(bitcast<i32>(P.value), 10u);
        return;
    }
    out[P.value] = 1u;
}
