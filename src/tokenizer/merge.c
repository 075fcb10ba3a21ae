/* Two ways to the same result: words of up to SHORT symbols scan an array for the best pair,
 * longer ones keep candidates in a heap over a linked row. A candidate is its order and its place,
 * no more: it counts as long as the pair at that place has that order, which is all that decides
 * what comes next. See merge.h.
 * SPDX-License-Identifier: MIT */
#include "tokenizer/merge.h"

#include <string.h>

#include "base/utf8.h"

enum { SHORT = 32, CACHED_BYTES = 31, CACHED_IDS = 7, CACHE_LIMIT = 1 << 15 };

/* One cache line: a word and its ids. n_ids = 0: free. */
struct merge_word {
    char text[CACHED_BYTES];
    uint8_t n_text;
    uint32_t n_ids;
    int32_t ids[CACHED_IDS];
};

struct merge_symbol_cell {
    uint32_t symbol, start;  /* start: in bytes */
    uint32_t previous, next; /* cell numbers, MERGE_NONE at the ends; symbol == DEAD: merged away */
};

enum { DEAD = UINT32_MAX - 1 };

weft_status token_list_add(token_list *l, int32_t id) {
    if (l->n == l->capacity) {
        void *ids = l->ids;
        weft_status status = mem_reserve(&ids, &l->capacity, l->n + 1, sizeof *l->ids);
        l->ids = ids;
        TRY(status);
    }
    l->ids[l->n++] = id;
    return WEFT_OK;
}

weft_status merge_symbol(merger *m, const map *ids, const char *text, size_t n, uint32_t *symbol) {
    if (map_get(ids, text, n, symbol)) return WEFT_OK;
    if (map_get(&m->extra, text, n, symbol)) {
        *symbol += m->n_tokens;
        return WEFT_OK;
    }
    char *copy = arena_string(&m->arena, text, n);
    if (!copy) return WEFT_NO_MEMORY;
    REQUIRE(m->n_extra < DEAD - m->n_tokens, WEFT_LIMIT, "too many different texts in the merges");
    TRY(map_set(&m->extra, copy, n, m->n_extra));
    *symbol = m->n_tokens + m->n_extra++;
    return WEFT_OK;
}

enum { FREE = -1 };

static uint64_t pair_key(uint32_t left, uint32_t right) { return (uint64_t)left << 32 | right; }

static size_t pair_slot(const merger *m, uint64_t key) {
    size_t i = (size_t)(key * 0x9E3779B97F4A7C15u >> 32) & (m->n_slots - 1);
    while (m->pairs[i] != key && m->pairs[i] != (uint64_t)FREE) i = (i + 1) & (m->n_slots - 1);
    return i;
}

static weft_status grow_pairs(merger *m) {
    merger bigger = *m;
    bigger.n_slots = m->n_slots ? m->n_slots * 2 : 1024;
    bigger.pairs = mem_grow(NULL, bigger.n_slots, sizeof *bigger.pairs);
    bigger.results = mem_grow(NULL, bigger.n_slots, sizeof *bigger.results);
    if (!bigger.pairs || !bigger.results) {
        mem_free(bigger.pairs);
        mem_free(bigger.results);
        return WEFT_NO_MEMORY;
    }
    memset(bigger.pairs, 0xFF, bigger.n_slots * sizeof *bigger.pairs);
    for (size_t i = 0; i < m->n_slots; i++) {
        if (m->pairs[i] == (uint64_t)FREE) continue;
        size_t slot = pair_slot(&bigger, m->pairs[i]);
        bigger.pairs[slot] = m->pairs[i];
        bigger.results[slot] = m->results[i];
    }
    mem_free(m->pairs);
    mem_free(m->results);
    *m = bigger;
    return WEFT_OK;
}

weft_status merge_add(merger *m, uint32_t left, uint32_t right, uint32_t order, uint32_t merged) {
    if (m->n_pairs >= m->n_slots / 8 * 5) TRY(grow_pairs(m));
    uint64_t key = pair_key(left, right);
    size_t slot = pair_slot(m, key);
    if (m->pairs[slot] == key) return WEFT_OK;
    m->pairs[slot] = key;
    m->results[slot] = (merge_result){order, merged};
    m->n_pairs++;
    return WEFT_OK;
}

