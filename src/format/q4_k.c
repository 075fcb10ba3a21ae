/* Q4_K: eight sub-blocks of 32 with 6-bit scale and minimum, x = d * scale * q - dmin * min. Byte j
 * of each 32 holds element j of two consecutive runs of 32, low half first.
 * SPDX-License-Identifier: MIT */
#include "format/format.h"

#include <stddef.h>

#include "format/blocks.h"
#include "format/half.h"
#include "format/kquant.h"
#include "format/search.h"

static void decode(const void *blocks, float *out, int64_t n) {
    const block_q4_k *b = blocks;
    for (int64_t i = 0; i < n / 256; i++, b++) {
        float d = f16_to_f32(b->d), dmin = f16_to_f32(b->dmin);
        for (int s = 0; s < 8; s += 2, out += 64) { /* plain loops, which compilers vectorise */
            kquant_pair p = kquant_pair_at(b->scales, s), r = kquant_pair_at(b->scales, s + 1);
            float scale = d * (float)p.scale, min = dmin * (float)p.min;
            float scale_b = d * (float)r.scale, min_b = dmin * (float)r.min;
            const uint8_t *qs = b->qs + 16 * s;
            for (int j = 0; j < 32; j++) out[j] = scale * (float)(qs[j] & 15) - min;
            for (int j = 0; j < 32; j++) out[32 + j] = scale_b * (float)(qs[j] >> 4) - min_b;
        }
    }
}

static void encode_block(const float x[256], const float w[256], block_q4_k *b) {
    int scales[8], mins[8];
    float q[256];
    search_pair d = search_super_affine(15, 63, 8, x, w, scales, mins, q);
    *b = (block_q4_k){.d = d.d, .dmin = d.dmin};
    for (int s = 0; s < 8; s++) kquant_pair_put(b->scales, s, (kquant_pair){scales[s], mins[s]});
    for (int j = 0; j < 256; j++) fours_put(b->qs, j, (int)q[j]);
}

static void encode(const float *in, void *blocks, int64_t n, const float *importance) {
    block_q4_k *b = blocks;
    float w[256];
    for (int64_t i = 0; i < n; i += 256, b++) {
        search_weights(importance ? importance + i : NULL, 256, w);
        encode_block(in + i, w, b);
    }
}

const format_ops format_Q4_K = {WEFT_Q4_K, decode, encode};
