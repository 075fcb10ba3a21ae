/* The encoders' search: least squares over scales (and offsets), weighted by importance. A
 * quantiser maps x * inverse to levels; for given levels the best scale is a closed form, so
 * candidates for the inverse are tried, then refined alternately (levels for the scale, scale for
 * the levels). Levels are kept as floats, which vectorises. SPDX-License-Identifier: MIT */
#ifndef WEFT_FORMAT_SEARCH_H
#define WEFT_FORMAT_SEARCH_H

#include <stdbool.h>
#include <stdint.h>

/* 16 ascending values, ready to be snapped to: the middles between neighbours, and how far those
 * are apart. */
typedef struct search_table {
    float middle[15], step[15];
    const int8_t *values;
} search_table;
search_table search_table_of(const int8_t values[16]);

/* What a quantised element may be: the integers lo..hi, or the entries of a table. */
typedef struct search_levels {
    float lo, hi;
    const search_table *table; /* from lo to hi, or NULL */
} search_levels;

/* The nearest level to x * inverse for each of n elements. NaN gives a level. */
void search_snap(search_levels l, const float *x, int n, float inverse, float *q);
/* Index of a level: q - lo, or the place in the table. */
int search_index(search_levels l, float q);

/* Scale a and levels q with a small sum of w (x - a q)^2; a may be negative. 0 for all-zero x. n
 * <= 64. */
float search_scale(search_levels l, const float *x, const float *w, int n, float *q);

/* The same for x ~ a q + c, q in 0..hi; with c <= 0 unless `any_offset`. */
typedef struct search_line {
    float scale, offset;
} search_line;
search_line search_affine(float hi, bool any_offset, const float *x, const float *w, int n,
                          float *q);

/* sum of w (x - a q - c)^2 */
float search_error(const float *x, const float *w, int n, const float *q, float a, float c);

/* A super-block of n_sub sub-blocks, x ~ d * scale_j * q, scale_j an integer in [scale_lo,
 * scale_hi] and d an f16. Fills scales (n_sub) and q (256) and returns d's bits. */
uint16_t search_super_scale(search_levels l, int scale_lo, int scale_hi, int n_sub, const float *x,
                            const float *w, int *scales, float *q);

/* A super-block x ~ d * scale_j * q - dmin * min_j, q in 0..hi, scale_j and min_j in 0..top; d and
 * dmin f16 bits. */
typedef struct search_pair {
    uint16_t d, dmin;
} search_pair;
search_pair search_super_affine(float hi, int top, int n_sub, const float *x, const float *w,
                                int *scales, int *mins, float *q);

/* 256 weights: a copy of `importance`, or ones. */
void search_weights(const float *importance, int n, float *w);

/* The largest magnitude; NaN does not count. */
float search_peak(const float *x, int n);

/* x as an integer limited to lo..hi (NaN gives lo): nearest with halves to even, nearest with
 * halves away from zero, and the next lower one (of x >= 0). */
int search_round(float x, int lo, int hi);
int search_half_away(float x, int lo, int hi);
int search_floor(float x, int lo, int hi);

#endif
