/* Devices: finding, opening, closing them; who may enter; what the CPU does for a GPU that cannot.
 *
 * The default is the best GPU (discrete first), else the CPU; a software adapter is taken only by
 * name. A GPU that was listed but fails to open is not fatal for the default: the next best is
 * tried and a line logged.
 * SPDX-License-Identifier: MIT */
#include "tensor/device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/parallel.h"
#include "tensor/dtype.h"
#include "tensor/fused.h"

#define WEFT_BACKEND(name) extern const weft_backend name##_backend;
#include "tensor/backends.def"
#undef WEFT_BACKEND

const weft_backend *const weft_backends[] = {
#define WEFT_BACKEND(name) &name##_backend,
#include "tensor/backends.def"
#undef WEFT_BACKEND
    NULL,
};

const weft_backend *device_backend(const weft_device *dev) { return dev->backend; }

void *device_state(const weft_device *dev) { return dev->state; }

/* ---- one thread at a time -------------------------------------------------------------------- */

static _Thread_local char thread_mark;

weft_status device_enter(weft_device *dev) {
    REQUIRE(dev, WEFT_INVALID, "the device is NULL");
    uintptr_t me = (uintptr_t)&thread_mark, nobody = 0;
    if (atomic_load_explicit(&dev->owner, memory_order_relaxed) != me) {
        bool is_free = atomic_compare_exchange_strong(&dev->owner, &nobody, me);
        REQUIRE(is_free, WEFT_BUSY, "device %s is in use by another thread", dev->name);
    }
    dev->entered++;
    return WEFT_OK;
}

void device_leave(weft_device *dev) {
    if (--dev->entered == 0) atomic_store(&dev->owner, 0);
}

/* ---- listing and opening --------------------------------------------------------------------- */

enum { MAX_LISTED = 64 };

/* Marks the best: the first usable discrete GPU, else the first usable GPU, else the CPU. */
static void mark_default(weft_device_info *list, int n) {
    int best = -1, best_score = 0;
    for (int i = 0; i < n; i++) {
        int score = !list[i].is_usable              ? 0
                    : list[i].kind == WEFT_KIND_CPU ? 1
                    : list[i].kind == WEFT_KIND_GPU ? 2 + list[i].is_discrete
                                                    : 0;
        if (score > best_score) {
            best = i;
            best_score = score;
        }
        list[i].is_default = false;
    }
    if (best >= 0) list[best].is_default = true;
    for (int i = 0; i < n; i++) {
        if (list[i].note[0]) continue;
        const char *note =
            i == best
                ? (list[i].kind == WEFT_KIND_CPU ? "chosen by default: no usable GPU was found"
                                                 : "chosen by default: the best GPU")
            : list[i].kind == WEFT_KIND_SOFTWARE ? "software adapter: used only when named"
                                                 : "not chosen: another device is preferred";
        snprintf(list[i].note, sizeof list[i].note, "%s", note);
    }
}

static int list_all(weft_device_info *list) {
    int n = 0;
    for (int b = 0; weft_backends[b] && n < MAX_LISTED; b++) {
        int found = weft_backends[b]->list(list + n, MAX_LISTED - n);
        n += found < MAX_LISTED - n ? found : MAX_LISTED - n;
    }
    mark_default(list, n);
    return n;
}

int weft_list_devices(weft_device_info *out, int cap) {
    weft_device_info *list = mem_array(MAX_LISTED, sizeof *list);
    if (!list) return 0;
    int n = list_all(list);
    for (int i = 0; out && i < n && i < cap; i++) out[i] = list[i];
    mem_free(list);
    return n;
}

