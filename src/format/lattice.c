/* See lattice.h. The recursion is at most eight deep: one level for each element of a point.
 * SPDX-License-Identifier: MIT */
#include "format/lattice.h"

#include <math.h>

#include "format/codebooks.h"

static int level_of(const lattice *l, int value) {
    int k = 0;
    while (k < l->n_levels - 1 && l->values[k] != value) k++;
    return k;
}

static int add_node(lattice *l) {
    int node = l->n_slots;
    for (int k = 0; k < l->n_levels; k++) l->child[l->n_slots++] = -1;
    return node;
}

void lattice_build(lattice *l, const uint64_t *wide, const uint32_t *narrow, int n,
                   const int8_t *values, int n_levels) {
    l->n_dims = wide ? 8 : 4;
    l->n_levels = n_levels;
    l->n_slots = 0;
    for (int k = 0; k < n_levels; k++) l->values[k] = values[k];
    add_node(l);
    for (int i = 0; i < n; i++) {
        uint64_t point = wide ? wide[i] : narrow[i];
        int node = 0;
        for (int k = 0; k < l->n_dims; k++) {
            int slot = node + level_of(l, codebook_at(point, k));
            if (k == l->n_dims - 1) l->child[slot] = (int16_t)i;
            else if (l->child[slot] < 0) l->child[slot] = (int16_t)add_node(l);
            node = l->child[slot];
        }
    }
}

typedef struct walk {
    const lattice *l;
    float (*cost)[LATTICE_LEVELS];
    float rest[LATTICE_DIMS + 1]; /* the least cost of elements k and on */
    uint8_t order[LATTICE_DIMS][LATTICE_LEVELS], path[LATTICE_DIMS];
    lattice_point best;
} walk;

static void descend(walk *w, int node, int k, float sum) {
    for (int o = 0; o < w->l->n_levels; o++) {
        int level = w->order[k][o], next = w->l->child[node + level];
        float cost = sum + w->cost[k][level];
        if (cost + w->rest[k + 1] >= w->best.cost) return; /* the levels after this one cost more */
        if (next < 0) continue;
        w->path[k] = (uint8_t)level;
        if (k < w->l->n_dims - 1) {
            descend(w, next, k + 1, cost);
            continue;
        }
        w->best.index = next;
        w->best.cost = cost;
        for (int i = 0; i <= k; i++) w->best.level[i] = w->path[i];
    }
}

static void sort_levels(const float *cost, int n, uint8_t *order) {
    for (int i = 0; i < n; i++) {
        int at = i;
        for (; at > 0 && cost[order[at - 1]] > cost[i]; at--) order[at] = order[at - 1];
        order[at] = (uint8_t)i;
    }
}

lattice_point lattice_nearest(const lattice *l, float cost[LATTICE_DIMS][LATTICE_LEVELS]) {
    walk w = {.l = l, .cost = cost, .best = {0, INFINITY, {0}}};
    for (int k = l->n_dims - 1; k >= 0; k--) {
        sort_levels(cost[k], l->n_levels, w.order[k]);
        w.rest[k] = w.rest[k + 1] + cost[k][w.order[k][0]];
    }
    descend(&w, 0, 0, 0);
    return w.best;
}
