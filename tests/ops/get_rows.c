/* get_rows: rows of a table in every format. SPDX-License-Identifier: MIT */
#include "runner.h"
#include "tensor/dtype.h"

static void ref_get_rows(ref_call *c) {
    const array *table = c->in[0], *ids = c->in[1];
    int64_t k = table->shape.dim[1];
    ref_out(c, WEFT_F32, weft_2d(ids->n, k));
    for (int64_t i = 0; i < ids->n * k; i++) {
        int64_t at = (int64_t)ids->v[i / k] * k + i % k;
        c->out.v[i] = table->v[at];
        c->err[i] = table->block_top ? 4 * EPS * table->block_top[at] : -1;
    }
}

static weft_tensor *api(weft_tensor *const *in, const op_attrs *attrs, const op_case *c) {
    (void)attrs;
    (void)c;
    return weft_get_rows(in[0], in[1]);
}

static void one(weft_dtype t, int64_t rows, int64_t k, weft_shape ids) {
    run_case(&(op_case){.in = {weights(t, rows, k), integers(ids, 0, rows)}});
}

static void cases(void) {
    for (int id = 0; id < WEFT_DTYPE_NUMBERS; id++) {
        const dtype_info *type = dtype_find((weft_dtype)id);
        weft_dtype t = (weft_dtype)id;
        if (!type || (!type->is_quantized && !(t == WEFT_F32 || t == WEFT_F16 || t == WEFT_BF16)))
            continue;
        one(t, 7, type->block > 1 ? 2 * type->block : 37, weft_1d(5));
    }
    static const weft_dtype common[] = {WEFT_F32, WEFT_F16, WEFT_Q4_1, WEFT_Q8_0};
    for (int d = 0; d < 4; d++)
        for (int i = 0; i < N_TILE_SIZES; i++) {
            bool is_quantized = dtype_find(common[d])->is_quantized;
            one(common[d], 40, is_quantized ? 32 * (i + 1) : tile_size(64, i), weft_1d(9));
            one(common[d], 11, is_quantized ? 96 : 13, weft_1d(tile_size(64, i)));
        }
    one(WEFT_F32, 9, 5, (weft_shape){0});
    one(WEFT_Q8_0, 9, 64, weft_3d(2, 3, 2));
}

const op_test test_get_rows = {.ref = ref_get_rows, .cases = cases, .api = api};
