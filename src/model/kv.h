/* The key and value cache. A kv_cache owns pages of KV_PAGE positions, K and V apart for each
 * layer; sequences borrow pages through a kv_table. Grown by need, so an empty cache costs nothing.
 * Lengths are the sessions' business: the cache
 * knows pages only. SPDX-License-Identifier: MIT */
#ifndef WEFT_MODEL_KV_H
#define WEFT_MODEL_KV_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "tensor/fused.h"

/* A sequence's pages in order: position p is in pages[p / KV_PAGE]. All-zero is empty. */
typedef struct kv_table {
    int32_t *pages;
    size_t n, capacity;
} kv_table;

typedef struct kv_cache {
    weft_device *dev;
    weft_dtype dtype;
    int n_layers;
    int64_t n_kv_heads, head_dim;
    weft_tensor **k,
        **v; /* a layer's pages (n_pages or more, n_kv_heads, KV_PAGE, head_dim); NULL at first */
    int32_t n_pages;
    int32_t *unused; /* a stack of pages nobody has */
    size_t n_unused, unused_capacity;
} kv_cache;

weft_status kv_open(weft_device *dev, int n_layers, int64_t n_kv_heads, int64_t head_dim,
                    weft_dtype dtype, kv_cache **out);
void kv_close(kv_cache *c);

/* Gives the table pages for positions 0 .. length-1; what it has stays. `most` is the most
 * positions worth making room for at once (growing doubles). */
weft_status kv_reserve(kv_cache *c, kv_table *t, int64_t length, int64_t most);
/* Takes back the pages past `length` positions. */
void kv_trim(kv_cache *c, kv_table *t, int64_t length);
/* Takes back all and frees the table's memory. */
void kv_table_free(kv_cache *c, kv_table *t);

#endif
