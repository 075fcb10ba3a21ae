/* Shape rules of matmul, linear and get_rows. SPDX-License-Identifier: MIT */
#include <string.h>

#include "tensor/dtype.h"
#include "tensor/shape.h"

weft_status shape_cast_input(weft_call *call, int i, weft_dtype dtype) {
    if (!call->in[i] || call->in[i]->dtype == dtype) return WEFT_OK;
    call->in[i] = op_dense(call->in[i], dtype);
    return tensor_check(call->in[i]);
}

weft_status shape_reshape_input(weft_call *call, int i, int rank, const int64_t *dim) {
    weft_shape shape = {.rank = rank};
    memcpy(shape.dim, dim, (size_t)rank * sizeof *dim);
    call->in[i] = weft_reshape(call->in[i], shape);
    return tensor_check(call->in[i]);
}

/* The output's final shape is its canonical one for now; `drop` removes one dimension from it. */
static void drop_dimension(op_shape *out, int axis) {
    if (!out->has_final) {
        out->has_final = true;
        out->final_rank = out->rank;
        memcpy(out->final_dim, out->dim, sizeof out->final_dim);
    }
    out->final_rank--;
    for (int d = axis; d < out->final_rank; d++) out->final_dim[d] = out->final_dim[d + 1];
}

static weft_status check_rank(const weft_call *call, int i, int low, int high) {
    int rank = call->in[i]->rank;
    REQUIRE(rank >= low && rank <= high, WEFT_SHAPE, "%s: input %d has rank %d, not %d to %d",
            op_name(call->op), i, rank, low, high);
    return WEFT_OK;
}

weft_status shape_matmul(weft_call *call, op_shape *out) {
    TRY(shape_need_float(call, 0));
    TRY(shape_need_float(call, 1));
    TRY(shape_promote(call, &out->dtype));
    TRY(check_rank(call, 0, 1, WEFT_MAX_RANK));
    TRY(check_rank(call, 1, 1, WEFT_MAX_RANK));
    bool a_is_vector = call->in[0]->rank == 1, b_is_vector = call->in[1]->rank == 1;
    if (a_is_vector) TRY(shape_reshape_input(call, 0, 2, (int64_t[]){1, call->in[0]->dim[0]}));
    if (b_is_vector) TRY(shape_reshape_input(call, 1, 2, (int64_t[]){call->in[1]->dim[0], 1}));
    const weft_tensor *a = call->in[0], *b = call->in[1];
    int64_t m = a->dim[a->rank - 2], k = a->dim[a->rank - 1], n = b->dim[b->rank - 1];
    REQUIRE(k == b->dim[b->rank - 2], WEFT_SHAPE, "matmul: (..., %lld, %lld) @ (..., %lld, %lld)",
            (long long)m, (long long)k, (long long)b->dim[b->rank - 2], (long long)n);
    TRY(shape_broadcast(call, a->rank - 2, b->rank - 2, out->dim, &out->rank));
    for (int i = 0; i < 2; i++) {
        weft_shape shape = {.rank = out->rank + 2};
        memcpy(shape.dim, out->dim, sizeof *out->dim * (size_t)out->rank);
        shape.dim[out->rank] = i ? k : m;
        shape.dim[out->rank + 1] = i ? n : k;
        call->in[i] = weft_broadcast(call->in[i], shape);
        TRY(tensor_check(call->in[i]));
    }
    out->dim[out->rank++] = m;
    out->dim[out->rank++] = n;
    if (b_is_vector) drop_dimension(out, out->rank - 1);
    if (a_is_vector) drop_dimension(out, out->rank - 2);
    return WEFT_OK;
}

weft_status shape_linear(weft_call *call, op_shape *out) {
    TRY(shape_need_float(call, 0));
    const weft_tensor *x = call->in[0], *w = call->in[1], *bias = call->in[2];
    TRY(check_rank(call, 0, 1, WEFT_MAX_RANK));
    TRY(check_rank(call, 1, 2, 2));
    REQUIRE(shape_is_float(w->dtype) || dtype_find(w->dtype)->is_quantized, WEFT_DTYPE,
            "linear: weights of type %s", weft_dtype_name(w->dtype));
    int64_t k = x->dim[x->rank - 1], n = w->dim[0], m = 1;
    REQUIRE(k == w->dim[1], WEFT_SHAPE, "linear: x has rows of %lld, w (%lld, %lld)", (long long)k,
            (long long)n, (long long)w->dim[1]);
    REQUIRE(!bias || (bias->rank == 1 && bias->dim[0] == n), WEFT_SHAPE,
            "linear: the bias is not a vector of %lld", (long long)n);
    for (int d = 0; d < x->rank - 1; d++) m *= x->dim[d];
    out->has_final = true;
    out->final_rank = x->rank;
    memcpy(out->final_dim, x->dim, sizeof out->final_dim);
    out->final_dim[x->rank - 1] = n;
    out->dtype = WEFT_F32;
    out->rank = 2;
    out->dim[0] = m;
    out->dim[1] = n;
    TRY(shape_reshape_input(call, 0, 2, (int64_t[]){m, k}));
    TRY(shape_cast_input(call, 0, WEFT_F32));
    return shape_cast_input(call, 2, WEFT_F32);
}

weft_status shape_get_rows(weft_call *call, op_shape *out) {
    const weft_tensor *table = call->in[0], *ids = call->in[1];
    TRY(check_rank(call, 0, 2, 2));
    TRY(check_rank(call, 1, 0, WEFT_MAX_RANK - 1));
    REQUIRE(shape_is_float(table->dtype) || dtype_find(table->dtype)->is_quantized, WEFT_DTYPE,
            "get_rows: a table of type %s", weft_dtype_name(table->dtype));
    REQUIRE(ids->dtype == WEFT_I32, WEFT_DTYPE, "get_rows: ids are %s, not i32",
            weft_dtype_name(ids->dtype));
    int64_t n = tensor_elements(ids);
    out->dtype = WEFT_F32;
    out->rank = 2;
    out->dim[0] = n;
    out->dim[1] = table->dim[1];
    out->has_final = true;
    out->final_rank = ids->rank + 1;
    memcpy(out->final_dim, ids->dim, sizeof out->final_dim);
    out->final_dim[ids->rank] = table->dim[1];
    return shape_reshape_input(call, 1, 1, &n);
}
