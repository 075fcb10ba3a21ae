// The flag of kernels that take indices from data (rows with F_FLAG). A bad index reads 0, writes
// nothing and is noted here; the host finds it at the next read or sync and returns WEFT_INDEX with
// the first one's value. flag[0] counts bad indices, flag[1] is the first one met, flag[2] the
// exclusive upper bound it had to keep. SPDX-License-Identifier: MIT

@group(1) @binding(1) var<storage, read_write> flag: array<atomic<u32>, 4>;

fn flag_raise(index: i32, bound: u32) {
    if (atomicAdd(&flag[0], 1u) == 0u) {
        atomicStore(&flag[1], bitcast<u32>(index));
        atomicStore(&flag[2], bound);
    }
}
