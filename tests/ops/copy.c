/* copy: conversions among plain types and decoding of weights, exact to the last bit.
 * SPDX-License-Identifier: MIT */
#include "format/format.h"
#include "runner.h"
#include "tensor/dtype.h"

static double to_integer(double v) {
    if (isnan(v)) return 0;
    return v >= 2147483647 ? 2147483647 : v <= -2147483648.0 ? -2147483648.0 : trunc(v);
}

static void ref_copy(ref_call *c) {
    const array *x = c->in[0];
    weft_dtype dtype = c->out.dtype;
    ref_out(c, dtype, x->shape);
    bool is_quantized = dtype_find(x->dtype)->is_quantized;
    for (int64_t i = 0; i < x->n; i++) {
        c->out.v[i] = dtype == WEFT_I32 ? to_integer(x->v[i]) : x->v[i];
        /* A block's value is a product and a sum of f32, in any order of rounding; all else is
         * exact. */
        c->err[i] = is_quantized ? 4 * EPS * x->block_top[i] : -1;
    }
}

static weft_tensor *api(weft_tensor *const *in, const op_attrs *attrs, const op_case *c) {
    (void)attrs;
    return weft_cast(in[0], c->out);
}

static void one(op_input in, weft_dtype out, const char *name) {
    run_case(&(op_case){.name = name, .in = {in}, .out = out});
}

static void conversions(void) {
    static const weft_dtype types[] = {WEFT_F32, WEFT_F16, WEFT_BF16, WEFT_I32};
    for (int a = 0; a < 4; a++)
        for (int b = 0; b < 4; b++)
            for (int i = 0; i < N_TILE_SIZES; i += run_is_full() ? 1 : 2) {
                op_input in = normal(types[a], weft_3d(3, 5, tile_size(16, i)));
                in.a = 1000;
                one(in, types[b], NULL);
            }
}

static void edges(void) {
    static const double values[] = {
        0,      -0.0,    1,          65519.9,    65520, 65536, -70000,   2049,     2051,     6e-8,
        2.9e-8, 5.97e-8, 1e-5,       -1.5,       -2.5,  0.49,  1e9,      3e38,     -3e38,    3e9,
        -3e9,   255.5,   1.00390625, 1.01171875, 65504, 32769, 16777217, INFINITY, -INFINITY};
    static const weft_dtype types[] = {WEFT_F32, WEFT_F16, WEFT_BF16, WEFT_I32};
    int n = sizeof values / sizeof *values;
    for (int a = 0; a < 3; a++)
        for (int b = 0; b < 4; b++) {
            op_input in = {
                .dtype = types[a], .shape = weft_1d(n), .fill = FILL_LIST, .list = values, .n = n};
            one(in, types[b], "edge values");
        }
}

static void cases(void) {
    conversions();
    edges();
    one(normal(WEFT_F32, (weft_shape){0}), WEFT_F16, "a scalar");
    one(normal(WEFT_F16, weft_1d(5003)), WEFT_F16, NULL);
    one(normal(WEFT_F32, (weft_shape){6, {2, 3, 2, 3, 2, 5}}), WEFT_F32, "six dimensions");
    for (int id = 0; id < WEFT_DTYPE_NUMBERS; id++) {
        const dtype_info *type = dtype_find((weft_dtype)id);
        if (!type || !type->is_quantized) continue;
        one(weights((weft_dtype)id, 3, 4 * type->block), WEFT_F32, NULL);
        if (id == WEFT_Q4_1 || id == WEFT_Q8_0 || run_is_full())
            one(weights((weft_dtype)id, 2, 5 * type->block), WEFT_F16, NULL);
    }
}

const op_test test_copy = {.ref = ref_copy, .cases = cases, .api = api, .has_any_output = true};
