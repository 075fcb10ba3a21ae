// The output of kernels that scatter 16-bit elements (binding 1): a word may belong to two threads,
// so that an element is put into it by compare-exchange. Its twin for 32-bit elements is
// out_plain.wgsl. SPDX-License-Identifier: MIT

@group(0) @binding(1) var<storage, read_write> out: array<atomic<u32>>;

fn out_store(t: u32, i: u32, bits: u32) {
    let shift = (i & 1u) * 16u;
    let at = i >> 1u;
    var old = atomicLoad(&out[at]);
    for (var tries = 0u; tries < 1024u; tries++) {
        let wanted = (old & ~(0xffffu << shift)) | (bits << shift);
        let r = atomicCompareExchangeWeak(&out[at], old, wanted);
        if (r.exchanged) { return; }
        old = r.old_value;
    }
}
