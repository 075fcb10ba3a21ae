/* silu_mul: silu(gate) * up, broadcasting. SPDX-License-Identifier: MIT */
#include "runner.h"

static void ref_silu_mul(ref_call *c) {
    const array *a = c->in[0], *b = c->in[1];
    ref_out(c, ref_promote(a->dtype, b->dtype), ref_broadcast_shape(a->shape, b->shape));
    for (int64_t i = 0; i < c->out.n; i++) {
        double x = ref_broadcast(a, c->out.shape, i), up = ref_broadcast(b, c->out.shape, i);
        c->out.v[i] = x / (1 + exp(-x)) * up;
        c->err[i] = EPS * fabs(c->out.v[i]) * (10 + 2 * fmin(fabs(x), 100)) +
                    (x < -80 ? 1e-33 * fabs(up) : 0);
    }
}

static weft_tensor *api(weft_tensor *const *in, const op_attrs *attrs, const op_case *c) {
    (void)attrs;
    (void)c;
    return weft_silu_mul(in[0], in[1]);
}

static void cases(void) {
    for (int d = 0; d < 3; d++)
        for (int i = 0; i < N_TILE_SIZES; i++) {
            op_input gate = normal(float_dtypes[d], weft_2d(6, tile_size(64, i)));
            gate.a = 5;
            run_case(&(op_case){.in = {gate, normal(float_dtypes[d], gate.shape)}});
        }
    run_case(
        &(op_case){.in = {normal(WEFT_F16, weft_3d(4, 1, 9)), normal(WEFT_F32, weft_2d(3, 1))}});
}

const op_test test_silu_mul = {.ref = ref_silu_mul, .cases = cases, .api = api};
