/* Shape rules of the ops over rows: softmax, argmax, rms_norm, rope, the KV write and attention.
 * SPDX-License-Identifier: MIT */
#include <math.h>
#include <string.h>

#include "tensor/fused.h"
#include "tensor/shape.h"

static weft_status need_rows(const weft_call *call) {
    TRY(shape_need_float(call, 0));
    REQUIRE(call->in[0]->rank >= 1, WEFT_SHAPE, "%s: a scalar has no axis", op_name(call->op));
    return WEFT_OK;
}

weft_status shape_softmax(weft_call *call, op_shape *out) {
    TRY(need_rows(call));
    return shape_same(out, call->in[0]);
}

weft_status shape_argmax(weft_call *call, op_shape *out) {
    TRY(need_rows(call));
    const weft_tensor *x = call->in[0];
    TRY(shape_same(out, x));
    REQUIRE(x->dim[x->rank - 1] > 0, WEFT_SHAPE, "argmax: over an empty axis");
    REQUIRE(x->dim[x->rank - 1] <= INT32_MAX, WEFT_LIMIT, "argmax: over an axis of %lld",
            (long long)x->dim[x->rank - 1]);
    out->dtype = WEFT_I32;
    out->rank--;
    return WEFT_OK;
}

weft_status shape_rms_norm(weft_call *call, op_shape *out) {
    TRY(need_rows(call));
    const weft_tensor *x = call->in[0], *weight = call->in[1];
    int64_t k = x->dim[x->rank - 1];
    REQUIRE(!weight || (weight->rank == 1 && weight->dim[0] == k), WEFT_SHAPE,
            "rms_norm: the weight is not a vector of %lld", (long long)k);
    if (weight) TRY(shape_need_float(call, 1));
    REQUIRE(call->attrs.rms_norm.eps >= 0, WEFT_INVALID, "rms_norm: eps is %g",
            (double)call->attrs.rms_norm.eps);
    TRY(shape_same(out, x));
    return shape_cast_input(call, 1, WEFT_F32);
}

static weft_status need_i32(const weft_call *call, int i, const char *what) {
    REQUIRE(call->in[i]->dtype == WEFT_I32, WEFT_DTYPE, "%s: %s are %s, not i32", op_name(call->op),
            what, weft_dtype_name(call->in[i]->dtype));
    return WEFT_OK;
}

weft_status shape_rope(weft_call *call, op_shape *out) {
    TRY(shape_need_float(call, 0));
    const weft_tensor *x = call->in[0], *positions = call->in[1], *factors = call->in[2];
    REQUIRE(x->rank == 3, WEFT_SHAPE, "rope: x has rank %d, not (n_tokens, n_heads, head_dim)",
            x->rank);
    REQUIRE(positions->rank == 1 && positions->dim[0] == x->dim[0], WEFT_SHAPE,
            "rope: %lld tokens need as many positions", (long long)x->dim[0]);
    TRY(need_i32(call, 1, "positions"));
    const attrs_rope *a = &call->attrs.rope;
    bool can_rotate = a->n_dims >= 0 && a->n_dims % 2 == 0 && a->n_dims <= x->dim[2];
    REQUIRE(can_rotate, WEFT_INVALID, "rope: %d rotated dimensions of %lld", a->n_dims,
            (long long)x->dim[2]);
    REQUIRE(a->base > 0 && isfinite(a->base) && isfinite(a->scale), WEFT_INVALID,
            "rope: base %g, scale %g", (double)a->base, (double)a->scale);
    REQUIRE(!factors || (factors->rank == 1 && factors->dim[0] == a->n_dims / 2), WEFT_SHAPE,
            "rope: the factors are not a vector of %d", a->n_dims / 2);
    TRY(shape_same(out, x));
    return shape_cast_input(call, 2, WEFT_F32);
}

static weft_status check_pages(const weft_call *call, int i) {
    const weft_tensor *p = call->in[i];
    REQUIRE(p->rank == 4 && p->dim[2] == KV_PAGE, WEFT_SHAPE,
            "%s: pages are (n_pages, n_kv_heads, %d, head_dim)", op_name(call->op), KV_PAGE);
    REQUIRE(p->dtype == WEFT_F32 || p->dtype == WEFT_F16, WEFT_DTYPE,
            "%s: pages of type %s, not f16 or f32", op_name(call->op), weft_dtype_name(p->dtype));
    return WEFT_OK;
}

weft_status shape_kv_write(weft_call *call, op_shape *out) {
    const weft_tensor *pages = call->in[0], *x = call->in[1], *slots = call->in[2];
    TRY(check_pages(call, 0));
    REQUIRE(tensor_is_dense(pages), WEFT_SHAPE, "kv_write: the pages are not contiguous");
    TRY(shape_need_float(call, 1));
    REQUIRE(x->rank == 3 && x->dim[1] == pages->dim[1] && x->dim[2] == pages->dim[3], WEFT_SHAPE,
            "kv_write: x is not (n_rows, %lld, %lld)", (long long)pages->dim[1],
            (long long)pages->dim[3]);
    REQUIRE(slots->rank == 1 && slots->dim[0] == x->dim[0], WEFT_SHAPE,
            "kv_write: %lld rows need as many slots", (long long)x->dim[0]);
    TRY(need_i32(call, 2, "slots"));
    TRY(shape_same(out, pages));
    return shape_cast_input(call, 1, WEFT_F32);
}

weft_status shape_attention(weft_call *call, op_shape *out) {
    const weft_tensor *q = call->in[0], *k = call->in[1], *v = call->in[2], *table = call->in[3],
                      *rows = call->in[4];
    TRY(shape_need_float(call, 0));
    TRY(check_pages(call, 1));
    TRY(check_pages(call, 2));
    REQUIRE(q->rank == 3 && q->dim[2] == k->dim[3], WEFT_SHAPE,
            "attention: q is not (n_rows, n_heads, %lld)", (long long)k->dim[3]);
    bool same = k->dtype == v->dtype;
    for (int d = 0; d < 4; d++) same = same && k->dim[d] == v->dim[d];
    REQUIRE(same, WEFT_SHAPE, "attention: the key and value pages differ in shape or type");
    REQUIRE(k->dim[1] > 0 && q->dim[1] % k->dim[1] == 0, WEFT_SHAPE,
            "attention: %lld heads over %lld KV heads", (long long)q->dim[1], (long long)k->dim[1]);
    REQUIRE(table->rank == 2, WEFT_SHAPE,
            "attention: the page table is not (n_sequences, max_pages)");
    REQUIRE(rows->rank == 2 && rows->dim[0] == q->dim[0] && rows->dim[1] == 2, WEFT_SHAPE,
            "attention: rows is not (%lld, 2)", (long long)q->dim[0]);
    TRY(need_i32(call, 3, "page tables"));
    TRY(need_i32(call, 4, "rows"));
    if (call->attrs.attention.scale == 0)
        call->attrs.attention.scale = 1.0f / sqrtf((float)q->dim[2]);
    TRY(shape_same(out, q));
    out->dtype = WEFT_F32;
    return shape_cast_input(call, 0, WEFT_F32);
}