void merger_free(merger *m) {
    mem_free(m->pairs);
    mem_free(m->results);
    map_free(&m->extra);
    map_free(&m->char_symbols);
    arena_free(&m->arena);
    *m = (merger){0};
}

static const merge_result *find_pair(const merger *m, uint32_t left, uint32_t right) {
    if (left == MERGE_NONE || right == MERGE_NONE || !m->n_slots) return NULL;
    uint64_t key = pair_key(left, right);
    size_t slot = pair_slot(m, key);
    return m->pairs[slot] == key ? &m->results[slot] : NULL;
}

weft_status merge_work_open(merge_work *w, size_t n) {
    size_t slots = 64;
    while (slots < CACHE_LIMIT && slots * 16 < n) slots *= 2;
    w->cache = mem_array(slots, sizeof *w->cache);
    if (!w->cache) return WEFT_NO_MEMORY;
    w->n_cache = slots;
    return WEFT_OK;
}

void merge_work_close(merge_work *w) {
    mem_free(w->cache);
    mem_free(w->cells);
    mem_free(w->heap);
    *w = (merge_work){0};
}

/* The symbol at text[at], and the length of its text. */
static uint32_t first_symbol(const merger *m, const char *text, size_t n, size_t at,
                             size_t *bytes) {
    uint8_t byte = (uint8_t)text[at];
    *bytes = 1;
    if (m->is_byte_level || byte < 0x80) return m->byte_symbols[byte];
    int32_t code;
    *bytes = (size_t)utf8_decode(text + at, n - at, &code);
    uint32_t symbol;
    return map_get(&m->char_symbols, text + at, *bytes, &symbol) ? symbol : MERGE_NONE;
}

static weft_status put_bytes(const merger *m, const char *text, size_t n, token_list *out) {
    for (size_t i = 0; i < n; i++) {
        int32_t id = m->byte_ids[(uint8_t)text[i]];
        if (id < 0) id = m->unknown;
        if (id >= 0) TRY(token_list_add(out, id));
    }
    return WEFT_OK;
}

static weft_status put_symbol(const merger *m, uint32_t symbol, const char *text, size_t n,
                              token_list *out) {
    if (symbol < m->n_tokens) return token_list_add(out, (int32_t)symbol);
    return put_bytes(m, text, n, out);
}

typedef struct short_word {
    uint32_t symbol[SHORT], start[SHORT + 1];
    uint32_t order[SHORT], merged[SHORT]; /* of the pair that begins here */
    int n;
} short_word;

static void look_up_pair(const merger *m, short_word *s, int i) {
    const merge_result *p = i + 1 < s->n ? find_pair(m, s->symbol[i], s->symbol[i + 1]) : NULL;
    s->order[i] = p ? p->order : UINT32_MAX;
    s->merged[i] = p ? p->merged : MERGE_NONE;
}

static weft_status merge_short(const merger *m, short_word *s, const char *text, token_list *out) {
    for (int i = 0; i < s->n; i++) look_up_pair(m, s, i);
    for (;;) {
        int best = 0;
        for (int i = 1; i < s->n; i++)
            if (s->order[i] < s->order[best]) best = i;
        if (s->merged[best] == MERGE_NONE) break;
        s->symbol[best] = s->merged[best];
        size_t tail = (size_t)(s->n - best - 2);
        memmove(&s->symbol[best + 1], &s->symbol[best + 2], tail * sizeof *s->symbol);
        memmove(&s->start[best + 1], &s->start[best + 2], (tail + 1) * sizeof *s->start);
        memmove(&s->order[best + 1], &s->order[best + 2], tail * sizeof *s->order);
        memmove(&s->merged[best + 1], &s->merged[best + 2], tail * sizeof *s->merged);
        s->n--;
        look_up_pair(m, s, best);
        if (best) look_up_pair(m, s, best - 1);
    }
    for (int i = 0; i < s->n; i++)
        TRY(put_symbol(m, s->symbol[i], text + s->start[i], s->start[i + 1] - s->start[i], out));
    return WEFT_OK;
}

