/* The plan of rope. Angles are fractions of a turn in 32 bits (see rope.wgsl); the two tables of
 * frequencies are made here, in double. SPDX-License-Identifier: MIT */
#include <math.h>

#include "webgpu/plan_parts.h"

enum { FINE = 16, COARSE = 32 }; /* entries of the tables: n_dims up to 2 * 16 * 32 */

static const double two_32 = 4294967296.0, two_pi = 6.283185307179586;

bool rope_applies(const gpu_caps *caps, const weft_call *call) {
    (void)caps;
    const weft_tensor *x = call->in[0], *out = call->out;
    return plan_is_float(x->dtype) && plan_is_float(out->dtype) && x->rank == 3 &&
           call->attrs.rope.n_dims <= 2 * FINE * COARSE &&
           plan_byte(out->dtype, out->offset) % 4 == 0;
}

static uint32_t fraction(double x, int shift) {
    double y = floor(ldexp(x, 32 - shift) + 0.5);
    return y >= two_32 ? UINT32_MAX : y > 0 ? (uint32_t)y : 0;
}

/* coarse[j] = scale / (2 pi) * base^(-2 * 16 j / n), fine[i] = base^(-2 i / n), as fractions. A
 * base below 1 (frequencies that grow) and scales above 2 pi shift the coarse ones down. A negative
 * scale is one of its size, turned back. */
static void fill_tables(const attrs_rope *a, params_rope *p) {
    double step = a->n_dims > 0 ? -2.0 / a->n_dims * log((double)a->base) : 0;
    double turns = fabs((double)a->scale) / two_pi, most = turns;
    int n_pairs = a->n_dims / 2;
    for (int j = 0; j * FINE < n_pairs; j++) {
        double f = turns * exp(step * FINE * j);
        if (f > most) most = f;
    }
    int shift = 0;
    while (shift < 31 && ldexp(most, -shift) >= 1) shift++;
    p->coarse_shift = (uint32_t)shift;
    for (int j = 0; j < COARSE && j * FINE < n_pairs; j++) {
        p->coarse[j / 4][j % 4] = fraction(turns * exp(step * FINE * j), shift);
    }
    for (int i = 0; i < FINE; i++) p->fine[i / 4][i % 4] = fraction(exp(step * i), 0);
}

weft_status rope_plan(const gpu_caps *caps, const kernel_row *row, const weft_call *call,
                      gpu_plan *plan) {
    plan_job job = {caps, row, call, plan};
    const weft_tensor *x = call->in[0], *factors = call->in[2], *out = call->out;
    const attrs_rope *a = &call->attrs.rope;
    int64_t n = tensor_elements(x);
    REQUIRE(n <= INT64_C(0x7fffffff), WEFT_LIMIT, "rope: x has %lld elements", (long long)n);
    REQUIRE(a->base >= 1, WEFT_UNSUPPORTED, "rope: a base of %g is below 1", (double)a->base);
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
    if (plan_is_small(out->dtype)) p.out_at /= 2;
    step_source(s, "lib/grid.wgsl");
    step_source(s, "lib/elem.wgsl");
    step_const(s, "X_TYPE", x->dtype);
    step_const(s, "OUT_TYPE", out->dtype);
    step_flag(s, "IS_HALVES", a->is_halves != 0);
    step_flag(s, "IS_BACKWARD", a->scale < 0);
    step_flag(s, "HAS_FACTORS", factors != NULL);
    step_params(s, &p, sizeof p);
    if (s) s->n_groups = plan_groups(n, plan_is_small(out->dtype) ? 256 : 128);
    return WEFT_OK;
}
