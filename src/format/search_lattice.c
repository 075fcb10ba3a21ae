/* See search_lattice.h. As in search_super.c: the sub-blocks' own best scales first, then integers
 * under one d, chosen by their real error, then d fitted to them and once more. For a given scale
 * every point is the exact nearest one. SPDX-License-Identifier: MIT */
#include "format/search_lattice.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "format/half.h"
#include "format/search.h"

enum { SUPER = 256, ROUNDS = 3, REFINEMENTS = 2, MAX_POINTS = 8 };

/* One sub-block under one scale. */
typedef struct fit {
    float error, xv, vv; /* sums of w (x - a v)^2, w x v, w v v */
    uint16_t index[MAX_POINTS];
    uint8_t shift[MAX_POINTS];
} fit;

static lattice_point fit_point(const lattice *l, const float *x, const float *w, float a,
                               float shift) {
    float cost[LATTICE_DIMS][LATTICE_LEVELS];
    for (int k = 0; k < l->n_dims; k++) {
        for (int v = 0; v < l->n_levels; v++) {
            float e = x[k] - a * ((float)l->values[v] + shift);
            cost[k][v] = w[k] * e * e;
        }
    }
    return lattice_nearest(l, cost);
}

/* shift: 1/8, -1/8, or 0 where there is none */
static void add_point(const lattice *l, const float *x, const float *w, const lattice_point *p,
                      float shift, int at, fit *f) {
    f->error += p->cost;
    f->index[at] = (uint16_t)p->index;
    f->shift[at] = shift < 0;
    for (int k = 0; k < l->n_dims; k++) {
        float v = (float)l->values[p->level[k]] + shift;
        f->xv += w[k] * x[k] * v;
        f->vv += w[k] * v * v;
    }
}

static fit fit_shifted(const search_lattice *s, const float *x, const float *w, float a,
                       float shift) {
    fit f = {0};
    int n = s->points->n_dims;
    for (int g = 0; g < s->sub / n; g++) {
        lattice_point p = fit_point(s->points, x + g * n, w + g * n, a, shift);
        add_point(s->points, x + g * n, w + g * n, &p, shift, g, &f);
    }
    return f;
}

static fit fit_best_shifts(const search_lattice *s, const float *x, const float *w, float a) {
    fit f = {0};
    int n = s->points->n_dims;
    for (int g = 0; g < s->sub / n; g++) {
        lattice_point up = fit_point(s->points, x + g * n, w + g * n, a, 0.125F);
        lattice_point down = fit_point(s->points, x + g * n, w + g * n, a, -0.125F);
        bool is_up = up.cost <= down.cost;
        add_point(s->points, x + g * n, w + g * n, is_up ? &up : &down, is_up ? 0.125F : -0.125F, g,
                  &f);
    }
    return f;
}

static fit fit_sub(const search_lattice *s, const float *x, const float *w, float a) {
    if (s->signs == SIGNS_SHIFT_POINT) return fit_best_shifts(s, x, w, a);
    if (s->signs != SIGNS_SHIFT_SUB) return fit_shifted(s, x, w, a, 0);
    fit up = fit_shifted(s, x, w, a, 0.125F), down = fit_shifted(s, x, w, a, -0.125F);
    return up.error <= down.error ? up : down;
}

/* The sub-block's own best scale: 0 where nothing is to be gained. */
static float own_scale(const search_lattice *s, const float *x, const float *w) {
    float peak = search_peak(x, s->sub), best = 0, gain = 0;
    float top = (float)s->points->values[s->points->n_levels - 1];
    if (!(peak > 0) || !isfinite(peak) || !isfinite(1.0F / peak)) return 0;
    float lowest = fabsf((float)s->points->values[0]),
          step = (s->last - s->first) / (float)(s->n_tries - 1);
    for (int t = -1; t < s->n_tries + REFINEMENTS; t++) {
        float a = peak / (top * (s->first + step * (float)t));
        if (t < 0) a = peak / lowest; /* exact where all magnitudes are equal */
        if (t >= s->n_tries) a = best;
        if (a == 0) break;
        fit f = fit_sub(s, x, w, a);
        if (!(f.xv > 0) || !(f.xv * f.xv > gain * f.vv)) continue;
        gain = f.xv * f.xv / f.vv;
        best = f.xv / f.vv;
    }
    return best;
}

