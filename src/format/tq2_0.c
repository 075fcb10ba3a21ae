/* TQ2_0: 256 elements of -1, 0, 1 (and 2, which no encoder makes) under one scale, two bits each:
 * laid out as Q2_K's. SPDX-License-Identifier: MIT */
#include "format/format.h"

#include "format/blocks.h"
#include "format/half.h"
#include "format/kquant.h"
#include "format/search.h"

static void decode(const void *blocks, float *out, int64_t n) {
    const block_tq2_0 *b = blocks;
    for (int64_t i = 0; i < n / 256; i++, b++, out += 256) {
        float d = f16_to_f32(b->d);
        for (int j = 0; j < 256; j++) out[j] = d * (float)(twos_at(b->qs, j) - 1);
    }
}

/* The largest magnitude is the scale, for ternary weights' sake; importance changes nothing. */
static void encode(const float *in, void *blocks, int64_t n, const float *importance) {
    (void)importance;
    block_tq2_0 *b = blocks;
    for (int64_t i = 0; i < n; i += 256, b++) {
        float d = search_peak(in + i, 256), inverse = d != 0 ? 1.0F / d : 0;
        *b = (block_tq2_0){{0}, f32_to_f16(d)};
        for (int j = 0; j < 256; j++)
            twos_put(b->qs, j, 1 + search_half_away(in[i + j] * inverse, -1, 1));
    }
}

const format_ops format_TQ2_0 = {WEFT_TQ2_0, decode, encode};
