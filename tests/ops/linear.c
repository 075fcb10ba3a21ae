/* linear: x @ w^T + bias, w in every format. SPDX-License-Identifier: MIT */
#include "runner.h"
#include "tensor/dtype.h"

/* What codes of 16 bits for blocks of 32 activations may cost. Let t be a block's largest and d =
 * t / 32512: x becomes d q with q the integer nearest to x / d, off by at most d / 2, and f32
 * roundings of x / d move a tie by less than 2^-7 d. A block whose largest is below 2^-60 may count
 * as zeros. */
static double codes_cost(const double *x, const double *w, int64_t k) {
    double cost = 0;
    for (int64_t b = 0; b < k; b += 32) {
        double top = 0, sum = 0;
        for (int64_t i = b; i < b + 32 && i < k; i++) {
            top = fmax(top, fabs(x[i]));
            sum += fabs(w[i]);
        }
        cost += (top < 0x1p-60 ? top : (0.5 + 0x1p-7) * top / 32512) * sum;
    }
    return cost;
}

static void ref_linear(ref_call *c) {
    const array *x = c->in[0], *w = c->in[1], *bias = c->in[2];
    int64_t k = w->shape.dim[1], n = w->shape.dim[0], m = 1;
    for (int d = 0; d < x->shape.rank - 1; d++) m *= x->shape.dim[d];
    ref_out(c, WEFT_F32, weft_2d(m, n));
    for (int64_t i = 0; i < m * n; i++) {
        const double *u = x->v + i / n * k, *v = w->v + i % n * k;
        double terms = 0, decoding = 0, y = bias ? bias->v[i % n] : 0;
        for (int64_t j = 0; j < k; j++) {
            y += u[j] * v[j];
            terms += fabs(u[j] * v[j]);
            if (w->block_top) decoding += fabs(u[j]) * w->block_top[i % n * k + j];
        }
        c->out.v[i] = y;
        c->err[i] = EPS * (ref_sum_cost(k) * terms + 8 * decoding + fabs(y));
        /* Scales and minimums of weights are summed apart, a block at a time. */
        if (c->is_fast && w->block_top)
            c->err[i] += codes_cost(u, v, k) + EPS * ref_sum_cost(k / 32) * 5 * decoding;
    }
}

static weft_tensor *api(weft_tensor *const *in, const op_attrs *attrs, const op_case *c) {
    (void)attrs;
    (void)c;
    return weft_linear(in[0], in[1], in[2]);
}

static void one(weft_dtype x, weft_dtype w, int64_t m, int64_t n, int64_t k, bool has_bias) {
    op_case c = {.in = {normal(x, weft_2d(m, k)), weights(w, n, k), normal(WEFT_F32, weft_1d(n))}};
    c.in[2].is_absent = !has_bias;
    run_case(&c);
}

/* Activations of any size, as one row and as several: what 8 bits need a scale for. */
static void scaled(weft_dtype w, int64_t k) {
    static const double sizes[] = {1e-30, 1e-6, 1e5, 1e20};
    for (int i = 0; i < 4; i++) {
        op_input x = normal(WEFT_F32, weft_2d(1 + i % 2, k));
        x.a = sizes[i];
        run_case(&(op_case){.name = "scaled", .in = {x, weights(w, 6, k), {.is_absent = true}}});
    }
}

/* The formats models come in get every size; the others a vector and a small matrix. */
static bool is_common(weft_dtype t) {
    return t == WEFT_F32 || t == WEFT_F16 || t == WEFT_Q4_1 || t == WEFT_Q8_0;
}

static void cases(void) {
    for (int id = 0; id < WEFT_DTYPE_NUMBERS; id++) {
        const dtype_info *type = dtype_find((weft_dtype)id);
        weft_dtype t = (weft_dtype)id;
        if (!type || (!type->is_quantized && !(t == WEFT_F32 || t == WEFT_F16 || t == WEFT_BF16)))
            continue;
        int64_t k = type->block > 32 ? 2 * type->block : type->block == 32 ? 160 : 67;
        one(WEFT_F32, t, 1, 70, k, true);
        one(WEFT_F32, t, 5, 19, 2 * k, false);
        if (type->is_quantized && is_common(t)) scaled(t, k);
        for (int i = 0; i < N_TILE_SIZES && (is_common(t) || run_is_full()); i++) {
            one(WEFT_F32, t, tile_size(16, i), 33, k, i % 2);
            one(WEFT_F32, t, 1, tile_size(64, i), 3 * k, false);
            one(WEFT_F32, t, 18, tile_size(32, i), k, false);
        }
    }
    one(WEFT_F16, WEFT_Q8_0, 3, 8, 64, true);
    one(WEFT_BF16, WEFT_F16, 4, 8, 65, false);
    one(WEFT_F32, WEFT_F32, 2, 5, 0, true);
    one(WEFT_F32, WEFT_Q4_1, 1, 576, 1536, false);
    one(WEFT_F32, WEFT_Q4_1, 66, 96, 576, false);
    one(WEFT_F32, WEFT_Q8_0, 2, 40, 4096, false);
    one(WEFT_F32, WEFT_F16, 1, 40, 4096, false);
    for (int i = 0; i < 4; i++) {
        int64_t k = i % 2 ? 8192 : 2048;
        op_input x = biased(i < 2 ? weft_2d(1, k) : weft_3d(2, 2, k), k);
        op_input w = {.dtype = i % 2 ? WEFT_F16 : WEFT_F32, .shape = weft_2d(5, k), .b = 1};
        run_case(&(op_case){.name = "biased terms", .in = {x, w, {.is_absent = true}}});
    }
}

const op_test test_linear = {.ref = ref_linear, .cases = cases, .api = api};
