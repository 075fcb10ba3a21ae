/* Tensors: making, describing, viewing, reading and writing them; error tensors.
 *
 * A tensor is a handle: a description over ref-counted storage. Views share storage and never copy,
 * but for a reshape whose strides allow no view. A failure makes an error tensor, so that callers
 * can chain ops and look once, at the read. The few static error tensors stand in when there is no
 * memory or no device to own a handle.
 * SPDX-License-Identifier: MIT */
#include "weft/weft.h"

#include <string.h>

#include "base/mem.h"
#include "tensor/device.h"
#include "tensor/dtype.h"

static weft_tensor static_null = {.status = WEFT_INVALID, .message = (char *)"a tensor is NULL"};
static weft_tensor static_no_memory = {.status = WEFT_NO_MEMORY,
                                       .message = (char *)"out of memory"};
static weft_tensor static_no_device = {.status = WEFT_INVALID,
                                       .message = (char *)"the device is NULL"};
static weft_tensor static_busy = {.status = WEFT_BUSY,
                                  .message = (char *)"the device is in use by another thread"};

/* ---- handles --------------------------------------------------------------------------------- */

static void link_to(weft_tensor *t, weft_scope *scope) {
    t->scope = scope;
    t->previous = NULL;
    t->next = scope->first;
    if (t->next) t->next->previous = t;
    scope->first = t;
}

static void unlink_from(weft_tensor *t) {
    if (t->previous) t->previous->next = t->next;
    else t->scope->first = t->next;
    if (t->next) t->next->previous = t->previous;
}

void storage_unref(weft_storage *s) {
    if (!s || --s->n_refs > 0) return;
    s->dev->backend->free(s->dev->state, s);
    if (s->done) s->done(s->user);
    s->dev->counters.bytes_allocated -= s->bytes;
    mem_free(s->poison_message);
    mem_free(s);
}

void storage_poison(weft_storage *s, weft_status status) {
    if (s->poison != WEFT_OK) return;
    s->poison = status;
    s->poison_message = mem_string(error_message());
}

static void destroy(weft_tensor *t) {
    storage_unref(t->storage);
    mem_free(t->message);
    mem_free(t);
}

static weft_tensor *new_handle(weft_device *dev) {
    weft_tensor *t = mem_alloc(sizeof *t);
    if (!t) return NULL;
    t->dev = dev;
    link_to(t, dev->scope);
    return t;
}

weft_tensor *tensor_error(weft_device *dev, weft_status status) {
    if (!dev)
        return status == WEFT_NO_MEMORY ? &static_no_memory
               : status == WEFT_BUSY    ? &static_busy
                                        : &static_null;
    char *message = mem_string(error_message());
    weft_tensor *t = device_enter(dev) == WEFT_OK ? new_handle(dev) : &static_busy;
    if (t == &static_busy || !t) {
        mem_free(message);
        return t ? t : &static_no_memory;
    }
    t->status = status;
    t->message = message;
    device_leave(dev);
    return t;
}

void tensor_move(weft_tensor *t, weft_scope *scope) {
    if (!t->dev) return;
    unlink_from(t);
    link_to(t, scope);
}

void tensor_fail(weft_tensor *t, weft_status status) {
    if (t->status != WEFT_OK) return; /* it has its reason already */
    char *message = mem_string(error_message());
    storage_unref(t->storage);
    t->storage = NULL;
    t->status = status;
    t->message = message;
    t->rank = 0;
}

weft_status tensor_check(const weft_tensor *t) {
    REQUIRE(t, WEFT_INVALID, "a tensor is NULL");
    REQUIRE(t->status == WEFT_OK, t->status, "%s", weft_tensor_message(t));
    REQUIRE(t->storage->poison == WEFT_OK, t->storage->poison,
            "an earlier write into this tensor failed: %s",
            t->storage->poison_message ? t->storage->poison_message
                                       : weft_status_text(t->storage->poison));
    return WEFT_OK;
}

