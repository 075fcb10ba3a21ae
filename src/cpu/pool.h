/* Memory of storages: 64-byte aligned blocks by size class. Blocks of tensors in scopes go back to
 * a free list, so that a repeated forward neither asks the system nor touches fresh pages; storages
 * outside scopes (weights, caches) have exact blocks of their own.
 *
 * The k-th-allocation slots that GPUs need (scope_depth, arena, slot) are not used for addresses:
 * nothing on the CPU depends on a buffer's identity, and by size a block can serve again inside one
 * scope as soon as it is freed. SPDX-License-Identifier: MIT */
#ifndef WEFT_CPU_POOL_H
#define WEFT_CPU_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

enum { POOL_CLASSES = 4 * 40 }; /* four a power of two */

typedef struct pool {
    struct pool_block *free[POOL_CLASSES];
    uint64_t bytes_free, bytes_held,
        bytes_peak; /* in free lists; in all blocks alive, free ones included */
} pool;

/* Memory that is not zeroed when it served before. NULL and a message when there is none. */
void *pool_alloc(pool *p, uint64_t bytes, bool is_reused);
void pool_free(pool *p, void *memory);
/* Gives the free lists back to the system. */
void pool_clear(pool *p);

#endif
