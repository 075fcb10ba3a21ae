/* Q5_1: 32 elements, a scale and an offset, x = d * q + m; the fifth bits are apart.
 * SPDX-License-Identifier: MIT */
#include "format/format.h"

#include "format/blocks.h"
#include "format/fives.h"
#include "format/half.h"
#include "format/search.h"

static void decode(const void *blocks, float *out, int64_t n) {
    const block_q5_1 *b = blocks;
    for (int64_t i = 0; i < n / 32; i++, b++, out += 32) {
        float d = f16_to_f32(b->d), m = f16_to_f32(b->m);
        uint32_t fifth = b->qh[0] | (uint32_t)b->qh[1] << 8 | (uint32_t)b->qh[2] << 16 |
                         (uint32_t)b->qh[3] << 24;
        for (int j = 0; j < 16; j++) { /* a plain loop, which compilers vectorise */
            int low = (b->qs[j] & 15) | (int)(fifth >> j & 1) << 4;
            int high = b->qs[j] >> 4 | (int)(fifth >> (j + 16) & 1) << 4;
            out[j] = d * (float)low + m;
            out[j + 16] = d * (float)high + m;
        }
    }
}

/* The plain rule that files in circulation follow: the smallest element becomes 0 and the
 * largest 31. */
static search_line plain(const float x[32], float q[32]) {
    float lowest = x[0], highest = x[0];
    for (int j = 1; j < 32; j++) {
        lowest = x[j] < lowest ? x[j] : lowest;
        highest = x[j] > highest ? x[j] : highest;
    }
    float d = (highest - lowest) / 31.0F, inverse = d != 0 ? 1.0F / d : 0;
    for (int j = 0; j < 32; j++)
        q[j] = (float)search_floor((x[j] - lowest) * inverse + 0.5F, 0, 31);
    return (search_line){d, lowest};
}

static search_line searched(const float x[32], const float *importance, float q[32]) {
    search_line line = search_affine(31, true, x, importance, 32, q);
    float d = f16_to_f32(f32_to_f16(line.scale)), m = f16_to_f32(f32_to_f16(line.offset)),
          shifted[32];
    for (int j = 0; j < 32; j++) shifted[j] = x[j] - m;
    search_snap((search_levels){0, 31, NULL}, shifted, 32, d != 0 ? 1.0F / d : 0, q);
    return line;
}

static void encode(const float *in, void *blocks, int64_t n, const float *importance) {
    block_q5_1 *b = blocks;
    for (int64_t i = 0; i < n; i += 32, b++) {
        float q[32];
        search_line line = importance ? searched(in + i, importance + i, q) : plain(in + i, q);
        *b = (block_q5_1){f32_to_f16(line.scale), f32_to_f16(line.offset), {0}, {0}};
        for (int j = 0; j < 32; j++) fives_put(b->qs, b->qh, j, (int)q[j]);
    }
}

const format_ops format_Q5_1 = {WEFT_Q5_1, decode, encode};
