/* Q2_K: 16 sub-blocks of 16 with 4-bit scale and minimum, x = d * scale * q - dmin * min. Byte j of each 32 holds
 * element j of four consecutive runs of 32, lowest bits first.
 * SPDX-License-Identifier: MIT */
#include "format/format.h"

#include "format/blocks.h"
#include "format/half.h"
#include "format/kquant.h"

static void decode(const void *blocks, float *out, int64_t n) {
    const block_q2_k *b = blocks;
    for (int64_t i = 0; i < n / 256; i++, b++, out += 256) {
        float d = f16_to_f32(b->d), dmin = f16_to_f32(b->dmin);
        for (int s = 0; s < 16; s++) {
            float scale = d * (float)(b->scales[s] & 15), min = dmin * (float)(b->scales[s] >> 4);
            for (int j = 0; j < 16; j++)
                out[16 * s + j] = scale * (float)twos_at(b->qs, 16 * s + j) - min;
        }
    }
}

const format_ops format_Q2_K = {WEFT_Q2_K, decode, NULL};
