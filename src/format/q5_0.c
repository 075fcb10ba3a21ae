/* Q5_0: 32 elements, one scale, x = d * (q - 16); the fifth bits are apart.
 * SPDX-License-Identifier: MIT */
#include "format/format.h"

#include "format/blocks.h"
#include "format/fives.h"
#include "format/half.h"

static void decode(const void *blocks, float *out, int64_t n) {
    const block_q5_0 *b = blocks;
    for (int64_t i = 0; i < n / 32; i++, b++, out += 32) {
        float d = f16_to_f32(b->d);
        for (int j = 0; j < 32; j++) out[j] = d * (float)(fives_at(b->qs, b->qh, j) - 16);
    }
}

const format_ops format_Q5_0 = {WEFT_Q5_0, decode, NULL};
