/* argmax over the last dimension: the lowest index among equals, the first NaN if there is one.
 * SPDX-License-Identifier: MIT */
#include "runner.h"

static void ref_argmax(ref_call *c) {
    const array *x = c->in[0];
    weft_shape shape = x->shape;
    shape.rank--;
    ref_out(c, WEFT_I32, shape);
    int64_t k = x->shape.dim[shape.rank];
    for (int64_t r = 0; r < c->out.n; r++) {
        int64_t best = 0;
        for (int64_t i = 1; i < k; i++) {
            double v = x->v[r * k + i], b = x->v[r * k + best];
            if (!isnan(b) && (isnan(v) || v > b)) best = i;
        }
        c->out.v[r] = (double)best;
    }
}

static weft_tensor *api(weft_tensor *const *in, const op_attrs *attrs, const op_case *c) {
    (void)attrs;
    (void)c;
    return weft_argmax(in[0], -1);
}

static void listed_row(const char *name, weft_dtype dtype, weft_shape shape, const double *list,
                       int n) {
    run_case(&(op_case){
        .name = name,
        .in = {{.dtype = dtype, .shape = shape, .fill = FILL_LIST, .list = list, .n = n}}});
}

static void cases(void) {
    static const double few[] = {3, 1, 3, -2, 0, 3, 2}, equal[] = {-7}, zeros[] = {-0.0, 0.0, -1};
    static const double nans[] = {1, 5, 2, NAN, 9, NAN, 3},
                        infinite[] = {-INFINITY, -INFINITY, 3, INFINITY, INFINITY};
    for (int d = 0; d < 3; d++) {
        weft_dtype t = float_dtypes[d];
        for (int i = 0; i < N_TILE_SIZES; i++) {
            run_case(&(op_case){.in = {normal(t, weft_2d(5, tile_size(256, i)))}});
            listed_row("ties", t, weft_2d(4, tile_size(64, i)), few, 7);
        }
        listed_row("all equal", t, weft_1d(1023), equal, 1);
        listed_row("signed zeros", t, weft_2d(3, 33), zeros, 3);
        listed_row("NaN", t, weft_2d(5, 40), nans, 7);
        listed_row("infinities", t, weft_2d(2, 5), infinite, 5);
    }
    run_case(&(op_case){.in = {normal(WEFT_F32, weft_2d(2, 49157))}});
    run_case(&(op_case){.in = {normal(WEFT_F32, weft_2d(700, 3))}});
}

const op_test test_argmax = {.ref = ref_argmax, .cases = cases, .api = api};
