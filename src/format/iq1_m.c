/* IQ1_M: 16 sub-blocks of 16 with a 3-bit scale; points as in IQ1_S, a shift's sign for each eight
 * (qh: three bits of the point and that sign); the f16 scale is spread over the top four bits of
 * the four words of scales. SPDX-License-Identifier: MIT */
#include "format/format.h"

#include <stddef.h>

#include "format/blocks.h"
#include "format/codebooks.h"
#include "format/half.h"
#include "format/search.h"
#include "format/search_lattice.h"

static uint16_t spread_scale(const block_iq1_m *b) {
    return (uint16_t)(b->scales[0] >> 12 | (b->scales[1] >> 12) << 4 | (b->scales[2] >> 12) << 8 |
                      (b->scales[3] >> 12) << 12);
}

static void decode(const void *blocks, float *out, int64_t n) {
    const block_iq1_m *b = blocks;
    for (int64_t i = 0; i < n / 256; i++, b++, out += 256) {
        float d = f16_to_f32(spread_scale(b));
        for (int k = 0; k < 32; k++) {
            int h = b->qh[k / 2] >> (k % 2 * 4), s = k / 2;
            float dl = d * (float)(2 * (b->scales[s / 4] >> (s % 4 * 3) & 7) + 1);
            float shift = h & 8 ? -0.125F : 0.125F;
            uint64_t point = codebook_iq1[b->qs[k] | (h & 7) << 8];
            for (int j = 0; j < 8; j++)
                out[8 * k + j] = dl * ((float)codebook_at(point, j) + shift);
        }
    }
}

static void pack(const search_lattice_block *s, block_iq1_m *b) {
    uint16_t d = f32_to_f16(s->d);
    *b = (block_iq1_m){{0}, {0}, {0}};
    for (int k = 0; k < 32; k++) {
        b->qs[k] = (uint8_t)s->index[k];
        b->qh[k / 2] |= (uint8_t)((s->index[k] >> 8 | s->shift[k] << 3) << (k % 2 * 4));
    }
    for (int j = 0; j < 16; j++)
        b->scales[j / 4] = (uint16_t)(b->scales[j / 4] | s->scales[j] << (j % 4 * 3));
    for (int j = 0; j < 4; j++) b->scales[j] = (uint16_t)(b->scales[j] | (d >> 4 * j & 15) << 12);
}

static void encode(const float *in, void *blocks, int64_t n, const float *importance) {
    block_iq1_m *b = blocks;
    lattice points;
    lattice_build(&points, codebook_iq1, NULL, 2048, codebook_values1);
    const search_lattice search = {&points, SIGNS_SHIFT_POINT, 16, 7, 1.0F, 1.0F, 2.2F, 5};
    search_lattice_block s;
    float w[256];
    for (int64_t i = 0; i < n; i += 256, b++) {
        search_weights(importance ? importance + i : NULL, 256, w);
        search_lattice_fit(&search, in + i, w, &s);
        pack(&s, b);
    }
}

const format_ops format_IQ1_M = {WEFT_IQ1_M, decode, encode};
