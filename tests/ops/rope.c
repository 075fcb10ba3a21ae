/* rope: rotary position embedding, both pairings, partial rotation, factors.
 * SPDX-License-Identifier: MIT */
#include "runner.h"

static void ref_rope(ref_call *c) {
    const array *x = c->in[0], *positions = c->in[1], *factors = c->in[2];
    const attrs_rope *a = &c->attrs.rope;
    int64_t n_heads = x->shape.dim[1], k = x->shape.dim[2];
    ref_out(c, x->dtype, x->shape);
    for (int64_t i = 0; i < x->n; i++) {
        int64_t d = i % k, half = a->n_dims / 2;
        if (d >= a->n_dims) {
            c->out.v[i] = x->v[i];
            continue;
        }
        bool is_first = a->is_halves ? d < half : d % 2 == 0;
        int64_t pair = a->is_halves ? d % half : d / 2, step = a->is_halves ? half : 1;
        double angle = positions->v[i / (k * n_heads)] * (double)a->scale *
                       pow((double)a->base, -2.0 * (double)pair / a->n_dims) /
                       (factors ? factors->v[pair] : 1);
        double u = x->v[is_first ? i : i - step], v = x->v[is_first ? i + step : i];
        c->out.v[i] = is_first ? u * cos(angle) - v * sin(angle) : u * sin(angle) + v * cos(angle);
        /* Sines good to 2^-19; an angle a few digits better than one f32, or counted in 2^-32 turns
         * a position. */
        double position = fabs(positions->v[i / (k * n_heads)]);
        c->err[i] = (fabs(u) + fabs(v)) * (0x1p-19 + 6e-10 * fabs(angle) + 2e-9 * position);
    }
}

static weft_tensor *api(weft_tensor *const *in, const op_attrs *attrs, const op_case *c) {
    (void)c;
    const attrs_rope *a = &attrs->rope;
    weft_rope_desc desc = {.n_dims = a->n_dims,
                           .base = a->base,
                           .scale = a->scale,
                           .pairing = a->is_halves ? WEFT_ROPE_HALVES : WEFT_ROPE_NEIGHBOURS,
                           .factors = in[2]};
    return weft_rope(in[0], in[1], desc);
}

typedef struct shape {
    int64_t tokens, heads, k;
    int32_t n_dims;
} shape;

static void one(weft_dtype t, shape s, int32_t is_halves, float base, float scale, int64_t top,
                bool has_factors) {
    op_case c = {
        .in = {normal(t, weft_3d(s.tokens, s.heads, s.k)),
               integers(weft_1d(s.tokens), 0, top),
               {.dtype = WEFT_F32,
                .shape = weft_1d(s.n_dims / 2),
                .fill = FILL_RANGE,
                .a = 1,
                .b = 9}},
        .attrs.rope = {.n_dims = s.n_dims, .is_halves = is_halves, .base = base, .scale = scale}};
    c.in[2].is_absent = !has_factors;
    run_case(&c);
}

static void cases(void) {
    for (int d = 0; d < 3; d++)
        for (int32_t h = 0; h < 2; h++) {
            one(float_dtypes[d], (shape){5, 3, 64, 64}, h, 10000, 1, 4096, false);
            one(float_dtypes[d], (shape){1, 9, 64, 32}, h, 500000, 1, 131072, true);
            one(float_dtypes[d], (shape){33, 2, 128, 128}, h, 10000, 0.25f, 100001, false);
            one(float_dtypes[d], (shape){3, 1, 6, 2}, h, 10000, 1, 10, true);
            one(float_dtypes[d], (shape){2, 5, 7, 6}, h, 100, 1, 1000, false);
        }
    static const double far[] = {100000, 0, 99999, 65537};
    op_case c = {.name = "far positions",
                 .in = {normal(WEFT_F32, weft_3d(4, 2, 64)),
                        listed(weft_1d(4), far, 4),
                        {.is_absent = true}},
                 .attrs.rope = {.n_dims = 64, .base = 10000, .scale = 1}};
    run_case(&c);
}

const op_test test_rope = {.ref = ref_rope, .cases = cases, .api = api};
