/* gather: elements of the last dimension by index. SPDX-License-Identifier: MIT */
#include "runner.h"

static void ref_gather(ref_call *c) {
    const array *x = c->in[0], *ids = c->in[1];
    int64_t n = x->shape.dim[x->shape.rank - 1], k = ids->shape.dim[ids->shape.rank - 1];
    ref_out(c, WEFT_F32, weft_2d(ids->n / k, k));
    for (int64_t i = 0; i < ids->n; i++) {
        c->out.v[i] = x->v[i / k * n + (int64_t)ids->v[i]];
        c->err[i] = -1;
    }
}

static weft_tensor *api(weft_tensor *const *in, const op_attrs *attrs, const op_case *c) {
    (void)attrs;
    (void)c;
    return weft_gather(in[0], in[1]);
}

static void one(weft_dtype t, weft_shape x, weft_shape ids) {
    run_case(&(op_case){.in = {normal(t, x), integers(ids, 0, x.dim[x.rank - 1])}});
}

static void cases(void) {
    for (int d = 0; d < 3; d++) {
        weft_dtype t = float_dtypes[d];
        for (int i = 0; i < N_TILE_SIZES; i++) one(t, weft_2d(3, 37), weft_2d(3, tile_size(64, i)));
        one(t, weft_2d(5, 128), weft_2d(5, 8));
        one(t, weft_3d(2, 3, 7), weft_3d(2, 3, 4));
        one(t, weft_1d(300), weft_1d(5));
    }
    one(WEFT_F32, weft_2d(700, 3), weft_2d(700, 2));
}

const op_test test_gather = {.ref = ref_gather, .cases = cases, .api = api};
