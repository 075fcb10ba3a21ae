/* Q4_0: 32 elements, one scale, x = d * (q - 8).
 * SPDX-License-Identifier: MIT */
#include "format/format.h"

#include "format/blocks.h"
#include "format/half.h"

static void decode(const void *blocks, float *out, int64_t n) {
    const block_q4_0 *b = blocks;
    for (int64_t i = 0; i < n / 32; i++, b++, out += 32) {
        float d = f16_to_f32(b->d);
        for (int j = 0; j < 16; j++) {
            out[j] = d * (float)((b->qs[j] & 15) - 8);
            out[j + 16] = d * (float)((b->qs[j] >> 4) - 8);
        }
    }
}

const format_ops format_Q4_0 = {WEFT_Q4_0, decode, NULL};
