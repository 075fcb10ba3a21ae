/* Device memory: buffers of their own for what lives outside scopes, arenas for what is made
 * inside them.
 *
 * A model's forward allocates the same tensors in the same order every time. So the k-th
 * allocation of a scope gets the buffer the k-th allocation had two scopes ago (two arenas
 * alternate, so that the result of one forward may feed the next), which keeps every cached bind
 * group valid. No two tensors share a buffer: the libraries track hazards per buffer and refuse
 * one that is read and written in a dispatch. Sizes are rounded up to 16 bytes, so bindings and
 * copies may be, too. A buffer that the recorded batch uses is released only after its submit,
 * and never destroyed. Host writes go through the queue and would overtake recorded work that
 * reads the old bytes, so that work is submitted first. SPDX-License-Identifier: MIT */
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "webgpu/gpu.h"

enum { WRITE_BYTES = 16 << 20, PENDING_BYTES = 64 << 20 };
enum { SMALL_USES = 32, SMALL_BYTES = 1 << 20 };

gpu_buffer *buffer_new(gpu *g, uint64_t bytes, const char *what) {
    uint64_t capacity = (bytes + 15) / 16 * 16;
    if (capacity < 16) capacity = 16;
    if (capacity > g->caps.max_buffer) {
        error_set(WEFT_LIMIT,
                  "%s needs %llu bytes, more than the largest buffer of %s (%llu bytes)", what,
                  (unsigned long long)bytes, g->info.adapter,
                  (unsigned long long)g->caps.max_buffer);
        return NULL;
    }
    gpu_buffer *b = mem_alloc(sizeof *b);
    if (!b) return NULL;
    WGPUBufferDescriptor desc = {.label = gpu_text(what),
                                 .usage = WGPUBufferUsage_Storage | WGPUBufferUsage_CopySrc |
                                          WGPUBufferUsage_CopyDst,
                                 .size = capacity};
    gpu_scope_push(g);
    b->handle = g->api.DeviceCreateBuffer(g->device, &desc);
    weft_status status = gpu_scope_pop(g);
    if (status == WEFT_OK && !b->handle)
        status = error_set(WEFT_NO_MEMORY, "the device gives no buffer of %llu bytes",
                           (unsigned long long)capacity);
    if (status != WEFT_OK) {
        if (b->handle) g->api.BufferRelease(b->handle);
        mem_free(b);
        error_prefix(status, "%s (%llu bytes)", what, (unsigned long long)bytes);
        return NULL;
    }
    b->capacity = capacity;
    b->id = ++g->buffers.next_id;
    g->buffers.n_created++;
    g->buffers.bytes += capacity;
    if (g->buffers.bytes > g->buffers.bytes_peak) g->buffers.bytes_peak = g->buffers.bytes;
    return b;
}

static void release_now(gpu *g, gpu_buffer *b) {
    groups_forget(g, b);
    g->api.BufferRelease(b->handle);
    g->buffers.bytes -= b->capacity;
    mem_free(b);
}

void buffer_release(gpu *g, gpu_buffer *b) {
    if (!b) return;
    b->storage = NULL;
    b->in_arena = false;
    gpu_buffers *all = &g->buffers;
    bool is_recorded = b->used_in == g->batch.number;
    if (is_recorded && mem_reserve((void **)&all->dead, &all->dead_capacity, all->n_dead + 1,
                                   sizeof(gpu_buffer *)) != WEFT_OK) {
        batch_submit(g); /* no memory to remember it: give the batch away instead */
        is_recorded = false;
    }
    if (is_recorded) all->dead[all->n_dead++] = b;
    else release_now(g, b);
}

void buffers_bury(gpu *g) {
    for (size_t i = 0; i < g->buffers.n_dead; i++) release_now(g, g->buffers.dead[i]);
    g->buffers.n_dead = 0;
}

