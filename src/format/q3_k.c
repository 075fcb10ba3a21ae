/* Q3_K: 16 sub-blocks of 16 with a signed 6-bit scale, x = d * (scale - 32) * q, q from -4 to 3: two bits as in Q2_K,
 * the third (bit k of hmask[j] for element 32 k + j) says that nothing is taken off.
 * SPDX-License-Identifier: MIT */
#include "format/format.h"

#include "format/blocks.h"
#include "format/half.h"
#include "format/kquant.h"

static void decode(const void *blocks, float *out, int64_t n) {
    const block_q3_k *b = blocks;
    for (int64_t i = 0; i < n / 256; i++, b++, out += 256) {
        float d = f16_to_f32(b->d);
        for (int s = 0; s < 16; s++) {
            float scale = d * (float)(kquant_signed_scale(b->scales, s) - 32);
            for (int j = 16 * s; j < 16 * s + 16; j++) {
                int high = b->hmask[j % 32] >> (j / 32) & 1;
                out[j] = scale * (float)(twos_at(b->qs, j) - (high ? 0 : 4));
            }
        }
    }
}

const format_ops format_Q3_K = {WEFT_Q3_K, decode, NULL};