void tensor_free_all(weft_scope *scope) {
    while (scope->first) {
        weft_tensor *t = scope->first;
        unlink_from(t);
        destroy(t);
    }
}

static void set_dense(weft_tensor *t, int rank, const int64_t *dim) {
    t->rank = rank;
    int64_t step = 1;
    for (int d = rank - 1; d >= 0; d--) {
        t->dim[d] = dim[d];
        t->stride[d] = step;
        step *= dim[d] > 0 ? dim[d] : 1;
    }
}

uint64_t tensor_row_bytes(weft_dtype dtype, int64_t elements) {
    const dtype_info *info = dtype_find(dtype);
    return (uint64_t)(elements / info->block) * (uint64_t)info->bytes;
}

/* Checks a shape for a dtype and counts its bytes. */
static weft_status count_bytes(weft_dtype dtype, int rank, const int64_t *dim, uint64_t *bytes) {
    const dtype_info *info = dtype_find(dtype);
    REQUIRE(info, WEFT_DTYPE, "%d is no dtype", (int)dtype);
    REQUIRE(rank >= 0 && rank <= WEFT_MAX_RANK, WEFT_SHAPE, "a tensor's rank is 0 to %d, not %d",
            WEFT_MAX_RANK, rank);
    uint64_t n = 1;
    bool fits = true;
    for (int d = 0; d < rank; d++) {
        REQUIRE(dim[d] >= 0, WEFT_SHAPE, "dimension %d is negative: %lld", d, (long long)dim[d]);
        fits = mul_u64(n, dim[d] ? (uint64_t)dim[d] : 1, &n) && fits;
    }
    REQUIRE(fits && n <= INT64_MAX / 16, WEFT_SHAPE,
            "a shape's dimensions multiply to more than fits");
    if (info->block > 1) {
        int64_t last = rank ? dim[rank - 1] : 1;
        REQUIRE(last % info->block == 0, WEFT_SHAPE,
                "rows of %lld are no multiple of %s's block of %d", (long long)last, info->name,
                (int)info->block);
    }
    for (int d = 0; d < rank; d++)
        if (dim[d] == 0) n = 0;
    *bytes = tensor_row_bytes(dtype, (int64_t)n);
    return WEFT_OK;
}

static weft_status make_storage(weft_device *dev, uint64_t bytes, const void *wrapped,
                                void (*done)(void *), void *user, weft_storage **out) {
    weft_storage *s = mem_alloc(sizeof *s);
    if (!s) return WEFT_NO_MEMORY;
    weft_scope *scope = dev->scope;
    *s = (weft_storage){.dev = dev,
                        .n_refs = 1,
                        .bytes = bytes,
                        .scope_depth = scope->depth,
                        .arena = scope->arena};
    s->slot = scope->depth ? scope->n_allocations++ : 0;
    if (wrapped) {
        s->is_wrapped = true;
        s->host = (void *)(uintptr_t)wrapped;
    }
    weft_status status = dev->backend->alloc(dev->state, s);
    if (status != WEFT_OK) {
        mem_free(s);
        return status;
    }
    s->done = done;
    s->user = user;
    if (wrapped && !s->host && done) { /* uploaded: the caller's memory is free again */
        done(user);
        s->done = NULL;
    }
    dev->counters.bytes_allocated += bytes;
    if (dev->counters.bytes_allocated > dev->counters.bytes_peak)
        dev->counters.bytes_peak = dev->counters.bytes_allocated;
    *out = s;
    return WEFT_OK;
}

static weft_tensor *make(weft_device *dev, weft_dtype dtype, int rank, const int64_t *dim,
                         const void *wrapped, void (*done)(void *), void *user) {
    uint64_t bytes = 0;
    weft_status status = count_bytes(dtype, rank, dim, &bytes);
    if (status != WEFT_OK) return tensor_error(dev, status);
    weft_tensor *t = new_handle(dev);
    if (!t) return &static_no_memory;
    t->dtype = dtype;
    set_dense(t, rank, dim);
    status = make_storage(dev, bytes, wrapped, done, user, &t->storage);
    if (status != WEFT_OK) tensor_fail(t, status);
    return t;
}

