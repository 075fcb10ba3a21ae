/* The 5-bit fields of Q5_0 and Q5_1: four bits as in the other 32-wide formats, the fifth of
 * element j at bit j of the 32 in qh. SPDX-License-Identifier: MIT */
#ifndef WEFT_FORMAT_FIVES_H
#define WEFT_FORMAT_FIVES_H

#include <stdint.h>

/* Into zeroed qs and qh. */
static inline void fives_put(uint8_t qs[16], uint8_t qh[4], int j, int q) {
    qs[j % 16] |= (uint8_t)((q & 15) << (j / 16 * 4));
    qh[j / 8] |= (uint8_t)((q >> 4) << j % 8);
}

#endif
