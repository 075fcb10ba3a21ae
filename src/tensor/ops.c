/* The public ops and the one mechanism behind them.
 *
 * op_run: check the inputs -> shape rule (which may put views and casts in the inputs' place) ->
 * make the layouts fit what ops.def promises the backend -> allocate the output -> run, on the CPU
 * if the backend has no kernel. What is made on the way lives in an inner scope that ends with the
 * call. A failure anywhere is an error tensor.
 * SPDX-License-Identifier: MIT */
#include <string.h>

#include "tensor/device.h"
#include "tensor/dtype.h"
#include "tensor/fused.h"

static const struct {
    const char *name, *layouts;
    int n_in;
} ops[] = {
#define WEFT_OP(name, n_in, layouts) {#name, layouts, n_in},
#include "tensor/ops.def"
#undef WEFT_OP
};

static weft_status (*const shape_rules[])(weft_call *call, op_shape *out) = {
#define WEFT_OP(name, n_in, layouts) shape_##name,
#include "tensor/ops.def"
#undef WEFT_OP
};

const char *op_name(weft_op op) { return op < OP_COUNT ? ops[op].name : "unknown op"; }

static bool is_last_contiguous(const weft_tensor *t) {
    return t->rank == 0 || t->dim[t->rank - 1] <= 1 || t->stride[t->rank - 1] == 1;
}

/* Copies the inputs that do not have the layout the backend is promised. */
static weft_status fit_layouts(weft_call *call) {
    const char *layouts = ops[call->op].layouts;
    for (int i = 0; i < call->n_in; i++) {
        weft_tensor *t = call->in[i];
        if (!t) continue;
        char want = layouts[i];
        bool fits = want == 'A' || (want == 'L' ? is_last_contiguous(t) : tensor_is_dense(t));
        if (!fits) call->in[i] = op_dense(t, t->dtype);
        TRY(tensor_check(call->in[i]));
    }
    return WEFT_OK;
}

static weft_status check_inputs(const weft_call *call, weft_device **dev) {
    *dev = NULL;
    for (int i = 0; i < call->n_in; i++) {
        const weft_tensor *t = call->in[i];
        if (!t) continue; /* the shape rule knows which may be absent */
        if (!*dev) *dev = t->dev;
        TRY(tensor_check(t));
        REQUIRE(t->dev == *dev, WEFT_INVALID, "%s: inputs are on different devices",
                op_name(call->op));
    }
    REQUIRE(*dev, WEFT_INVALID, "%s: its input is NULL", op_name(call->op));
    return WEFT_OK;
}

static weft_status execute(weft_device *dev, const weft_call *call) {
    dev->counters.n_calls++;
    if (tensor_elements(call->out) == 0) return WEFT_OK;
    if (dev->backend->can_run(dev->state, call)) return dev->backend->run(dev->state, call);
    return device_run_fallback(dev, call);
}

/* Everything between the checks and the result. */
static weft_status run_call(weft_device *dev, weft_call *call, weft_tensor *into,
                            weft_tensor **result) {
    op_shape shape = {0};
    TRY(shape_rules[call->op](call, &shape));
    TRY(fit_layouts(call));
    if (into) {
        call->out = *result = into;
    } else {
        call->out = *result = tensor_make(dev, shape.dtype, shape.rank, shape.dim);
        TRY(tensor_check(call->out));
    }
    TRY(execute(dev, call));
    if (shape.has_final && !into) {
        weft_tensor *t = *result;
        t->rank = shape.final_rank;
        int64_t step = 1;
        for (int d = t->rank - 1; d >= 0; d--) {
            t->dim[d] = shape.final_dim[d];
            t->stride[d] = step;
            step *= t->dim[d] > 0 ? t->dim[d] : 1;
        }
    }
    return WEFT_OK;
}