weft_tensor *tensor_make(weft_device *dev, weft_dtype dtype, int rank, const int64_t *dim) {
    return make(dev, dtype, rank, dim, NULL, NULL, NULL);
}

weft_tensor *tensor_view(weft_tensor *t) {
    weft_tensor *v = new_handle(t->dev);
    if (!v) return &static_no_memory;
    v->storage = t->storage;
    v->storage->n_refs++;
    v->dtype = t->dtype;
    v->rank = t->rank;
    v->offset = t->offset;
    memcpy(v->dim, t->dim, sizeof v->dim);
    memcpy(v->stride, t->stride, sizeof v->stride);
    return v;
}

/* ---- public: making -------------------------------------------------------------------------- */

weft_shape weft_1d(int64_t a) { return (weft_shape){1, {a}}; }
weft_shape weft_2d(int64_t a, int64_t b) { return (weft_shape){2, {a, b}}; }
weft_shape weft_3d(int64_t a, int64_t b, int64_t c) { return (weft_shape){3, {a, b, c}}; }
weft_shape weft_4d(int64_t a, int64_t b, int64_t c, int64_t d) {
    return (weft_shape){4, {a, b, c, d}};
}

static weft_tensor *enter_failed(weft_device *dev) {
    return dev ? &static_busy : &static_no_device;
}

weft_tensor *weft_new(weft_device *dev, weft_dtype dtype, weft_shape shape) {
    if (device_enter(dev) != WEFT_OK) return enter_failed(dev);
    weft_tensor *t = tensor_make(dev, dtype, shape.rank, shape.dim);
    device_leave(dev);
    return t;
}

static weft_status fill_with_zeros(weft_tensor *t) {
    enum { PIECE = 1 << 20 };
    uint64_t bytes = t->storage->bytes;
    if (!bytes) return WEFT_OK;
    void *zeros = mem_alloc(bytes < PIECE ? (size_t)bytes : PIECE);
    if (!zeros) return WEFT_NO_MEMORY;
    weft_status status = WEFT_OK;
    for (uint64_t at = 0; at < bytes && status == WEFT_OK; at += PIECE)
        status = t->dev->backend->write(t->dev->state, t->storage, at, zeros,
                                        bytes - at < PIECE ? bytes - at : PIECE);
    mem_free(zeros);
    return status;
}

weft_tensor *weft_zeros(weft_device *dev, weft_dtype dtype, weft_shape shape) {
    if (device_enter(dev) != WEFT_OK) return enter_failed(dev);
    weft_tensor *t = tensor_make(dev, dtype, shape.rank, shape.dim);
    if (t->status == WEFT_OK) {
        weft_status status = fill_with_zeros(t);
        if (status != WEFT_OK) tensor_fail(t, status);
    }
    device_leave(dev);
    return t;
}

weft_tensor *weft_from(weft_device *dev, weft_dtype dtype, weft_shape shape, const void *data) {
    if (device_enter(dev) != WEFT_OK) return enter_failed(dev);
    weft_tensor *t = tensor_make(dev, dtype, shape.rank, shape.dim);
    if (t->status == WEFT_OK && t->storage->bytes) {
        weft_status status =
            data ? dev->backend->write(dev->state, t->storage, 0, data, t->storage->bytes)
                 : error_set(WEFT_INVALID, "weft_from: data is NULL");
        dev->counters.n_writes++;
        if (status != WEFT_OK) tensor_fail(t, status);
    }
    device_leave(dev);
    return t;
}

weft_tensor *weft_wrap(weft_device *dev, weft_dtype dtype, weft_shape shape, const void *data,
                       void (*done)(void *user), void *user) {
    if (device_enter(dev) != WEFT_OK) return enter_failed(dev);
    weft_tensor *t;
    if (data) t = make(dev, dtype, shape.rank, shape.dim, data, done, user);
    else t = tensor_error(dev, error_set(WEFT_INVALID, "weft_wrap: data is NULL"));
    device_leave(dev);
    return t;
}