weft_status buffer_grow(gpu *g, gpu_buffer **b, uint64_t bytes, const char *what) {
    if (*b && (*b)->capacity >= bytes) return WEFT_OK;
    gpu_buffer *larger =
        buffer_new(g, bytes + bytes / 4 < g->caps.max_buffer ? bytes + bytes / 4 : bytes, what);
    if (!larger) return error_status();
    buffer_release(g, *b);
    *b = larger;
    return WEFT_OK;
}

/* ---- arenas ---------------------------------------------------------------------------------- */

/* The arena of a depth, or NULL without memory. */
static gpu_arena *find_arena(gpu *g, int depth, int arena) {
    gpu_buffers *all = &g->buffers;
    size_t need = (size_t)depth;
    if (need > all->n_depths) {
        if (mem_reserve((void **)&all->arenas, &all->capacity, need, sizeof *all->arenas) !=
            WEFT_OK)
            return NULL;
        memset(&all->arenas[all->n_depths], 0, (need - all->n_depths) * sizeof *all->arenas);
        all->n_depths = need;
    }
    return &all->arenas[depth - 1][arena & 1];
}

/* At the first allocation of a scope: releases slots that neither of the last two scopes of this
 * arena used, so that one large scope does not keep its memory for ever. */
static void begin_scope(gpu *g, gpu_arena *a) {
    uint32_t keep = a->n_used > a->n_used_before ? a->n_used : a->n_used_before;
    while (a->n_slots > keep) {
        gpu_buffer *b = a->slots[--a->n_slots];
        if (!b) continue;
        b->in_arena = false;
        if (!b->storage) buffer_release(g, b);
    }
    a->n_used_before = a->n_used;
    a->n_used = 0;
}

/* Rounded up a little, so that a length that creeps up does not need a new buffer at every step. */
static uint64_t roomy(const gpu *g, uint64_t bytes) {
    uint64_t step = 256;
    while (step * 8 < bytes) step *= 2;
    uint64_t rounded = (bytes + step - 1) / step * step;
    return rounded < g->caps.max_buffer ? rounded : bytes;
}

/* A buffer in use far below its size for long is given up for a smaller one. */
static bool is_wasteful(gpu_buffer *b, uint64_t bytes) {
    bool is_small = b->capacity > SMALL_BYTES && bytes < b->capacity / 4;
    b->n_small = is_small ? b->n_small + 1 : 0;
    return b->n_small > SMALL_USES;
}

static gpu_buffer *arena_take(gpu *g, const weft_storage *s) {
    gpu_arena *a = find_arena(g, s->scope_depth, s->arena);
    if (!a) return NULL;
    if (s->slot == 0) begin_scope(g, a);
    if (s->slot >= a->n_used) a->n_used = s->slot + 1;
    if (s->slot >= a->n_slots) {
        size_t need = (size_t)s->slot + 1;
        if (mem_reserve((void **)&a->slots, &a->capacity, need, sizeof(gpu_buffer *)) != WEFT_OK)
            return NULL;
        memset(&a->slots[a->n_slots], 0, (need - a->n_slots) * sizeof *a->slots);
        a->n_slots = need;
    }
    gpu_buffer *old = a->slots[s->slot];
    if (old && !old->storage && old->capacity >= s->bytes && !is_wasteful(old, s->bytes)) {
        g->buffers.n_reused++;
        return old;
    }
    gpu_buffer *b = buffer_new(g, roomy(g, s->bytes), "a tensor");
    if (!b) return NULL;
    if (old && old->storage) old->in_arena = false; /* its tensor outlived the scope: it keeps it */
    else buffer_release(g, old);
    a->slots[s->slot] = b;
    b->in_arena = true;
    return b;
}

weft_status buffer_alloc(gpu *g, weft_storage *s) {
    TRY(gpu_check(g));
    gpu_buffer *b = s->scope_depth > 0 ? arena_take(g, s) : buffer_new(g, s->bytes, "a tensor");
    if (!b) return error_status();
    b->storage = s;
    s->handle = b;
    if (!s->is_wrapped || !s->host) return WEFT_OK;
    weft_status status = buffer_write(g, b, s->bytes, 0, s->host, s->bytes);
    s->host = NULL;
    if (status != WEFT_OK) buffer_free(g, s);
    return status;
}

