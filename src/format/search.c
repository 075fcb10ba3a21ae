/* One sub-block's scale, or scale and offset: see search.h. Candidates put the largest element near
 * the end of the levels, a little beyond and a little before it, which is where the optimum lies
 * for bell-shaped data; two rounds of refinement then settle the rest. SPDX-License-Identifier: MIT
 */
#include "format/search.h"

#include <math.h>

#include "format/lanes.h"

enum { REFINEMENTS = 2, MAX_SUB = 64 }; /* every n is a multiple of 16 */

/* Adding and subtracting 1.5 * 2^23 rounds to the nearest integer in the default rounding mode. */
static const float to_integer = 12582912.0F;
static float nearest(float x) { return (x + to_integer) - to_integer; }

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

search_table search_table_of(const int8_t values[16]) {
    search_table t = {.values = values};
    for (int k = 0; k < 15; k++) {
        t.middle[k] = 0.5F * (float)(values[k] + values[k + 1]);
        t.step[k] = (float)(values[k + 1] - values[k]);
    }
    return t;
}

/* Climbs the table: each middle passed adds the step to the next level. Sixteen elements at a time
 * stay in registers. */
static void snap_to_table(const search_table *t, const float *x, int n, float inverse, float *q) {
    lanes factor = lanes_of(inverse), none = lanes_of(0);
    for (int i = 0; i < n; i += 16) {
        lanes v[4], level[4];
        for (int j = 0; j < 4; j++) {
            v[j] = lanes_load(x + i + 4 * j) * factor;
            level[j] = lanes_of(t->values[0]);
        }
        for (int k = 0; k < 15; k++) {
            lanes middle = lanes_of(t->middle[k]), step = lanes_of(t->step[k]);
            for (int j = 0; j < 4; j++) level[j] += lanes_pick(v[j] > middle, step, none);
        }
        for (int j = 0; j < 4; j++) lanes_store(q + i + 4 * j, level[j]);
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
    while (k < 15 && (float)l.table->values[k] < q) k++;
    return k;
}

float search_error(const float *x, const float *w, int n, const float *q, float a, float c) {
    lanes sum = lanes_of(0);
    for (int i = 0; i < n; i += 4) {
        lanes e = lanes_load(x + i) - lanes_of(a) * lanes_load(q + i) - lanes_of(c);
        sum += lanes_load(w + i) * e * e;
    }
    return lanes_sum(sum);
}

/* ---- x ~ a q
 * ---------------------------------------------------------------------------------------------- */

typedef struct best_scale {
    float gain, scale; /* gain = how far below sum w x^2 the error is */
} best_scale;

static void try_scale(search_levels l, const float *x, const float *w, int n, float inverse,
                      best_scale *best) {
    float q[MAX_SUB];
    lanes xq = lanes_of(0), qq = xq;
    search_snap(l, x, n, inverse, q);
    for (int i = 0; i < n; i += 4) {
        lanes level = lanes_load(q + i), wq = lanes_load(w + i) * level;
        xq += wq * lanes_load(x + i);
        qq += wq * level;
    }
    float wxq = lanes_sum(xq), wqq = lanes_sum(qq);
    if (wqq > 0 && wxq * wxq > best->gain * wqq) *best = (best_scale){wxq * wxq / wqq, wxq / wqq};
}

float search_scale(search_levels l, const float *x, const float *w, int n, float *q) {
    float peak = 0;
    for (int i = 0; i < n; i++)
        if (fabsf(x[i]) > fabsf(peak)) peak = x[i];
    best_scale best = {0, 0};
    if (fabsf(peak) > 0 && isfinite(1.0F / peak)) {
        float step = l.table ? 3.0F : 0.3F; /* a table's unit is finer than its levels' distance */
        for (int t = -4; t <= 4; t++) {
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

/* Least squares for given levels (the normal equations of two unknowns); sw and sx are the sums of
 * w and of w x. */
static search_line fit_line(bool any_offset, const float *x, const float *w, int n, float sw,
                            float sx, const float *q) {
    lanes lane_q = lanes_of(0), lane_qq = lane_q, lane_xq = lane_q;
    for (int i = 0; i < n; i += 4) {
        lanes level = lanes_load(q + i), wq = lanes_load(w + i) * level;
        lane_q += wq;
        lane_qq += wq * level;
        lane_xq += wq * lanes_load(x + i);
    }
    float sq = lanes_sum(lane_q), sqq = lanes_sum(lane_qq), sxq = lanes_sum(lane_xq);
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
    float sw, sx;
} best_line;

static void try_line(float hi, bool any_offset, const float *x, const float *w, int n,
                     search_line start, best_line *best) {
    float q[MAX_SUB];
    snap_line(hi, x, n, start, q);
    search_line line = fit_line(any_offset, x, w, n, best->sw, best->sx, q);
    float error = search_error(x, w, n, q, line.scale, line.offset);
    if (error < best->error && line.scale > 0) {
        best->error = error;
        best->line = line;
    }
}

search_line search_affine(float hi, bool any_offset, const float *x, const float *w, int n,
                          float *q) {
    float lowest = x[0], highest = x[0];
    for (int i = 1; i < n; i++) {
        lowest = x[i] < lowest ? x[i] : lowest;
        highest = x[i] > highest ? x[i] : highest;
    }
    if (!any_offset && lowest > 0) lowest = 0;
    best_line best = {INFINITY, {0, lowest}, 0, 0};
    for (int i = 0; i < n; i++) {
        best.sw += w[i];
        best.sx += w[i] * x[i];
    }
    float range = highest - lowest;
    if (range > 0 && isfinite(range) && isfinite(1.0F / range)) {
        for (int t = -7; t <= 7; t++) {
            float scale = range / (hi + 0.15F * (float)t);
            try_line(hi, any_offset, x, w, n, (search_line){scale, lowest}, &best);
        }
        for (int r = 0; r < REFINEMENTS; r++) try_line(hi, any_offset, x, w, n, best.line, &best);
    }
    snap_line(hi, x, n, best.line, q);
    return best.line;
}
