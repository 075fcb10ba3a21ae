/* Q1_0: 128 signs under one scale, x = d or -d.
 * SPDX-License-Identifier: MIT */
#include "format/format.h"

#include <math.h>

#include "format/blocks.h"
#include "format/half.h"

static void decode(const void *blocks, float *out, int64_t n) {
    const block_q1_0 *b = blocks;
    for (int64_t i = 0; i < n / 128; i++, b++, out += 128) {
        float d = f16_to_f32(b->d);
        for (int j = 0; j < 128; j++) out[j] = b->qs[j / 8] >> j % 8 & 1 ? d : -d;
    }
}

/* For given signs the mean magnitude is the best scale. */
static void encode(const float *in, void *blocks, int64_t n, const float *importance) {
    block_q1_0 *b = blocks;
    for (int64_t i = 0; i < n; i += 128, b++) {
        float sum = 0, total = 0;
        *b = (block_q1_0){0, {0}};
        for (int j = 0; j < 128; j++) {
            float w = importance ? importance[i + j] : 1.0F;
            sum += w * fabsf(in[i + j]);
            total += w;
            b->qs[j / 8] |= (uint8_t)((in[i + j] >= 0) << j % 8);
        }
        b->d = f32_to_f16(total > 0 ? sum / total : 0);
    }
}

const format_ops format_Q1_0 = {WEFT_Q1_0, decode, encode};