/* Four children a node: half the depth, and siblings share a cache line. */
static void sift_down(uint64_t *heap, size_t n, size_t i) {
    uint64_t moving = heap[i];
    for (;;) {
        size_t child = 4 * i + 1;
        if (child >= n) break;
        size_t last = child + 4 < n ? child + 4 : n, best = child;
        for (size_t k = child + 1; k < last; k++)
            if (heap[k] < heap[best]) best = k;
        if (heap[best] >= moving) break;
        heap[i] = heap[best];
        i = best;
    }
    heap[i] = moving;
}

static weft_status reserve_heap(merge_work *w, size_t n) {
    void *heap = w->heap;
    weft_status status = mem_reserve(&heap, &w->heap_capacity, n, sizeof *w->heap);
    w->heap = heap;
    return status;
}

/* The pair that begins at cell i, NULL when there is none. */
static const merge_result *pair_at(const merger *m, const merge_work *w, uint32_t i) {
    const struct merge_symbol_cell *c = &w->cells[i];
    return c->next == MERGE_NONE ? NULL : find_pair(m, c->symbol, w->cells[c->next].symbol);
}

/* Puts the pair that begins at cell i on the heap, if it is one. */
static weft_status push(const merger *m, merge_work *w, size_t *n_heap, uint32_t i) {
    const merge_result *p = i == MERGE_NONE ? NULL : pair_at(m, w, i);
    if (!p) return WEFT_OK;
    TRY(reserve_heap(w, *n_heap + 1));
    uint64_t key = (uint64_t)p->order << 32 | i;
    size_t at = (*n_heap)++;
    while (at && w->heap[(at - 1) / 4] > key) {
        w->heap[at] = w->heap[(at - 1) / 4];
        at = (at - 1) / 4;
    }
    w->heap[at] = key;
    return WEFT_OK;
}

static weft_status reserve_cells(merge_work *w, size_t n) {
    void *cells = w->cells;
    weft_status status = mem_reserve(&cells, &w->cells_capacity, n, sizeof *w->cells);
    w->cells = cells;
    return status;
}

static weft_status fill_cells(const merger *m, merge_work *w, const char *text, size_t n,
                              uint32_t *n_cells) {
    uint32_t count = 0;
    for (size_t at = 0, bytes; at < n; at += bytes, count++) {
        if (count >= w->cells_capacity) TRY(reserve_cells(w, count + 1));
        uint32_t symbol = first_symbol(m, text, n, at, &bytes);
        w->cells[count] = (struct merge_symbol_cell){symbol, (uint32_t)at, count - 1, count + 1};
    }
    w->cells[count - 1].next = MERGE_NONE; /* the first cell's `previous` already is */
    *n_cells = count;
    return WEFT_OK;
}

/* Merges the first n_cells cells; n: where the text of the last one ends. */
static weft_status merge_cells(const merger *m, merge_work *w, uint32_t n_cells, const char *text,
                               size_t n, token_list *out) {
    size_t n_heap = 0;
    TRY(reserve_heap(w, n_cells));
    for (uint32_t i = 0; i + 1 < n_cells; i++) {
        const merge_result *p = pair_at(m, w, i);
        if (p) w->heap[n_heap++] = (uint64_t)p->order << 32 | i;
    }
    for (size_t i = (n_heap + 2) / 4; i-- > 0;) sift_down(w->heap, n_heap, i);
    while (n_heap) {
        uint64_t best = w->heap[0];
        w->heap[0] = w->heap[--n_heap];
        if (n_heap) sift_down(w->heap, n_heap, 0);
        uint32_t i = (uint32_t)best;
        const merge_result *p = pair_at(m, w, i);
        if (!p || p->order != best >> 32) continue; /* merged away, or another pair by now */
        struct merge_symbol_cell *left = &w->cells[i], *right = &w->cells[left->next];
        left->symbol = p->merged;
        right->symbol = DEAD;
        left->next = right->next;
        if (right->next != MERGE_NONE) w->cells[right->next].previous = i;
        TRY(push(m, w, &n_heap, left->previous));
        TRY(push(m, w, &n_heap, i));
    }
    for (uint32_t i = 0; i != MERGE_NONE; i = w->cells[i].next) {
        const struct merge_symbol_cell *c = &w->cells[i];
        size_t end = c->next == MERGE_NONE ? n : w->cells[c->next].start;
        TRY(put_symbol(m, c->symbol, text + c->start, end - c->start, out));
    }
    return WEFT_OK;
}

