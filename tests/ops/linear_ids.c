/* linear_ids: products with matrices picked by index, w in every format.
 * SPDX-License-Identifier: MIT */
#include "runner.h"
#include "tensor/dtype.h"
#include "tensor/fused.h"

static void ref_linear_ids(ref_call *c) {
    const array *x = c->in[0], *w = c->in[1], *ids = c->in[2];
    int64_t slots = ids->shape.dim[1], x_slots = x->shape.dim[1], k = w->shape.dim[2],
            n = w->shape.dim[1];
    ref_out(c, WEFT_F32, weft_3d(ids->shape.dim[0], slots, n));
    for (int64_t i = 0; i < ids->n * n; i++) {
        int64_t pair = i / n, slot = x_slots == 1 ? 0 : pair % slots;
        const double *u = x->v + (pair / slots * x_slots + slot) * k;
        int64_t row = ((int64_t)ids->v[pair] * n + i % n) * k;
        double terms = 0, decoding = 0, y = 0;
        for (int64_t j = 0; j < k; j++) {
            y += u[j] * w->v[row + j];
            terms += fabs(u[j] * w->v[row + j]);
            if (w->block_top) decoding += fabs(u[j]) * w->block_top[row + j];
        }
        c->out.v[i] = y;
        c->err[i] = EPS * (ref_sum_cost(k) * terms + 8 * decoding + fabs(y));
    }
}

static weft_tensor *api(weft_tensor *const *in, const op_attrs *attrs, const op_case *c) {
    (void)attrs;
    (void)c;
    return fused_linear_ids(in[0], in[1], in[2]);
}

typedef struct sizes {
    int64_t tokens, slots, x_slots, experts, n, k;
} sizes;

static void one(weft_dtype t, sizes s) {
    op_input w = weights(t, s.experts * s.n, s.k);
    w.shape = weft_3d(s.experts, s.n, s.k);
    run_case(&(op_case){.in = {normal(WEFT_F32, weft_3d(s.tokens, s.x_slots, s.k)), w,
                               integers(weft_2d(s.tokens, s.slots), 0, s.experts)}});
}

/* Every pair wants one expert, the others none. */
static void crowded(weft_dtype t) {
    static const double two[] = {2};
    op_input w = weights(t, 4 * 33, 64);
    w.shape = weft_3d(4, 33, 64);
    run_case(&(op_case){
        .name = "one expert",
        .in = {normal(WEFT_F32, weft_3d(19, 1, 64)), w, listed(weft_2d(19, 3), two, 1)}});
}

static void cases(void) {
    for (int id = 0; id < WEFT_DTYPE_NUMBERS; id++) {
        const dtype_info *type = dtype_find((weft_dtype)id);
        weft_dtype t = (weft_dtype)id;
        if (!type || (!type->is_quantized && !(t == WEFT_F32 || t == WEFT_F16 || t == WEFT_BF16)))
            continue;
        int64_t k = type->block > 32 ? type->block : type->block == 32 ? 96 : 67;
        one(t, (sizes){1, 2, 1, 4, 19, k});
        one(t, (sizes){5, 3, 3, 6, 9, k});
    }
    static const weft_dtype common[] = {WEFT_F32, WEFT_F16, WEFT_Q4_0, WEFT_Q8_0};
    for (int d = 0; d < 4; d++) {
        for (int i = 0; i < N_TILE_SIZES; i++)
            one(common[d], (sizes){1 + i % 3, 2, 1 + i % 2, 5, tile_size(16, i), 160});
        one(common[d], (sizes){33, 2, 1, 4, 40, 64});
        crowded(common[d]);
    }
    one(WEFT_Q4_0, (sizes){2, 8, 8, 16, 64, 2048});
    one(WEFT_F32, (sizes){3, 1, 1, 1, 5, 4096});
    one(WEFT_F32, (sizes){2, 2, 2, 3, 5, 0});
}

const op_test test_linear_ids = {.ref = ref_linear_ids, .cases = cases, .api = api};
