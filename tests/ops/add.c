/* add: broadcasting sums of floats, and of wrapping integers. SPDX-License-Identifier: MIT */
#include "runner.h"

static double wrap(double v) { return (double)(int32_t)(uint32_t)(int64_t)fmod(v, 0x1p52); }

static void ref_add(ref_call *c) {
    const array *a = c->in[0], *b = c->in[1];
    ref_out(c, ref_promote(a->dtype, b->dtype), ref_broadcast_shape(a->shape, b->shape));
    for (int64_t i = 0; i < c->out.n; i++) {
        double y = ref_broadcast(a, c->out.shape, i) + ref_broadcast(b, c->out.shape, i);
        c->out.v[i] = c->out.dtype == WEFT_I32 ? wrap(y) : y;
        c->err[i] = EPS * fabs(y);
    }
}

static weft_tensor *api(weft_tensor *const *in, const op_attrs *attrs, const op_case *c) {
    (void)attrs;
    (void)c;
    return weft_add(in[0], in[1]);
}

static void two(op_input a, op_input b) { run_case(&(op_case){.in = {a, b}}); }

static op_input whole(weft_shape shape) {
    op_input in = integers(shape, -60000, 60000);
    in.is_index = false;
    return in;
}

static void cases(void) {
    for (int i = 0; i < N_TILE_SIZES; i++) {
        int64_t n = tile_size(64, i);
        for (int d = 0; d < 3; d++)
            two(normal(float_dtypes[d], weft_2d(7, n)), normal(float_dtypes[d], weft_2d(7, n)));
        two(normal(WEFT_F32, weft_3d(3, 2, n)), normal(WEFT_F32, weft_1d(n)));
        two(whole(weft_2d(3, n)), whole(weft_2d(1, n)));
    }
    two(normal(WEFT_F32, weft_3d(4, 1, 5)), normal(WEFT_F16, weft_2d(6, 1)));
    two(normal(WEFT_BF16, weft_2d(1, 300)), normal(WEFT_F16, weft_2d(11, 1)));
    two(normal(WEFT_F16, weft_2d(5, 33)), normal(WEFT_F16, (weft_shape){0}));
    two(normal(WEFT_F32, weft_1d(20011)), normal(WEFT_F32, weft_1d(20011)));
    two(normal(WEFT_F16, weft_1d(20011)), normal(WEFT_F16, weft_1d(20011)));
    two(normal(WEFT_F32, (weft_shape){6, {2, 1, 2, 3, 1, 5}}),
        normal(WEFT_F32, (weft_shape){6, {2, 3, 1, 3, 2, 5}}));
}

const op_test test_add = {.ref = ref_add, .cases = cases, .api = api};
