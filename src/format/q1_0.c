/* Q1_0: 128 signs under one scale, x = d or -d.
 * SPDX-License-Identifier: MIT */
#include "format/format.h"

#include "format/blocks.h"
#include "format/half.h"

static void decode(const void *blocks, float *out, int64_t n) {
    const block_q1_0 *b = blocks;
    for (int64_t i = 0; i < n / 128; i++, b++, out += 128) {
        float d = f16_to_f32(b->d);
        for (int j = 0; j < 128; j++) out[j] = b->qs[j / 8] >> j % 8 & 1 ? d : -d;
    }
}

const format_ops format_Q1_0 = {WEFT_Q1_0, decode, NULL};