void weft_free(weft_tensor *t) {
    if (!t || !t->dev || device_enter(t->dev) != WEFT_OK) return;
    weft_device *dev = t->dev;
    unlink_from(t);
    destroy(t);
    device_leave(dev);
}

/* ---- public: scopes -------------------------------------------------------------------------- */

weft_status weft_scope_push(weft_device *dev) {
    TRY(device_enter(dev));
    weft_status status = WEFT_OK;
    weft_scope *scope = NULL;
    if (dev->scope->depth >= SCOPE_MAX_DEPTH)
        status = error_set(WEFT_LIMIT, "more than %d scopes are open", SCOPE_MAX_DEPTH);
    else scope = mem_alloc(sizeof *scope);
    if (scope) {
        int depth = dev->scope->depth + 1;
        *scope =
            (weft_scope){.parent = dev->scope, .depth = depth, .arena = dev->next_arena[depth]};
        dev->next_arena[depth] ^= 1;
        dev->scope = scope;
    } else if (status == WEFT_OK) {
        status = WEFT_NO_MEMORY;
    }
    device_leave(dev);
    return status;
}

weft_tensor *weft_scope_pop_keep(weft_device *dev, weft_tensor *result) {
    if (device_enter(dev) != WEFT_OK) return enter_failed(dev);
    weft_scope *scope = dev->scope;
    if (!scope->parent) {
        result =
            tensor_error(dev, error_set(WEFT_INVALID, "weft_scope_pop without a weft_scope_push"));
    } else {
        if (result && result->dev == dev && result->scope == scope) {
            unlink_from(result);
            link_to(result, scope->parent);
        }
        tensor_free_all(scope);
        dev->scope = scope->parent;
        mem_free(scope);
        if (!result) result = &static_null;
    }
    device_leave(dev);
    return result;
}

weft_status weft_scope_pop(weft_device *dev) {
    TRY(device_enter(dev));
    weft_status status = dev->scope->parent ? WEFT_OK : WEFT_INVALID;
    if (status == WEFT_OK) weft_scope_pop_keep(dev, NULL);
    else error_set(status, "weft_scope_pop without a weft_scope_push");
    device_leave(dev);
    return status;
}

weft_tensor *weft_keep(weft_tensor *t) {
    if (!t || !t->dev) return t ? t : &static_null;
    if (device_enter(t->dev) != WEFT_OK) return &static_busy;
    unlink_from(t);
    link_to(t, &t->dev->kept);
    device_leave(t->dev);
    return t;
}

/* ---- public: describing ---------------------------------------------------------------------- */

weft_dtype weft_tensor_dtype(const weft_tensor *t) { return t ? t->dtype : WEFT_F32; }

weft_shape weft_tensor_shape(const weft_tensor *t) {
    weft_shape shape = {0};
    if (!t) return shape;
    shape.rank = t->rank;
    memcpy(shape.dim, t->dim, sizeof shape.dim);
    return shape;
}

int64_t weft_elements(const weft_tensor *t) {
    return t && t->status == WEFT_OK ? tensor_elements(t) : 0;
}

size_t weft_bytes(const weft_tensor *t) {
    return t && t->status == WEFT_OK ? (size_t)tensor_row_bytes(t->dtype, tensor_elements(t)) : 0;
}

weft_device *weft_tensor_device(const weft_tensor *t) { return t ? t->dev : NULL; }

weft_status weft_tensor_status(const weft_tensor *t) {
    if (!t) return WEFT_INVALID;
    return t->status != WEFT_OK ? t->status : t->storage->poison;
}

const char *weft_tensor_message(const weft_tensor *t) {
    if (!t) return static_null.message;
    if (t->status == WEFT_OK) return t->storage->poison_message ? t->storage->poison_message : "";
    return t->message ? t->message : weft_status_text(t->status);
}

/* ---- public: reading and writing ------------------------------------------------------------- */

