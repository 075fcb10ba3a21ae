/* Built from the sorted keys level by level: a node is a range of keys that share a prefix. See
 * trie.h.
 * SPDX-License-Identifier: MIT */
#include "tokenizer/trie.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

/* What the queue of the breadth-first walk knows of a node: its keys and its depth. */
typedef struct range {
    uint32_t begin, end, depth;
} range;

static int by_text(const void *a, const void *b) {
    const trie_key *x = a, *y = b;
    int order = memcmp(x->text, y->text, x->n < y->n ? x->n : y->n);
    if (order) return order;
    if (x->n != y->n) return x->n < y->n ? -1 : 1;
    return (x->value > y->value) - (x->value < y->value);
}

static weft_status add_node(trie *t, range **ranges, size_t capacity[2], trie_node node, range r) {
    void *nodes = t->nodes, *queue = *ranges;
    weft_status status = mem_reserve(&nodes, &capacity[0], t->n_nodes + 1, sizeof *t->nodes);
    t->nodes = nodes;
    TRY(status);
    status = mem_reserve(&queue, &capacity[1], t->n_nodes + 1, sizeof **ranges);
    *ranges = queue;
    TRY(status);
    t->nodes[t->n_nodes] = node;
    (*ranges)[t->n_nodes++] = r;
    return WEFT_OK;
}

static weft_status build(trie *t, const trie_key *keys, size_t n, range **ranges) {
    size_t capacity[2] = {0};
    TRY(add_node(t, ranges, capacity, (trie_node){.value = -1}, (range){0, (uint32_t)n, 0}));
    for (size_t i = 0; i < t->n_nodes; i++) {
        range r = (*ranges)[i];
        uint32_t k = r.begin;
        if (k < r.end && keys[k].n == r.depth) t->nodes[i].value = keys[k].value;
        while (k < r.end && keys[k].n == r.depth) k++;
        t->nodes[i].first = (uint32_t)t->n_nodes;
        while (k < r.end) {
            uint8_t byte = (uint8_t)keys[k].text[r.depth];
            uint32_t end = k + 1;
            while (end < r.end && (uint8_t)keys[end].text[r.depth] == byte) end++;
            if (i == 0) t->root[byte] = (uint32_t)t->n_nodes;
            TRY(add_node(t, ranges, capacity, (trie_node){.byte = byte, .value = -1},
                         (range){k, end, r.depth + 1}));
            t->nodes[i].n++;
            k = end;
        }
    }
    return WEFT_OK;
}

weft_status trie_build(trie *t, trie_key *keys, size_t n) {
    *t = (trie){0};
    if (!n) return WEFT_OK;
    uint64_t bytes = 0;
    for (size_t i = 0; i < n; i++) bytes += keys[i].n;
    REQUIRE(n < INT32_MAX && bytes < INT32_MAX, WEFT_LIMIT,
            "a trie of %zu keys and %llu bytes is too large", n, (unsigned long long)bytes);
    qsort(keys, n, sizeof *keys, by_text);
    range *ranges = NULL;
    weft_status status = build(t, keys, n, &ranges);
    mem_free(ranges);
    if (status != WEFT_OK) trie_free(t);
    return status;
}

void trie_free(trie *t) {
    mem_free(t->nodes);
    *t = (trie){0};
}

uint32_t trie_child(const trie *t, uint32_t node, uint8_t byte) {
    if (!node) return t->root[byte];
    const trie_node *at = &t->nodes[node];
    uint32_t low = at->first, high = at->first + at->n;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (t->nodes[middle].byte == byte) return middle;
        if (t->nodes[middle].byte < byte) low = middle + 1;
        else high = middle;
    }
    return 0;
}

size_t trie_longest(const trie *t, const char *text, size_t n, int32_t *value) {
    size_t longest = 0;
    uint32_t node = 0;
    for (size_t i = 0; i < n; i++) {
        node = trie_child(t, node, (uint8_t)text[i]);
        if (!node) break;
        if (t->nodes[node].value < 0) continue;
        longest = i + 1;
        *value = t->nodes[node].value;
    }
    return longest;
}
