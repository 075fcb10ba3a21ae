/* Shape rules of the ops that route rows to experts: top_k, gather, linear_ids.
 * SPDX-License-Identifier: MIT */
#include <string.h>

#include "tensor/dtype.h"
#include "tensor/shape.h"

/* Brings input i to (rows, n), its last axis kept. */
static weft_status to_rows(weft_call *call, int i, int64_t *rows) {
    const weft_tensor *t = call->in[i];
    *rows = 1;
    for (int d = 0; d < t->rank - 1; d++) *rows *= t->dim[d];
    return shape_reshape_input(call, i, 2, (int64_t[]){*rows, t->dim[t->rank - 1]});
}

/* The result is (rows, k) of input i's leading dimensions. */
static void set_rows(op_shape *out, const weft_tensor *like, weft_dtype dtype, int64_t k) {
    out->dtype = dtype;
    out->rank = 2;
    out->dim[0] = 1;
    for (int d = 0; d < like->rank - 1; d++) out->dim[0] *= like->dim[d];
    out->dim[1] = k;
    out->has_final = true;
    out->final_rank = like->rank;
    memcpy(out->final_dim, like->dim, sizeof out->final_dim);
    out->final_dim[like->rank - 1] = k;
}

static weft_status need_axis(const weft_call *call) {
    TRY(shape_need_float(call, 0));
    REQUIRE(call->in[0]->rank >= 1, WEFT_SHAPE, "%s: a scalar has no axis", op_name(call->op));
    REQUIRE(call->in[0]->dim[call->in[0]->rank - 1] <= INT32_MAX, WEFT_LIMIT,
            "%s: over an axis of %lld", op_name(call->op),
            (long long)call->in[0]->dim[call->in[0]->rank - 1]);
    return WEFT_OK;
}

static weft_status need_ids(const weft_call *call, int i) {
    REQUIRE(call->in[i]->dtype == WEFT_I32, WEFT_DTYPE, "%s: ids are %s, not i32",
            op_name(call->op), weft_dtype_name(call->in[i]->dtype));
    return WEFT_OK;
}

weft_status shape_top_k(weft_call *call, op_shape *out) {
    TRY(need_axis(call));
    const weft_tensor *x = call->in[0];
    int64_t n = x->dim[x->rank - 1], rows;
    int32_t k = call->attrs.top_k.k;
    REQUIRE(k >= 1 && k <= n, WEFT_INVALID, "top_k: the %d largest of %lld", k, (long long)n);
    set_rows(out, x, WEFT_I32, k);
    return to_rows(call, 0, &rows);
}

weft_status shape_gather(weft_call *call, op_shape *out) {
    TRY(need_axis(call));
    TRY(need_ids(call, 1));
    const weft_tensor *x = call->in[0], *ids = call->in[1];
    bool same = ids->rank == x->rank;
    for (int d = 0; same && d < x->rank - 1; d++) same = ids->dim[d] == x->dim[d];
    REQUIRE(same, WEFT_SHAPE, "gather: the ids have not x's leading dimensions");
    int64_t rows;
    set_rows(out, ids, WEFT_F32, ids->dim[ids->rank - 1]);
    TRY(to_rows(call, 0, &rows));
    return to_rows(call, 1, &rows);
}

weft_status shape_linear_ids(weft_call *call, op_shape *out) {
    TRY(shape_need_float(call, 0));
    TRY(need_ids(call, 2));
    const weft_tensor *x = call->in[0], *w = call->in[1], *ids = call->in[2];
    REQUIRE(x->rank == 3 && w->rank == 3 && ids->rank == 2, WEFT_SHAPE,
            "linear_ids: x, w and ids have ranks %d, %d and %d, not 3, 3 and 2", x->rank, w->rank,
            ids->rank);
    REQUIRE(shape_is_float(w->dtype) || dtype_find(w->dtype)->is_quantized, WEFT_DTYPE,
            "linear_ids: weights of type %s", weft_dtype_name(w->dtype));
    REQUIRE(x->dim[2] == w->dim[2], WEFT_SHAPE,
            "linear_ids: x has rows of %lld, w (%lld, %lld, %lld)", (long long)x->dim[2],
            (long long)w->dim[0], (long long)w->dim[1], (long long)w->dim[2]);
    REQUIRE(ids->dim[0] == x->dim[0] && (x->dim[1] == 1 || x->dim[1] == ids->dim[1]), WEFT_SHAPE,
            "linear_ids: ids (%lld, %lld) beside x (%lld, %lld, %lld)", (long long)ids->dim[0],
            (long long)ids->dim[1], (long long)x->dim[0], (long long)x->dim[1],
            (long long)x->dim[2]);
    REQUIRE(w->dim[0] <= INT32_MAX && ids->dim[0] * ids->dim[1] <= INT32_MAX, WEFT_LIMIT,
            "linear_ids: too many experts or ids");
    out->dtype = WEFT_F32;
    out->rank = 3;
    out->dim[0] = ids->dim[0];
    out->dim[1] = ids->dim[1];
    out->dim[2] = w->dim[1];
    return shape_cast_input(call, 0, WEFT_F32);
}
