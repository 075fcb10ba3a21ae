/* What a backend is: one table of about ten functions. The core checks shapes, makes layouts fit
 * and allocates outputs before a backend is called; a backend's support list is its kernel table
 * (can_run asks that table).
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_TENSOR_BACKEND_H
#define WEFT_TENSOR_BACKEND_H

#include "tensor/tensor.h"

typedef struct weft_backend {
    const char *name; /* "cpu", "webgpu", "null" */
    /* Fills out[0..cap) with the devices this backend offers; returns how many there are.
     * `is_default` is the core's. */
    int (*list)(weft_device_info *out, int cap);
    /* Opens device `index` of its list (-1 = its best). Sets *state. */
    weft_status (*open)(weft_device *dev, const weft_device_desc *desc, int index, void **state);
    void (*close)(void *state);
    weft_status (*info)(void *state, weft_device_info *out);
    weft_status (*alloc)(void *state, weft_storage *s);
    void (*free)(void *state, weft_storage *s);
    weft_status (*write)(void *state, weft_storage *s, uint64_t at, const void *data,
                         uint64_t bytes);
    /* Waits for all recorded work that could touch the bytes. Reports errors met by kernels (bad
     * indices). */
    weft_status (*read)(void *state, weft_storage *s, uint64_t at, void *out, uint64_t bytes);
    bool (*can_run)(void *state, const weft_call *call);
    weft_status (*run)(void *state, const weft_call *call); /* executes or records */
    weft_status (*flush)(void *state, bool wait);
    void (*counters)(void *state, weft_counters *add_to);
    /* For tests and `weft check`: the names of all variants (kernel rows, CPU levels) that could
     * run a call, and a way to force one by name for the calls that follow (NULL = the usual
     * choice; a call it does not fit takes the usual choice). */
    int (*variants)(void *state, const weft_call *call, const char **names, int cap);
    weft_status (*select)(void *state, const char *name);
} weft_backend;

/* The table of backends (backends.def), in order of listing; NULL-terminated. */
extern const weft_backend *const weft_backends[];

/* For tests: the device's backend and its state. */
const weft_backend *device_backend(const weft_device *dev);
void *device_state(const weft_device *dev);

#endif
