/* One sub-block's scale, or scale and offset: see search.h. Candidates put the largest element near
 * the end of the levels, a little beyond and a little before it, which is where the optimum lies
 * for bell-shaped data; two rounds of refinement then settle the rest. SPDX-License-Identifier: MIT
 */
#include "format/search.h"

#include <math.h>

enum { REFINEMENTS = 2, MAX_SUB = 64 };

/* Adding and subtracting 1.5 * 2^23 rounds to the nearest integer in the default rounding mode. */
static float nearest(float x) { return (x + 12582912.0F) - 12582912.0F; }

static float limit(float x, float lo, float hi) {
    x = x > lo ? x : lo; /* NaN too */
    return x < hi ? x : hi;
}

int search_round(float x, int lo, int hi) { return (int)nearest(limit(x, (float)lo, (float)hi)); }

int search_half_away(float x, int lo, int hi) {
    return (int)roundf(limit(x, (float)lo, (float)hi));
}
int search_floor(float x, int lo, int hi) { return (int)limit(x, (float)lo, (float)hi); }

float search_peak(const float *x, int n) {
    float peak = 0;
    for (int i = 0; i < n; i++) peak = fabsf(x[i]) > peak ? fabsf(x[i]) : peak;
    return peak;
}

void search_weights(const float *importance, int n, float *w) {
    for (int i = 0; i < n; i++) w[i] = importance ? importance[i] : 1.0F;
}

/* Climbs the table: each threshold passed (the middle between two levels) adds the step to the next
 * level. All elements together, so that the loop over them vectorises. n <= MAX_SUB. */
static void snap_to_table(const int8_t *table, const float *x, int n, float inverse, float *q) {
    float v[MAX_SUB];
    for (int i = 0; i < n; i++) {
        v[i] = x[i] * inverse;
        q[i] = table[0];
    }
    for (int k = 0; k < 15; k++) {
        float middle = 0.5F * (float)(table[k] + table[k + 1]),
              step = (float)(table[k + 1] - table[k]);
        for (int i = 0; i < n; i++) q[i] += v[i] > middle ? step : 0;
    }
}

void search_snap(search_levels l, const float *x, int n, float inverse, float *q) {
    if (l.table) {
        snap_to_table(l.table, x, n, inverse, q);
        return;
    }
    for (int i = 0; i < n; i++) q[i] = nearest(limit(x[i] * inverse, l.lo, l.hi));
}

int search_index(search_levels l, float q) {
    if (!l.table) return (int)(q - l.lo);
    int k = 0;
    while (k < 15 && (float)l.table[k] < q) k++;
    return k;
}

float search_error(const float *x, const float *w, int n, const float *q, float a, float c) {
    float sum = 0;
    for (int i = 0; i < n; i++) {
        float e = x[i] - a * q[i] - c;
        sum += w[i] * e * e;
    }
    return sum;
}

/* ---- x ~ a q
 * ---------------------------------------------------------------------------------------------- */

typedef struct best_scale {
    float gain, scale; /* gain = how far below sum w x^2 the error is */
} best_scale;

static void try_scale(search_levels l, const float *x, const float *w, int n, float inverse,
                      best_scale *best) {
    float q[MAX_SUB], wxq = 0, wqq = 0;
    search_snap(l, x, n, inverse, q);
    for (int i = 0; i < n; i++) {
        wxq += w[i] * x[i] * q[i];
        wqq += w[i] * q[i] * q[i];
    }
    if (wqq > 0 && wxq * wxq > best->gain * wqq) *best = (best_scale){wxq * wxq / wqq, wxq / wqq};
}

float search_scale(search_levels l, const float *x, const float *w, int n, float *q) {
    float peak = 0;
    for (int i = 0; i < n; i++)
        if (fabsf(x[i]) > fabsf(peak)) peak = x[i];
    best_scale best = {0, 0};
    if (fabsf(peak) > 0 && isfinite(1.0F / peak)) {
        float step = l.table ? 1.0F : 0.1F; /* a table's unit is finer than its levels' distance */
        for (int t = -12; t <= 12; t++) {
            try_scale(l, x, w, n, (l.lo - step * (float)t) / peak, &best);
            try_scale(l, x, w, n, (l.hi + step * (float)t) / peak, &best);
        }
        for (int r = 0; r < REFINEMENTS && best.scale != 0; r++)
            try_scale(l, x, w, n, 1.0F / best.scale, &best);
    }
    search_snap(l, x, n, best.scale != 0 ? 1.0F / best.scale : 0, q);
    return best.scale;
}

/* ---- x ~ a q + c
 * ------------------------------------------------------------------------------------------ */

static void snap_line(float hi, const float *x, int n, search_line line, float *q) {
    float inverse = line.scale != 0 ? 1.0F / line.scale : 0;
    for (int i = 0; i < n; i++) q[i] = nearest(limit((x[i] - line.offset) * inverse, 0, hi));
}

/* Least squares for given levels (the normal equations of two unknowns). */
static search_line fit_line(bool any_offset, const float *x, const float *w, int n,
                            const float *q) {
    float sw = 0, sq = 0, sx = 0, sqq = 0, sxq = 0;
    for (int i = 0; i < n; i++) {
        float wq = w[i] * q[i];
        sw += w[i];
        sq += wq;
        sx += w[i] * x[i];
        sqq += wq * q[i];
        sxq += wq * x[i];
    }
    float det = sw * sqq - sq * sq;
    if (det > 0) {
        search_line line = {(sw * sxq - sx * sq) / det, (sqq * sx - sq * sxq) / det};
        if (any_offset || line.offset <= 0) return line;
    }
    return (search_line){sqq > 0 ? sxq / sqq : 0, 0};
}

typedef struct best_line {
    float error;
    search_line line;
} best_line;

static void try_line(float hi, bool any_offset, const float *x, const float *w, int n,
                     search_line start, best_line *best) {
    float q[MAX_SUB];
    snap_line(hi, x, n, start, q);
    search_line line = fit_line(any_offset, x, w, n, q);
    float error = search_error(x, w, n, q, line.scale, line.offset);
    if (error < best->error && line.scale > 0) *best = (best_line){error, line};
}

search_line search_affine(float hi, bool any_offset, const float *x, const float *w, int n,
                          float *q) {
    float lowest = x[0], highest = x[0];
    for (int i = 1; i < n; i++) {
        lowest = x[i] < lowest ? x[i] : lowest;
        highest = x[i] > highest ? x[i] : highest;
    }
    if (!any_offset && lowest > 0) lowest = 0;
    best_line best = {INFINITY, {0, lowest}};
    float range = highest - lowest;
    if (range > 0 && isfinite(range) && isfinite(1.0F / range)) {
        for (int t = -10; t <= 10; t++) {
            float scale = range / (hi + 0.1F * (float)t);
            try_line(hi, any_offset, x, w, n, (search_line){scale, lowest}, &best);
        }
        for (int r = 0; r < REFINEMENTS; r++) try_line(hi, any_offset, x, w, n, best.line, &best);
    }
    snap_line(hi, x, n, best.line, q);
    return best.line;
}
