/* f16 and bf16 to and from f32, inline and in plain integer arithmetic, so that every file that
 * touches halves has the same bits on every machine: round to nearest even, subnormals kept,
 * overflow to infinity, NaN stays NaN (made quiet). The hardware's F16C does the same and is used
 * where the compiler may assume it. SPDX-License-Identifier: MIT */
#ifndef WEFT_FORMAT_HALF_H
#define WEFT_FORMAT_HALF_H

#include <stdint.h>
#include <string.h>

#ifdef __F16C__
#include <immintrin.h>
#endif

static inline float half_float(uint32_t bits) {
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static inline uint32_t half_bits(float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static inline float f16_to_f32(uint16_t h) {
#ifdef __F16C__
    return _cvtsh_ss(h);
#else
    uint32_t sign = (uint32_t)(h & 0x8000) << 16, m = h & 0x7FFF;
    if (m >= 0x7C00)
        return half_float(sign | 0x7F800000 | (m & 0x3FF) << 13 | (m > 0x7C00 ? 1U << 22 : 0));
    if (m >= 0x400) return half_float(sign | ((m << 13) + (112U << 23)));
    return half_float(sign | half_bits((float)m * 0x1p-24F)); /* exact */
#endif
}

static inline uint16_t f32_to_f16(float x) {
#ifdef __F16C__
    return (uint16_t)_cvtss_sh(x, _MM_FROUND_TO_NEAREST_INT);
#else
    uint32_t bits = half_bits(x), sign = bits >> 16 & 0x8000, m = bits & 0x7FFFFFFF;
    if (m > 0x7F800000) return (uint16_t)(sign | 0x7E00 | (m >> 13 & 0x1FF));
    if (m >= 0x477FF000) return (uint16_t)(sign | 0x7C00); /* 65520 and above */
    /* Below 2^-14 the result is a multiple of 2^-24, which is the last place of 0.5: the adder
     * rounds for us. */
    if (m < 0x38800000) return (uint16_t)(sign | (half_bits(half_float(m) + 0.5F) - 0x3F000000));
    m += 0xFFF + (m >> 13 & 1);
    return (uint16_t)(sign | (m - (112U << 23)) >> 13);
#endif
}

static inline float bf16_to_f32(uint16_t h) { return half_float((uint32_t)h << 16); }

static inline uint16_t f32_to_bf16(float x) {
    uint32_t bits = half_bits(x);
    if ((bits & 0x7FFFFFFF) > 0x7F800000) return (uint16_t)(bits >> 16 | 0x40);
    return (uint16_t)((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}

#endif
