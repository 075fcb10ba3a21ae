/* See search_lattice.h. As in search_super.c: the sub-blocks' own best scales first, then integers
 * under one d, chosen by their real error, then d fitted to them and once more. For a given scale
 * every point is the exact nearest one. SPDX-License-Identifier: MIT */
#include "format/search_lattice.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "format/half.h"
#include "format/search.h"

enum { SUPER = 256, ROUNDS = 3, MAX_POINTS = 8 };

/* One sub-block under one scale. */
typedef struct fit {
    float error, xv, vv; /* sums of w (x - a v)^2, w x v, w v v */
    uint16_t index[MAX_POINTS];
    uint8_t shift[MAX_POINTS];
} fit;

/* The points that the sub-block got last, with the shift up and down: the next scale's are seldom
 * far from them. */
typedef struct guesses {
    lattice_point up[MAX_POINTS], down[MAX_POINTS];
} guesses;

/* shift: 1/8, -1/8, or 0 where there is none */
static void add_point(const lattice *l, const float *x, const float *w, const lattice_point *p,
                      float shift, int at, fit *f) {
    f->error += p->cost;
    f->index[at] = l->index[p->at];
    f->shift[at] = shift < 0;
    for (int k = 0; k < l->n_dims; k++) {
        float v = (float)l->values[l->level[p->at][k]] + shift;
        f->xv += w[k] * x[k] * v;
        f->vv += w[k] * v * v;
    }
}

static void scale_levels(const lattice *l, float a, float shift, float *levels) {
    for (int v = 0; v < LATTICE_LEVELS; v++) {
        int used = v < l->n_levels ? v : l->n_levels - 1;
        levels[v] = a * ((float)l->values[used] + shift);
    }
}

/* Ends early, with an error that is not less, where the error reaches `most`. */
static fit fit_shifted(const search_lattice *s, const float *x, const float *w, float a,
                       float shift, float most, lattice_point *points) {
    fit f = {0};
    int n = s->points->n_dims;
    float levels[LATTICE_LEVELS];
    scale_levels(s->points, a, shift, levels);
    for (int g = 0; g < s->sub / n && f.error < most; g++) {
        lattice_nearest(s->points, x + g * n, w + g * n, levels, INFINITY, &points[g]);
        add_point(s->points, x + g * n, w + g * n, &points[g], shift, g, &f);
    }
    return f;
}

static fit fit_best_shifts(const search_lattice *s, const float *x, const float *w, float a,
                           float most, guesses *old) {
    fit f = {0};
    int n = s->points->n_dims;
    float high[LATTICE_LEVELS], low[LATTICE_LEVELS];
    scale_levels(s->points, a, 0.125F, high);
    scale_levels(s->points, a, -0.125F, low);
    for (int g = 0; g < s->sub / n && f.error < most; g++) {
        lattice_nearest(s->points, x + g * n, w + g * n, high, INFINITY, &old->up[g]);
        lattice_nearest(s->points, x + g * n, w + g * n, low, old->up[g].cost, &old->down[g]);
        bool is_up = old->up[g].cost <= old->down[g].cost;
        add_point(s->points, x + g * n, w + g * n, is_up ? &old->up[g] : &old->down[g],
                  is_up ? 0.125F : -0.125F, g, &f);
    }
    return f;
}

static fit fit_sub(const search_lattice *s, const float *x, const float *w, float a, float most,
                   guesses *old) {
    if (s->signs == SIGNS_SHIFT_POINT) return fit_best_shifts(s, x, w, a, most, old);
    if (s->signs != SIGNS_SHIFT_SUB) return fit_shifted(s, x, w, a, 0, most, old->up);
    fit up = fit_shifted(s, x, w, a, 0.125F, most, old->up);
    fit down = fit_shifted(s, x, w, a, -0.125F, up.error < most ? up.error : most, old->down);
    return up.error <= down.error ? up : down;
}

/* The sub-block's own best scale: 0 where nothing is to be gained. */
static float own_scale(const search_lattice *s, const float *x, const float *w, guesses *old) {
    float peak = search_peak(x, s->sub), best = 0, gain = 0;
    float top = (float)s->points->values[s->points->n_levels - 1];
    if (!(peak > 0) || !isfinite(peak) || !isfinite(1.0F / peak)) return 0;
    float lowest = fabsf((float)s->points->values[0]),
          step = (s->last - s->first) / (float)(s->n_tries - 1);
    for (int t = -1; t <= s->n_tries; t++) {
        float a = peak / (top * (s->first + step * (float)t));
        if (t < 0) a = peak / lowest;  /* exact where all magnitudes are equal */
        if (t == s->n_tries) a = best; /* once more, as refined */
        if (a == 0) break;
        fit f = fit_sub(s, x, w, a, INFINITY, old);
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

/* The best integer scale near the sub-block's own: that itself, then its neighbours. */
static fit pick_scale(const search_lattice *s, const float *x, const float *w, float u, float own,
                      guesses *old, uint8_t *scale) {
    static const int8_t steps[] = {0, -1, 1};
    int start = search_round(u > 0 ? (own / u - 1.0F) * 0.5F : 0, 0, s->top);
    fit best = {.error = INFINITY};
    for (int i = 0; i < 3; i++) {
        int k = start + steps[i];
        if (k < 0 || k > s->top) continue;
        fit f = fit_sub(s, x, w, u * (float)(2 * k + 1), best.error, old);
        if (!(f.error < best.error) && best.error < INFINITY) continue;
        best = f;
        *scale = (uint8_t)k;
    }
    return best;
}

/* One round under one d; returns the error and the d that fits the chosen points best. */
static float fit_round(const search_lattice *s, const float *x, const float *w, const float *own,
                       guesses *old, search_lattice_block *out, float *next_d) {
    float error = 0, u = out->d * s->unit;
    double top = 0, bottom = 0;
    int n_points = s->sub / s->points->n_dims;
    for (int j = 0; j < SUPER / s->sub; j++) {
        fit f = pick_scale(s, x + j * s->sub, w + j * s->sub, u, own[j], &old[j], &out->scales[j]);
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
    guesses old[16];
    for (int j = 0; j < SUPER / s->sub; j++)
        for (int g = 0; g < MAX_POINTS; g++)
            old[j].up[g] = old[j].down[g] = (lattice_point){.at = -1};
    take_signs(s->signs, x, w, magnitude, now.signs);
    for (int j = 0; j < SUPER / s->sub; j++) {
        own[j] = own_scale(s, magnitude + j * s->sub, w + j * s->sub, &old[j]);
        peak = own[j] > peak ? own[j] : peak;
    }
    *out = now;
    float d = peak / ((float)(2 * s->top + 1) * s->unit);
    for (int r = 0; r < ROUNDS && d > 0; r++) {
        now.d = f16_to_f32(f32_to_f16(d));
        float error = fit_round(s, magnitude, w, own, old, &now, &d);
        if (!(error < best)) break;
        best = error;
        *out = now;
    }
}
