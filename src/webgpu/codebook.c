/* The codebooks of codebooks.def as one buffer on the device, 33 KB, made when a plan first binds
 * it. A buffer and no table in the shaders: indexed constant arrays are copied into every thread by
 * some compilers. SPDX-License-Identifier: MIT */
#include "format/codebooks.h"
#include "webgpu/gpu.h"

static const struct {
    weft_dtype dtype;
    const void *points;
    uint32_t bytes;
} books[] = {
#define CODEBOOK(dtype, table) {WEFT_##dtype, table, sizeof table},
#include "webgpu/codebooks.def"
#undef CODEBOOK
};
enum { N_BOOKS = sizeof books / sizeof *books };

/* Formats that share a table have it once: where book i begins, in words. */
static uint32_t place_of(int i) {
    uint32_t at = 0;
    for (int k = 0; k < N_BOOKS && books[k].points != books[i].points; k++) {
        bool is_first = k == 0 || books[k].points != books[k - 1].points;
        if (is_first) at += books[k].bytes / 4;
    }
    return at;
}

bool codebook_find(weft_dtype dtype, uint32_t *at) {
    for (int i = 0; i < N_BOOKS; i++) {
        if (books[i].dtype != dtype) continue;
        *at = place_of(i);
        return true;
    }
    return false;
}

uint64_t codebook_bytes(void) {
    return place_of(N_BOOKS - 1) * UINT64_C(4) + books[N_BOOKS - 1].bytes;
}

weft_status codebook_load(gpu *g) {
    if (g->buffers.codebook) return WEFT_OK;
    uint64_t size = codebook_bytes();
    gpu_buffer *b = buffer_new(g, size, "the codebooks of weight formats");
    if (!b) return error_status();
    for (int i = 0; i < N_BOOKS; i++) {
        weft_status status =
            buffer_write(g, b, size, place_of(i) * UINT64_C(4), books[i].points, books[i].bytes);
        if (status != WEFT_OK) {
            buffer_release(g, b);
            return status;
        }
    }
    g->buffers.codebook = b;
    return WEFT_OK;
}
