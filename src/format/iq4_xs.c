/* IQ4_XS: IQ4_NL's levels in eight sub-blocks of 32 with a signed 6-bit scale each, x = d * (scale - 32) * level[q].
 * SPDX-License-Identifier: MIT */
#include "format/format.h"

#include "format/blocks.h"
#include "format/codebooks.h"
#include "format/half.h"

static void decode(const void *blocks, float *out, int64_t n) {
    const block_iq4_xs *b = blocks;
    for (int64_t i = 0; i < n / 256; i++, b++, out += 256) {
        float d = f16_to_f32(b->d);
        for (int s = 0; s < 8; s++) {
            int scale = (b->scales_l[s / 2] >> (s % 2 * 4) & 15) | (b->scales_h >> 2 * s & 3) << 4;
            float dl = d * (float)(scale - 32);
            for (int j = 0; j < 16; j++) {
                uint8_t q = b->qs[16 * s + j];
                out[32 * s + j] = dl * (float)codebook_iq4[q & 15];
                out[32 * s + j + 16] = dl * (float)codebook_iq4[q >> 4];
            }
        }
    }
}

const format_ops format_IQ4_XS = {WEFT_IQ4_XS, decode, NULL};
