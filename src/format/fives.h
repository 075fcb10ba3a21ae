/* The 5-bit fields of Q5_0 and Q5_1: four bits as in the other 32-wide formats, the fifth of
 * element j at bit j of the 32 in qh. SPDX-License-Identifier: MIT */
#ifndef WEFT_FORMAT_FIVES_H
#define WEFT_FORMAT_FIVES_H

#include <stdint.h>

static inline int fives_at(const uint8_t qs[16], const uint8_t qh[4], int j) {
    return (qs[j % 16] >> (j / 16 * 4) & 15) | (qh[j / 8] >> j % 8 & 1) << 4;
}

/* Into zeroed qs and qh. */
static inline void fives_put(uint8_t qs[16], uint8_t qh[4], int j, int q) {
    qs[j % 16] |= (uint8_t)((q & 15) << (j / 16 * 4));
    qh[j / 8] |= (uint8_t)((q >> 4) << j % 8);
}

#endif
