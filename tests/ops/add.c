/* add: broadcasting sums of floats, and of wrapping integers. SPDX-License-Identifier: MIT */
#include "broadcasting.h"

static void ref_add(ref_call *c) {
    const array *a = c->in[0], *b = c->in[1];
    ref_out(c, ref_promote(a->dtype, b->dtype), ref_broadcast_shape(a->shape, b->shape));
    for (int64_t i = 0; i < c->out.n; i++) {
        double y = ref_broadcast(a, c->out.shape, i) + ref_broadcast(b, c->out.shape, i);
        c->out.v[i] = c->out.dtype == WEFT_I32 ? ref_wrap(y) : y;
        c->err[i] = EPS * fabs(y);
    }
}

static weft_tensor *api(weft_tensor *const *in, const op_attrs *attrs, const op_case *c) {
    (void)attrs;
    (void)c;
    return weft_add(in[0], in[1]);
}

const op_test test_add = {.ref = ref_add, .cases = broadcasting_cases, .api = api};
