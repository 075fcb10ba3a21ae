/* Q2_0: 64 elements, one scale, x = d * (q - 1), q from 0 to 3.
 * SPDX-License-Identifier: MIT */
#include "format/format.h"

#include <stddef.h>

#include "format/blocks.h"
#include "format/half.h"
#include "format/search.h"

static void decode(const void *blocks, float *out, int64_t n) {
    const block_q2_0 *b = blocks;
    for (int64_t i = 0; i < n / 64; i++, b++, out += 64) {
        float d = f16_to_f32(b->d);
        for (int j = 0; j < 64; j++) out[j] = d * (float)((b->qs[j / 4] >> (j % 4 * 2) & 3) - 1);
    }
}

static void encode(const float *in, void *blocks, int64_t n, const float *importance) {
    const search_levels levels = {-1, 2, NULL};
    block_q2_0 *b = blocks;
    float w[64], q[64];
    for (int64_t i = 0; i < n; i += 64, b++) {
        search_weights(importance ? importance + i : NULL, 64, w);
        *b = (block_q2_0){f32_to_f16(search_scale(levels, in + i, w, 64, q)), {0}};
        float d = f16_to_f32(b->d);
        search_snap(levels, in + i, 64, d != 0 ? 1.0F / d : 0, q);
        for (int j = 0; j < 64; j++)
            b->qs[j / 4] |= (uint8_t)(search_index(levels, q[j]) << (j % 4 * 2));
    }
}

const format_ops format_Q2_0 = {WEFT_Q2_0, decode, encode};
