/* Q8_1: Q8_0 with the sum of its elements beside it: a format of activations, not of files.
 * SPDX-License-Identifier: MIT */
#include "format/format.h"

#include "format/blocks.h"
#include "format/half.h"
#include "format/search.h"

static void decode(const void *blocks, float *out, int64_t n) {
    const block_q8_1 *b = blocks;
    for (int64_t i = 0; i < n / 32; i++, b++, out += 32) {
        float d = f16_to_f32(b->d);
        for (int j = 0; j < 32; j++) out[j] = (float)b->qs[j] * d;
    }
}

static void encode(const float *in, void *blocks, int64_t n, const float *importance) {
    (void)importance;
    block_q8_1 *b = blocks;
    for (int64_t i = 0; i < n; i += 32, b++) {
        float d = search_peak(in + i, 32) / 127.0F, inverse = d != 0 ? 1.0F / d : 0;
        int sum = 0;
        for (int j = 0; j < 32; j++) {
            b->qs[j] = (int8_t)search_half_away(in[i + j] * inverse, -127, 127);
            sum += b->qs[j];
        }
        b->d = f32_to_f16(d);
        b->s = f32_to_f16((float)sum * d);
    }
}

const format_ops format_Q8_1 = {WEFT_Q8_1, decode, encode};
