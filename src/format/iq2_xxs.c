/* IQ2_XXS: eight sub-blocks of 32, each two u32: four 8-bit points of eight magnitudes, then four 7-bit sign sets and a
 * 4-bit scale: x = d * (0.5 + scale) / 4 * magnitude * sign.
 * SPDX-License-Identifier: MIT */
#include "format/format.h"

#include "format/blocks.h"
#include "format/codebooks.h"
#include "format/half.h"

static void decode(const void *blocks, float *out, int64_t n) {
    const block_iq2_xxs *b = blocks;
    for (int64_t i = 0; i < n / 256; i++, b++, out += 256) {
        float d = f16_to_f32(b->d);
        for (int s = 0; s < 8; s++) {
            const uint16_t *q = b->qs + 4 * s;
            uint32_t signs = q[2] | (uint32_t)q[3] << 16;
            float db = d * (0.5F + (float)(signs >> 28)) * 0.25F;
            for (int k = 0; k < 4; k++) {
                uint64_t point = codebook_iq2_xxs[q[k / 2] >> (k % 2 * 8) & 255];
                codebook_signed(point, codebook_signs(signs >> 7 * k & 127), 8, db,
                                out + 32 * s + 8 * k);
            }
        }
    }
}

const format_ops format_IQ2_XXS = {WEFT_IQ2_XXS, decode, NULL};
