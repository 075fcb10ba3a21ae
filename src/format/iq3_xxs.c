/* IQ3_XXS: eight sub-blocks of 32: eight 8-bit points of four magnitudes, then (in a u32) four
 * 7-bit sign sets and a 4-bit scale: x = d * (0.5 + scale) / 2 * magnitude * sign.
 * SPDX-License-Identifier: MIT */
#include "format/format.h"

#include <stddef.h>

#include "format/blocks.h"
#include "format/codebooks.h"
#include "format/half.h"
#include "format/search.h"
#include "format/search_lattice.h"

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

static void pack(const search_lattice_block *s, block_iq3_xxs *b) {
    *b = (block_iq3_xxs){.d = f32_to_f16(s->d)};
    for (int k = 0; k < 64; k++) b->qs[k] = (uint8_t)s->index[k];
    for (int j = 0; j < 8; j++) {
        uint32_t signs = (uint32_t)s->scales[j] << 28;
        for (int k = 0; k < 4; k++) signs |= (uint32_t)(s->signs[4 * j + k] & 127) << 7 * k;
        b->signs_scales[2 * j] = (uint16_t)signs;
        b->signs_scales[2 * j + 1] = (uint16_t)(signs >> 16);
    }
}

static void encode(const float *in, void *blocks, int64_t n, const float *importance) {
    block_iq3_xxs *b = blocks;
    lattice points;
    lattice_build(&points, NULL, codebook_iq3_xxs, 256, codebook_values3_xxs);
    const search_lattice search = {&points, SIGNS_EVEN, 32, 15, 0.25F, 0.8F, 1.2F, 5};
    search_lattice_block s;
    float w[256];
    for (int64_t i = 0; i < n; i += 256, b++) {
        search_weights(importance ? importance + i : NULL, 256, w);
        search_lattice_fit(&search, in + i, w, &s);
        pack(&s, b);
    }
}

const format_ops format_IQ3_XXS = {WEFT_IQ3_XXS, decode, encode};
