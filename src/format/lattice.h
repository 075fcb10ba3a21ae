/* The nearest point of a codebook. The points are put in a tree by their elements' levels; a search
 * goes down it cheapest level first and leaves a branch as soon as its cost so far, plus the least
 * that the elements to come can cost, is no better than the best point found. It is exact, and
 * visits tens of nodes out of thousands. SPDX-License-Identifier: MIT */
#ifndef WEFT_FORMAT_LATTICE_H
#define WEFT_FORMAT_LATTICE_H

#include <stdint.h>

enum { LATTICE_LEVELS = 8, LATTICE_DIMS = 8, LATTICE_SLOTS = 10240 };

typedef struct lattice {
    int n_dims, n_levels;
    int8_t values[LATTICE_LEVELS]; /* ascending */
    int n_slots;
    int16_t child[LATTICE_SLOTS]; /* [node + level]: the next node, on the last element the point;
                                     -1 none */
} lattice;

/* A tree over `n` points whose elements are bytes of `wide` (8 elements) or of `narrow` (4); the
 * other is NULL. */
void lattice_build(lattice *l, const uint64_t *wide, const uint32_t *narrow, int n,
                   const int8_t *values, int n_levels);

typedef struct lattice_point {
    int index;
    float cost;
    uint8_t level[LATTICE_DIMS];
} lattice_point;

/* The point with the least sum of cost[k][level of element k]; costs are >= 0. */
lattice_point lattice_nearest(const lattice *l, float cost[LATTICE_DIMS][LATTICE_LEVELS]);

#endif
