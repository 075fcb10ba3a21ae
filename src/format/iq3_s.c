/* IQ3_S: eight sub-blocks of 32 with a 4-bit scale, 9-bit points of four magnitudes (one bit in
 * qh), a sign bit for each element: x = d * (1 + 2 * scale) * magnitude * sign.
 * SPDX-License-Identifier: MIT */
#include "format/format.h"

#include <stddef.h>

#include "format/blocks.h"
#include "format/codebooks.h"
#include "format/half.h"
#include "format/search.h"
#include "format/search_lattice.h"

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

static void pack(const search_lattice_block *s, block_iq3_s *b) {
    *b = (block_iq3_s){.d = f32_to_f16(s->d)};
    for (int k = 0; k < 64; k++) {
        b->qs[k] = (uint8_t)s->index[k];
        b->qh[k / 8] |= (uint8_t)(s->index[k] >> 8 << k % 8);
    }
    for (int k = 0; k < 32; k++) b->signs[k] = s->signs[k];
    for (int j = 0; j < 8; j++) b->scales[j / 2] |= (uint8_t)(s->scales[j] << (j % 2 * 4));
}

static void encode(const float *in, void *blocks, int64_t n, const float *importance) {
    block_iq3_s *b = blocks;
    lattice points;
    lattice_build(&points, NULL, codebook_iq3_s, 512, codebook_values3_s);
    const search_lattice search = {&points, SIGNS_FREE, 32, 15, 1.0F, 0.8F, 1.2F, 5};
    search_lattice_block s;
    float w[256];
    for (int64_t i = 0; i < n; i += 256, b++) {
        search_weights(importance ? importance + i : NULL, 256, w);
        search_lattice_fit(&search, in + i, w, &s);
        pack(&s, b);
    }
}

const format_ops format_IQ3_S = {WEFT_IQ3_S, decode, encode};
