/* IQ4_NL: 32 elements, one scale, 16 uneven levels that fit a bell curve: x = d * level[q].
 * SPDX-License-Identifier: MIT */
#include "format/format.h"

#include <stddef.h>

#include "format/blocks.h"
#include "format/codebooks.h"
#include "format/half.h"
#include "format/search.h"

static void decode(const void *blocks, float *out, int64_t n) {
    const block_iq4_nl *b = blocks;
    for (int64_t i = 0; i < n / 32; i++, b++, out += 32) {
        float d = f16_to_f32(b->d);
        for (int j = 0; j < 16; j++) {
            out[j] = d * (float)codebook_iq4[b->qs[j] & 15];
            out[j + 16] = d * (float)codebook_iq4[b->qs[j] >> 4];
        }
    }
}

static void encode(const float *in, void *blocks, int64_t n, const float *importance) {
    const search_table table = search_table_of(codebook_iq4);
    const search_levels levels = {-127, 113, &table};
    block_iq4_nl *b = blocks;
    float w[32], q[32];
    for (int64_t i = 0; i < n; i += 32, b++) {
        search_weights(importance ? importance + i : NULL, 32, w);
        *b = (block_iq4_nl){f32_to_f16(search_scale(levels, in + i, w, 32, q)), {0}};
        float d = f16_to_f32(b->d);
        search_snap(levels, in + i, 32, d != 0 ? 1.0F / d : 0, q);
        for (int j = 0; j < 32; j++)
            b->qs[j % 16] |= (uint8_t)(search_index(levels, q[j]) << (j / 16 * 4));
    }
}

const format_ops format_IQ4_NL = {WEFT_IQ4_NL, decode, encode};
