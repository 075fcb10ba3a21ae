/* Q3_K: 16 sub-blocks of 16 with a signed 6-bit scale, x = d * (scale - 32) * q, q from -4 to 3:
 * two bits as in Q2_K, the third (bit k of hmask[j] for element 32 k + j) says that nothing is
 * taken off. SPDX-License-Identifier: MIT */
#include "format/format.h"

#include <stddef.h>

#include "format/blocks.h"
#include "format/half.h"
#include "format/kquant.h"
#include "format/search.h"

static void decode(const void *blocks, float *out, int64_t n) {
    const block_q3_k *b = blocks;
    for (int64_t i = 0; i < n / 256; i++, b++) {
        float d = f16_to_f32(b->d);
        for (int s = 0; s < 16; s++, out += 16) { /* a plain loop, which compilers vectorise */
            float scale = d * (float)(kquant_signed_scale(b->scales, s) - 32);
            const uint8_t *qs = b->qs + s / 8 * 32 + s % 2 * 16, *hmask = b->hmask + s % 2 * 16;
            int shift = s % 8 / 2 * 2, bit = s / 2;
            for (int j = 0; j < 16; j++) {
                int q = (qs[j] >> shift & 3) | (hmask[j] >> bit & 1) << 2;
                out[j] = scale * (float)(q - 4);
            }
        }
    }
}

static void encode_block(const float x[256], const float w[256], block_q3_k *b) {
    const search_levels levels = {-4, 3, NULL};
    int scales[16];
    float q[256];
    *b = (block_q3_k){.d = search_super_scale(levels, -32, 31, 16, x, w, scales, q)};
    for (int s = 0; s < 16; s++) kquant_signed_scale_put(b->scales, s, scales[s] + 32);
    for (int j = 0; j < 256; j++) {
        int u = search_index(levels, q[j]);
        twos_put(b->qs, j, u & 3);
        b->hmask[j % 32] |= (uint8_t)(u >> 2 << j / 32);
    }
}

static void encode(const float *in, void *blocks, int64_t n, const float *importance) {
    block_q3_k *b = blocks;
    float w[256];
    for (int64_t i = 0; i < n; i += 256, b++) {
        search_weights(importance ? importance + i : NULL, 256, w);
        encode_block(in + i, w, b);
    }
}

const format_ops format_Q3_K = {WEFT_Q3_K, decode, encode};