weft_tensor *op_run(weft_op op, int n_in, weft_tensor *const *in, const op_attrs *attrs,
                    weft_tensor *into) {
    weft_call call = {.op = op, .n_in = n_in};
    memcpy(call.in, in, (size_t)n_in * sizeof *in);
    if (attrs) call.attrs = *attrs;
    weft_device *dev;
    weft_status status = check_inputs(&call, &dev);
    if (!dev) return tensor_error(NULL, status);
    if (device_enter(dev) != WEFT_OK) return tensor_error(NULL, WEFT_BUSY);
    call.precision = dev->precision;
    weft_tensor *result = NULL;
    /* Handles made on the way (views, casts, dense copies) are collected here, without a scope of
     * their own for the backend's arenas: depth and arena are the caller's, so an op's temporaries
     * count among its allocations. */
    weft_scope *home = dev->scope;
    weft_scope inner = {.parent = home,
                        .depth = home->depth,
                        .arena = home->arena,
                        .n_allocations = home->n_allocations};
    dev->scope = &inner;
    if (status == WEFT_OK) {
        status = run_call(dev, &call, into, &result);
    }
    dev->scope = home;
    home->n_allocations = inner.n_allocations;
    if (result && !into) tensor_move(result, home);
    tensor_free_all(&inner);
    if (status != WEFT_OK) {
        if (into) storage_poison(into->storage, status);
        if (result && result != into) tensor_fail(result, status);
        else result = tensor_error(dev, status);
    }
    device_leave(dev);
    return result;
}

weft_tensor *op_dense(weft_tensor *t, weft_dtype dtype) {
    weft_tensor *dense = tensor_make(t->dev, dtype, t->rank, t->dim);
    if (dense->status != WEFT_OK) return dense;
    weft_tensor *in[] = {t};
    return op_run(OP_copy, 1, in, NULL, dense);
}

/* ---- pointwise ------------------------------------------------------------------------------- */

static weft_tensor *run1(weft_op op, weft_tensor *a) {
    weft_tensor *in[] = {a};
    return op_run(op, 1, in, NULL, NULL);
}

static weft_tensor *run2(weft_op op, weft_tensor *a, weft_tensor *b) {
    weft_tensor *in[] = {a, b};
    if (!a || !b) return op_run(op, 0, in, NULL, NULL);
    return op_run(op, 2, in, NULL, NULL);
}

weft_tensor *weft_add(weft_tensor *a, weft_tensor *b) { return run2(OP_add, a, b); }
weft_tensor *weft_mul(weft_tensor *a, weft_tensor *b) { return run2(OP_mul, a, b); }
weft_tensor *weft_silu(weft_tensor *x) { return run1(OP_silu, x); }
weft_tensor *weft_silu_mul(weft_tensor *gate, weft_tensor *up) {
    return run2(OP_silu_mul, gate, up);
}
weft_tensor *weft_matmul(weft_tensor *a, weft_tensor *b) { return run2(OP_matmul, a, b); }
weft_tensor *weft_get_rows(weft_tensor *table, weft_tensor *ids) {
    return run2(OP_get_rows, table, ids);
}
weft_tensor *weft_gather(weft_tensor *x, weft_tensor *ids) { return run2(OP_gather, x, ids); }

/* ---- copies ---------------------------------------------------------------------------------- */

static weft_status check_destination(const weft_tensor *dst) {
    TRY(tensor_check(dst));
    REQUIRE(!dst->storage->is_wrapped, WEFT_INVALID,
            "weft_copy: the destination wraps read-only memory");
    REQUIRE(dtype_find(dst->dtype)->block == 1, WEFT_DTYPE, "weft_copy: into a %s tensor",
            weft_dtype_name(dst->dtype));
    for (int d = 0; d < dst->rank; d++)
        REQUIRE(dst->dim[d] <= 1 || dst->stride[d] != 0, WEFT_INVALID,
                "weft_copy: the destination is a broadcast view");
    return WEFT_OK;
}