static weft_status check_bytes(const char *who, const weft_tensor *t, const void *data,
                               size_t bytes) {
    REQUIRE(bytes == weft_bytes(t), WEFT_SHAPE, "%s: %zu bytes given, the tensor has %zu", who,
            bytes, weft_bytes(t));
    REQUIRE(data || !bytes, WEFT_INVALID, "%s: the host memory is NULL", who);
    return WEFT_OK;
}

weft_status weft_write(weft_tensor *t, const void *data, size_t bytes) {
    TRY(tensor_check(t));
    TRY(check_bytes("weft_write", t, data, bytes));
    if (!bytes) return WEFT_OK;
    weft_device *dev = t->dev;
    TRY(device_enter(dev));
    weft_status status;
    if (t->storage->is_wrapped) {
        status = error_set(WEFT_INVALID, "weft_write: the tensor wraps read-only memory");
    } else if (tensor_is_dense(t)) {
        status = dev->backend->write(dev->state, t->storage, tensor_row_bytes(t->dtype, t->offset),
                                     data, bytes);
        if (status != WEFT_OK) storage_poison(t->storage, status);
    } else {
        weft_tensor *dense = weft_from(dev, t->dtype, weft_tensor_shape(t), data);
        status = weft_tensor_status(weft_copy(t, dense));
        weft_free(dense);
    }
    dev->counters.n_writes++;
    device_leave(dev);
    return status;
}

weft_status weft_read(weft_tensor *t, void *out, size_t bytes) {
    TRY(tensor_check(t));
    TRY(check_bytes("weft_read", t, out, bytes));
    weft_device *dev = t->dev;
    TRY(device_enter(dev));
    weft_status status = WEFT_OK;
    weft_tensor *dense = tensor_is_dense(t) ? t : op_dense(t, t->dtype);
    status = tensor_check(dense);
    if (status == WEFT_OK && bytes)
        status = dev->backend->read(dev->state, dense->storage,
                                    tensor_row_bytes(t->dtype, dense->offset), out, bytes);
    else if (status == WEFT_OK) status = dev->backend->flush(dev->state, true);
    if (dense != t) weft_free(dense);
    dev->counters.n_reads++;
    device_leave(dev);
    return status;
}

/* ---- public: views --------------------------------------------------------------------------- */

/* Checks t and enters its device; on failure returns the error tensor to give back, else NULL. */
static weft_tensor *begin_view(weft_tensor *t) {
    weft_status status = tensor_check(t);
    if (status != WEFT_OK) return tensor_error(t ? t->dev : NULL, status);
    return device_enter(t->dev) == WEFT_OK ? NULL : &static_busy;
}

static weft_tensor *end_view(weft_device *dev, weft_tensor *result) {
    device_leave(dev);
    return result;
}

weft_tensor *tensor_try_reshape(weft_tensor *t, int rank, const int64_t *dim) {
    /* Each run of new dimensions must tile one merged old dimension exactly. */
    const weft_tensor *one[] = {t};
    layout l = layout_merge(one, 1);
    int64_t stride[WEFT_MAX_RANK];
    int old = l.rank - 1;
    int64_t left = l.dim[old], step = l.stride[0][old];
    bool is_empty = tensor_elements(t) == 0;
    for (int d = rank - 1; d >= 0 && !is_empty; d--) {
        if (dim[d] == 1) {
            stride[d] = step;
            continue;
        }
        if (left == 1 && old > 0) {
            old--;
            left = l.dim[old];
            step = l.stride[0][old];
        }
        if (left % dim[d]) return NULL;
        stride[d] = step;
        step *= dim[d];
        left /= dim[d];
    }
    weft_tensor *v = tensor_view(t);
    if (v->status != WEFT_OK) return v;
    if (is_empty) set_dense(v, rank, dim);
    else {
        v->rank = rank;
        memcpy(v->dim, dim, (size_t)rank * sizeof *dim);
        memcpy(v->stride, stride, (size_t)rank * sizeof *stride);
    }
    return v;
}

