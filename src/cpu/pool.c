/* See pool.h. Each block has a 64-byte header before the memory it gives.
 * SPDX-License-Identifier: MIT */
#include "cpu/pool.h"

#include "base/mem.h"

enum { ALIGNMENT = 64 };
/* Free lists beyond this go back to the system: a long prompt's buffers are not kept for a short
 * answer. */
static const uint64_t most_free = (uint64_t)48 << 20;

typedef struct pool_block {
    void *base; /* what mem_alloc gave */
    struct pool_block *next;
    uint64_t bytes; /* without the header */
    int size_class; /* -1: of its own */
} pool_block;

_Static_assert(sizeof(pool_block) <= ALIGNMENT, "the header must fit before the memory");

/* Sizes of 4 to 7 quarters of each power of two, from 64 bytes on; -1 above the largest. */
static int class_of(uint64_t bytes, uint64_t *rounded) {
    for (int c = 0; c < POOL_CLASSES; c++) {
        uint64_t size = (uint64_t)(4 + c % 4) << (4 + c / 4);
        if (size < bytes) continue;
        *rounded = size;
        return c;
    }
    *rounded = bytes;
    return -1;
}

static pool_block *block_of(void *memory) { return (pool_block *)((char *)memory - ALIGNMENT); }

void *pool_alloc(pool *p, uint64_t bytes, bool is_reused) {
    uint64_t size = bytes;
    int size_class = is_reused ? class_of(bytes, &size) : -1;
    if (size_class >= 0 && p->free[size_class]) {
        pool_block *block = p->free[size_class];
        p->free[size_class] = block->next;
        p->bytes_free -= block->bytes;
        return (char *)block + ALIGNMENT;
    }
    if (size > PTRDIFF_MAX - 2 * ALIGNMENT) {
        error_set(WEFT_NO_MEMORY, "out of memory: %llu bytes", (unsigned long long)bytes);
        return NULL;
    }
    void *base = mem_alloc((size_t)size + 2 * ALIGNMENT);
    if (!base) return NULL;
    char *memory = (char *)(((uintptr_t)base + 2 * ALIGNMENT - 1) & ~(uintptr_t)(ALIGNMENT - 1));
    pool_block *block = block_of(memory);
    *block = (pool_block){.base = base, .bytes = size, .size_class = size_class};
    p->bytes_held += size;
    if (p->bytes_held > p->bytes_peak) p->bytes_peak = p->bytes_held;
    return memory;
}

static void release(pool *p, pool_block *block) {
    p->bytes_held -= block->bytes;
    mem_free(block->base);
}

void pool_free(pool *p, void *memory) {
    if (!memory) return;
    pool_block *block = block_of(memory);
    if (block->size_class < 0 || p->bytes_free + block->bytes > most_free) {
        release(p, block);
        return;
    }
    block->next = p->free[block->size_class];
    p->free[block->size_class] = block;
    p->bytes_free += block->bytes;
}

void pool_clear(pool *p) {
    for (int c = 0; c < POOL_CLASSES; c++) {
        while (p->free[c]) {
            pool_block *block = p->free[c];
            p->free[c] = block->next;
            release(p, block);
        }
    }
    p->bytes_free = 0;
}
