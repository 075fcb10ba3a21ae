/* kv_write: rows into the pages of a cache; all other positions stay as they are.
 * SPDX-License-Identifier: MIT */
#include "runner.h"
#include "tensor/fused.h"

static void ref_kv_write(ref_call *c) {
    const array *pages = c->in[0], *x = c->in[1], *slots = c->in[2];
    int64_t n_heads = pages->shape.dim[1], k = pages->shape.dim[3];
    ref_out(c, pages->dtype, pages->shape);
    for (int64_t i = 0; i < pages->n; i++) {
        c->out.v[i] = pages->v[i];
        c->err[i] = -1;
    }
    for (int64_t i = 0; i < x->n; i++) {
        int64_t row = i / (n_heads * k), head = i / k % n_heads, slot = (int64_t)slots->v[row];
        c->out.v[((slot / KV_PAGE * n_heads + head) * KV_PAGE + slot % KV_PAGE) * k + i % k] =
            x->v[i];
    }
}

static weft_tensor *api(weft_tensor *const *in, const op_attrs *attrs, const op_case *c) {
    (void)attrs;
    (void)c;
    return fused_kv_write(in[0], in[1], in[2]);
}

static void one(weft_dtype t, int64_t n_pages, int64_t n_heads, int64_t k, const double *slots,
                int n) {
    run_case(
        &(op_case){.in = {normal(t, weft_4d(n_pages, n_heads, KV_PAGE, k)),
                          normal(WEFT_F32, weft_3d(n, n_heads, k)), listed(weft_1d(n), slots, n)}});
}

static void cases(void) {
    static const double first[] = {0}, last[] = {511}, run[] = {254, 255, 256, 257, 3, 700, 2};
    double many[70];
    for (int i = 0; i < 70; i++) many[i] = 3 * i + 1;
    for (int d = 0; d < 2; d++) {
        weft_dtype t = d ? WEFT_F16 : WEFT_F32;
        one(t, 2, 1, 4, first, 1);
        one(t, 2, 3, 64, last, 1);
        one(t, 3, 2, 5, run, 7);
        one(t, 3, 1, 1, run, 7);
        one(t, 1, 2, 33, many, 70);
        one(t, 1, 3, 64, many, 70);
    }
}

const op_test test_kv_write = {
    .ref = ref_kv_write, .cases = cases, .api = api, .writes_first = true};
