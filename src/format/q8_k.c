/* Q8_K: 256 elements, one f32 scale, and the sum of each 16: a format of activations, not of files.
 * SPDX-License-Identifier: MIT */
#include "format/format.h"

#include "format/blocks.h"

static void decode(const void *blocks, float *out, int64_t n) {
    const block_q8_k *b = blocks;
    for (int64_t i = 0; i < n / 256; i++, b++, out += 256) {
        for (int j = 0; j < 256; j++) out[j] = b->d * (float)b->qs[j];
    }
}

const format_ops format_Q8_K = {WEFT_Q8_K, decode, NULL};
