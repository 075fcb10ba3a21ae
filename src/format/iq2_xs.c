/* IQ2_XS: 16 sub-blocks of 16, each two u16 of a 9-bit point and a 7-bit sign set, and a 4-bit scale:
 * x = d * (0.5 + scale) / 4 * magnitude * sign.
 * SPDX-License-Identifier: MIT */
#include "format/format.h"

#include "format/blocks.h"
#include "format/codebooks.h"
#include "format/half.h"

static void decode(const void *blocks, float *out, int64_t n) {
    const block_iq2_xs *b = blocks;
    for (int64_t i = 0; i < n / 256; i++, b++, out += 256) {
        float d = f16_to_f32(b->d);
        for (int k = 0; k < 32; k++) {
            int scale = b->scales[k / 4] >> (k / 2 % 2 * 4) & 15;
            float db = d * (0.5F + (float)scale) * 0.25F;
            codebook_signed(codebook_iq2_xs[b->qs[k] & 511], codebook_signs(b->qs[k] >> 9), 8, db,
                            out + 8 * k);
        }
    }
}

const format_ops format_IQ2_XS = {WEFT_IQ2_XS, decode, NULL};
