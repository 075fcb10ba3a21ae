/* IQ2_XXS: eight sub-blocks of 32, each two u32: four 8-bit points of eight magnitudes, then four
 * 7-bit sign sets and a 4-bit scale: x = d * (0.5 + scale) / 4 * magnitude * sign.
 * SPDX-License-Identifier: MIT */
#include "format/format.h"

#include <stddef.h>

#include "format/blocks.h"
#include "format/codebooks.h"
#include "format/half.h"
#include "format/search.h"
#include "format/search_lattice.h"

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

static void pack(const search_lattice_block *s, block_iq2_xxs *b) {
    *b = (block_iq2_xxs){.d = f32_to_f16(s->d)};
    for (int j = 0; j < 8; j++) {
        uint32_t signs = (uint32_t)s->scales[j] << 28;
        for (int k = 0; k < 4; k++) {
            signs |= (uint32_t)(s->signs[4 * j + k] & 127) << 7 * k;
            b->qs[4 * j + k / 2] =
                (uint16_t)(b->qs[4 * j + k / 2] | s->index[4 * j + k] << (k % 2 * 8));
        }
        b->qs[4 * j + 2] = (uint16_t)signs;
        b->qs[4 * j + 3] = (uint16_t)(signs >> 16);
    }
}

static void encode(const float *in, void *blocks, int64_t n, const float *importance) {
    block_iq2_xxs *b = blocks;
    lattice points;
    lattice_build(&points, codebook_iq2_xxs, NULL, 256, codebook_values2);
    const search_lattice search = {&points, SIGNS_EVEN, 32, 15, 0.125F, 0.75F, 1.2F, 5};
    search_lattice_block s;
    float w[256];
    for (int64_t i = 0; i < n; i += 256, b++) {
        search_weights(importance ? importance + i : NULL, 256, w);
        search_lattice_fit(&search, in + i, w, &s);
        pack(&s, b);
    }
}

const format_ops format_IQ2_XXS = {WEFT_IQ2_XXS, decode, encode};