static weft_status resolve_reshape(const weft_tensor *t, weft_shape *shape) {
    REQUIRE(shape->rank >= 0 && shape->rank <= WEFT_MAX_RANK, WEFT_SHAPE, "weft_reshape: rank %d",
            shape->rank);
    int64_t have = tensor_elements(t), known = 1;
    int unknown = -1;
    for (int d = 0; d < shape->rank; d++) {
        if (shape->dim[d] == -1 && unknown < 0) {
            unknown = d;
            continue;
        }
        REQUIRE(shape->dim[d] >= 0, WEFT_SHAPE, "weft_reshape: dimension %d is %lld", d,
                (long long)shape->dim[d]);
        REQUIRE(!__builtin_mul_overflow(known, shape->dim[d], &known), WEFT_SHAPE,
                "weft_reshape: the shape is too large");
    }
    if (unknown >= 0) {
        REQUIRE(known > 0 && have % known == 0, WEFT_SHAPE,
                "weft_reshape: %lld elements do not divide by %lld", (long long)have,
                (long long)known);
        shape->dim[unknown] = have / known;
        known = have;
    }
    REQUIRE(known == have, WEFT_SHAPE, "weft_reshape: %lld elements into a shape of %lld",
            (long long)have, (long long)known);
    const dtype_info *info = dtype_find(t->dtype);
    if (info->block > 1)
        REQUIRE(shape->rank && shape->dim[shape->rank - 1] % info->block == 0, WEFT_SHAPE,
                "weft_reshape: rows of %s are multiples of %d", info->name, (int)info->block);
    uint64_t bytes; /* beside a 0 the other dimensions may still be too large for strides */
    return count_bytes(t->dtype, shape->rank, shape->dim, &bytes);
}

weft_tensor *weft_reshape(weft_tensor *t, weft_shape shape) {
    weft_tensor *bad = begin_view(t);
    if (bad) return bad;
    weft_device *dev = t->dev;
    weft_status status = resolve_reshape(t, &shape);
    if (status != WEFT_OK) return end_view(dev, tensor_error(dev, status));
    weft_tensor *v = tensor_try_reshape(t, shape.rank, shape.dim);
    if (!v) {
        v = op_dense(t, t->dtype);
        if (v->status == WEFT_OK) set_dense(v, shape.rank, shape.dim);
    }
    return end_view(dev, v);
}

static weft_status resolve_axis(const char *who, const weft_tensor *t, int *axis) {
    int a = *axis < 0 ? *axis + t->rank : *axis;
    REQUIRE(a >= 0 && a < t->rank, WEFT_INVALID, "%s: axis %d of a tensor of rank %d", who, *axis,
            t->rank);
    *axis = a;
    return WEFT_OK;
}

static weft_status check_slice(const weft_tensor *t, int *axis, int64_t first, int64_t count) {
    TRY(resolve_axis("weft_slice", t, axis));
    int64_t size = t->dim[*axis];
    REQUIRE(first >= 0 && count >= 0 && first <= size && count <= size - first, WEFT_INDEX,
            "weft_slice: [%lld, %lld + %lld) of a dimension of %lld", (long long)first,
            (long long)first, (long long)count, (long long)size);
    const dtype_info *info = dtype_find(t->dtype);
    REQUIRE(info->block == 1 || *axis < t->rank - 1 ||
                (first % info->block == 0 && count % info->block == 0),
            WEFT_SHAPE, "weft_slice: rows of %s are cut at multiples of %d", info->name,
            (int)info->block);
    return WEFT_OK;
}

weft_tensor *weft_slice(weft_tensor *t, int axis, int64_t first, int64_t count) {
    weft_tensor *bad = begin_view(t);
    if (bad) return bad;
    weft_device *dev = t->dev;
    weft_status status = check_slice(t, &axis, first, count);
    if (status != WEFT_OK) return end_view(dev, tensor_error(dev, status));
    weft_tensor *v = tensor_view(t);
    if (v->status == WEFT_OK) {
        v->dim[axis] = count;
        if (count) v->offset += first * v->stride[axis];
    }
    return end_view(dev, v);
}

