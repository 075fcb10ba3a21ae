/* IQ2_XS: 16 sub-blocks of 16, each two u16 of a 9-bit point and a 7-bit sign set, and a 4-bit
 * scale: x = d * (0.5 + scale) / 4 * magnitude * sign. SPDX-License-Identifier: MIT */
#include "format/format.h"

#include <stddef.h>

#include "format/blocks.h"
#include "format/codebooks.h"
#include "format/half.h"
#include "format/search.h"
#include "format/search_lattice.h"

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

static void pack(const search_lattice_block *s, block_iq2_xs *b) {
    *b = (block_iq2_xs){.d = f32_to_f16(s->d)};
    for (int k = 0; k < 32; k++) b->qs[k] = (uint16_t)(s->index[k] | (s->signs[k] & 127) << 9);
    for (int j = 0; j < 16; j++) b->scales[j / 2] |= (uint8_t)(s->scales[j] << (j % 2 * 4));
}

static void encode(const float *in, void *blocks, int64_t n, const float *importance) {
    block_iq2_xs *b = blocks;
    lattice points;
    lattice_build(&points, codebook_iq2_xs, NULL, 512, codebook_values2);
    const search_lattice search = {&points, SIGNS_EVEN, 16, 15, 0.125F, 0.75F, 1.2F, 5};
    search_lattice_block s;
    float w[256];
    for (int64_t i = 0; i < n; i += 256, b++) {
        search_weights(importance ? importance + i : NULL, 256, w);
        search_lattice_fit(&search, in + i, w, &s);
        pack(&s, b);
    }
}

const format_ops format_IQ2_XS = {WEFT_IQ2_XS, decode, encode};