/* ---- signs
 * ------------------------------------------------------------------------------------------------
 */

/* Takes the signs off each eight. Where their number must be even and is not, the one whose loss
 * costs least is turned (its cost grows with w |x|). */
static void take_signs(search_signs kind, const float *x, const float *w, float *magnitude,
                       uint8_t *signs) {
    memcpy(magnitude, x, SUPER * sizeof *x);
    if (kind != SIGNS_FREE && kind != SIGNS_EVEN) return;
    for (int g = 0; g < SUPER / 8; g++) {
        const float *in = x + 8 * g, *weight = w + 8 * g;
        unsigned bits = 0;
        int cheapest = 0;
        for (int k = 0; k < 8; k++) {
            bits |= (unsigned)(in[k] < 0) << k;
            if (weight[k] * fabsf(in[k]) < weight[cheapest] * fabsf(in[cheapest])) cheapest = k;
        }
        if (kind == SIGNS_EVEN && __builtin_popcount(bits) % 2) bits ^= 1U << cheapest;
        signs[g] = (uint8_t)bits;
        for (int k = 0; k < 8; k++) magnitude[8 * g + k] = bits >> k & 1 ? -in[k] : in[k];
    }
}

/* ---- the super-block
 * -------------------------------------------------------------------------------------- */

/* The best integer scale near the sub-block's own. */
static fit pick_scale(const search_lattice *s, const float *x, const float *w, float u, float own,
                      uint8_t *scale) {
    int start = search_round(u > 0 ? (own / u - 1.0F) * 0.5F : 0, 0, s->top);
    fit best = {.error = INFINITY};
    for (int k = start - 1; k <= start + 1; k++) {
        if (k < 0 || k > s->top) continue;
        fit f = fit_sub(s, x, w, u * (float)(2 * k + 1));
        if (!(f.error < best.error) && best.error < INFINITY) continue;
        best = f;
        *scale = (uint8_t)k;
    }
    return best;
}

/* One round under one d; returns the error and the d that fits the chosen points best. */
static float fit_round(const search_lattice *s, const float *x, const float *w, const float *own,
                       search_lattice_block *out, float *next_d) {
    float error = 0, u = out->d * s->unit;
    double top = 0, bottom = 0;
    int n_points = s->sub / s->points->n_dims;
    for (int j = 0; j < SUPER / s->sub; j++) {
        fit f = pick_scale(s, x + j * s->sub, w + j * s->sub, u, own[j], &out->scales[j]);
        double m = (double)(2 * out->scales[j] + 1);
        error += f.error;
        top += m * (double)f.xv;
        bottom += m * m * (double)f.vv;
        memcpy(out->index + j * n_points, f.index, (size_t)n_points * sizeof *f.index);
        memcpy(out->shift + j * n_points, f.shift, (size_t)n_points);
    }
    *next_d = bottom > 0 && top > 0 ? (float)(top / bottom) / s->unit : 0;
    return error;
}

void search_lattice_fit(const search_lattice *s, const float *x, const float *w,
                        search_lattice_block *out) {
    float magnitude[SUPER], own[16], peak = 0, best = INFINITY;
    search_lattice_block now = {0};
    take_signs(s->signs, x, w, magnitude, now.signs);
    for (int j = 0; j < SUPER / s->sub; j++) {
        own[j] = own_scale(s, magnitude + j * s->sub, w + j * s->sub);
        peak = own[j] > peak ? own[j] : peak;
    }
    *out = now;
    float d = peak / ((float)(2 * s->top + 1) * s->unit);
    for (int r = 0; r < ROUNDS && d > 0; r++) {
        now.d = f16_to_f32(f32_to_f16(d));
        float error = fit_round(s, magnitude, w, own, &now, &d);
        if (!(error < best)) break;
        best = error;
        *out = now;
    }
}
