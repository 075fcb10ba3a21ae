/* FP4 E2M1, the element of MXFP4 and NVFP4: a sign and 0 0.5 1 1.5 2 3 4 6 (OCP Microscaling
 * specification 1.0). The levels are doubled, to be integers; scales are halved to match.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_FORMAT_FP4_H
#define WEFT_FORMAT_FP4_H

#include <math.h>
#include <stdint.h>

static const int8_t fp4_twice[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

/* The code of the level nearest to x (given in half-scales); the smaller magnitude in a tie. */
static inline int fp4_nearest(float x) {
    float m = fabsf(x);
    int k = 0;
    while (k < 7 && m * 2.0F > (float)(fp4_twice[k] + fp4_twice[k + 1])) k++;
    return x < 0 && k ? k + 8 : k;
}

/* 2 n elements to n bytes (element j low, j + n high) under a half-scale; adds the weighted squared
 * error. */
static inline void fp4_encode(const float *x, const float *w, int n, float half, uint8_t *qs,
                              float *error) {
    float inverse = half > 0 ? 1.0F / half : 0;
    for (int j = 0; j < 2 * n; j++) {
        int q = fp4_nearest(x[j] * inverse);
        float e = x[j] - half * (float)fp4_twice[q];
        *error += w[j] * e * e;
        qs[j % n] = (uint8_t)(j < n ? q : qs[j % n] | q << 4);
    }
}

#endif
