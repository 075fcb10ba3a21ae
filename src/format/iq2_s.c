/* IQ2_S: 16 sub-blocks of 16 with a 4-bit scale, 10-bit points of eight magnitudes (two bits in qh), a sign bit for each
 * element: x = d * (0.5 + scale) / 4 * magnitude * sign.
 * SPDX-License-Identifier: MIT */
#include "format/format.h"

#include "format/blocks.h"
#include "format/codebooks.h"
#include "format/half.h"

static void decode(const void *blocks, float *out, int64_t n) {
    const block_iq2_s *b = blocks;
    for (int64_t i = 0; i < n / 256; i++, b++, out += 256) {
        float d = f16_to_f32(b->d);
        for (int k = 0; k < 32; k++) {
            int scale = b->scales[k / 4] >> (k / 2 % 2 * 4) & 15;
            float db = d * (0.5F + (float)scale) * 0.25F;
            int q = b->qs[k] | (b->qh[k / 4] >> (k % 4 * 2) & 3) << 8;
            codebook_signed(codebook_iq2_s[q], b->signs[k], 8, db, out + 8 * k);
        }
    }
}

const format_ops format_IQ2_S = {WEFT_IQ2_S, decode, NULL};
