/* IQ1_S: eight sub-blocks of 32: 11-bit points of eight values -1, 0, 1 (three bits each in qh[s]),
 * then a 3-bit scale and the sign of a shift by 1/8: x = d * (2 * scale + 1) * (value + shift).
 * SPDX-License-Identifier: MIT */
#include "format/format.h"

#include <stddef.h>

#include "format/blocks.h"
#include "format/codebooks.h"
#include "format/half.h"
#include "format/search.h"
#include "format/search_lattice.h"

static void decode(const void *blocks, float *out, int64_t n) {
    const block_iq1_s *b = blocks;
    for (int64_t i = 0; i < n / 256; i++, b++, out += 256) {
        float d = f16_to_f32(b->d);
        for (int k = 0; k < 32; k++) {
            uint16_t h = b->qh[k / 4];
            float dl = d * (float)(2 * (h >> 12 & 7) + 1), shift = h & 0x8000 ? -0.125F : 0.125F;
            uint64_t point = codebook_iq1[b->qs[k] | (h >> (k % 4 * 3) & 7) << 8];
            for (int j = 0; j < 8; j++)
                out[8 * k + j] = dl * ((float)codebook_at(point, j) + shift);
        }
    }
}

static void pack(const search_lattice_block *s, block_iq1_s *b) {
    *b = (block_iq1_s){.d = f32_to_f16(s->d)};
    for (int k = 0; k < 32; k++) {
        b->qs[k] = (uint8_t)s->index[k];
        b->qh[k / 4] = (uint16_t)(b->qh[k / 4] | s->index[k] >> 8 << (k % 4 * 3));
    }
    for (int j = 0; j < 8; j++)
        b->qh[j] = (uint16_t)(b->qh[j] | s->scales[j] << 12 | s->shift[4 * j] << 15);
}

static void encode(const float *in, void *blocks, int64_t n, const float *importance) {
    block_iq1_s *b = blocks;
    lattice points;
    lattice_build(&points, codebook_iq1, NULL, 2048, codebook_values1);
    const search_lattice search = {&points, SIGNS_SHIFT_SUB, 32, 7, 1.0F, 1.2F, 2.2F, 5};
    search_lattice_block s;
    float w[256];
    for (int64_t i = 0; i < n; i += 256, b++) {
        search_weights(importance ? importance + i : NULL, 256, w);
        search_lattice_fit(&search, in + i, w, &s);
        pack(&s, b);
    }
}

const format_ops format_IQ1_S = {WEFT_IQ1_S, decode, encode};
