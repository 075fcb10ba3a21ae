/* Q5_K: Q4_K with a fifth bit: bit s of qh[j] for element j of sub-block s.
 * SPDX-License-Identifier: MIT */
#include "format/format.h"

#include "format/blocks.h"
#include "format/half.h"
#include "format/kquant.h"

static void decode(const void *blocks, float *out, int64_t n) {
    const block_q5_k *b = blocks;
    for (int64_t i = 0; i < n / 256; i++, b++, out += 256) {
        float d = f16_to_f32(b->d), dmin = f16_to_f32(b->dmin);
        for (int s = 0; s < 8; s++) {
            kquant_pair p = kquant_pair_at(b->scales, s);
            float scale = d * (float)p.scale, min = dmin * (float)p.min;
            for (int j = 0; j < 32; j++) {
                int q = fours_at(b->qs, 32 * s + j) | (b->qh[j] >> s & 1) << 4;
                out[32 * s + j] = scale * (float)q - min;
            }
        }
    }
}

const format_ops format_Q5_K = {WEFT_Q5_K, decode, NULL};
