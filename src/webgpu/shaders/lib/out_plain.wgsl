// The output of kernels that scatter 32-bit elements: binding 1. Its twin is out_atomic.wgsl.
// SPDX-License-Identifier: MIT

@group(0) @binding(1) var<storage, read_write> out: array<u32>;

fn out_store(t: u32, i: u32, bits: u32) { out[i] = bits; }
