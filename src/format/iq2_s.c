/* IQ2_S: 16 sub-blocks of 16 with a 4-bit scale, 10-bit points of eight magnitudes (two bits in
 * qh), a sign bit for each element: x = d * (0.5 + scale) / 4 * magnitude * sign.
 * SPDX-License-Identifier: MIT */
#include "format/format.h"

#include <stddef.h>

#include "format/blocks.h"
#include "format/codebooks.h"
#include "format/half.h"
#include "format/search.h"
#include "format/search_lattice.h"

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

static void pack(const search_lattice_block *s, block_iq2_s *b) {
    *b = (block_iq2_s){.d = f32_to_f16(s->d)};
    for (int k = 0; k < 32; k++) {
        b->qs[k] = (uint8_t)s->index[k];
        b->qh[k / 4] |= (uint8_t)(s->index[k] >> 8 << (k % 4 * 2));
        b->signs[k] = s->signs[k];
    }
    for (int j = 0; j < 16; j++) b->scales[j / 2] |= (uint8_t)(s->scales[j] << (j % 2 * 4));
}

static void encode(const float *in, void *blocks, int64_t n, const float *importance) {
    block_iq2_s *b = blocks;
    lattice points;
    lattice_build(&points, codebook_iq2_s, NULL, 1024, codebook_values2);
    const search_lattice search = {&points, SIGNS_FREE, 16, 15, 0.125F, 0.75F, 1.2F, 5};
    search_lattice_block s;
    float w[256];
    for (int64_t i = 0; i < n; i += 256, b++) {
        search_weights(importance ? importance + i : NULL, 256, w);
        search_lattice_fit(&search, in + i, w, &s);
        pack(&s, b);
    }
}

const format_ops format_IQ2_S = {WEFT_IQ2_S, decode, encode};
