/* Q6_K: 16 sub-blocks of 16 with an 8-bit scale, x = d * scale * (q - 32). In each half of 128,
 * byte j of ql's 64 holds the low four bits of elements j and j + 64, byte j of qh's 32 the high
 * two of j, j + 32, j + 64 and j + 96. SPDX-License-Identifier: MIT */
#include "format/format.h"

#include <stddef.h>

#include "format/blocks.h"
#include "format/half.h"
#include "format/search.h"

/* 32 elements: `low` and `high` are shifted to theirs. */
static void decode_run(const uint8_t *ql, int low, const uint8_t *qh, int high, const float *scale,
                       float *out) {
    for (int h = 0; h < 2; h++) /* plain loops, which compilers vectorise */
        for (int j = 16 * h; j < 16 * h + 16; j++) {
            int q = (ql[j] >> low & 15) | (qh[j] >> high & 3) << 4;
            out[j] = scale[h] * (float)(q - 32);
        }
}

static void decode(const void *blocks, float *out, int64_t n) {
    const block_q6_k *b = blocks;
    for (int64_t i = 0; i < n / 256; i++, b++, out += 256) {
        float d = f16_to_f32(b->d), scale[16];
        for (int s = 0; s < 16; s++) scale[s] = d * (float)b->scales[s];
        for (int run = 0; run < 8; run++) {
            int half = run / 4, part = run % 4;
            decode_run(b->ql + 64 * half + part % 2 * 32, part / 2 * 4, b->qh + 32 * half, part * 2,
                       scale + 2 * run, out + 32 * run);
        }
    }
}

static void encode_block(const float x[256], const float w[256], block_q6_k *b) {
    const search_levels levels = {-32, 31, NULL};
    int scales[16];
    float q[256];
    *b = (block_q6_k){.d = search_super_scale(levels, -128, 127, 16, x, w, scales, q)};
    for (int s = 0; s < 16; s++) b->scales[s] = (int8_t)scales[s];
    for (int j = 0; j < 256; j++) {
        int u = search_index(levels, q[j]), half = j / 128, k = j % 128;
        b->ql[64 * half + k % 64] |= (uint8_t)((u & 15) << (k / 64 * 4));
        b->qh[32 * half + k % 32] |= (uint8_t)(u >> 4 << (k / 32 * 2));
    }
}

static void encode(const float *in, void *blocks, int64_t n, const float *importance) {
    block_q6_k *b = blocks;
    float w[256];
    for (int64_t i = 0; i < n; i += 256, b++) {
        search_weights(importance ? importance + i : NULL, 256, w);
        encode_block(in + i, w, b);
    }
}

const format_ops format_Q6_K = {WEFT_Q6_K, decode, encode};
