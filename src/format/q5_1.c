/* Q5_1: 32 elements, a scale and an offset, x = d * q + m; the fifth bits are apart.
 * SPDX-License-Identifier: MIT */
#include "format/format.h"

#include "format/blocks.h"
#include "format/fives.h"
#include "format/half.h"

static void decode(const void *blocks, float *out, int64_t n) {
    const block_q5_1 *b = blocks;
    for (int64_t i = 0; i < n / 32; i++, b++, out += 32) {
        float d = f16_to_f32(b->d), m = f16_to_f32(b->m);
        for (int j = 0; j < 32; j++) out[j] = d * (float)fives_at(b->qs, b->qh, j) + m;
    }
}

const format_ops format_Q5_1 = {WEFT_Q5_1, decode, NULL};
