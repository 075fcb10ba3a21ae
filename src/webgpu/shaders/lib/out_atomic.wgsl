// The output of kernels that scatter elements of 16 or 8 bits (binding 1): a word may belong to
// several threads, so that an element is put into it by compare-exchange. Its twin for 32-bit
// elements is out_plain.wgsl. SPDX-License-Identifier: MIT

@group(0) @binding(1) var<storage, read_write> out: array<atomic<u32>>;

fn out_store(t: u32, i: u32, bits: u32) {
    let at = elem_word(t, i);
    let mask = select(0xffffu, 0xffu, t == I8);
    let shift = select((i & 1u) * 16u, (i & 3u) * 8u, t == I8);
    var old = atomicLoad(&out[at]);
    for (var tries = 0u; tries < 1024u; tries++) {
        let wanted = (old & ~(mask << shift)) | (bits << shift);
        let r = atomicCompareExchangeWeak(&out[at], old, wanted);
        if (r.exchanged) { return; }
        old = r.old_value;
    }
}
