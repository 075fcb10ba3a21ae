/* Q8_K: 256 elements, one f32 scale, and the sum of each 16: a format of activations, not of files.
 * SPDX-License-Identifier: MIT */
#include "format/format.h"

#include <math.h>

#include "format/blocks.h"
#include "format/search.h"

static void decode(const void *blocks, float *out, int64_t n) {
    const block_q8_k *b = blocks;
    for (int64_t i = 0; i < n / 256; i++, b++, out += 256) {
        for (int j = 0; j < 256; j++) out[j] = b->d * (float)b->qs[j];
    }
}

/* The element of largest magnitude becomes -127 exactly; halves round to even. */
static void encode(const float *in, void *blocks, int64_t n, const float *importance) {
    (void)importance;
    block_q8_k *b = blocks;
    for (int64_t i = 0; i < n; i += 256, b++) {
        float peak = 0;
        for (int j = 0; j < 256; j++)
            if (fabsf(in[i + j]) > fabsf(peak)) peak = in[i + j];
        float inverse = peak != 0 ? -127.0F / peak : 0;
        *b = (block_q8_k){peak != 0 ? 1.0F / inverse : 0, {0}, {0}};
        for (int j = 0; j < 256; j++) {
            b->qs[j] = (int8_t)search_round(in[i + j] * inverse, -128, 127);
            b->bsums[j / 16] = (int16_t)(b->bsums[j / 16] + b->qs[j]);
        }
    }
}

const format_ops format_Q8_K = {WEFT_Q8_K, decode, encode};
