/* Q8_0: 32 elements, one scale, x = d * q, q from -127 to 127.
 * SPDX-License-Identifier: MIT */
#include "format/format.h"

#include "format/blocks.h"
#include "format/half.h"
#include "format/search.h"

static void decode(const void *blocks, float *out, int64_t n) {
    const block_q8_0 *b = blocks;
    for (int64_t i = 0; i < n / 32; i++, b++, out += 32) {
        float d = f16_to_f32(b->d);
        for (int j = 0; j < 32; j++) out[j] = (float)b->qs[j] * d;
    }
}

/* One right answer: the largest magnitude becomes 127, halves round away from zero. Importance
 * changes nothing. */
static void encode(const float *in, void *blocks, int64_t n, const float *importance) {
    (void)importance;
    block_q8_0 *b = blocks;
    for (int64_t i = 0; i < n; i += 32, b++) {
        float d = search_peak(in + i, 32) / 127.0F, inverse = d != 0 ? 1.0F / d : 0;
        b->d = f32_to_f16(d);
        for (int j = 0; j < 32; j++)
            b->qs[j] = (int8_t)search_half_away(in[i + j] * inverse, -127, 127);
    }
}

const format_ops format_Q8_0 = {WEFT_Q8_0, decode, encode};
