/* Q5_0: 32 elements, one scale, x = d * (q - 16); the fifth bits are apart.
 * SPDX-License-Identifier: MIT */
#include "format/format.h"

#include <math.h>

#include "format/blocks.h"
#include "format/fives.h"
#include "format/half.h"
#include "format/search.h"

static void decode(const void *blocks, float *out, int64_t n) {
    const block_q5_0 *b = blocks;
    for (int64_t i = 0; i < n / 32; i++, b++, out += 32) {
        float d = f16_to_f32(b->d);
        uint32_t fifth = b->qh[0] | (uint32_t)b->qh[1] << 8 | (uint32_t)b->qh[2] << 16 |
                         (uint32_t)b->qh[3] << 24;
        for (int j = 0; j < 16; j++) { /* a plain loop, which compilers vectorise */
            int low = (b->qs[j] & 15) | (int)(fifth >> j & 1) << 4;
            int high = b->qs[j] >> 4 | (int)(fifth >> (j + 16) & 1) << 4;
            out[j] = d * (float)(low - 16);
            out[j + 16] = d * (float)(high - 16);
        }
    }
}

/* The plain rule that files in circulation follow: the largest element becomes -16 exactly. */
static float plain(const float x[32], int q[32]) {
    float peak = 0;
    for (int j = 0; j < 32; j++)
        if (fabsf(x[j]) > fabsf(peak)) peak = x[j];
    float d = peak / -16.0F, inverse = d != 0 ? 1.0F / d : 0;
    for (int j = 0; j < 32; j++) q[j] = search_floor(x[j] * inverse + 16.5F, 0, 31);
    return d;
}

static float searched(const float x[32], const float *importance, int q[32]) {
    const search_levels levels = {-16, 15, NULL};
    float level[32], d = f16_to_f32(f32_to_f16(search_scale(levels, x, importance, 32, level)));
    search_snap(levels, x, 32, d != 0 ? 1.0F / d : 0, level);
    for (int j = 0; j < 32; j++) q[j] = search_index(levels, level[j]);
    return d;
}

static void encode(const float *in, void *blocks, int64_t n, const float *importance) {
    block_q5_0 *b = blocks;
    for (int64_t i = 0; i < n; i += 32, b++) {
        int q[32];
        *b = (block_q5_0){
            f32_to_f16(importance ? searched(in + i, importance + i, q) : plain(in + i, q)),
            {0},
            {0}};
        for (int j = 0; j < 32; j++) fives_put(b->qs, b->qh, j, q[j]);
    }
}

const format_ops format_Q5_0 = {WEFT_Q5_0, decode, encode};
