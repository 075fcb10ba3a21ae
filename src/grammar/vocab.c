/* Builds the prefix tree: tokens are sorted by their bytes, and each adds the nodes that it does
 * not share with the one before. SPDX-License-Identifier: MIT */
#include "grammar/vocab.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

typedef struct entry {
    const char *data;
    uint32_t n;
    int32_t id;
} entry;

static int by_bytes(const void *a, const void *b) {
    const entry *x = a, *y = b;
    uint32_t n = x->n < y->n ? x->n : y->n;
    int order = n ? memcmp(x->data, y->data, n) : 0;
    if (order) return order;
    if (x->n != y->n) return x->n < y->n ? -1 : 1;
    return (x->id > y->id) - (x->id < y->id);
}

static weft_status copy_tokens(grammar_vocab *v, const grammar_token *tokens, entry *entries,
                               size_t *n_entries) {
    size_t total = 0;
    for (size_t i = 0; i < v->n_tokens; i++) {
        REQUIRE(tokens[i].n <= UINT16_MAX && total + tokens[i].n <= UINT32_MAX, WEFT_LIMIT,
                "token %zu has %zu bytes, at most %d are possible", i, tokens[i].n, UINT16_MAX);
        total += tokens[i].n;
        if (tokens[i].n > v->longest) v->longest = tokens[i].n;
    }
    v->bytes = mem_alloc(total + 1);
    if (!v->bytes) return WEFT_NO_MEMORY;
    uint32_t at = 0;
    for (size_t i = 0; i < v->n_tokens; i++) {
        uint32_t n = (uint32_t)tokens[i].n;
        v->first[i] = at;
        v->length[i] = n;
        v->same[i] = -1;
        for (size_t k = 0; k < v->n_ends; k++)
            if (v->ends[k] == (int32_t)i) v->length[i] = 0;
        if (!v->length[i]) continue;
        memcpy(v->bytes + at, tokens[i].data, n);
        entries[(*n_entries)++] = (entry){v->bytes + at, n, (int32_t)i};
        at += n;
    }
    return WEFT_OK;
}

/* Closes the subtrees of all open nodes from `depth` on; open[d] is the node at depth d. */
static void close_from(grammar_vocab *v, const uint32_t *open, size_t depth, size_t n_open) {
    for (size_t d = depth; d < n_open; d++) v->nodes[open[d]].end = (uint32_t)v->n_nodes;
}

static weft_status build(grammar_vocab *v, const entry *entries, size_t n, uint32_t *open) {
    size_t n_open = 0;
    for (size_t i = 0; i < n; i++) {
        const entry *e = &entries[i], *before = i ? &entries[i - 1] : NULL;
        size_t shared = 0;
        while (before && shared < e->n && shared < before->n &&
               e->data[shared] == before->data[shared])
            shared++;
        if (shared == e->n) { /* sorted, so it has the same bytes */
            v->same[e->id] = v->nodes[open[n_open - 1]].token;
            v->nodes[open[n_open - 1]].token = e->id;
            continue;
        }
        close_from(v, open, shared, n_open);
        TRY(mem_reserve((void **)&v->nodes, &v->capacity, v->n_nodes + e->n, sizeof *v->nodes));
        for (size_t d = shared; d < e->n; d++) {
            open[d] = (uint32_t)v->n_nodes;
            v->nodes[v->n_nodes++] =
                (trie_node){.byte = (uint8_t)e->data[d], .depth = (uint16_t)d, .token = -1};
        }
        n_open = e->n;
        v->nodes[open[n_open - 1]].token = e->id;
    }
    close_from(v, open, 0, n_open);
    return WEFT_OK;
}

static weft_status open_vocab(grammar_vocab *v, const grammar_token *tokens, const int32_t *ends) {
    v->same = mem_array(v->n_tokens, sizeof *v->same);
    v->first = mem_array(v->n_tokens, sizeof *v->first);
    v->length = mem_array(v->n_tokens, sizeof *v->length);
    v->ends = mem_copy(ends, v->n_ends * sizeof *ends);
    entry *entries = mem_array(v->n_tokens, sizeof *entries);
    uint32_t *open = NULL;
    size_t n = 0;
    weft_status status =
        v->same && v->first && v->length && v->ends && entries ? WEFT_OK : WEFT_NO_MEMORY;
    if (status == WEFT_OK) status = copy_tokens(v, tokens, entries, &n);
    if (status == WEFT_OK && !(open = mem_array(v->longest + 1, sizeof *open)))
        status = WEFT_NO_MEMORY;
    if (status == WEFT_OK) {
        qsort(entries, n, sizeof *entries, by_bytes);
        status = build(v, entries, n, open);
    }
    mem_free(entries);
    mem_free(open);
    return status;
}

weft_status grammar_vocab_open(const grammar_token *tokens, size_t n_tokens, const int32_t *ends,
                               size_t n_ends, grammar_vocab **out) {
    REQUIRE(out && tokens && n_tokens && (ends || !n_ends), WEFT_INVALID,
            "a vocabulary needs tokens");
    REQUIRE(n_tokens <= INT32_MAX, WEFT_LIMIT, "%zu tokens are too many", n_tokens);
    for (size_t i = 0; i < n_ends; i++)
        REQUIRE(ends[i] >= 0 && (size_t)ends[i] < n_tokens, WEFT_INDEX,
                "end token %d is out of range", ends[i]);
    grammar_vocab *v = mem_alloc(sizeof *v);
    if (!v) return WEFT_NO_MEMORY;
    v->n_tokens = n_tokens;
    v->n_words = (n_tokens + 31) / 32;
    v->n_ends = n_ends;
    weft_status status = open_vocab(v, tokens, ends);
    if (status == WEFT_OK) *out = v;
    else grammar_vocab_close(v);
    return status;
}

void grammar_vocab_close(grammar_vocab *v) {
    if (!v) return;
    mem_free(v->nodes);
    mem_free(v->same);
    mem_free(v->first);
    mem_free(v->length);
    mem_free(v->bytes);
    mem_free(v->ends);
    mem_free(v);
}
