/* Reading device memory: through persistent staging buffers, so that reading can begin long
 * before it must end, and no buffer is made for it.
 *
 * The flags that kernels raise for bad indices travel with every read: a few bytes behind those
 * asked for, so that they cost no round trip of their own. SPDX-License-Identifier: MIT */
#include <string.h>

#include "base/mem.h"
#include "webgpu/gpu.h"

enum { STAGING_LEAST = 64 << 10, FLAG_BYTES = 16 };

static void on_map(WGPUMapAsyncStatus status, WGPUStringView message, void *user1, void *user2) {
    (void)message;
    (void)user2;
    gpu_reading *r = user1;
    r->done = status == WGPUMapAsyncStatus_Success ? 1 : 2;
}

static weft_status grow(gpu *g, gpu_reading *r, uint64_t bytes) {
    if (r->capacity >= bytes) return WEFT_OK;
    uint64_t capacity = STAGING_LEAST;
    while (capacity < bytes) capacity *= 2;
    if (r->staging) g->api.BufferRelease(r->staging);
    r->capacity = 0;
    WGPUBufferDescriptor desc = {.label = gpu_text("staging"),
                                 .usage = WGPUBufferUsage_MapRead | WGPUBufferUsage_CopyDst,
                                 .size = capacity};
    gpu_scope_push(g);
    r->staging = g->api.DeviceCreateBuffer(g->device, &desc);
    weft_status status = gpu_scope_pop(g);
    if (status != WEFT_OK) {
        if (r->staging) g->api.BufferRelease(r->staging);
        r->staging = NULL;
        return error_prefix(status, "memory for reading back (%llu bytes)",
                            (unsigned long long)capacity);
    }
    r->capacity = capacity;
    return WEFT_OK;
}

/* Records copies of the flags in use to the end of the staging memory; they count as looked at
 * from now on. */
static weft_status copy_flags(gpu *g, gpu_reading *r) {
    gpu_batch *b = &g->batch;
    r->n_flags = 0;
    for (int i = 0; i < GPU_FLAG_SLOTS && b->n_flags > 0; i++) {
        if (!b->flag_rows[i]) continue;
        TRY(batch_copy_out(g, b->flags, (uint64_t)i * GPU_FLAG_STRIDE, r->staging,
                           r->flags_at + (uint64_t)r->n_flags * FLAG_BYTES, FLAG_BYTES));
        r->rows[r->n_flags] = b->flag_rows[i];
        r->slots[r->n_flags++] = i;
        b->flag_rows[i] = NULL;
        b->n_flags--;
    }
    return WEFT_OK;
}

static weft_status begin(gpu *g, gpu_reading *r, gpu_buffer *b, uint64_t at, uint64_t bytes) {
    uint64_t first = at / 4 * 4, words = (at + bytes + 3) / 4 * 4 - first;
    if (bytes == 0) words = 0;
    r->offset = at - first;
    r->bytes = bytes;
    r->flags_at = (words + 15) / 16 * 16;
    TRY(grow(g, r, r->flags_at + GPU_FLAG_SLOTS * FLAG_BYTES));
    if (words) TRY(batch_copy_out(g, b->handle, first, r->staging, 0, words));
    TRY(copy_flags(g, r));
    TRY(batch_submit(g));
    r->mapped = r->flags_at + (uint64_t)r->n_flags * FLAG_BYTES;
    if (r->mapped == 0) r->mapped = 16;
    r->done = 0;
    r->is_busy = true;
    WGPUBufferMapCallbackInfo info = {
        .mode = WGPUCallbackMode_AllowProcessEvents, .callback = on_map, .userdata1 = r};
    r->future = g->api.BufferMapAsync(r->staging, WGPUMapMode_Read, 0, (size_t)r->mapped, info);
    g->batch.n_reads++;
    return WEFT_OK;
}