static weft_status merge_long(const merger *m, merge_work *w, const char *text, size_t n,
                              token_list *out) {
    uint32_t n_cells;
    TRY(fill_cells(m, w, text, n, &n_cells));
    return merge_cells(m, w, n_cells, text, n, out);
}

weft_status merge_symbols(const merger *m, merge_work *w, const uint32_t *symbols, size_t n,
                          token_list *out) {
    if (!n) return WEFT_OK;
    if (n <= SHORT) {
        short_word s = {.n = (int)n};
        memcpy(s.symbol, symbols, n * sizeof *symbols);
        return merge_short(m, &s, "", out);
    }
    REQUIRE(n < DEAD, WEFT_LIMIT, "a word of %zu symbols is too long", n);
    TRY(reserve_cells(w, n));
    for (uint32_t i = 0; i < n; i++)
        w->cells[i] = (struct merge_symbol_cell){symbols[i], 0, i - 1, i + 1};
    w->cells[n - 1].next = MERGE_NONE;
    return merge_cells(m, w, (uint32_t)n, "", 0, out);
}

static weft_status merge_word(const merger *m, merge_work *w, const char *text, size_t n,
                              token_list *out) {
    if (n <= SHORT * 4) {
        short_word s;
        size_t at = 0, bytes;
        for (s.n = 0; at < n && s.n < SHORT; at += bytes, s.n++) {
            s.symbol[s.n] = first_symbol(m, text, n, at, &bytes);
            s.start[s.n] = (uint32_t)at;
        }
        s.start[s.n] = (uint32_t)n;
        if (at == n) return merge_short(m, &s, text, out);
    }
    return merge_long(m, w, text, n, out);
}

static struct merge_word *cache_slot(const merge_work *w, const char *text, size_t n) {
    return &w->cache[hash_bytes(text, n, 0) & (w->n_cache - 1)];
}

weft_status merge_recall(const merge_work *w, const char *text, size_t n, token_list *out,
                         bool *found) {
    *found = false;
    if (n > CACHED_BYTES) return WEFT_OK;
    const struct merge_word *slot = cache_slot(w, text, n);
    if (!slot->n_ids || slot->n_text != n || memcmp(slot->text, text, n) != 0) return WEFT_OK;
    *found = true;
    for (uint32_t i = 0; i < slot->n_ids; i++) TRY(token_list_add(out, slot->ids[i]));
    return WEFT_OK;
}

void merge_remember(merge_work *w, const char *text, size_t n, const int32_t *ids, size_t n_ids) {
    if (n > CACHED_BYTES || !n_ids || n_ids > CACHED_IDS) return;
    struct merge_word *slot = cache_slot(w, text, n);
    memcpy(slot->text, text, n);
    slot->n_text = (uint8_t)n;
    slot->n_ids = (uint32_t)n_ids;
    memcpy(slot->ids, ids, n_ids * sizeof *ids);
}

static weft_status cached_word(const merger *m, merge_work *w, const char *text, size_t n,
                               token_list *out) {
    if (n > CACHED_BYTES) return merge_word(m, w, text, n, out);
    bool found;
    TRY(merge_recall(w, text, n, out, &found));
    if (found) return WEFT_OK;
    size_t first = out->n;
    TRY(merge_word(m, w, text, n, out));
    if (out->n > first) merge_remember(w, text, n, out->ids + first, out->n - first);
    return WEFT_OK;
}

/* The length of a space at text[at] (" " or U+2581), 0 when there is none. */
static size_t space_at(const char *text, size_t n, size_t at) {
    if (text[at] == ' ') return 1;
    return n - at >= 3 && !memcmp(text + at, "\xE2\x96\x81", 3) ? 3 : 0;
}

weft_status merge_encode(const merger *m, merge_work *w, const char *text, size_t n,
                         token_list *out) {
    if (!n) return WEFT_OK;
    if (m->is_byte_level || m->joins_spaces) return cached_word(m, w, text, n, out);
    size_t begin = 0;
    bool after_space = true;
    for (size_t at = 0; at < n;) {
        size_t space = space_at(text, n, at);
        if (space && !after_space) {
            TRY(cached_word(m, w, text + begin, at - begin, out));
            begin = at;
        }
        after_space = space != 0;
        at += space ? space : 1;
    }
    return cached_word(m, w, text + begin, n - begin, out);
}
