/* The plan of rope. Angles are fractions of a turn in 64 bits (see rope.wgsl); the tables of
 * frequencies are made here, in double. SPDX-License-Identifier: MIT */
#include <math.h>

#include "webgpu/plan_parts.h"

enum { DIGIT = 8, MAX_PAIRS = DIGIT * DIGIT * DIGIT };

bool rope_applies(const gpu_caps *caps, const weft_call *call) {
    (void)caps;
    const weft_tensor *x = call->in[0], *out = call->out;
    return plan_is_float(x->dtype) && plan_is_float(out->dtype) && x->rank == 3 &&
           call->attrs.rope.n_dims <= 2 * MAX_PAIRS && call->attrs.rope.base >= 1;
}

/* The two words of x * 2^64, high and low, for 0 <= x <= 1. */
static void put_fraction(uint32_t *to, double x) {
    double y = ldexp(x, 64);
    uint64_t bits = y >= 18446744073709551615.0 ? UINT64_MAX : (uint64_t)y;
    to[0] = (uint32_t)(bits >> 32);
    to[1] = (uint32_t)bits;
}

/* base^(-2i/n) for i of one digit: d, 8 d, 64 d; the last times scale / (2 pi). Bases are at least
 * 1, so none exceeds its first; a scale above 2 pi is shifted down. */
static void fill_tables(const attrs_rope *a, params_rope *p) {
    double step = a->n_dims > 0 ? -2.0 / a->n_dims * log((double)a->base) : 0;
    double turns = fabs((double)a->scale) / 6.283185307179586;
    while (p->shift < 31 && ldexp(turns, -(int)p->shift) >= 1) p->shift++;
    turns = ldexp(turns, -(int)p->shift);
    for (int d = 0; d < DIGIT; d++) {
        uint32_t *to = p->digits[d / 2] + d % 2 * 2;
        put_fraction(to, exp(step * d));
        put_fraction(to + 4 * DIGIT / 2, exp(step * DIGIT * d));
        put_fraction(to + 4 * DIGIT, turns * exp(step * DIGIT * DIGIT * d));
    }
}

weft_status rope_plan(const gpu_caps *caps, const kernel_row *row, const weft_call *call,
                      gpu_plan *plan) {
    plan_job job = {caps, row, call, plan};
    const weft_tensor *x = call->in[0], *factors = call->in[2], *out = call->out;
    const attrs_rope *a = &call->attrs.rope;
    int64_t n = tensor_elements(x);
    REQUIRE(n <= INT64_C(0x7fffffff), WEFT_LIMIT, "rope: x has %lld elements", (long long)n);
    plan_step *s = plan_add(plan, row);
    params_rope p = {.n = (uint32_t)n,
                     .n_heads = (uint32_t)x->dim[1],
                     .head_dim = (uint32_t)x->dim[2],
                     .n_dims = (uint32_t)a->n_dims,
                     .x_token = (uint32_t)x->stride[0],
                     .x_head = (uint32_t)x->stride[1]};
    fill_tables(a, &p);
    int64_t span = (x->dim[0] - 1) * x->stride[0] + (x->dim[1] - 1) * x->stride[1] + x->dim[2];
    p.x_at = plan_bind(&job, s, 0, false, x->dtype, x->offset, span);
    p.positions_at = plan_bind_input(&job, s, 1);
    if (factors) p.factors_at = plan_bind_input(&job, s, 2);
    else plan_bind_input(&job, s, 1); /* something to stand there */
    p.out_at = plan_bind(&job, s, BIND_OUT, true, out->dtype, out->offset, n);
    step_source(s, "lib/grid.wgsl");
    step_source(s, "lib/elem.wgsl");
    step_source(s, "lib/out_dense.wgsl");
    step_const(s, "X_TYPE", x->dtype);
    step_const(s, "OUT_TYPE", out->dtype);
    step_flag(s, "IS_HALVES", a->is_halves != 0);
    step_flag(s, "IS_BACKWARD", a->scale < 0);
    step_flag(s, "HAS_FACTORS", factors != NULL);
    step_params(s, &p, sizeof p);
    if (s) s->n_groups = plan_groups(plan_words(out->dtype, n), 128);
    return WEFT_OK;
}
