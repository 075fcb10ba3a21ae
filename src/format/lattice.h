/* The nearest point of a codebook, exactly. A point's elements are grouped into four digits: of two
 * elements where it has eight (three levels each), of one where it has four (eight levels). What
 * each digit costs in each of its values is a small table, and so is what the last two cost
 * together; points lie in lists by their first two. A list is looked at only where its digits, with
 * the least that the others can cost, are better than the best point known, which to begin with is
 * a guess: the point of the scale before. Tables and bounds are short loops over floats without
 * branches, and two or three lists are left.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_FORMAT_LATTICE_H
#define WEFT_FORMAT_LATTICE_H

#include <stdint.h>

enum {
    LATTICE_LEVELS = 8,
    LATTICE_DIMS = 8,
    LATTICE_POINTS = 2048,
    LATTICE_DIGITS = 12, /* a digit of two elements is level * 4 + level: some values are unused */
};

typedef struct lattice {
    int n_dims, n_levels, n_digits;
    int8_t values[LATTICE_LEVELS]; /* ascending */
    /* The points, ordered by their first two digits; those with u and v begin at
     * first[u * n_digits + v]. */
    uint16_t first[LATTICE_DIGITS * LATTICE_DIGITS + 1];
    uint16_t index[LATTICE_POINTS];                     /* in the codebook */
    uint8_t head[LATTICE_POINTS], tail[LATTICE_POINTS]; /* u * n_digits + v; the same of the last */
    uint8_t level[LATTICE_POINTS][LATTICE_DIMS];
} lattice;

/* Of `n` points whose elements are bytes of `wide` (8 elements, 3 values) or of `narrow` (4
 * elements, 8 values); the other is NULL. */
void lattice_build(lattice *l, const uint64_t *wide, const uint32_t *narrow, int n,
                   const int8_t *values);

typedef struct lattice_point {
    int at; /* its place in the arrays above; -1 = no guess */
    float cost;
} lattice_point;

/* Makes *point the one with the least sum of w[k] (x[k] - levels[level of element k])^2; what it
 * was before is the guess. Where none costs less than `most` its cost is INFINITY. w >= 0; levels
 * has LATTICE_LEVELS places, those that are not used like the last one. */
void lattice_nearest(const lattice *l, const float *x, const float *w, const float *levels,
                     float most, lattice_point *point);

#endif
