/* IQ4_NL: 32 elements, one scale, 16 uneven levels that fit a bell curve: x = d * level[q].
 * SPDX-License-Identifier: MIT */
#include "format/format.h"

#include "format/blocks.h"
#include "format/codebooks.h"
#include "format/half.h"

static void decode(const void *blocks, float *out, int64_t n) {
    const block_iq4_nl *b = blocks;
    for (int64_t i = 0; i < n / 32; i++, b++, out += 32) {
        float d = f16_to_f32(b->d);
        for (int j = 0; j < 16; j++) {
            out[j] = d * (float)codebook_iq4[b->qs[j] & 15];
            out[j + 16] = d * (float)codebook_iq4[b->qs[j] >> 4];
        }
    }
}

const format_ops format_IQ4_NL = {WEFT_IQ4_NL, decode, NULL};
