/* silu: x / (1 + exp(-x)). SPDX-License-Identifier: MIT */
#include "runner.h"

static void ref_silu(ref_call *c) {
    const array *x = c->in[0];
    ref_out(c, x->dtype, x->shape);
    for (int64_t i = 0; i < x->n; i++) {
        c->out.v[i] = x->v[i] / (1 + exp(-x->v[i]));
        /* exp of a GPU is good to 3 + 2|x| roundings. */
        c->err[i] = EPS * fabs(c->out.v[i]) * (8 + 2 * fmin(fabs(x->v[i]), 100));
        if (x->v[i] < -80) c->err[i] = 1e-33; /* exp may overflow there: -0 for -1e-34 */
    }
}

static weft_tensor *api(weft_tensor *const *in, const op_attrs *attrs, const op_case *c) {
    (void)attrs;
    (void)c;
    return weft_silu(in[0]);
}

static void cases(void) {
    static const double edges[] = {-3e38, -1e4, -100, -89,  -88.5, -13.24, -10, -4,  0,
                                   8,     10.5, 11,   15.5, 20,    89,     100, 1e4, 3e38};
    int n = sizeof edges / sizeof *edges;
    for (int d = 0; d < 3; d++) {
        for (int i = 0; i < N_TILE_SIZES; i++) {
            op_input in = normal(float_dtypes[d], weft_2d(5, tile_size(64, i)));
            in.a = 6;
            run_case(&(op_case){.in = {in}});
        }
        op_input in = {.dtype = float_dtypes[d],
                       .shape = weft_1d(n),
                       .fill = FILL_LIST,
                       .list = edges,
                       .n = n};
        if (float_dtypes[d] == WEFT_F16)
            in = (op_input){.dtype = WEFT_F16,
                            .shape = weft_1d(n - 2),
                            .fill = FILL_LIST,
                            .list = edges + 1,
                            .n = n - 2};
        run_case(&(op_case){.name = "edge values", .in = {in}});
    }
}

const op_test test_silu = {.ref = ref_silu, .cases = cases, .api = api};
