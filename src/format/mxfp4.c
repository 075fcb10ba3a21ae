/* MXFP4: 32 elements of FP4 under a power-of-two scale (E8M0), as the OCP
 * Microscaling specification 1.0 has it. A scale byte of 255 (NaN there) is 2^128 here, the neighbours' rule.
 * SPDX-License-Identifier: MIT */
#include "format/format.h"

#include "format/blocks.h"
#include "format/fp4.h"
#include "format/half.h"

/* 2^(e - 128), the two smallest of which are subnormal. */
static float half_of_scale(uint8_t e) {
    return half_float(e < 2 ? 0x00200000U << e : (uint32_t)(e - 1) << 23);
}

static void decode(const void *blocks, float *out, int64_t n) {
    const block_mxfp4 *b = blocks;
    for (int64_t i = 0; i < n / 32; i++, b++, out += 32) {
        float half = half_of_scale(b->e);
        for (int j = 0; j < 16; j++) {
            out[j] = half * (float)fp4_twice[b->qs[j] & 15];
            out[j + 16] = half * (float)fp4_twice[b->qs[j] >> 4];
        }
    }
}

const format_ops format_MXFP4 = {WEFT_MXFP4, decode, NULL};
