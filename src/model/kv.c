/* Pages: growing, lending, taking back. A layer's pages are one tensor, because attention reads one
 * tensor; growing makes a larger one and copies, layer by layer, so that only one layer is there
 * twice.
 * SPDX-License-Identifier: MIT */
#include "model/kv.h"

#include "base/mem.h"

weft_status kv_open(weft_device *dev, int n_layers, int64_t n_kv_heads, int64_t head_dim,
                    weft_dtype dtype, kv_cache **out) {
    *out = NULL;
    kv_cache *c = mem_alloc(sizeof *c);
    if (!c) return WEFT_NO_MEMORY;
    *c = (kv_cache){dev, dtype, n_layers, n_kv_heads, head_dim, NULL, NULL, 0, NULL, 0, 0};
    c->k = mem_array((size_t)n_layers, sizeof *c->k);
    c->v = mem_array((size_t)n_layers, sizeof *c->v);
    if (!c->k || !c->v) {
        kv_close(c);
        return WEFT_NO_MEMORY;
    }
    *out = c;
    return WEFT_OK;
}

void kv_close(kv_cache *c) {
    if (!c) return;
    for (int i = 0; i < c->n_layers; i++) {
        if (c->k) weft_free(c->k[i]);
        if (c->v) weft_free(c->v[i]);
    }
    mem_free(c->k);
    mem_free(c->v);
    mem_free(c->unused);
    mem_free(c);
}

/* *pages becomes a tensor of n_pages pages with the old contents; on failure it stays as it is. */
static weft_status grow_tensor(kv_cache *c, weft_tensor **pages, int32_t n_pages) {
    int64_t n_old = *pages ? weft_tensor_shape(*pages).dim[0] : 0;
    if (n_old >= n_pages) return WEFT_OK;
    weft_shape shape = weft_4d(n_pages, c->n_kv_heads, KV_PAGE, c->head_dim);
    weft_tensor *larger = weft_keep(weft_new(c->dev, c->dtype, shape));
    weft_tensor *done = larger;
    if (n_old) {
        TRY(weft_scope_push(c->dev));
        done = weft_copy(weft_slice(larger, 0, 0, n_old), *pages);
    }
    weft_status status = weft_tensor_status(done);
    if (status != WEFT_OK)
        error_set(status, "the KV cache cannot grow to %d tokens: %s", n_pages * KV_PAGE,
                  weft_tensor_message(done));
    if (n_old) weft_scope_pop(c->dev);
    if (status != WEFT_OK) {
        weft_free(larger);
        return status;
    }
    weft_free(*pages);
    *pages = larger;
    return WEFT_OK;
}

static weft_status grow(kv_cache *c, int32_t n_pages) {
    TRY(mem_reserve((void **)&c->unused, &c->unused_capacity, (size_t)n_pages, sizeof *c->unused));
    for (int i = 0; i < c->n_layers; i++) {
        TRY(grow_tensor(c, &c->k[i], n_pages));
        TRY(grow_tensor(c, &c->v[i], n_pages));
    }
    /* Pushed from the last, so that they are lent from the first. */
    for (int32_t page = n_pages - 1; page >= c->n_pages; page--) c->unused[c->n_unused++] = page;
    c->n_pages = n_pages;
    return WEFT_OK;
}

static int64_t pages_for(int64_t length) { return (length + KV_PAGE - 1) / KV_PAGE; }

weft_status kv_reserve(kv_cache *c, kv_table *t, int64_t length, int64_t most) {
    int64_t need = pages_for(length);
    REQUIRE(need <= INT32_MAX / KV_PAGE, WEFT_LIMIT, "a context of %lld tokens is too long",
            (long long)length);
    int64_t missing = need - (int64_t)t->n - (int64_t)c->n_unused;
    if (missing > 0) {
        int64_t least = c->n_pages + missing, doubled = 2 * (int64_t)t->n;
        int64_t wanted = c->n_pages - (int64_t)t->n + doubled; /* this sequence's share doubles */
        int64_t limit = c->n_pages - (int64_t)t->n + pages_for(most);
        if (wanted > limit) wanted = limit;
        if (wanted < least) wanted = least;
        REQUIRE(wanted <= INT32_MAX / KV_PAGE, WEFT_LIMIT, "the KV cache cannot hold %lld pages",
                (long long)wanted);
        TRY(grow(c, (int32_t)wanted));
    }
    if (need <= (int64_t)t->n) return WEFT_OK;
    TRY(mem_reserve((void **)&t->pages, &t->capacity, (size_t)need, sizeof *t->pages));
    while ((int64_t)t->n < need) t->pages[t->n++] = c->unused[--c->n_unused];
    return WEFT_OK;
}

void kv_trim(kv_cache *c, kv_table *t, int64_t length) {
    while ((int64_t)t->n > pages_for(length)) c->unused[c->n_unused++] = t->pages[--t->n];
}

void kv_table_free(kv_cache *c, kv_table *t) {
    kv_trim(c, t, 0);
    mem_free(t->pages);
    *t = (kv_table){0};
}
