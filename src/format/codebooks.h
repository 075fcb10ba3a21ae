/* The lattice points of the IQ formats: magnitudes (IQ2, IQ3) or signed -1, 0, 1 (IQ1), one byte an
 * element, and the levels of IQ4. Facts of the file format; tools/gen_codebooks.py says where from.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_FORMAT_CODEBOOKS_H
#define WEFT_FORMAT_CODEBOOKS_H

#include <stdint.h>

extern const uint64_t codebook_iq2_xxs[256], codebook_iq2_xs[512], codebook_iq2_s[1024],
    codebook_iq1[2048];
extern const uint32_t codebook_iq3_xxs[256], codebook_iq3_s[512];

/* IQ4_NL's and IQ4_XS's levels, ascending. */
static const int8_t codebook_iq4[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                        1,    13,   25,  38,  53,  69,  89,  113};

/* The values that elements of the points take, ascending. */
static const int8_t codebook_values1[3] = {-1, 0, 1}, codebook_values2[3] = {8, 25, 43},
                    codebook_values3_xxs[8] = {4, 12, 20, 28, 36, 44, 52, 62},
                    codebook_values3_s[8] = {1, 3, 5, 7, 9, 11, 13, 15};

/* Element k of a point. */
static inline int codebook_at(uint64_t point, int k) { return (int8_t)(point >> 8 * k); }

/* The eight signs that seven bits stand for: the number of minus signs is even. */
static inline uint8_t codebook_signs(uint32_t seven) {
    return (uint8_t)(seven | (uint32_t)(__builtin_popcount(seven) & 1) << 7);
}

/* out[k] = scale * magnitude k, negated where bit k of `signs` is set. */
static inline void codebook_signed(uint64_t point, int signs, int n, float scale, float *out) {
    for (int k = 0; k < n; k++)
        out[k] = scale * (float)codebook_at(point, k) * (signs >> k & 1 ? -1.0F : 1.0F);
}

#endif
