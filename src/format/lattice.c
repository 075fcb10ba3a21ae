/* See lattice.h. The search is written once and compiled for both kinds of codebook, so that its
 * loops have constant lengths.
 * SPDX-License-Identifier: MIT */
#include "format/lattice.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "format/codebooks.h"
#include "format/lanes.h"

enum { WIDE = 12, NARROW = 8 }; /* values of a digit, unused ones included */

static int level_of(const lattice *l, int value) {
    int k = 0;
    while (k < l->n_levels - 1 && l->values[k] != value) k++;
    return k;
}

static void find_levels(const lattice *l, uint64_t point, uint8_t *level) {
    for (int k = 0; k < l->n_dims; k++) level[k] = (uint8_t)level_of(l, codebook_at(point, k));
}

/* Digits q and q + 1 as one number. */
static int digits_of(const lattice *l, const uint8_t *level, int q) {
    if (l->n_dims == 4) return level[q] * NARROW + level[q + 1];
    const uint8_t *four = level + 2 * q;
    return (four[0] * 4 + four[1]) * WIDE + four[2] * 4 + four[3];
}

void lattice_build(lattice *l, const uint64_t *wide, const uint32_t *narrow, int n,
                   const int8_t *values) {
    l->n_dims = wide ? 8 : 4;
    l->n_levels = wide ? 3 : 8;
    l->n_digits = wide ? WIDE : NARROW;
    memcpy(l->values, values, (size_t)l->n_levels);
    uint16_t places[LATTICE_DIGITS * LATTICE_DIGITS + 1] = {0};
    uint8_t level[LATTICE_DIMS] = {0};
    for (int i = 0; i < n; i++) {
        find_levels(l, wide ? wide[i] : narrow[i], level);
        places[digits_of(l, level, 0) + 1]++;
    }
    for (int k = 0; k < l->n_digits * l->n_digits; k++)
        places[k + 1] = (uint16_t)(places[k + 1] + places[k]);
    memcpy(l->first, places, sizeof places);
    for (int i = 0; i < n; i++) {
        find_levels(l, wide ? wide[i] : narrow[i], level);
        int head = digits_of(l, level, 0), at = places[head]++;
        l->index[at] = (uint16_t)i;
        l->head[at] = (uint8_t)head;
        l->tail[at] = (uint8_t)digits_of(l, level, 2);
        memcpy(l->level[at], level, sizeof level);
    }
}

static lanes cost_of(float x, float w, lanes levels) {
    lanes e = lanes_of(x) - levels;
    return lanes_of(w) * e * e;
}

static void cost_singles(const float *x, const float *w, const float *levels, float *digits) {
    lanes low = lanes_load(levels), high = lanes_load(levels + 4);
    for (int q = 0; q < 4; q++) {
        lanes_store(digits + NARROW * q, cost_of(x[q], w[q], low));
        lanes_store(digits + NARROW * q + 4, cost_of(x[q], w[q], high));
    }
}

static void cost_pairs(const float *x, const float *w, const float *levels, float *digits) {
    lanes four = lanes_load(levels);
    for (int k = 0; k < 8; k += 2) {
        lanes first = cost_of(x[k], w[k], four), second = cost_of(x[k + 1], w[k + 1], four);
        for (int i = 0; i < 3; i++)
            lanes_store(digits + WIDE * k / 2 + 4 * i, lanes_of(first[i]) + second);
    }
}

static inline float least(const float *x, int n) {
    lanes m = lanes_load(x);
    for (int k = 4; k < n; k += 4) m = lanes_pick(lanes_load(x + k) < m, lanes_load(x + k), m);
    float a = m[0] < m[2] ? m[0] : m[2], b = m[1] < m[3] ? m[1] : m[3];
    return a < b ? a : b;
}

/* A better point is found a few times a search; said so, the list is gone through faster. */
static inline bool is_rare(bool condition) {
    return __builtin_expect_with_probability(condition, 0, 0.99);
}

static inline __attribute__((always_inline)) void
find_nearest(const lattice *l, const float *digits, int n, float most, lattice_point *point) {
    const float *u_cost = digits, *v_cost = digits + n, *s_cost = v_cost + n, *t_cost = s_cost + n;
    float tails[LATTICE_DIGITS * LATTICE_DIGITS], best = most;
    int at = -1, guess = point->at;
    for (int i = 0; i < n; i++)
        for (int k = 0; k < n; k += 4)
            lanes_store(tails + i * n + k, lanes_of(s_cost[i]) + lanes_load(t_cost + k));
    float rest = least(s_cost, n) + least(t_cost, n), more = rest + least(v_cost, n);
    if (guess >= 0) {
        float head = u_cost[l->head[guess] / n] + v_cost[l->head[guess] % n];
        // cppcheck-suppress uninitvar ; lanes_store has filled it
        float cost = head + tails[l->tail[guess]];
        if (cost < best) {
            best = cost;
            at = guess;
        }
    }
    for (int u = 0; u < n; u++) {
        if (!(u_cost[u] + more < best)) continue;
        for (int v = 0; v < n; v++) {
            float head = u_cost[u] + v_cost[v];
            if (!(head + rest < best)) continue;
            for (int i = l->first[u * n + v]; i < l->first[u * n + v + 1]; i++) {
                float sum = head + tails[l->tail[i]];
                if (is_rare(sum < best)) {
                    best = sum;
                    at = i;
                }
            }
        }
    }
    *point = (lattice_point){at >= 0 ? at : guess < 0 ? 0 : guess, at >= 0 ? best : INFINITY};
}

void lattice_nearest(const lattice *l, const float *x, const float *w, const float *levels,
                     float most, lattice_point *point) {
    float digits[4 * LATTICE_DIGITS];
    if (l->n_dims == 8) {
        cost_pairs(x, w, levels, digits);
        find_nearest(l, digits, WIDE, most, point);
    } else {
        cost_singles(x, w, levels, digits);
        find_nearest(l, digits, NARROW, most, point);
    }
}
