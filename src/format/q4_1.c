/* Q4_1: 32 elements, a scale and an offset, x = d * q + m.
 * SPDX-License-Identifier: MIT */
#include "format/format.h"

#include "format/blocks.h"
#include "format/half.h"
#include "format/search.h"

static void decode(const void *blocks, float *out, int64_t n) {
    const block_q4_1 *b = blocks;
    for (int64_t i = 0; i < n / 32; i++, b++, out += 32) {
        float d = f16_to_f32(b->d), m = f16_to_f32(b->m);
        for (int j = 0; j < 16; j++) {
            out[j] = d * (float)(b->qs[j] & 15) + m;
            out[j + 16] = d * (float)(b->qs[j] >> 4) + m;
        }
    }
}

/* The plain rule that files in circulation follow: the smallest element becomes 0 and the
 * largest 15. */
static search_line plain(const float x[32], float q[32]) {
    float lowest = x[0], highest = x[0];
    for (int j = 1; j < 32; j++) {
        lowest = x[j] < lowest ? x[j] : lowest;
        highest = x[j] > highest ? x[j] : highest;
    }
    float d = (highest - lowest) / 15.0F, inverse = d != 0 ? 1.0F / d : 0;
    for (int j = 0; j < 32; j++)
        q[j] = (float)search_floor((x[j] - lowest) * inverse + 0.5F, 0, 15);
    return (search_line){d, lowest};
}

static search_line searched(const float x[32], const float *importance, float q[32]) {
    search_line line = search_affine(15, true, x, importance, 32, q);
    float d = f16_to_f32(f32_to_f16(line.scale)), m = f16_to_f32(f32_to_f16(line.offset)),
          shifted[32];
    for (int j = 0; j < 32; j++) shifted[j] = x[j] - m;
    search_snap((search_levels){0, 15, NULL}, shifted, 32, d != 0 ? 1.0F / d : 0, q);
    return line;
}

static void encode(const float *in, void *blocks, int64_t n, const float *importance) {
    block_q4_1 *b = blocks;
    for (int64_t i = 0; i < n; i += 32, b++) {
        float q[32];
        search_line line = importance ? searched(in + i, importance + i, q) : plain(in + i, q);
        *b = (block_q4_1){f32_to_f16(line.scale), f32_to_f16(line.offset), {0}};
        for (int j = 0; j < 32; j++) b->qs[j % 16] |= (uint8_t)((int)q[j] << (j / 16 * 4));
    }
}

const format_ops format_Q4_1 = {WEFT_Q4_1, decode, encode};
