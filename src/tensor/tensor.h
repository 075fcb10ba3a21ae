/* The insides of tensors, storages and calls, shared by the core and the backends.
 *
 * A tensor is an immutable description over ref-counted storage. Strides and offset count elements;
 * the last stride of a quantised tensor is 1, and its rows are whole blocks: offset and outer
 * strides are multiples of the block. Memory order is (outermost, ..., innermost).
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_TENSOR_TENSOR_H
#define WEFT_TENSOR_TENSOR_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "tensor/attrs.h"

typedef enum weft_op {
#define WEFT_OP(name, n_in, layouts) OP_##name,
#include "tensor/ops.def"
#undef WEFT_OP
    OP_COUNT
} weft_op;

enum { CALL_MAX_INPUTS = 6 };

/* Memory on a device. Freed when the last reference goes: references are handles (tensors) and
 * recorded calls. */
typedef struct weft_storage {
    weft_device *dev;
    int64_t n_refs;
    uint64_t bytes; /* as asked; backends may round up */
    void *host;     /* host-addressable bytes (CPU backend), else NULL */
    void *handle;   /* the backend's own object, else NULL */
    /* `host` is the caller's read-only memory: GPU backends upload it in alloc and clear `host` */
    bool is_wrapped;
    void (*done)(void *user);
    void *user;
    /* Where it was allocated, so that a backend can give the k-th allocation of a scope the buffer
     * it had the time before: scope depth (0 = outside: weights, caches; memory of its own), which
     * of two alternating arenas, and k. */
    int scope_depth, arena;
    uint32_t slot;
    weft_status poison;   /* a failed write or call left it unusable ... */
    char *poison_message; /* ... and why */
} weft_storage;

struct weft_tensor {
    weft_device *dev; /* NULL only in the static error tensors */
    weft_storage *storage;
    weft_dtype dtype;
    int rank;
    int64_t dim[WEFT_MAX_RANK], stride[WEFT_MAX_RANK], offset;
    struct weft_tensor *next, *previous; /* in its scope's list */
    struct weft_scope *scope;            /* NULL = kept */
    weft_status status;                  /* error tensors: not WEFT_OK, no storage */
    char *message;
};

/* One op invocation: the only thing a backend sees. Inputs have the layouts ops.def promises; `out`
 * is allocated. */
typedef struct weft_call {
    weft_op op;
    weft_precision precision; /* WEFT_EXACT or WEFT_FAST */
    int n_in;
    weft_tensor *in[CALL_MAX_INPUTS]; /* absent optional inputs are NULL */
    weft_tensor *out;
    op_attrs attrs; /* zeroed where the op has none */
} weft_call;

const char *op_name(weft_op op);

/* Helpers on descriptions. */
int64_t tensor_elements(const weft_tensor *t);
uint64_t tensor_row_bytes(weft_dtype dtype, int64_t elements); /* elements must be whole blocks */
bool tensor_is_dense(const weft_tensor *t); /* contiguous; sizes of 1 have any stride */

/* A view's dimensions merged where the strides allow, for up to n tensors of one (broadcast) shape
 * at once: the fewest dimensions that still describe all of them. Size-1 dimensions vanish; rank 0
 * becomes one of size 1. dim[] is shared; stride[i][] is tensor i's. */
typedef struct layout {
    int rank;
    int64_t dim[WEFT_MAX_RANK], stride[4][WEFT_MAX_RANK];
} layout;
layout layout_merge(const weft_tensor *const *tensors, int n);
/* As above, but the last dimension is left out of the merging and comes last (for ops over
 * rows). */
layout layout_merge_rows(const weft_tensor *const *tensors, int n);

#endif