weft_status read_begin(gpu *g, gpu_buffer *b, uint64_t at, uint64_t bytes, gpu_reading **out) {
    TRY(gpu_check(g));
    REQUIRE(bytes <= GPU_READ_BYTES, WEFT_LIMIT, "a read of %llu bytes cannot be begun at once",
            (unsigned long long)bytes);
    /* The first slot is the blocking read's. */
    for (int i = 1; i < GPU_READ_SLOTS; i++) {
        gpu_reading *r = &g->batch.readings[i];
        if (r->is_busy) continue;
        *out = r;
        return begin(g, r, b, at, bytes);
    }
    return error_set(WEFT_BUSY, "%d reads are under way already", GPU_READ_SLOTS - 1);
}

bool read_poll(gpu *g, gpu_reading *r) {
    if (r->done || g->is_lost) return true;
    return g->dialect->wait(&g->api, g->instance, g->device, r->future, &r->done, 0);
}

/* The first flag that is raised, as a status; all raised ones are lowered. */
static weft_status check_flags(gpu *g, const gpu_reading *r, const uint8_t *mapped) {
    static const uint32_t zeros[4];
    weft_status status = WEFT_OK;
    for (int i = 0; i < r->n_flags; i++) {
        uint32_t flag[4];
        memcpy(flag, mapped + r->flags_at + (size_t)i * FLAG_BYTES, FLAG_BYTES);
        if (flag[0] == 0) continue;
        g->api.QueueWriteBuffer(g->queue, g->batch.flags, (uint64_t)r->slots[i] * GPU_FLAG_STRIDE,
                                zeros, FLAG_BYTES);
        if (status != WEFT_OK) continue;
        const kernel_row *row = r->rows[i];
        const char *what =
            row->op == OP_get_rows || row->op == OP_gather || row->op == OP_linear_ids ? "id"
            : row->op == OP_kv_write                                                   ? "slot"
            : row->op == OP_attention ? "sequence, length or page"
                                      : "index";
        status = error_set(WEFT_INDEX, "%s: %s %d is outside 0..%lld (%u bad in all; kernel %s)",
                           op_name(row->op), what, (int)(int32_t)flag[1], (long long)flag[2] - 1,
                           flag[0], row->name);
    }
    return status;
}

weft_status read_end(gpu *g, gpu_reading *r, void *out) {
    gpu_wait(g, r->future, &r->done);
    r->is_busy = false;
    TRY(gpu_check(g));
    REQUIRE(r->done == 1, WEFT_DEVICE, "%s cannot map memory for reading", g->dialect->name);
    const uint8_t *mapped = g->api.BufferGetConstMappedRange(r->staging, 0, (size_t)r->mapped);
    weft_status status = WEFT_OK;
    if (!mapped) status = error_set(WEFT_DEVICE, "%s maps no memory", g->dialect->name);
    else {
        if (r->bytes && out) memcpy(out, mapped + r->offset, (size_t)r->bytes);
        status = check_flags(g, r, mapped);
    }
    g->api.BufferUnmap(r->staging);
    return status;
}

weft_status read_all(gpu *g, gpu_buffer *b, uint64_t at, void *out, uint64_t bytes) {
    TRY(gpu_check(g));
    gpu_reading *r = &g->batch.readings[0];
    uint8_t *to = out;
    do {
        uint64_t piece = bytes < GPU_READ_BYTES ? bytes : GPU_READ_BYTES;
        TRY(begin(g, r, b, at, piece));
        TRY(read_end(g, r, to));
        at += piece;
        to = to ? to + piece : NULL;
        bytes -= piece;
    } while (bytes > 0);
    return gpu_take_error(g);
}

void readings_close(gpu *g) {
    for (int i = 0; i < GPU_READ_SLOTS; i++) {
        gpu_reading *r = &g->batch.readings[i];
        if (r->is_busy && !g->is_lost) gpu_wait(g, r->future, &r->done);
        if (r->staging) g->api.BufferRelease(r->staging);
    }
}
