// Weights (binding 1) as vectors of four words: for formats whose blocks and rows are whole
// vectors. SPDX-License-Identifier: MIT

@group(0) @binding(1) var<storage, read> w: array<vec4<u32>>;

fn w_word(i: u32) -> u32 { return w[i >> 2u][i & 3u]; }
fn w_vec4(i: u32) -> vec4<u32> { return w[i >> 2u]; }
