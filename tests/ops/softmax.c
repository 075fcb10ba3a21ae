/* softmax over the last dimension (the core turns other axes). SPDX-License-Identifier: MIT */
#include "runner.h"

static void ref_softmax(ref_call *c) {
    const array *x = c->in[0];
    ref_out(c, x->dtype, x->shape);
    int64_t k = x->shape.dim[x->shape.rank - 1];
    for (int64_t r = 0; k && r < x->n / k; r++) {
        const double *v = x->v + r * k;
        double top = -INFINITY, sum = 0, loss = 0;
        for (int64_t i = 0; i < k; i++) top = fmax(top, v[i]);
        for (int64_t i = 0; i < k; i++) sum += exp(v[i] - top);
        /* exp loses 3 + 2|x| roundings, and the rounding of x - top another |x|. */
        for (int64_t i = 0; i < k; i++)
            loss += exp(v[i] - top) / sum * (4 + 3 * fmin(top - v[i], 200));
        for (int64_t i = 0; i < k; i++) {
            double y = exp(v[i] - top) / sum;
            c->out.v[r * k + i] = y;
            c->err[r * k + i] = EPS * y * (8 + 3 * fmin(top - v[i], 200) + loss + ref_sum_cost(k));
            if (top - v[i] > 80) c->err[r * k + i] = 1e-33; /* a denormal exp may be flushed */
        }
    }
}

static weft_tensor *api(weft_tensor *const *in, const op_attrs *attrs, const op_case *c) {
    (void)attrs;
    (void)c;
    return weft_softmax(in[0], -1);
}

static void rows(weft_dtype dtype, weft_shape shape, double spread) {
    op_input in = normal(dtype, shape);
    in.a = spread;
    run_case(&(op_case){.in = {in}});
}

static void cases(void) {
    for (int d = 0; d < 3; d++)
        for (int i = 0; i < N_TILE_SIZES; i++) {
            rows(float_dtypes[d], weft_2d(9, tile_size(32, i)), 3);
            rows(float_dtypes[d], weft_3d(2, 3, tile_size(256, i)), 8);
        }
    rows(WEFT_F32, weft_1d(4097), 1);
    rows(WEFT_F32, weft_2d(300, 7), 30);
    rows(WEFT_F16, weft_2d(300, 7), 1);
    rows(WEFT_F32, weft_4d(3, 2, 5, 65), 2);
}

const op_test test_softmax = {
    .ref = ref_softmax, .cases = cases, .api = api, .has_any_output = true};
