/* exp for f32 as straight-line code, so that a loop over it vectorises (libm's expf does not):
 * reduction to |r| <= ln 2 / 2 in two steps (Cody and Waite 1980), the series to r^7 / 7!, and a
 * power of two in two factors so that denormal results are right. Within 2 ulp; NaN gives NaN,
 * above 88.73 infinity. SPDX-License-Identifier: MIT */
#ifndef WEFT_CPU_EXP_H
#define WEFT_CPU_EXP_H

#include <stdint.h>
#include <string.h>

static inline float exp_power_of_two(int32_t n) { /* -126 <= n <= 127 */
    uint32_t bits = (uint32_t)(n + 127) << 23;
    float f;
    memcpy(&f, &bits, 4);
    return f;
}

static inline float exp_f32(float x) {
    const float rounder =
        12582912.0f; /* 1.5 * 2^23: adding it leaves the nearest integer in the low bits */
    float c = x < -105.0f ? -105.0f : x; /* both comparisons let a NaN through */
    c = c > 89.0f ? 89.0f : c;
    float t = c * 1.44269504f + rounder;
    uint32_t bits;
    memcpy(&bits, &t, 4);
    float m = t - rounder, r = (c - m * 0.693359375f) + m * 2.12194440e-4f;
    float p = 1.0f / 5040;
    p = p * r + 1.0f / 720;
    p = p * r + 1.0f / 120;
    p = p * r + 1.0f / 24;
    p = p * r + 1.0f / 6;
    p = p * r + 0.5f;
    p = p * r + 1.0f;
    p = p * r + 1.0f;
    int32_t n =
        (int32_t)(bits & 0x1FF); /* n mod 512: for a NaN it is anything, and does not matter */
    n -= n >= 256 ? 512 : 0;
    int32_t half = n / 2;
    return p * exp_power_of_two(half) * exp_power_of_two(n - half);
}

#endif