/* "webgpu:3" -> backend and index; -1 when no number is given. */
static weft_status parse_name(const char *name, const weft_backend **backend, int *index) {
    const char *colon = strchr(name, ':');
    size_t n = colon ? (size_t)(colon - name) : strlen(name);
    *index = -1;
    if (colon) {
        char *end;
        long number = strtol(colon + 1, &end, 10);
        REQUIRE(colon[1] >= '0' && colon[1] <= '9' && !*end && number < MAX_LISTED, WEFT_INVALID,
                "device \"%s\": what follows the colon must be a number from the device list",
                name);
        *index = (int)number;
    }
    for (int b = 0; weft_backends[b]; b++)
        if (strlen(weft_backends[b]->name) == n && !strncmp(weft_backends[b]->name, name, n)) {
            *backend = weft_backends[b];
            return WEFT_OK;
        }
#ifndef WEFT_HAVE_WEBGPU
    REQUIRE(n != 6 || strncmp(name, "webgpu", 6), WEFT_NO_DEVICE,
            "this weft was built without the WebGPU backend");
#endif
    return error_set(WEFT_NO_DEVICE, "there is no device \"%s\": try cpu, webgpu or webgpu:K",
                     name);
}

static weft_device *open_on(const weft_backend *backend, int index, const weft_device_desc *desc) {
    weft_device *dev = mem_alloc(sizeof *dev);
    if (!dev) return NULL;
    dev->backend = backend;
    dev->scope = &dev->root;
    dev->kept.depth = -1;
    dev->precision = desc->precision == WEFT_FAST ? WEFT_FAST : WEFT_EXACT;
    dev->opened_precision = dev->precision;
    dev->n_threads = desc->n_threads > 0 ? desc->n_threads : parallel_cores();
    snprintf(dev->name, sizeof dev->name, index >= 0 ? "%s:%d" : "%s", backend->name, index);
    weft_device_desc filled = *desc;
    filled.n_threads = dev->n_threads;
    if (backend->open(dev, &filled, index, &dev->state) != WEFT_OK) {
        mem_free(dev);
        return NULL;
    }
    return dev;
}

static weft_device *open_best(const weft_device_desc *desc) {
    weft_device_info *list = mem_array(MAX_LISTED, sizeof *list);
    if (!list) return NULL;
    weft_device *dev = NULL;
    int n = list_all(list);
    for (int tries = 0; tries < n && !dev; tries++) {
        int best = 0;
        while (best < n && !list[best].is_default) best++;
        if (best == n) break;
        const weft_backend *backend;
        int index;
        if (parse_name(list[best].name, &backend, &index) != WEFT_OK) break;
        dev = open_on(backend, index, desc);
        if (!dev)
            log_line(WEFT_LOG_WARN, "device %s cannot be opened: %s", list[best].name,
                     error_message());
        else
            log_line(WEFT_LOG_INFO, "device %s (%s): %s", list[best].name, list[best].adapter,
                     list[best].note);
        list[best].is_usable = false;
        mark_default(list, n);
    }
    mem_free(list);
    return dev;
}

weft_device *weft_open(const weft_device_desc *desc) {
    weft_device_desc defaults = {0};
    if (!desc) desc = &defaults;
    if (!desc->name || !desc->name[0] || !strcmp(desc->name, "best")) return open_best(desc);
    const weft_backend *backend;
    int index;
    if (parse_name(desc->name, &backend, &index) != WEFT_OK) return NULL;
    return open_on(backend, index, desc);
}

static void destroy(weft_device *dev) {
    while (dev->scope->parent) weft_scope_pop(dev);
    tensor_free_all(&dev->root);
    tensor_free_all(&dev->kept);
    dev->backend->close(dev->state);
    if (dev->fallback) weft_backends[0]->close(dev->fallback);
    mem_free(dev);
}

void device_retain(weft_device *dev) { dev->n_holders++; }

void device_release(weft_device *dev) {
    if (--dev->n_holders == 0 && dev->is_closed) destroy(dev);
}

void weft_close(weft_device *dev) {
    if (!dev || device_enter(dev) != WEFT_OK) return;
    dev->is_closed = true;
    if (dev->n_holders) device_leave(dev); /* it goes with the last model on it */
    else destroy(dev);
}

weft_status weft_get_device_info(weft_device *dev, weft_device_info *out) {
    REQUIRE(out, WEFT_INVALID, "weft_get_device_info: out is NULL");
    TRY(device_enter(dev));
    *out = (weft_device_info){0};
    weft_status status = dev->backend->info(dev->state, out);
    if (!out->name[0]) snprintf(out->name, sizeof out->name, "%s", dev->name);
    device_leave(dev);
    return status;
}

