/* top_k over the last dimension: the largest first, the lowest index among equals, NaN before all.
 * SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "runner.h"

static bool is_before(double a, double b) { return isnan(a) ? !isnan(b) : a > b; }

static void ref_top_k(ref_call *c) {
    const array *x = c->in[0];
    weft_shape shape = x->shape;
    int64_t n = shape.dim[shape.rank - 1], k = c->attrs.top_k.k, rows = x->n / n;
    ref_out(c, WEFT_I32, weft_2d(rows, k));
    bool *taken = malloc((size_t)n * sizeof *taken);
    for (int64_t r = 0; r < rows; r++) {
        for (int64_t i = 0; i < n; i++) taken[i] = false;
        for (int64_t i = 0; i < k; i++) {
            int64_t best = -1;
            for (int64_t e = 0; e < n; e++)
                if (!taken[e] && (best < 0 || is_before(x->v[r * n + e], x->v[r * n + best])))
                    best = e;
            taken[best] = true;
            c->out.v[r * k + i] = (double)best;
        }
    }
    free(taken);
}

static weft_tensor *api(weft_tensor *const *in, const op_attrs *attrs, const op_case *c) {
    (void)c;
    return weft_top_k(in[0], attrs->top_k.k);
}

static void one(weft_dtype dtype, weft_shape shape, int32_t k) {
    run_case(&(op_case){.in = {normal(dtype, shape)}, .attrs = {.top_k = {k}}});
}

static void listed_row(const char *name, weft_dtype dtype, weft_shape shape, int32_t k,
                       const double *list, int n) {
    op_input x = {.dtype = dtype, .shape = shape, .fill = FILL_LIST, .list = list, .n = n};
    run_case(&(op_case){.name = name, .in = {x}, .attrs = {.top_k = {k}}});
}

static void cases(void) {
    static const double few[] = {3, 1, 3, -2, 0, 3, 2}, equal[] = {-7}, zeros[] = {-0.0, 0.0, -1};
    static const double nans[] = {1, 5, NAN, -INFINITY, 9, NAN, INFINITY};
    for (int d = 0; d < 3; d++) {
        weft_dtype t = float_dtypes[d];
        for (int i = 0; i < N_TILE_SIZES; i++) one(t, weft_2d(3, tile_size(256, i)), 1);
        one(t, weft_2d(5, 128), 8);
        one(t, weft_2d(3, 9), 9);
        one(t, weft_3d(2, 3, 301), 17);
        listed_row("ties", t, weft_2d(4, 65), 20, few, 7);
        listed_row("all equal", t, weft_1d(33), 33, equal, 1);
        listed_row("signed zeros", t, weft_2d(3, 33), 30, zeros, 3);
        listed_row("NaN and infinities", t, weft_2d(5, 40), 40, nans, 7);
    }
    one(WEFT_F32, weft_2d(700, 3), 2);
    one(WEFT_F32, weft_2d(2, 20011), 3);
    one(WEFT_F32, weft_1d(700), 699);
}

const op_test test_top_k = {.ref = ref_top_k, .cases = cases, .api = api};