void buffer_free(gpu *g, weft_storage *s) {
    gpu_buffer *b = s->handle;
    s->handle = NULL;
    if (!b) return;
    b->storage = NULL;
    if (!b->in_arena) buffer_release(g, b);
}

void buffers_close(gpu *g) {
    gpu_buffers *all = &g->buffers;
    log_line(WEFT_LOG_DEBUG, "webgpu: buffers made %llu, reused %llu, peak %.1f MB",
             (unsigned long long)all->n_created, (unsigned long long)all->n_reused,
             (double)all->bytes_peak / 1e6);
    buffers_bury(g);
    for (size_t d = 0; d < all->n_depths; d++) {
        for (int k = 0; k < 2; k++) {
            gpu_arena *a = &all->arenas[d][k];
            for (size_t i = 0; i < a->n_slots; i++) {
                if (a->slots[i]) release_now(g, a->slots[i]);
            }
            mem_free(a->slots);
        }
    }
    if (all->scratch) release_now(g, all->scratch);
    if (all->copies) release_now(g, all->copies);
    if (all->codebook) release_now(g, all->codebook);
    mem_free(all->arenas);
    mem_free(all->dead);
    memset(all, 0, sizeof *all);
}

/* ---- writing --------------------------------------------------------------------------------- */

/* Whole words through the queue, in pieces, so that the library's staging memory stays small. */
static weft_status write_words(gpu *g, gpu_buffer *b, uint64_t at, const uint8_t *data,
                               uint64_t bytes) {
    gpu_buffers *all = &g->buffers;
    for (uint64_t done = 0; done < bytes;) {
        uint64_t piece = bytes - done < WRITE_BYTES ? bytes - done : WRITE_BYTES;
        g->api.QueueWriteBuffer(g->queue, b->handle, at + done, data + done, (size_t)piece);
        done += piece;
        all->pending_bytes += piece;
        if (all->pending_bytes >= PENDING_BYTES) TRY(batch_sync(g));
    }
    g->batch.n_writes++;
    return gpu_check(g);
}

/* A word of which only bytes [from, to) are ours, the rest kept as it is. */
static weft_status merge_word(gpu *g, gpu_buffer *b, uint64_t word_at, const uint8_t *data,
                              uint32_t from, uint32_t to) {
    uint8_t word[4];
    TRY(read_all(g, b, word_at, word, 4));
    memcpy(word + from, data, to - from);
    return write_words(g, b, word_at, word, 4);
}

weft_status buffer_write(gpu *g, gpu_buffer *b, uint64_t size, uint64_t at, const void *data,
                         uint64_t bytes) {
    TRY(gpu_check(g));
    if (bytes == 0) return WEFT_OK;
    REQUIRE(at <= size && bytes <= size - at, WEFT_INVALID,
            "a write of %llu bytes at %llu ends past %llu", (unsigned long long)bytes,
            (unsigned long long)at, (unsigned long long)size);
    if (b->used_in == g->batch.number) TRY(batch_submit(g));
    const uint8_t *from = data;
    uint64_t end = at + bytes, head = at % 4;
    if (head) {
        uint32_t n = (uint32_t)(bytes < 4 - head ? bytes : 4 - head);
        TRY(merge_word(g, b, at - head, from, (uint32_t)head, (uint32_t)head + n));
        from += n;
        at += n;
        if (at == end) return WEFT_OK;
    }
    uint64_t tail = end % 4, whole = end - at - tail;
    if (whole) TRY(write_words(g, b, at, from, whole));
    if (!tail) return WEFT_OK;
    if (end < size) return merge_word(g, b, end - tail, from + whole, 0, (uint32_t)tail);
    /* The storage ends in this word: what follows is padding, and nobody's. */
    uint8_t word[4] = {0};
    memcpy(word, from + whole, (size_t)tail);
    return write_words(g, b, end - tail, word, 4);
}