static weft_status check_axes(const weft_tensor *t, const int *axes) {
    REQUIRE(axes, WEFT_INVALID, "weft_permute: axes is NULL");
    unsigned seen = 0;
    for (int d = 0; d < t->rank; d++) {
        REQUIRE(axes[d] >= 0 && axes[d] < t->rank && !(seen >> axes[d] & 1), WEFT_INVALID,
                "weft_permute: axes[%d] = %d is no permutation of %d axes", d, axes[d], t->rank);
        seen |= 1u << axes[d];
    }
    const dtype_info *info = dtype_find(t->dtype);
    REQUIRE(info->block == 1 || axes[t->rank - 1] == t->rank - 1, WEFT_UNSUPPORTED,
            "weft_permute: the last axis of a %s tensor stays last", info->name);
    return WEFT_OK;
}

weft_tensor *weft_permute(weft_tensor *t, const int *axes) {
    weft_tensor *bad = begin_view(t);
    if (bad) return bad;
    weft_device *dev = t->dev;
    weft_status status = check_axes(t, axes);
    if (status != WEFT_OK) return end_view(dev, tensor_error(dev, status));
    weft_tensor *v = tensor_view(t);
    for (int d = 0; v->status == WEFT_OK && d < t->rank; d++) {
        v->dim[d] = t->dim[axes[d]];
        v->stride[d] = t->stride[axes[d]];
    }
    return end_view(dev, v);
}

weft_tensor *weft_transpose(weft_tensor *t) {
    weft_status status = tensor_check(t);
    if (status != WEFT_OK) return tensor_error(t ? t->dev : NULL, status);
    if (t->rank < 2)
        return tensor_error(t->dev,
                            error_set(WEFT_SHAPE, "weft_transpose: a tensor of rank %d", t->rank));
    int axes[WEFT_MAX_RANK] = {0, 1, 2, 3, 4, 5};
    axes[t->rank - 1] = t->rank - 2;
    axes[t->rank - 2] = t->rank - 1;
    return weft_permute(t, axes);
}

static weft_status check_broadcast(const weft_tensor *t, weft_shape shape) {
    REQUIRE(shape.rank >= t->rank && shape.rank <= WEFT_MAX_RANK, WEFT_SHAPE,
            "weft_broadcast: rank %d to rank %d", t->rank, shape.rank);
    for (int d = 0; d < t->rank; d++) {
        int64_t want = shape.dim[shape.rank - t->rank + d];
        REQUIRE(t->dim[d] == want || t->dim[d] == 1, WEFT_SHAPE,
                "weft_broadcast: dimension of %lld to %lld", (long long)t->dim[d], (long long)want);
        REQUIRE(t->dim[d] == want || d < t->rank - 1 || dtype_find(t->dtype)->block == 1,
                WEFT_SHAPE, "weft_broadcast: the last axis of a quantised tensor");
    }
    for (int d = 0; d < shape.rank; d++)
        REQUIRE(shape.dim[d] >= 0, WEFT_SHAPE, "weft_broadcast: dimension %d is %lld", d,
                (long long)shape.dim[d]);
    uint64_t bytes; /* no storage is needed, but the elements must be countable */
    return count_bytes(t->dtype, shape.rank, shape.dim, &bytes);
}

weft_tensor *weft_broadcast(weft_tensor *t, weft_shape shape) {
    weft_tensor *bad = begin_view(t);
    if (bad) return bad;
    weft_device *dev = t->dev;
    weft_status status = check_broadcast(t, shape);
    if (status != WEFT_OK) return end_view(dev, tensor_error(dev, status));
    weft_tensor *v = tensor_view(t);
    if (v->status == WEFT_OK) {
        int more = shape.rank - t->rank;
        v->rank = shape.rank;
        for (int d = 0; d < shape.rank; d++) {
            bool is_old = d >= more && t->dim[d - more] == shape.dim[d];
            v->dim[d] = shape.dim[d];
            v->stride[d] = is_old ? t->stride[d - more] : 0;
        }
    }
    return end_view(dev, v);
}
