/* IQ4_XS: IQ4_NL's levels in eight sub-blocks of 32 with a signed 6-bit scale each, x = d * (scale
 * - 32) * level[q]. SPDX-License-Identifier: MIT */
#include "format/format.h"

#include <stddef.h>

#include "format/blocks.h"
#include "format/codebooks.h"
#include "format/half.h"
#include "format/search.h"

static void decode(const void *blocks, float *out, int64_t n) {
    const block_iq4_xs *b = blocks;
    for (int64_t i = 0; i < n / 256; i++, b++, out += 256) {
        float d = f16_to_f32(b->d);
        for (int s = 0; s < 8; s++) {
            int scale = (b->scales_l[s / 2] >> (s % 2 * 4) & 15) | (b->scales_h >> 2 * s & 3) << 4;
            float dl = d * (float)(scale - 32);
            for (int j = 0; j < 16; j++) {
                uint8_t q = b->qs[16 * s + j];
                out[32 * s + j] = dl * (float)codebook_iq4[q & 15];
                out[32 * s + j + 16] = dl * (float)codebook_iq4[q >> 4];
            }
        }
    }
}

static void encode_block(search_levels levels, const float x[256], const float w[256],
                         block_iq4_xs *b) {
    int scales[8];
    float q[256];
    *b = (block_iq4_xs){.d = search_super_scale(levels, -32, 31, 8, x, w, scales, q)};
    for (int s = 0; s < 8; s++) {
        int u = scales[s] + 32;
        b->scales_l[s / 2] |= (uint8_t)((u & 15) << (s % 2 * 4));
        b->scales_h = (uint16_t)(b->scales_h | u >> 4 << 2 * s);
    }
    for (int j = 0; j < 256; j++)
        b->qs[j / 32 * 16 + j % 16] |= (uint8_t)(search_index(levels, q[j]) << (j / 16 % 2 * 4));
}

static void encode(const float *in, void *blocks, int64_t n, const float *importance) {
    const search_table table = search_table_of(codebook_iq4);
    const search_levels levels = {-127, 113, &table};
    block_iq4_xs *b = blocks;
    float w[256];
    for (int64_t i = 0; i < n; i += 256, b++) {
        search_weights(importance ? importance + i : NULL, 256, w);
        encode_block(levels, in + i, w, b);
    }
}

const format_ops format_IQ4_XS = {WEFT_IQ4_XS, decode, encode};