weft_precision weft_set_precision(weft_device *dev, weft_precision precision) {
    if (device_enter(dev) != WEFT_OK) return WEFT_PRECISION_DEFAULT;
    weft_precision before = dev->precision;
    bool is_known = precision == WEFT_EXACT || precision == WEFT_FAST;
    dev->precision = is_known ? precision : dev->opened_precision;
    device_leave(dev);
    return before;
}

weft_status weft_sync(weft_device *dev) {
    TRY(device_enter(dev));
    weft_status status = dev->backend->flush(dev->state, true);
    device_leave(dev);
    return status;
}

weft_status weft_get_counters(weft_device *dev, weft_counters *out) {
    REQUIRE(out, WEFT_INVALID, "weft_get_counters: out is NULL");
    TRY(device_enter(dev));
    *out = dev->counters;
    if (dev->backend->counters) dev->backend->counters(dev->state, out);
    device_leave(dev);
    return WEFT_OK;
}

/* ---- the CPU in a GPU's place ---------------------------------------------------------------- */

/* The elements a view can touch: [offset, offset + span). */
static int64_t span_of(const weft_tensor *t) {
    int64_t span = 1;
    for (int d = 0; d < t->rank; d++) span += (t->dim[d] - 1) * t->stride[d];
    int64_t block = dtype_find(t->dtype)->block;
    return (span + block - 1) / block * block;
}

/* A host copy of what t touches, as a tensor the CPU backend can use; the storage's host memory is
 * ours. */
static weft_status to_host(const weft_tensor *t, weft_tensor *copy, weft_storage *storage) {
    uint64_t bytes = tensor_row_bytes(t->dtype, span_of(t));
    *storage = (weft_storage){.n_refs = 1, .bytes = bytes, .host = mem_alloc((size_t)bytes)};
    if (!storage->host) return WEFT_NO_MEMORY;
    *copy = *t;
    copy->storage = storage;
    copy->offset = 0;
    return t->dev->backend->read(t->dev->state, t->storage, tensor_row_bytes(t->dtype, t->offset),
                                 storage->host, bytes);
}

static weft_status from_host(const weft_tensor *t, const weft_storage *storage) {
    return t->dev->backend->write(t->dev->state, t->storage, tensor_row_bytes(t->dtype, t->offset),
                                  storage->host, storage->bytes);
}

weft_status device_run_fallback(weft_device *dev, const weft_call *call) {
    const weft_backend *cpu = weft_backends[0];
    if (!dev->fallback) {
        weft_device_desc desc = {.n_threads = dev->n_threads};
        TRY(cpu->open(dev, &desc, -1, &dev->fallback));
    }
    dev->counters.n_fallback++;
    if (!(dev->warned >> call->op & 1)) {
        dev->warned |= (uint64_t)1 << call->op;
        log_line(WEFT_LOG_WARN, "%s runs on the CPU: %s has no kernel for this call",
                 op_name(call->op), dev->name);
    }
    weft_tensor copies[CALL_MAX_INPUTS + 1];
    weft_storage storages[CALL_MAX_INPUTS + 1] = {{0}};
    weft_call local = *call;
    weft_status status = WEFT_OK;
    for (int i = 0; i < call->n_in && status == WEFT_OK; i++) {
        if (!call->in[i]) continue;
        local.in[i] = &copies[i];
        status = to_host(call->in[i], &copies[i], &storages[i]);
    }
    local.out = &copies[CALL_MAX_INPUTS];
    if (status == WEFT_OK) status = to_host(call->out, local.out, &storages[CALL_MAX_INPUTS]);
    /* kv_write's output is its first input: one copy, not two. */
    bool is_in_place = call->n_in > 0 && call->in[0] && call->in[0]->storage == call->out->storage;
    if (is_in_place) local.in[0] = local.out;
    if (status == WEFT_OK) status = cpu->run(dev->fallback, &local);
    if (status == WEFT_OK) status = from_host(call->out, &storages[CALL_MAX_INPUTS]);
    for (int i = 0; i <= CALL_MAX_INPUTS; i++) mem_free(storages[i].host);
    return status;
}