static bool is_same_view(const weft_tensor *a, const weft_tensor *b) {
    if (a->storage != b->storage || a->offset != b->offset || a->rank != b->rank ||
        a->dtype != b->dtype)
        return false;
    for (int d = 0; d < a->rank; d++)
        if (a->dim[d] != b->dim[d] || (a->dim[d] > 1 && a->stride[d] != b->stride[d])) return false;
    return true;
}

weft_tensor *weft_copy(weft_tensor *dst, weft_tensor *src) {
    weft_status status = check_destination(dst);
    if (status != WEFT_OK) return tensor_error(dst ? dst->dev : NULL, status);
    weft_device *dev = dst->dev;
    if (device_enter(dev) != WEFT_OK) return tensor_error(NULL, WEFT_BUSY);
    weft_tensor *result = dst, *separate = NULL, *wide = NULL;
    status = tensor_check(src);
    if (status == WEFT_OK && src->dev != dev)
        status = error_set(WEFT_INVALID,
                           "weft_copy: the tensors are on different devices (%s and "
                           "%s): weft_read and weft_write go between them",
                           dst->dev->name, src->dev->name);
    if (status == WEFT_OK && !is_same_view(dst, src)) {
        /* A source in the destination's storage is copied out first: no overlap can then go
         * wrong. */
        if (src->storage == dst->storage) src = separate = op_dense(src, src->dtype);
        wide = weft_broadcast(src, weft_tensor_shape(dst));
        status = tensor_check(wide);
        weft_tensor *in[] = {wide};
        if (status == WEFT_OK) result = op_run(OP_copy, 1, in, NULL, dst);
    }
    if (status != WEFT_OK) {
        storage_poison(dst->storage, status);
        result = tensor_error(dev, status);
    }
    weft_free(wide);
    weft_free(separate);
    device_leave(dev);
    return result;
}

weft_tensor *weft_cast(weft_tensor *t, weft_dtype dtype) {
    weft_status status = tensor_check(t);
    if (status == WEFT_OK && !dtype_find(dtype))
        status = error_set(WEFT_DTYPE, "weft_cast: %d is no dtype", (int)dtype);
    if (status == WEFT_OK && dtype_find(dtype)->block != 1)
        status = error_set(WEFT_UNSUPPORTED,
                           "weft_cast: to %s: weights are quantised when a file is made",
                           weft_dtype_name(dtype));
    if (status != WEFT_OK) return tensor_error(t ? t->dev : NULL, status);
    return op_dense(t, dtype);
}

weft_tensor *weft_contiguous(weft_tensor *t) {
    weft_status status = tensor_check(t);
    if (status != WEFT_OK) return tensor_error(t ? t->dev : NULL, status);
    return tensor_is_dense(t) ? t : op_dense(t, t->dtype);
}

/* ---- along an axis --------------------------------------------------------------------------- */

/* A view of t with `axis` moved to the end; t itself when it is there. */
static weft_tensor *axis_last(const char *who, weft_tensor *t, int axis) {
    weft_status status = tensor_check(t);
    if (status != WEFT_OK) return tensor_error(t ? t->dev : NULL, status);
    int a = axis < 0 ? axis + t->rank : axis;
    if (a < 0 || a >= t->rank) {
        status = error_set(WEFT_INVALID, "%s: axis %d of a tensor of rank %d", who, axis, t->rank);
        return tensor_error(t->dev, status);
    }
    if (a == t->rank - 1) return t;
    int axes[WEFT_MAX_RANK];
    for (int d = 0, n = 0; d < t->rank; d++)
        if (d != a) axes[n++] = d;
    axes[t->rank - 1] = a;
    return weft_permute(t, axes);
}

