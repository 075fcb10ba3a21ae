/* Q8_0: 32 elements, one scale, x = d * q, q from -127 to 127.
 * SPDX-License-Identifier: MIT */
#include "format/format.h"

#include "format/blocks.h"
#include "format/half.h"

static void decode(const void *blocks, float *out, int64_t n) {
    const block_q8_0 *b = blocks;
    for (int64_t i = 0; i < n / 32; i++, b++, out += 32) {
        float d = f16_to_f32(b->d);
        for (int j = 0; j < 32; j++) out[j] = (float)b->qs[j] * d;
    }
}

const format_ops format_Q8_0 = {WEFT_Q8_0, decode, NULL};
