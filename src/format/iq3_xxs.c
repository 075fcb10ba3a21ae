/* IQ3_XXS: eight sub-blocks of 32: eight 8-bit points of four magnitudes, then (in a u32) four 7-bit sign sets and a
 * 4-bit scale: x = d * (0.5 + scale) / 2 * magnitude * sign.
 * SPDX-License-Identifier: MIT */
#include "format/format.h"

#include "format/blocks.h"
#include "format/codebooks.h"
#include "format/half.h"

static void decode(const void *blocks, float *out, int64_t n) {
    const block_iq3_xxs *b = blocks;
    for (int64_t i = 0; i < n / 256; i++, b++, out += 256) {
        float d = f16_to_f32(b->d);
        for (int s = 0; s < 8; s++) {
            uint32_t signs = b->signs_scales[2 * s] | (uint32_t)b->signs_scales[2 * s + 1] << 16;
            float db = d * (0.5F + (float)(signs >> 28)) * 0.5F;
            for (int k = 0; k < 8; k++) {
                uint8_t eight = codebook_signs(signs >> 7 * (k / 2) & 127);
                uint32_t point = codebook_iq3_xxs[b->qs[8 * s + k]];
                codebook_signed(point, eight >> (k % 2 * 4), 4, db, out + 32 * s + 4 * k);
            }
        }
    }
}

const format_ops format_IQ3_XXS = {WEFT_IQ3_XXS, decode, NULL};
