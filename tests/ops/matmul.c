/* matmul: batches of (m, k) @ (k, n), broadcast. SPDX-License-Identifier: MIT */
#include "runner.h"

static int64_t product(weft_shape s) {
    int64_t n = 1;
    for (int d = 0; d < s.rank; d++) n *= s.dim[d];
    return n;
}

/* The flat index of the matrix of `a` that a flat batch index of `lead` meets. */
static int64_t batch_at(const array *a, weft_shape lead, int64_t i) {
    int64_t at = 0, step = 1;
    for (int d = lead.rank - 1, k = a->shape.rank - 3; k >= 0; d--, k--) {
        if (a->shape.dim[k] != 1) at += i % lead.dim[d] * step;
        step *= a->shape.dim[k];
        i /= lead.dim[d];
    }
    return at;
}

static void ref_matmul(ref_call *c) {
    const array *a = c->in[0], *b = c->in[1];
    weft_shape la = a->shape, lb = b->shape;
    int64_t m = la.dim[la.rank - 2], k = la.dim[la.rank - 1], n = lb.dim[lb.rank - 1];
    la.rank -= 2;
    lb.rank -= 2;
    weft_shape lead = ref_broadcast_shape(la, lb), shape = lead;
    shape.dim[shape.rank++] = m;
    shape.dim[shape.rank++] = n;
    ref_out(c, ref_promote(a->dtype, b->dtype), shape);
    double loss =
        EPS * ref_sum_cost(k) + (c->is_fast ? 2 * 0x1p-11 : 0); /* fast: both rounded to f16 */
    for (int64_t i = 0; i < product(lead) * m * n; i++) {
        const double *x = a->v + (batch_at(a, lead, i / (m * n)) * m + i / n % m) * k;
        const double *y = b->v + batch_at(b, lead, i / (m * n)) * k * n + i % n;
        double terms = 0;
        for (int64_t j = 0; j < k; j++) {
            c->out.v[i] += x[j] * y[j * n];
            terms += fabs(x[j] * y[j * n]);
        }
        c->err[i] = loss * terms;
    }
}

static weft_tensor *api(weft_tensor *const *in, const op_attrs *attrs, const op_case *c) {
    (void)attrs;
    (void)c;
    return weft_matmul(in[0], in[1]);
}

static void two(op_input a, op_input b) { run_case(&(op_case){.in = {a, b}}); }

static void cases(void) {
    for (int d = 0; d < 3; d++)
        for (int i = 0; i < N_TILE_SIZES; i++) {
            weft_dtype t = float_dtypes[d];
            int64_t s = tile_size(16, i);
            two(normal(t, weft_2d(s, 37)), normal(t, weft_2d(37, 19)));
            two(normal(t, weft_2d(33, s)), normal(t, weft_2d(s, 17)));
            two(normal(t, weft_2d(18, 40)), normal(t, weft_2d(40, s)));
        }
    two(normal(WEFT_F32, weft_2d(65, 129)), normal(WEFT_F32, weft_2d(129, 66)));
    two(normal(WEFT_F16, weft_2d(64, 128)), normal(WEFT_F16, weft_2d(128, 64)));
    two(normal(WEFT_F32, weft_2d(1, 4096)), normal(WEFT_F32, weft_2d(4096, 9)));
    two(normal(WEFT_F32, weft_3d(5, 1, 64)), normal(WEFT_F32, weft_3d(5, 64, 33)));
    two(normal(WEFT_F32, weft_4d(2, 1, 9, 10)), normal(WEFT_F32, weft_3d(3, 10, 11)));
    two(normal(WEFT_F16, weft_2d(9, 10)), normal(WEFT_F32, weft_4d(2, 2, 10, 5)));
    two(normal(WEFT_BF16, weft_3d(3, 7, 8)), normal(WEFT_F16, weft_2d(8, 7)));
    two(normal(WEFT_F32, weft_2d(3, 0)), normal(WEFT_F32, weft_2d(0, 4)));
    for (int64_t k = 2048; k <= 8192; k *= 4) {
        op_input ones = {.dtype = WEFT_F32, .shape = weft_2d(k, 5), .b = 1};
        run_case(&(op_case){.name = "biased terms", .in = {biased(weft_2d(3, k), k), ones}});
    }
}

const op_test test_matmul = {.ref = ref_matmul, .cases = cases, .api = api};
