/* NVFP4: 64 elements of FP4 in four runs of 16, each under an unsigned E4M3 scale (bias 7; 0x7F, a NaN there, is 0).
 * SPDX-License-Identifier: MIT */
#include "format/format.h"

#include <math.h>

#include "format/blocks.h"
#include "format/fp4.h"

/* Half the scale, since the levels are doubled. */
static float half_of_scale(uint8_t e) {
    int exponent = e >> 3 & 15, mantissa = e & 7;
    if (e == 0 || e == 0x7F) return 0.0F;
    if (exponent == 0) return (float)mantissa * 0x1p-10F;
    return ldexpf((float)(8 + mantissa), exponent - 11);
}

static void decode(const void *blocks, float *out, int64_t n) {
    const block_nvfp4 *b = blocks;
    for (int64_t i = 0; i < n / 64; i++, b++, out += 64) {
        for (int s = 0; s < 4; s++) {
            float half = half_of_scale(b->d[s]);
            for (int j = 0; j < 8; j++) {
                uint8_t q = b->qs[8 * s + j];
                out[16 * s + j] = half * (float)fp4_twice[q & 15];
                out[16 * s + j + 8] = half * (float)fp4_twice[q >> 4];
            }
        }
    }
}

const format_ops format_NVFP4 = {WEFT_NVFP4, decode, NULL};
