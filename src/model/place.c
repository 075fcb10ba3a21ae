/* Putting weights on a device. The CPU wraps the mapped file; others copy, siblings one below the
 * other. Every tensor made here is recorded with the model, so that a load that fails half-way
 * frees what it has.
 * SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "model/loader.h"

/* Takes over a tensor that was just made; an error tensor is the failure. */
static weft_status own(loader *l, weft_tensor *t, const char *name) {
    model *m = l->m;
    weft_keep(t);
    weft_status status = weft_tensor_status(t);
    if (status != WEFT_OK) error_set(status, "tensor '%s': %s", name, weft_tensor_message(t));
    else
        status =
            mem_reserve((void **)&m->owned, &m->owned_capacity, m->n_owned + 1, sizeof *m->owned);
    if (status != WEFT_OK) {
        weft_free(t);
        return status;
    }
    m->owned[m->n_owned++] = t;
    return WEFT_OK;
}

static weft_status progress(loader *l, const gguf_tensor *t) {
    l->done += t->bytes;
    l->m->bytes += t->bytes;
    REQUIRE(!l->on_progress || l->on_progress(l->user, l->done, l->total), WEFT_CANCELLED,
            "loading was cancelled");
    return WEFT_OK;
}

/* A tensor whose rows lie scattered, gathered: to be freed. */
static void *gather(const gguf_tensor *t) {
    int64_t n = 1;
    for (int i = 0; i + 1 < t->rank; i++) n *= t->dim[i];
    void *block = mem_alloc(t->bytes);
    if (block) gguf_copy_rows(t, 0, n, block);
    return block;
}

/* Made out of the file's bytes, in place where the device can. */
static weft_tensor *place(loader *l, const gguf_tensor *t, weft_shape shape) {
    weft_device *dev = l->m->dev;
    if (t->data && l->copies) return weft_from(dev, t->dtype, shape, t->data);
    if (t->data) return weft_wrap(dev, t->dtype, shape, t->data, NULL, NULL);
    void *gathered = gather(t);
    if (!gathered) return NULL;
    weft_tensor *made = weft_wrap(dev, t->dtype, shape, gathered, mem_free, gathered);
    if (weft_tensor_status(made) != WEFT_OK) mem_free(gathered);
    return made;
}

weft_status loader_put(loader *l, const gguf_tensor *t, weft_tensor **out) {
    char name[80];
    snprintf(name, sizeof name, "%.*s", (int)(t->name.n < 79 ? t->name.n : 79), t->name.data);
    weft_shape shape = {.rank = t->rank};
    memcpy(shape.dim, t->dim, (size_t)t->rank * sizeof *t->dim);
    weft_tensor *made = place(l, t, shape);
    if (!made) return WEFT_NO_MEMORY;
    if (t->rank == 1 && t->dtype != WEFT_F32) {
        weft_tensor *plain = weft_cast(made, WEFT_F32);
        weft_free(made);
        made = plain;
    }
    TRY(own(l, made, name));
    *out = made;
    return progress(l, t);
}

weft_status loader_put_yarn(loader *l, weft_tensor **out) {
    int64_t n = model_size_of(&l->m->p, SIZE_PAIRS);
    float *factors = mem_array((size_t)n, sizeof *factors);
    if (!factors) return WEFT_NO_MEMORY;
    model_yarn_factors(&l->m->p, factors);
    weft_tensor *made = weft_from(l->m->dev, WEFT_F32, weft_1d(n), factors);
    mem_free(factors);
    TRY(own(l, made, "rotary factors"));
    *out = made;
    return WEFT_OK;
}

/* One sibling's matrix and bias into their rows of the run, from row `at` on. */
static weft_status put_rows(model_run *run, const gguf_tensor *t, const gguf_tensor *bias,
                            int64_t at) {
    int64_t n = t->dim[0];
    void *gathered = t->data ? NULL : gather(t);
    if (!t->data && !gathered) return WEFT_NO_MEMORY;
    weft_status written =
        weft_write(weft_slice(run->w, 0, at, n), t->data ? t->data : gathered, t->bytes);
    mem_free(gathered);
    TRY(written);
    if (!bias) return WEFT_OK;
    weft_tensor *from = weft_from(weft_tensor_device(run->w), bias->dtype, weft_1d(n), bias->data);
    weft_tensor *copied = weft_copy(weft_slice(run->bias, 0, at, n), from);
    weft_status status = weft_tensor_status(copied);
    return status == WEFT_OK ? status : error_set(status, "%s", weft_tensor_message(copied));
}

weft_status loader_put_run(loader *l, const gguf_tensor *const *t, const gguf_tensor *const *bias,
                           model_run *run) {
    weft_device *dev = l->m->dev;
    int64_t rows = 0;
    bool has_bias = false;
    for (int i = 0; i < run->count; i++) {
        rows += t[i]->dim[0];
        has_bias = has_bias || bias[i];
    }
    run->w = weft_new(dev, t[0]->dtype, weft_2d(rows, t[0]->dim[1]));
    TRY(own(l, run->w, "siblings"));
    if (has_bias) {
        run->bias = weft_zeros(dev, WEFT_F32, weft_1d(rows));
        TRY(own(l, run->bias, "sibling biases"));
    }
    int64_t at = 0;
    for (int i = 0; i < run->count; i++) {
        TRY(weft_scope_push(dev)); /* for the views only: weights belong to no scope */
        weft_status status = put_rows(run, t[i], bias[i], at);
        weft_scope_pop(dev);
        TRY(status);
        TRY(progress(l, t[i]));
        if (bias[i]) TRY(progress(l, bias[i]));
        at += t[i]->dim[0];
    }
    return WEFT_OK;
}
