/* Q2_K: 16 sub-blocks of 16 with 4-bit scale and minimum, x = d * scale * q - dmin * min. Byte j of
 * each 32 holds element j of four consecutive runs of 32, lowest bits first.
 * SPDX-License-Identifier: MIT */
#include "format/format.h"

#include <stddef.h>

#include "format/blocks.h"
#include "format/half.h"
#include "format/kquant.h"
#include "format/search.h"

static void decode(const void *blocks, float *out, int64_t n) {
    const block_q2_k *b = blocks;
    for (int64_t i = 0; i < n / 256; i++, b++) {
        float d = f16_to_f32(b->d), dmin = f16_to_f32(b->dmin);
        for (int s = 0; s < 16; s++, out += 16) { /* a plain loop, which compilers vectorise */
            float scale = d * (float)(b->scales[s] & 15), min = dmin * (float)(b->scales[s] >> 4);
            const uint8_t *qs = b->qs + s / 8 * 32 + s % 2 * 16;
            int shift = s % 8 / 2 * 2;
            for (int j = 0; j < 16; j++) out[j] = scale * (float)(qs[j] >> shift & 3) - min;
        }
    }
}

static void encode_block(const float x[256], const float w[256], block_q2_k *b) {
    int scales[16], mins[16];
    float q[256];
    search_pair d = search_super_affine(3, 15, 16, x, w, scales, mins, q);
    *b = (block_q2_k){.d = d.d, .dmin = d.dmin};
    for (int s = 0; s < 16; s++) b->scales[s] = (uint8_t)(scales[s] | mins[s] << 4);
    for (int j = 0; j < 256; j++) twos_put(b->qs, j, (int)q[j]);
}

static void encode(const float *in, void *blocks, int64_t n, const float *importance) {
    block_q2_k *b = blocks;
    float w[256];
    for (int64_t i = 0; i < n; i += 256, b++) {
        search_weights(importance ? importance + i : NULL, 256, w);
        encode_block(in + i, w, b);
    }
}

const format_ops format_Q2_K = {WEFT_Q2_K, decode, encode};