weft_tensor *weft_softmax(weft_tensor *x, int axis) {
    weft_tensor *in = axis_last("weft_softmax", x, axis);
    if (in == x) return run1(OP_softmax, x);
    if (tensor_check(in) != WEFT_OK) return in;
    /* The result is dense in x's order; the backend writes it through a view with the axis last. */
    weft_tensor *out = tensor_make(x->dev, x->dtype, x->rank, x->dim);
    weft_tensor *view = axis_last("weft_softmax", out, axis);
    weft_tensor *done = view->status == WEFT_OK ? op_run(OP_softmax, 1, &in, NULL, view) : view;
    if (done->status != WEFT_OK && out->status == WEFT_OK) tensor_fail(out, done->status);
    if (done != view) weft_free(done);
    weft_free(view);
    weft_free(in);
    return out;
}

weft_tensor *weft_argmax(weft_tensor *x, int axis) {
    weft_tensor *in = axis_last("weft_argmax", x, axis);
    if (in == x) return run1(OP_argmax, x);
    if (tensor_check(in) != WEFT_OK) return in;
    weft_tensor *out = run1(OP_argmax, in);
    weft_free(in);
    return out;
}

/* ---- ops with attributes --------------------------------------------------------------------- */

/* Ops whose first inputs are required: a NULL among them is caught before op_run takes it for an
 * absent optional. */
static weft_tensor *run_required(weft_op op, int n_required, int n_in, weft_tensor *const *in,
                                 const op_attrs *attrs, weft_tensor *into) {
    for (int i = 0; i < n_required; i++)
        if (!in[i]) {
            weft_device *dev = NULL;
            for (int k = 0; k < n_in && !dev; k++) dev = in[k] ? in[k]->dev : NULL;
            return tensor_error(dev,
                                error_set(WEFT_INVALID, "%s: input %d is NULL", op_name(op), i));
        }
    return op_run(op, n_in, in, attrs, into);
}

weft_tensor *weft_linear(weft_tensor *x, weft_tensor *w, weft_tensor *bias) {
    weft_tensor *in[] = {x, w, bias};
    return run_required(OP_linear, 2, 3, in, NULL, NULL);
}

weft_tensor *weft_rms_norm(weft_tensor *x, weft_tensor *weight, float eps) {
    weft_tensor *in[] = {x, weight};
    return run_required(OP_rms_norm, 1, 2, in, &(op_attrs){.rms_norm = {eps}}, NULL);
}

weft_tensor *weft_rope(weft_tensor *x, weft_tensor *positions, weft_rope_desc desc) {
    weft_tensor *in[] = {x, positions, desc.factors};
    op_attrs attrs = {.rope = {.n_dims = desc.n_dims,
                               .is_halves = desc.pairing == WEFT_ROPE_HALVES,
                               .base = desc.base == 0 ? 10000.0f : desc.base,
                               .scale = desc.scale == 0 ? 1.0f : desc.scale}};
    if (attrs.rope.n_dims == 0 && x && x->rank == 3) attrs.rope.n_dims = (int32_t)x->dim[2];
    return run_required(OP_rope, 2, 3, in, &attrs, NULL);
}

weft_tensor *weft_top_k(weft_tensor *x, int k) {
    return run_required(OP_top_k, 1, 1, &x, &(op_attrs){.top_k = {k}}, NULL);
}

weft_tensor *fused_linear_ids(weft_tensor *x, weft_tensor *w, weft_tensor *ids) {
    weft_tensor *in[] = {x, w, ids};
    return run_required(OP_linear_ids, 3, 3, in, NULL, NULL);
}

weft_tensor *fused_kv_write(weft_tensor *pages, weft_tensor *x, weft_tensor *slots) {
    weft_tensor *in[] = {pages, x, slots};
    weft_tensor *into = pages && tensor_check(pages) == WEFT_OK ? pages : NULL;
    return run_required(OP_kv_write, 3, 3, in, NULL, into);
}

weft_tensor *fused_attention(weft_tensor *q, weft_tensor *k_pages, weft_tensor *v_pages,
                             weft_tensor *table, weft_tensor *rows, float scale) {
    weft_tensor *in[] = {q, k_pages, v_pages, table, rows};
    return run_required(OP_attention, 5, 5, in, &(op_attrs){.attention = {scale}}, NULL);
}
