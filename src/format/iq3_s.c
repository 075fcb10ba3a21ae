/* IQ3_S: eight sub-blocks of 32 with a 4-bit scale, 9-bit points of four magnitudes (one bit in qh), a sign bit for each
 * element: x = d * (1 + 2 * scale) * magnitude * sign.
 * SPDX-License-Identifier: MIT */
#include "format/format.h"

#include "format/blocks.h"
#include "format/codebooks.h"
#include "format/half.h"

static void decode(const void *blocks, float *out, int64_t n) {
    const block_iq3_s *b = blocks;
    for (int64_t i = 0; i < n / 256; i++, b++, out += 256) {
        float d = f16_to_f32(b->d);
        for (int k = 0; k < 64; k++) {
            int s = k / 8, scale = b->scales[s / 2] >> (s % 2 * 4) & 15;
            float db = d * (float)(1 + 2 * scale);
            int q = b->qs[k] | (b->qh[s] >> k % 8 & 1) << 8;
            codebook_signed(codebook_iq3_s[q], b->signs[k / 2] >> (k % 2 * 4), 4, db, out + 4 * k);
        }
    }
}

const format_ops format_IQ3_S = {WEFT_IQ3_S, decode, NULL};
