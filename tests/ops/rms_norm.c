/* rms_norm: x * weight / sqrt(mean(x^2) + eps). SPDX-License-Identifier: MIT */
#include "runner.h"

static void ref_rms_norm(ref_call *c) {
    const array *x = c->in[0], *w = c->in[1];
    ref_out(c, x->dtype, x->shape);
    int64_t k = x->shape.dim[x->shape.rank - 1];
    double squares = 0;
    for (int64_t i = 0; i < x->n; i++) {
        if (i % k == 0) squares = 0;
        for (int64_t j = i; i % k == 0 && j < i + k; j++) squares += x->v[j] * x->v[j];
        c->out.v[i] = x->v[i] / sqrt(squares / (double)k + (double)c->attrs.rms_norm.eps) *
                      (w ? w->v[i % k] : 1);
        c->err[i] = EPS * fabs(c->out.v[i]) * (ref_sum_cost(k) / 2 + 8);
    }
}

static weft_tensor *api(weft_tensor *const *in, const op_attrs *attrs, const op_case *c) {
    (void)c;
    return weft_rms_norm(in[0], in[1], attrs->rms_norm.eps);
}

static void rows(weft_dtype dtype, weft_shape shape, bool has_weight, double scale) {
    op_case c = {.in = {normal(dtype, shape), normal(WEFT_F32, weft_1d(shape.dim[shape.rank - 1]))},
                 .attrs.rms_norm.eps = 1e-5f};
    c.in[0].a = scale;
    c.in[1].is_absent = !has_weight;
    run_case(&c);
}

static void cases(void) {
    for (int d = 0; d < 3; d++)
        for (int i = 0; i < N_TILE_SIZES; i++) {
            rows(float_dtypes[d], weft_2d(5, tile_size(64, i)), i != 1, 1);
            rows(float_dtypes[d], weft_2d(3, tile_size(256, i)), i != 2, 30);
        }
    rows(WEFT_F32, weft_2d(2, 4096), true, 1e-3);
    rows(WEFT_F32, weft_3d(3, 4, 576), true, 1);
    rows(WEFT_F16, weft_1d(300), false, 200);
    rows(WEFT_F32, weft_2d(300, 3), true, 1);
    for (int64_t k = 2048; k <= 16384; k *= 8) {
        op_case c = {.name = "biased terms",
                     .in = {biased(weft_2d(2, k), k), {.is_absent = true}},
                     .attrs.rms_norm.eps = 1e-6f};
        c.in[0].b = sqrt(c.in[0].b);
        run_case(&c);
    }
}

const op_test test_rms_norm = {.ref = ref_rms_norm, .cases = cases, .api = api};
