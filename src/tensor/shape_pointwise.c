/* Shape rules of copy and the pointwise ops: NumPy's broadcasting and promotion.
 * SPDX-License-Identifier: MIT */
#include <string.h>

#include "tensor/device.h"
#include "tensor/dtype.h"
#include "tensor/shape.h"

bool shape_is_float(weft_dtype dtype) {
    return dtype == WEFT_F32 || dtype == WEFT_F16 || dtype == WEFT_BF16;
}

weft_status shape_need_float(const weft_call *call, int i) {
    weft_dtype dtype = call->in[i]->dtype;
    REQUIRE(shape_is_float(dtype), WEFT_DTYPE, "%s: input %d is %s, not f32, f16 or bf16",
            op_name(call->op), i, weft_dtype_name(dtype));
    return WEFT_OK;
}

weft_status shape_promote(const weft_call *call, weft_dtype *out) {
    weft_dtype a = call->in[0]->dtype, b = call->in[1]->dtype;
    bool both_float = shape_is_float(a) && shape_is_float(b);
    REQUIRE(both_float || (a == b && a == WEFT_I32), WEFT_DTYPE, "%s: %s and %s do not go together",
            op_name(call->op), weft_dtype_name(a), weft_dtype_name(b));
    *out = a == b ? a : WEFT_F32;
    return WEFT_OK;
}

weft_status shape_broadcast(const weft_call *call, int rank_a, int rank_b, int64_t *dim,
                            int *rank) {
    const weft_tensor *a = call->in[0], *b = call->in[1];
    *rank = rank_a > rank_b ? rank_a : rank_b;
    for (int d = *rank - 1, i = rank_a - 1, k = rank_b - 1; d >= 0; d--, i--, k--) {
        int64_t x = i >= 0 ? a->dim[i] : 1, y = k >= 0 ? b->dim[k] : 1;
        REQUIRE(x == y || x == 1 || y == 1, WEFT_SHAPE,
                "%s: dimensions %lld and %lld do not broadcast", op_name(call->op), (long long)x,
                (long long)y);
        dim[d] = x == 1 ? y : x;
    }
    return WEFT_OK;
}

weft_status shape_same(op_shape *out, const weft_tensor *t) {
    out->dtype = t->dtype;
    out->rank = t->rank;
    memcpy(out->dim, t->dim, sizeof out->dim);
    return WEFT_OK;
}

static weft_status shape_binary(weft_call *call, op_shape *out) {
    TRY(shape_promote(call, &out->dtype));
    TRY(shape_broadcast(call, call->in[0]->rank, call->in[1]->rank, out->dim, &out->rank));
    weft_shape shape = {.rank = out->rank};
    memcpy(shape.dim, out->dim, sizeof shape.dim);
    for (int i = 0; i < 2; i++) {
        call->in[i] = weft_broadcast(call->in[i], shape);
        TRY(tensor_check(call->in[i]));
    }
    return WEFT_OK;
}

weft_status shape_add(weft_call *call, op_shape *out) { return shape_binary(call, out); }

weft_status shape_mul(weft_call *call, op_shape *out) { return shape_binary(call, out); }

weft_status shape_silu_mul(weft_call *call, op_shape *out) {
    TRY(shape_need_float(call, 0));
    TRY(shape_need_float(call, 1));
    return shape_binary(call, out);
}

weft_status shape_silu(weft_call *call, op_shape *out) {
    TRY(shape_need_float(call, 0));
    return shape_same(out, call->in[0]);
}

/* The destination is given; here the pair of types is checked. */
weft_status shape_copy(weft_call *call, op_shape *out) {
    const dtype_info *info = dtype_find(call->in[0]->dtype);
    bool is_plain = shape_is_float(call->in[0]->dtype) || call->in[0]->dtype == WEFT_I32;
    REQUIRE(info->is_quantized || is_plain, WEFT_DTYPE, "copy: from %s", info->name);
    return shape_same(out, call->in[0]);
}
