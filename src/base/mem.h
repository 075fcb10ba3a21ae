/* Allocation: malloc with a message on failure, an arena for things that die together, and a hook
 * that makes the k-th allocation fail, so that tests can walk every out-of-memory path.
 *
 * All allocations of src/ go through here. Sizes are checked products: mem_array(n, size) never
 * wraps.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_BASE_MEM_H
#define WEFT_BASE_MEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* Each returns NULL and sets WEFT_NO_MEMORY on failure. mem_alloc and mem_array return zeroed
 * memory; size 0 gives a valid pointer. mem_grow makes `n` elements out of an older block (new
 * elements are not zeroed); the old block stays valid when it fails. mem_free(NULL) is fine. */
void *mem_alloc(size_t bytes);
void *mem_array(size_t n, size_t element_bytes);
void *mem_grow(void *old, size_t n, size_t element_bytes);
void *mem_copy(const void *source, size_t bytes);
char *mem_string(const char *text);
void mem_free(void *block);

/* Makes the k-th allocation from now (1 = the next) fail once; 0 switches the hook off.
 * Process-wide. Returns the allocations made since the last call, so that a test knows how far to
 * count. */
uint64_t mem_fail_at(uint64_t k);

/* Grows the array *items (of *capacity elements) so that it holds at least `need`. */
weft_status mem_reserve(void **items, size_t *capacity, size_t need, size_t element_bytes);

/* An arena: pieces that are freed together. All-zero is an empty arena. Pieces are zeroed and
 * 16-aligned. */
typedef struct mem_arena {
    struct mem_chunk *chunk;
} mem_arena;

void *arena_alloc(mem_arena *arena, size_t bytes);
char *arena_string(mem_arena *arena, const char *text, size_t bytes); /* adds the final 0 */
void arena_free(mem_arena *arena);

/* a * b and a + b with overflow caught: false when the result does not fit. */
bool mul_u64(uint64_t a, uint64_t b, uint64_t *product);
bool add_u64(uint64_t a, uint64_t b, uint64_t *sum);

#endif
