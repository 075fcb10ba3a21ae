/* TQ1_0: 256 elements of -1, 0, 1 under one scale, five to a byte. A byte is the ceiling of v * 256
 * / 243 for the number v of five digits in base 3, so that digit k is the top of (byte * 3^k mod
 * 256) * 3. Bytes 0..31 hold digit k of elements 32 k + j, bytes 32..47 then those of 160 + 16 k +
 * j, and qh four digits of 240 + 4 k + j. SPDX-License-Identifier: MIT */
#include "format/format.h"

#include "format/blocks.h"
#include "format/half.h"
#include "format/search.h"

static const uint8_t power[5] = {1, 3, 9, 27, 81};

static int digit(uint8_t byte, int k) { return (uint8_t)(byte * power[k]) * 3 >> 8; }

/* The byte whose digit k is t[k * stride], k < count <= 5. */
static uint8_t digits(const int *t, int stride, int count) {
    int v = 0;
    for (int k = 0; k < 5; k++) v = v * 3 + (k < count ? t[k * stride] : 0);
    return (uint8_t)((v * 256 + 242) / 243);
}

static void decode(const void *blocks, float *out, int64_t n) {
    const block_tq1_0 *b = blocks;
    for (int64_t i = 0; i < n / 256; i++, b++, out += 256) {
        float d = f16_to_f32(b->d);
        for (int j = 0; j < 160; j++) out[j] = d * (float)(digit(b->qs[j % 32], j / 32) - 1);
        for (int j = 0; j < 80; j++)
            out[160 + j] = d * (float)(digit(b->qs[32 + j % 16], j / 16) - 1);
        for (int j = 0; j < 16; j++) out[240 + j] = d * (float)(digit(b->qh[j % 4], j / 4) - 1);
    }
}

/* The largest magnitude is the scale, for ternary weights' sake; importance changes nothing. */
static void encode(const float *in, void *blocks, int64_t n, const float *importance) {
    (void)importance;
    block_tq1_0 *b = blocks;
    for (int64_t i = 0; i < n; i += 256, b++) {
        float d = search_peak(in + i, 256), inverse = d != 0 ? 1.0F / d : 0;
        int t[256];
        for (int j = 0; j < 256; j++) t[j] = 1 + search_half_away(in[i + j] * inverse, -1, 1);
        b->d = f32_to_f16(d);
        for (int j = 0; j < 32; j++) b->qs[j] = digits(t + j, 32, 5);
        for (int j = 0; j < 16; j++) b->qs[32 + j] = digits(t + 160 + j, 16, 5);
        for (int j = 0; j < 4; j++) b->qh[j] = digits(t + 240 + j, 4, 4);
    }
}

const format_ops format_TQ1_0 = {WEFT_TQ1_0, decode, encode};
