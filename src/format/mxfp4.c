/* MXFP4: 32 elements of FP4 under a power-of-two scale (E8M0), as the OCP
 * Microscaling specification 1.0 has it. A scale byte of 255 (NaN there) is 2^128 here, the
 * neighbours' rule. SPDX-License-Identifier: MIT */
#include "format/format.h"

#include <math.h>
#include <string.h>

#include "format/blocks.h"
#include "format/fp4.h"
#include "format/half.h"
#include "format/search.h"

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

/* The specification's exponent puts the peak at 4 to 8 times the scale, where only 6 is left of it;
 * one more may fit better, so both are tried. */
static void encode(const float *in, void *blocks, int64_t n, const float *importance) {
    block_mxfp4 *b = blocks;
    float w[32];
    for (int64_t i = 0; i < n; i += 32, b++) {
        search_weights(importance ? importance + i : NULL, 32, w);
        float peak = search_peak(in + i, 32), best = INFINITY;
        int exponent = 0;
        *b = (block_mxfp4){0, {0}};
        frexpf(peak, &exponent); /* peak < 2^exponent, at least half of it */
        int first = peak > 0 && isfinite(peak) ? exponent - 3 + 127 : 0;
        for (int e = first; e <= first + 1; e++) {
            uint8_t qs[16], scale = (uint8_t)(e < 0 ? 0 : e > 254 ? 254 : e);
            float error = fp4_encode(in + i, w, 16, half_of_scale(scale), qs);
            if (!(error < best)) continue;
            best = error;
            b->e = scale;
            memcpy(b->qs, qs, sizeof qs);
        }
    }
}

const format_ops format_MXFP4 = {WEFT_MXFP4, decode, encode};
