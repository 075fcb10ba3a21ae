/* See place.h. A view's own description says where each element lies, so one walk serves all
 * layouts. SPDX-License-Identifier: MIT */
#include "place.h"

#include "tensor/dtype.h"

static bool is_quantized(weft_dtype dtype) { return dtype_find(dtype)->is_quantized; }

int place_broadcast_axis(weft_shape shape) {
    for (int d = 0; d < shape.rank; d++)
        if (shape.dim[d] > 1) return d;
    return -1;
}

bool place_fits(weft_dtype dtype, weft_shape shape, place_kind kind) {
    switch (kind) {
    case PERMUTED: return shape.rank >= 2 && !is_quantized(dtype);
    case GAPS: return shape.rank >= 1;
    case BROADCAST: return !is_quantized(dtype) && place_broadcast_axis(shape) >= 0;
    default: return true;
    }
}

static weft_tensor *one_row(weft_device *dev, weft_dtype dtype, weft_shape shape, int64_t before,
                            int64_t after, weft_tensor **parent) {
    int64_t n = 1;
    for (int d = 0; d < shape.rank; d++) n *= shape.dim[d];
    *parent = weft_new(dev, dtype, weft_1d(before + n + after));
    return weft_reshape(weft_slice(*parent, 0, before, n), shape);
}

static weft_tensor *permuted(weft_device *dev, weft_dtype dtype, weft_shape shape,
                             weft_tensor **parent) {
    weft_shape turned = shape;
    int axes[WEFT_MAX_RANK];
    for (int d = 0; d < shape.rank; d++) {
        axes[d] = shape.rank - 1 - d;
        turned.dim[d] = shape.dim[axes[d]];
    }
    *parent = weft_new(dev, dtype, turned);
    return weft_permute(*parent, axes);
}

static weft_tensor *with_gaps(weft_device *dev, weft_dtype dtype, weft_shape shape,
                              weft_tensor **parent) {
    int64_t block = dtype_find(dtype)->block;
    int last = shape.rank - 1;
    weft_shape wide = shape;
    wide.dim[last] += block > 1 ? 2 * block : 5;
    if (last > 0) wide.dim[0] += 2;
    *parent = weft_new(dev, dtype, wide);
    weft_tensor *view = weft_slice(*parent, last, block > 1 ? block : 2, shape.dim[last]);
    return last > 0 ? weft_slice(view, 0, 1, shape.dim[0]) : view;
}

static weft_tensor *repeated(weft_device *dev, weft_dtype dtype, weft_shape shape,
                             weft_tensor **parent) {
    weft_shape narrow = shape;
    narrow.dim[place_broadcast_axis(shape)] = 1;
    *parent = weft_new(dev, dtype, narrow);
    return weft_broadcast(*parent, shape);
}

placed place_new(weft_device *dev, weft_dtype dtype, weft_shape shape, place_kind kind) {
    placed p = {0};
    const dtype_info *type = dtype_find(dtype);
    switch (kind) {
    case PERMUTED: p.view = permuted(dev, dtype, shape, &p.parent); break;
    case GAPS: p.view = with_gaps(dev, dtype, shape, &p.parent); break;
    case BROADCAST: p.view = repeated(dev, dtype, shape, &p.parent); break;
    case OFFSET: {
        int64_t before = type->block > 1 ? 3 * type->block : 3;
        p.view = one_row(dev, dtype, shape, before, before, &p.parent);
        break;
    }
    case OUTPUT: p.view = one_row(dev, dtype, shape, 256 / type->bytes, 64, &p.parent); break;
    default: p.view = p.parent = weft_new(dev, dtype, shape);
    }
    if (weft_tensor_status(p.view) != WEFT_OK)
        fail_msg("cannot make a tensor: %s", weft_tensor_message(p.view));
    p.n_bytes = weft_bytes(p.parent);
    p.bytes = malloc(p.n_bytes + 1);
    memset(p.bytes, PATTERN, p.n_bytes);
    return p;
}

placed place_alias(const placed *p, weft_tensor *view) {
    placed alias = *p;
    alias.view = view;
    alias.bytes = malloc(p->n_bytes + 1);
    memcpy(alias.bytes, p->bytes, p->n_bytes);
    return alias;
}

void place_free(placed *p) {
    free(p->bytes);
    p->bytes = NULL;
}

/* Calls `visit` for each unit (element or block) of the view, in order, with its place in the
 * parent's bytes. */
static void walk(const placed *p,
                 void (*visit)(uint8_t *unit, size_t bytes, int64_t i, void *context),
                 void *context) {
    const weft_tensor *t = p->view;
    const dtype_info *type = dtype_find(t->dtype);
    if (tensor_is_dense(t)) { /* all of it is one unit */
        uint8_t *first = p->bytes + (t->offset - p->parent->offset) / type->block * type->bytes;
        visit(first, (size_t)tensor_row_bytes(t->dtype, tensor_elements(t)), 0, context);
        return;
    }
    int64_t n = tensor_elements(t) / type->block;
    for (int64_t i = 0; i < n; i++) {
        int64_t rest = i * type->block, at = t->offset - p->parent->offset;
        for (int d = t->rank - 1; d >= 0; d--) {
            at += rest % t->dim[d] * t->stride[d];
            rest /= t->dim[d];
        }
        visit(p->bytes + at / type->block * type->bytes, (size_t)type->bytes, i, context);
    }
}

static void put(uint8_t *unit, size_t bytes, int64_t i, void *context) {
    memcpy(unit, (const uint8_t *)context + (size_t)i * bytes, bytes);
}

static void take(uint8_t *unit, size_t bytes, int64_t i, void *context) {
    memcpy((uint8_t *)context + (size_t)i * bytes, unit, bytes);
}

void place_write(placed *p, const void *data) {
    if (data) walk(p, put, (void *)(uintptr_t)data);
    assert_ok(weft_write(p->parent, p->bytes, p->n_bytes));
}

typedef struct comparison {
    const uint8_t *old;
    uint8_t *bytes;
} comparison;

/* After this, the view's units in the bytes read equal what they were, so that the rest can be
 * compared whole. */
static void restore(uint8_t *unit, size_t bytes, int64_t i, void *context) {
    (void)i;
    const comparison *c = context;
    memcpy(unit, c->old + (unit - c->bytes), bytes);
}

const char *place_read(placed *p, void *data, bool has_slack) {
    static char wrong[160];
    uint8_t *old = p->bytes;
    p->bytes = malloc(p->n_bytes + 1);
    weft_status status = weft_read(p->parent, p->bytes, p->n_bytes);
    if (status != WEFT_OK) {
        snprintf(wrong, sizeof wrong, "reading back: %s", weft_message());
        free(p->bytes);
        p->bytes = old;
        return wrong;
    }
    if (data) {
        walk(p, take, data);
        walk(p, restore, &(comparison){old, p->bytes});
    }
    const dtype_info *type = dtype_find(p->view->dtype);
    size_t end = (size_t)((p->view->offset - p->parent->offset + tensor_elements(p->view)) /
                          type->block * type->bytes);
    const char *result = NULL;
    for (size_t i = 0; i < p->n_bytes && !result; i++) {
        if (p->bytes[i] == old[i] || (has_slack && i >= end && i < (end + 15) / 16 * 16)) continue;
        snprintf(wrong, sizeof wrong, "byte %zu outside the tensor was changed from %02x to %02x",
                 i, old[i], p->bytes[i]);
        result = wrong;
    }
    free(p->bytes);
    p->bytes = old;
    return result;
}
