/* TQ1_0: 256 elements of -1, 0, 1 under one scale, five to a byte. A byte is the ceiling of v * 256 / 243 for the number
 * v of five digits in base 3, so that digit k is the top of (byte * 3^k mod 256) * 3. Bytes 0..31 hold digit k of
 * elements 32 k + j, bytes 32..47 then those of 160 + 16 k + j, and qh four digits of 240 + 4 k + j.
 * SPDX-License-Identifier: MIT */
#include "format/format.h"

#include "format/blocks.h"
#include "format/half.h"

static const uint8_t power[5] = {1, 3, 9, 27, 81};

static int digit(uint8_t byte, int k) { return (uint8_t)(byte * power[k]) * 3 >> 8; }

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

const format_ops format_TQ1_0 = {WEFT_TQ1_0, decode, NULL};
