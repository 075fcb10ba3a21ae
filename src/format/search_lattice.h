/* The search of the IQ formats: 256 elements in sub-blocks, x ~ d * unit * (2 scale + 1) * v, where
 * each 4 or 8 elements' v are a codebook point with signs, or (IQ1) a signed point plus a shift by
 * 1/8 up or down. SPDX-License-Identifier: MIT */
#ifndef WEFT_FORMAT_SEARCH_LATTICE_H
#define WEFT_FORMAT_SEARCH_LATTICE_H

#include <stdint.h>

#include "format/lattice.h"

typedef enum search_signs {
    SIGNS_FREE,        /* one of each element */
    SIGNS_EVEN,        /* an even number of minus signs in each eight */
    SIGNS_SHIFT_SUB,   /* signed points; one shift for a sub-block */
    SIGNS_SHIFT_POINT, /* signed points; one shift for each point */
} search_signs;

typedef struct search_lattice {
    const lattice *points;
    search_signs signs;
    int sub, top; /* elements of a sub-block, largest scale */
    float unit;   /* a power of two */
    /* The sub-block's peak is tried at these multiples of the largest value, in n_tries equal
     * steps. */
    float first, last;
    int n_tries;
} search_lattice;

typedef struct search_lattice_block {
    float d; /* rounded to f16 */
    uint8_t scales[16];
    uint16_t index[64]; /* of each point */
    uint8_t signs[32];  /* of each eight: bit k is set where element k is negative */
    uint8_t shift[64];  /* of each point: 1 = down */
} search_lattice_block;

void search_lattice_fit(const search_lattice *s, const float *x, const float *w,
                        search_lattice_block *out);

#endif
