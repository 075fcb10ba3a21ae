/* TQ2_0: 256 elements of -1, 0, 1 (and 2, which no encoder makes) under one scale, two bits each: laid out as Q2_K's.
 * SPDX-License-Identifier: MIT */
#include "format/format.h"

#include "format/blocks.h"
#include "format/half.h"
#include "format/kquant.h"

static void decode(const void *blocks, float *out, int64_t n) {
    const block_tq2_0 *b = blocks;
    for (int64_t i = 0; i < n / 256; i++, b++, out += 256) {
        float d = f16_to_f32(b->d);
        for (int j = 0; j < 256; j++) out[j] = d * (float)(twos_at(b->qs, j) - 1);
    }
}

const format_ops format_TQ2_0 = {WEFT_TQ2_0, decode, NULL};
