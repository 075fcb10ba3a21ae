/* Four floats at a time, for the encoders' sums: a running sum whose order is fixed cannot be
 * vectorised, four of them can. The compilers' vector type is any machine's: SSE, NEON or scalars.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_FORMAT_LANES_H
#define WEFT_FORMAT_LANES_H

#include <stdint.h>
#include <string.h>

typedef float lanes __attribute__((vector_size(16)));
typedef int32_t lanes_mask __attribute__((vector_size(16)));

static inline lanes lanes_load(const float *x) {
    lanes v;
    memcpy(&v, x, sizeof v);
    return v;
}

static inline void lanes_store(float *x, lanes v) { memcpy(x, &v, sizeof v); }
static inline lanes lanes_of(float x) { return (lanes){x, x, x, x}; }

/* a where the mask is set, else b. */
static inline lanes lanes_pick(lanes_mask mask, lanes a, lanes b) {
    return (lanes)(((lanes_mask)a & mask) | ((lanes_mask)b & ~mask));
}

static inline float lanes_sum(lanes v) { return (v[0] + v[2]) + (v[1] + v[3]); }

#endif
