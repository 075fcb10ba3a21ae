/* The null backend: shapes and call sequences without arithmetic or memory, for tests that ask what
 * was called. It is opened by name only and listed nowhere. Reads give zeros.
 * SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "tensor/backend.h"

static int list(weft_device_info *out, int cap) {
    (void)out;
    (void)cap;
    return 0;
}

static weft_status open(weft_device *dev, const weft_device_desc *desc, int index, void **state) {
    (void)dev;
    (void)desc;
    (void)index;
    *state = mem_alloc(1);
    return *state ? WEFT_OK : WEFT_NO_MEMORY;
}

static void close(void *state) { mem_free(state); }

static weft_status info(void *state, weft_device_info *out) {
    (void)state;
    out->kind = WEFT_KIND_NULL;
    out->is_usable = true;
    snprintf(out->adapter, sizeof out->adapter, "null (shapes only)");
    return WEFT_OK;
}

static weft_status alloc(void *state, weft_storage *s) {
    (void)state;
    (void)s;
    return WEFT_OK;
}

static void free_storage(void *state, weft_storage *s) {
    (void)state;
    (void)s;
}

static weft_status write(void *state, weft_storage *s, uint64_t at, const void *data,
                         uint64_t bytes) {
    (void)state;
    (void)s;
    (void)at;
    (void)data;
    (void)bytes;
    return WEFT_OK;
}

static weft_status read(void *state, weft_storage *s, uint64_t at, void *out, uint64_t bytes) {
    (void)state;
    (void)s;
    (void)at;
    memset(out, 0, (size_t)bytes);
    return WEFT_OK;
}

static bool can_run(void *state, const weft_call *call) {
    (void)state;
    (void)call;
    return true;
}

static weft_status run(void *state, const weft_call *call) {
    (void)state;
    (void)call;
    return WEFT_OK;
}

static weft_status flush(void *state, bool wait) {
    (void)state;
    (void)wait;
    return WEFT_OK;
}

static int variants(void *state, const weft_call *call, const char **names, int cap) {
    (void)state;
    (void)call;
    if (cap > 0) names[0] = "null";
    return 1;
}

static weft_status select_variant(void *state, const char *name) {
    (void)state;
    REQUIRE(!name || !strcmp(name, "null"), WEFT_INVALID, "the null backend has no variant \"%s\"",
            name);
    return WEFT_OK;
}

const weft_backend null_backend = {
    .name = "null",
    .list = list,
    .open = open,
    .close = close,
    .info = info,
    .alloc = alloc,
    .free = free_storage,
    .write = write,
    .read = read,
    .can_run = can_run,
    .run = run,
    .flush = flush,
    .variants = variants,
    .select = select_variant,
};
