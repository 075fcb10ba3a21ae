/* Super-blocks: the sub-blocks' own best scales are rounded to multiples of one f16, and since that
 * moves them, each integer scale is chosen again among its neighbours by the error it really gives;
 * then the f16 is fitted to the chosen integers, and once more. The best round is kept.
 * SPDX-License-Identifier: MIT */
#include <math.h>
#include <string.h>

#include "format/half.h"
#include "format/search.h"

enum { SUPER = 256, MAX_SUBS = 16, ROUNDS = 3 };

/* ---- x ~ d * scale_j * q
 * ---------------------------------------------------------------------------------- */

typedef struct super_scale {
    float error;
    uint16_t d;
    int scales[MAX_SUBS];
    float q[SUPER];
} super_scale;

/* The best integer scale near `start` for one sub-block; fills q and returns its error. */
static float pick_scale(search_levels l, int lo, int hi, float d, int start, const float *x,
                        const float *w, int n, int *scale, float *q) {
    float best = INFINITY, trial[32];
    *scale = 0;
    for (int s = start - 1; s <= start + 1; s++) {
        if (s < lo || s > hi) continue;
        float a = d * (float)s;
        search_snap(l, x, n, a != 0 ? 1.0F / a : 0, trial);
        float error = search_error(x, w, n, trial, a, 0);
        if (!(error < best) && best < INFINITY) continue;
        best = error;
        *scale = s;
        memcpy(q, trial, (size_t)n * sizeof *q);
    }
    return best;
}

static float fit_d(const float *x, const float *w, int n, const super_scale *s) {
    double top = 0, bottom = 0;
    for (int i = 0; i < SUPER; i++) {
        double u = (double)s->scales[i / n] * (double)s->q[i];
        top += (double)w[i] * (double)x[i] * u;
        bottom += (double)w[i] * u * u;
    }
    return bottom > 0 ? (float)(top / bottom) : 0;
}

uint16_t search_super_scale(search_levels l, int scale_lo, int scale_hi, int n_sub, const float *x,
                            const float *w, int *scales, float *q) {
    int n = SUPER / n_sub;
    float own[MAX_SUBS], peak = 0;
    for (int j = 0; j < n_sub; j++) {
        own[j] = search_scale(l, x + j * n, w + j * n, n, q + j * n);
        if (fabsf(own[j]) > fabsf(peak)) peak = own[j];
    }
    super_scale best = {.error = INFINITY}, now = {0};
    float d = peak / (float)scale_lo;
    for (int r = 0; r < ROUNDS; r++) {
        now.d = f32_to_f16(d);
        now.error = 0;
        d = f16_to_f32(now.d);
        for (int j = 0; j < n_sub; j++) {
            int start = search_round(d != 0 ? own[j] / d : 0, scale_lo, scale_hi);
            now.error += pick_scale(l, scale_lo, scale_hi, d, start, x + j * n, w + j * n, n,
                                    &now.scales[j], now.q + j * n);
        }
        if (r > 0 && !(now.error < best.error)) break;
        best = now;
        d = fit_d(x, w, n, &now);
    }
    memcpy(scales, best.scales, (size_t)n_sub * sizeof *scales);
    memcpy(q, best.q, sizeof best.q);
    return best.d;
}

/* ---- x ~ d * scale_j * q - dmin * min_j
 * ------------------------------------------------------------------- */

typedef struct super_affine {
    float error;
    search_pair d;
    int scales[MAX_SUBS], mins[MAX_SUBS];
    float q[SUPER];
} super_affine;

static void snap_affine(float hi, const float *x, int n, float a, float min, float *q) {
    float shifted[32];
    for (int i = 0; i < n; i++) shifted[i] = x[i] + min;
    search_snap((search_levels){0, hi, NULL}, shifted, n, a > 0 ? 1.0F / a : 0, q);
}

/* The best pair of integers near the sub-block's own line. */
static float pick_pair(float hi, int top, search_line own, float d, float dmin, const float *x,
                       const float *w, int n, int *scale, int *min, float *q) {
    int s0 = search_round(d > 0 ? own.scale / d : 0, 0, top);
    int m0 = search_round(dmin > 0 ? -own.offset / dmin : 0, 0, top);
    float best = INFINITY, trial[32];
    *scale = s0;
    *min = m0;
    for (int k = 0; k < 9; k++) {
        int s = s0 + k / 3 - 1, m = m0 + k % 3 - 1;
        if (s < 0 || s > top || m < 0 || m > top) continue;
        float a = d * (float)s, b = dmin * (float)m;
        snap_affine(hi, x, n, a, b, trial);
        float error = search_error(x, w, n, trial, a, -b);
        if (!(error < best) && best < INFINITY) continue;
        best = error;
        *scale = s;
        *min = m;
        memcpy(q, trial, (size_t)n * sizeof *q);
    }
    return best;
}

/* Least squares for d and dmin, given all integers. */
static void fit_pair(const float *x, const float *w, int n, const super_affine *s, float *d,
                     float *dmin) {
    double uu = 0, uv = 0, vv = 0, xu = 0, xv = 0;
    for (int i = 0; i < SUPER; i++) {
        double u = (double)s->scales[i / n] * (double)s->q[i], v = -(double)s->mins[i / n],
               wi = (double)w[i];
        uu += wi * u * u;
        uv += wi * u * v;
        vv += wi * v * v;
        xu += wi * (double)x[i] * u;
        xv += wi * (double)x[i] * v;
    }
    double det = uu * vv - uv * uv;
    if (det > 0) {
        double a = (xu * vv - xv * uv) / det, b = (xv * uu - xu * uv) / det;
        if (a > 0 && b >= 0) {
            *d = (float)a;
            *dmin = (float)b;
        }
    } else if (uu > 0 && xu > 0) {
        *d = (float)(xu / uu);
    }
}

search_pair search_super_affine(float hi, int top, int n_sub, const float *x, const float *w,
                                int *scales, int *mins, float *q) {
    int n = SUPER / n_sub;
    search_line own[MAX_SUBS];
    float d = 0, dmin = 0;
    for (int j = 0; j < n_sub; j++) {
        own[j] = search_affine(hi, false, x + j * n, w + j * n, n, q + j * n);
        d = own[j].scale > d ? own[j].scale : d;
        dmin = -own[j].offset > dmin ? -own[j].offset : dmin;
    }
    d /= (float)top;
    dmin /= (float)top;
    super_affine best = {.error = INFINITY}, now = {0};
    for (int r = 0; r < ROUNDS; r++) {
        now.d = (search_pair){f32_to_f16(d), f32_to_f16(dmin)};
        now.error = 0;
        d = f16_to_f32(now.d.d);
        dmin = f16_to_f32(now.d.dmin);
        for (int j = 0; j < n_sub; j++)
            now.error += pick_pair(hi, top, own[j], d, dmin, x + j * n, w + j * n, n,
                                   &now.scales[j], &now.mins[j], now.q + j * n);
        if (r > 0 && !(now.error < best.error)) break;
        best = now;
        fit_pair(x, w, n, &now, &d, &dmin);
    }
    memcpy(scales, best.scales, (size_t)n_sub * sizeof *scales);
    memcpy(mins, best.mins, (size_t)n_sub * sizeof *mins);
    memcpy(q, best.q, sizeof best.q);
    return best.d;
}
