/* See mem.h. The fail hook is one atomic counter: cheap enough to be in every build, so that the
 * tested code is the shipped code. SPDX-License-Identifier: MIT */
#include "base/mem.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static atomic_uint_fast64_t n_allocations, failing_one;

static bool may_allocate(void) {
    uint_fast64_t n = atomic_fetch_add_explicit(&n_allocations, 1, memory_order_relaxed) + 1;
    return n != atomic_load_explicit(&failing_one, memory_order_relaxed);
}

uint64_t mem_fail_at(uint64_t k) {
    uint64_t before = atomic_exchange(&n_allocations, 0);
    atomic_store(&failing_one, k);
    return before;
}

static void *none(size_t n, size_t element_bytes) {
    error_set(WEFT_NO_MEMORY, "out of memory: %zu x %zu bytes", n, element_bytes);
    return NULL;
}

void *mem_array(size_t n, size_t element_bytes) {
    void *block = may_allocate() ? calloc(n ? n : 1, element_bytes ? element_bytes : 1) : NULL;
    return block ? block : none(n, element_bytes);
}

void *mem_alloc(size_t bytes) { return mem_array(1, bytes); }

void *mem_grow(void *old, size_t n, size_t element_bytes) {
    uint64_t bytes;
    if (!mul_u64(n, element_bytes, &bytes) || bytes > PTRDIFF_MAX) return none(n, element_bytes);
    void *block = may_allocate() ? realloc(old, bytes ? (size_t)bytes : 1) : NULL;
    return block ? block : none(n, element_bytes);
}

void *mem_copy(const void *source, size_t bytes) {
    void *block = mem_alloc(bytes);
    if (block && bytes) memcpy(block, source, bytes);
    return block;
}

char *mem_string(const char *text) { return mem_copy(text, strlen(text) + 1); }

void mem_free(void *block) { free(block); }

weft_status mem_reserve(void **items, size_t *capacity, size_t need, size_t element_bytes) {
    if (need <= *capacity) return WEFT_OK;
    size_t n = *capacity + *capacity / 2 + 8;
    if (n < need) n = need;
    void *grown = mem_grow(*items, n, element_bytes);
    if (!grown) return WEFT_NO_MEMORY;
    *items = grown;
    *capacity = n;
    return WEFT_OK;
}

struct mem_chunk {
    struct mem_chunk *next;
    size_t used, bytes;
    max_align_t data[];
};

enum { CHUNK_BYTES = 1 << 16, ALIGN = 16 };

void *arena_alloc(mem_arena *arena, size_t bytes) {
    if (bytes > PTRDIFF_MAX - CHUNK_BYTES) return none(1, bytes);
    bytes = (bytes + ALIGN - 1) & ~(size_t)(ALIGN - 1);
    struct mem_chunk *chunk = arena->chunk;
    if (!chunk || chunk->bytes - chunk->used < bytes) {
        size_t room = bytes > CHUNK_BYTES ? bytes : CHUNK_BYTES;
        chunk = mem_alloc(sizeof *chunk + room);
        if (!chunk) return NULL;
        chunk->bytes = room;
        chunk->next = arena->chunk;
        arena->chunk = chunk;
    }
    void *piece = (char *)chunk->data + chunk->used;
    chunk->used += bytes;
    return piece;
}

char *arena_string(mem_arena *arena, const char *text, size_t bytes) {
    if (bytes == SIZE_MAX) return none(1, bytes);
    char *copy = arena_alloc(arena, bytes + 1);
    if (!copy) return NULL;
    if (bytes) memcpy(copy, text, bytes);
    copy[bytes] = 0;
    return copy;
}

void arena_free(mem_arena *arena) {
    while (arena->chunk) {
        struct mem_chunk *next = arena->chunk->next;
        mem_free(arena->chunk);
        arena->chunk = next;
    }
}

bool mul_u64(uint64_t a, uint64_t b, uint64_t *product) {
    return !__builtin_mul_overflow(a, b, product);
}

bool add_u64(uint64_t a, uint64_t b, uint64_t *sum) { return !__builtin_add_overflow(a, b, sum); }
