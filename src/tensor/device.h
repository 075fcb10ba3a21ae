/* The insides of a device: its backend, scopes, owner and counters; and the few functions the files
 * of tensor/ share. SPDX-License-Identifier: MIT */
#ifndef WEFT_TENSOR_DEVICE_H
#define WEFT_TENSOR_DEVICE_H

#include <stdatomic.h>

#include "tensor/backend.h"

enum { SCOPE_MAX_DEPTH = 64 };

typedef struct weft_scope {
    struct weft_scope *parent;
    weft_tensor *first; /* its tensors, newest first */
    int depth, arena;
    uint32_t n_allocations;
} weft_scope;

struct weft_device {
    const weft_backend *backend;
    void *state;
    char name[16];
    weft_precision precision, opened_precision; /* of the ops that follow; of the device */
    int n_threads;
    weft_scope root, kept; /* kept: tensors outside all scopes, freed at close */
    weft_scope *scope;     /* the innermost */
    uint8_t next_arena[SCOPE_MAX_DEPTH + 1];
    weft_counters counters;
    void *fallback;  /* state of a CPU backend, opened when first needed */
    uint64_t warned; /* a bit per op that fell back */
    _Atomic(uintptr_t) owner;
    int entered;
    int n_holders; /* models on it */
    bool is_closed;
};

/* Every public function on a device enters and leaves; nested calls of one thread are fine, another
 * thread meanwhile gets WEFT_BUSY. */
weft_status device_enter(weft_device *dev);
void device_leave(weft_device *dev);

/* Runs an op a backend cannot: inputs are read, the CPU computes, the output is written back. */
weft_status device_run_fallback(weft_device *dev, const weft_call *call);

/* A dense tensor of unspecified contents in the current scope; on failure an error tensor (never
 * NULL). */
weft_tensor *tensor_make(weft_device *dev, weft_dtype dtype, int rank, const int64_t *dim);
/* A second handle on t's storage with t's description, for views. */
weft_tensor *tensor_view(weft_tensor *t);
/* An error tensor with this thread's message; never NULL. `dev` may be NULL. */
weft_tensor *tensor_error(weft_device *dev, weft_status status);
/* Turns a live tensor into an error tensor. */
void tensor_fail(weft_tensor *t, weft_status status);
/* WEFT_OK, or sets the message: t is NULL, an error tensor, or its storage is poisoned. */
weft_status tensor_check(const weft_tensor *t);
void tensor_free_all(weft_scope *scope);
void tensor_move(weft_tensor *t, weft_scope *scope); /* from its scope to another */
void storage_unref(weft_storage *s);
/* Marks a storage as left incomplete by a failed write. */
void storage_poison(weft_storage *s, weft_status status);

/* The mechanism behind every op: checks, shape rule, layouts, allocation, run. See ops.c. */
weft_tensor *op_run(weft_op op, int n_in, weft_tensor *const *in, const op_attrs *attrs,
                    weft_tensor *into);
/* A dense copy of t (same dtype, or another), as a new tensor. */
weft_tensor *op_dense(weft_tensor *t, weft_dtype dtype);
/* A view of t as `rank` x `dim` if its strides allow one, else NULL (no error). */
weft_tensor *tensor_try_reshape(weft_tensor *t, int rank, const int64_t *dim);

/* A shape rule: checks the call's inputs (present and on one device) and may replace them by views
 * and casts (which then belong to the current scope); fills dtype, rank and dim of the canonical
 * output, which the backend sees. */
typedef struct op_shape {
    weft_dtype dtype;
    int rank;
    int64_t dim[WEFT_MAX_RANK];
    /* The shape the user gets, when it is not the canonical one: same elements in the same
     * order. */
    bool has_final;
    int final_rank;
    int64_t final_dim[WEFT_MAX_RANK];
} op_shape;

#define WEFT_OP(name, n_in, layouts) weft_status shape_##name(weft_call *call, op_shape *out);
#include "tensor/ops.def"
#undef WEFT_OP

#endif
