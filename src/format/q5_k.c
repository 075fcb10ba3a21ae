/* Q5_K: Q4_K with a fifth bit: bit s of qh[j] for element j of sub-block s.
 * SPDX-License-Identifier: MIT */
#include "format/format.h"

#include <stddef.h>

#include "format/blocks.h"
#include "format/half.h"
#include "format/kquant.h"
#include "format/search.h"

static void decode(const void *blocks, float *out, int64_t n) {
    const block_q5_k *b = blocks;
    for (int64_t i = 0; i < n / 256; i++, b++) {
        float d = f16_to_f32(b->d), dmin = f16_to_f32(b->dmin);
        for (int s = 0; s < 8; s++, out += 32) { /* plain loops, which compilers vectorise */
            kquant_pair p = kquant_pair_at(b->scales, s);
            float scale = d * (float)p.scale, min = dmin * (float)p.min;
            const uint8_t *qs = b->qs + s / 2 * 32, *qh = b->qh;
            int shift = s % 2 * 4;
            for (int j = 0; j < 32; j++) {
                int q = (qs[j] >> shift & 15) | (qh[j] >> s & 1) << 4;
                out[j] = scale * (float)q - min;
            }
        }
    }
}

static void encode_block(const float x[256], const float w[256], block_q5_k *b) {
    int scales[8], mins[8];
    float q[256];
    search_pair d = search_super_affine(31, 63, 8, x, w, scales, mins, q);
    *b = (block_q5_k){.d = d.d, .dmin = d.dmin};
    for (int s = 0; s < 8; s++) kquant_pair_put(b->scales, s, (kquant_pair){scales[s], mins[s]});
    for (int j = 0; j < 256; j++) {
        fours_put(b->qs, j, (int)q[j] & 15);
        b->qh[j % 32] |= (uint8_t)((int)q[j] >> 4 << j / 32);
    }
}

static void encode(const float *in, void *blocks, int64_t n, const float *importance) {
    block_q5_k *b = blocks;
    float w[256];
    for (int64_t i = 0; i < n; i += 256, b++) {
        search_weights(importance ? importance + i : NULL, 256, w);
        encode_block(in + i, w, b);
    }
}

const format_ops format_Q5_K = {WEFT_Q5_K, decode, encode};
