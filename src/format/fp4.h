/* FP4 E2M1, the element of MXFP4 and NVFP4: a sign and 0 0.5 1 1.5 2 3 4 6 (OCP Microscaling
 * specification 1.0). The levels are doubled, to be integers; scales are halved to match.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_FORMAT_FP4_H
#define WEFT_FORMAT_FP4_H

#include <stdint.h>

#include "format/lanes.h"

static const int8_t fp4_twice[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

/* 2 n elements to n bytes (element j low, j + n high) under a half-scale, n <= 16 and a multiple of
 * four: each the nearest level, the smaller magnitude in a tie. Returns the weighted squared error.
 */
static inline float fp4_encode(const float *x, const float *w, int n, float half, uint8_t *qs) {
    lanes inverse = lanes_of(half > 0 ? 1.0F / half : 0), zero = lanes_of(0), sum = zero;
    float code[32];
    for (int j = 0; j < 2 * n; j += 4) {
        lanes v = lanes_load(x + j), size = lanes_pick(v < zero, -v, v), level = zero, place = zero;
        lanes twice = (size * inverse) * lanes_of(2.0F);
        for (int k = 0; k < 7; k++) {
            lanes_mask passed = twice > lanes_of((float)(fp4_twice[k] + fp4_twice[k + 1]));
            level += lanes_pick(passed, lanes_of((float)(fp4_twice[k + 1] - fp4_twice[k])), zero);
            place += lanes_pick(passed, lanes_of(1.0F), zero);
        }
        lanes e = size - lanes_of(half) * level;
        sum += lanes_load(w + j) * e * e;
        lanes_store(code + j, place + lanes_pick((v < zero) & (place > zero), lanes_of(8), zero));
    }
    for (int j = 0; j < n; j++) qs[j] = (uint8_t)((int)code[j] | (int)code[j + n] << 4);
    return lanes_sum(sum);
}

#endif
