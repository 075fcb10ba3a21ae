/* The hot functions of the CPU backend: a small struct that kernels_c.c fills and ISA files
 * override, so that a faster version of one of them is one assignment. Everything else in cpu/ is
 * plain C over rows.
 *
 * All sums are f32 over several partial sums, so that n terms cost about n/32 roundings, not n
 * (see the bound in tests/ops/runner.h). Pointers need the alignment of their element only.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_CPU_KERNELS_H
#define WEFT_CPU_KERNELS_H

#include <stdbool.h>
#include <stdint.h>

#include "weft/weft.h"

enum { TILE_W = 4, TILE_X = 3 }; /* rows of weights and of x that a tile multiplies at once */

/* A row of x in blocks of CODES, for calls of WEFT_FAST: x is about d * q, |q| <= CODES_TOP, and s
 * is d times the sum of a block's q. Where weights are d' * q' + m, a block's product is
 * d d' sum(q q') + m s, whose inner sum is of integers. (8 bits instead of 16 are hardly faster and
 * cost as much of a model's accuracy as its weights' 4 bits: docs/kernels.md.) */
enum { CODES = 32, CODES_TOP = 127 * 256 };

typedef struct cpu_codes {
    int16_t *q;
    float *d, *s; /* one a block */
} cpu_codes;

typedef struct cpu_kernels {
    const char *name;      /* "c", "avx2": what WEFT_CPU and the backend's select() take */
    const char *fast_name; /* "c_fast": what the same level is called where WEFT_FAST differs */
    /* sum of w[i] * x[i] over n elements (whole blocks) of a contiguous weight row, by the weight's
     * dtype; NULL: the caller decodes and uses dot[WEFT_F32]. */
    float (*dot[WEFT_DTYPE_NUMBERS])(const void *w, const float *x, int64_t n);
    /* n elements (whole blocks) to f32, by dtype; NULL: the format's own decode. */
    void (*decode[WEFT_DTYPE_NUMBERS])(const void *w, float *out, int64_t n);
    /* out[j * out_stride + i] += dot(w + i * w_stride, x + j * x_stride) for i < TILE_W, j <
     * TILE_X; n at most 512. */
    void (*tile)(const float *w, int64_t w_stride, const float *x, int64_t x_stride, int64_t n,
                 float *out, int64_t out_stride);
    /* n elements (whole blocks) of x as codes. A block whose largest is below 2^-60 becomes zeros;
     * one whose largest is not finite makes every product NaN. */
    void (*codes)(const float *x, int64_t n, cpu_codes out);
    /* The product of n weights with a row of codes, by the weights' dtype; NULL: there is none. */
    float (*codes_dot[WEFT_DTYPE_NUMBERS])(const void *w, int64_t n, cpu_codes x);
    /* y[i] += a * x[i], x of f32 or f16. */
    void (*axpy_f32)(float a, const void *x, float *y, int64_t n);
    void (*axpy_f16)(float a, const void *x, float *y, int64_t n);
    /* y[i] = exp(x[i] - shift) within 2 ulp, denormal results included; returns the sum of y. */
    float (*exp_sum)(const float *restrict x, float shift, float *restrict y, int64_t n);
    /* y[i] = x[i] / (1 + exp(-x[i])). */
    void (*silu)(const float *restrict x, float *restrict y, int64_t n);
    /* To nearest even; too large gives infinity, NaN stays NaN. */
    void (*to_f16)(const float *x, uint16_t *out, int64_t n);
    void (*to_bf16)(const float *x, uint16_t *out, int64_t n);
} cpu_kernels;

/* Fills every member but the NULLs allowed above. */
void kernels_c(cpu_kernels *k);
void kernels_c_codes(cpu_kernels *k); /* its part: products of codes */
/* Overrides what AVX2, FMA and F16C make faster; false (nothing changed) where the CPU lacks one of
 * them. */
bool kernels_avx2(cpu_kernels *k);
void kernels_avx2_codes(cpu_kernels *k);  /* its part: products of codes */
void kernels_avx2_blocks(cpu_kernels *k); /* its part: more block formats */

#endif
