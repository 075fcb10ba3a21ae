/* NVFP4: 64 elements of FP4 in four runs of 16, each under an unsigned E4M3 scale (bias 7; 0x7F, a
 * NaN there, is 0). SPDX-License-Identifier: MIT */
#include "format/format.h"

#include <math.h>
#include <string.h>

#include "format/blocks.h"
#include "format/fp4.h"
#include "format/search.h"

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

/* One run of 16: the scales around the one that takes the peak to 6, from a third below to one step
 * above. */
static void encode_run(const float x[16], const float w[16], uint8_t *d, uint8_t qs[8]) {
    float peak = search_peak(x, 16), best = INFINITY;
    int top = 1, last = 0x7E; /* the first scale that takes the peak, or the last there is */
    *d = 0;
    memset(qs, 0, 8);
    while (top < last) {
        int middle = (top + last) / 2;
        if (half_of_scale((uint8_t)middle) * 12.0F < peak) top = middle + 1;
        else last = middle;
    }
    for (int e = top - 5; e <= top + 1; e++) {
        if (e < 0 || e > 0x7E) continue;
        uint8_t trial[8];
        float error = fp4_encode(x, w, 8, half_of_scale((uint8_t)e), trial);
        if (!(error < best)) continue;
        best = error;
        *d = (uint8_t)e;
        memcpy(qs, trial, sizeof trial);
    }
}

static void encode(const float *in, void *blocks, int64_t n, const float *importance) {
    block_nvfp4 *b = blocks;
    float w[16];
    for (int64_t i = 0; i < n / 16; i++) {
        search_weights(importance ? importance + 16 * i : NULL, 16, w);
        encode_run(in + 16 * i, w, &b[i / 4].d[i % 4], b[i / 4].qs + 8 * (i % 4));
    }
}

const format_ops format_NVFP4 = {WEFT_NVFP4, decode, encode};
