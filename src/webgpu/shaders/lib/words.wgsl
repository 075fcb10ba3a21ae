// Weights (binding 1 in every kernel that has them) as words. Its twin for formats whose blocks and
// rows are whole vectors is words_vec4.wgsl. SPDX-License-Identifier: MIT

@group(0) @binding(1) var<storage, read> w: array<u32>;

fn w_word(i: u32) -> u32 { return w[i]; }
fn w_vec4(i: u32) -> vec4<u32> { return vec4<u32>(w[i], w[i + 1u], w[i + 2u], w[i + 3u]); }
