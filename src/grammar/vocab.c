/* Builds the prefix tree from the sorted tokens, level by level: a node is a piece of the list
 * whose tokens share their first bytes, and its children are the pieces that this one is cut into
 * by the next byte. SPDX-License-Identifier: MIT */
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
        for (size_t k = 0; k < v->n_ends; k++)
            if (v->ends[k] == (int32_t)i) v->length[i] = 0;
        if (!v->length[i]) continue;
        memcpy(v->bytes + at, tokens[i].data, n);
        entries[(*n_entries)++] = (entry){v->bytes + at, n, (int32_t)i};
        at += n;
    }
    return WEFT_OK;
}

/* Moves tokens with the same bytes as the one before, of the sorted ones, to v->copies. */
static weft_status split_copies(grammar_vocab *v, entry *entries) {
    size_t n = v->n_order, kept = 0;
    v->copies = mem_array(n, sizeof *v->copies);
    if (!v->copies) return WEFT_NO_MEMORY;
    for (size_t i = 0; i < n; i++) {
        const entry *e = &entries[i], *last = kept ? &entries[kept - 1] : NULL;
        if (last && last->n == e->n && !memcmp(last->data, e->data, e->n))
            v->copies[v->n_copies++] = (struct token_copy){.of = last->id, .copy = e->id};
        else entries[kept++] = *e;
    }
    v->n_order = kept;
    return WEFT_OK;
}

/* Cuts nodes [from, to), which have `depth` bytes, by the next byte. */
static weft_status add_level(grammar_vocab *v, const entry *entries, size_t from, size_t to,
                             size_t depth) {
    for (size_t i = from; i < to; i++) {
        trie_node parent = v->nodes[i];
        uint32_t at = parent.first, n_children = 0;
        if (at < parent.end && entries[at].n == depth) {
            v->nodes[i].is_token = 1;
            at++;
        }
        v->nodes[i].child = (uint32_t)v->n_nodes;
        while (at < parent.end) {
            trie_node node = {.first = at, .byte = (uint8_t)entries[at].data[depth]};
            while (at < parent.end && (uint8_t)entries[at].data[depth] == node.byte) at++;
            node.end = at;
            TRY(mem_reserve((void **)&v->nodes, &v->capacity, v->n_nodes + 1, sizeof *v->nodes));
            v->nodes[v->n_nodes++] = node;
            n_children++;
        }
        v->nodes[i].n_children = n_children & 0x1FF;
    }
    return WEFT_OK;
}

static weft_status build(grammar_vocab *v, const entry *entries, size_t n) {
    TRY(mem_reserve((void **)&v->nodes, &v->capacity, n + 1, sizeof *v->nodes));
    v->nodes[0] = (trie_node){.end = (uint32_t)n};
    v->n_nodes = 1;
    size_t from = 0;
    for (size_t depth = 0; from < v->n_nodes; depth++) {
        size_t to = v->n_nodes;
        TRY(add_level(v, entries, from, to, depth));
        from = to;
    }
    return WEFT_OK;
}

/* ---- groups of characters -------------------------------------------------------------------- */

/* The groups and the number of characters of a token from each of its bytes on; inside a character
 * they are those from its beginning on. */
typedef struct suffix {
    cover_set groups;
    size_t n;
} suffix;

static void measure(const entry *e, suffix *out) {
    out[e->n] = (suffix){0};
    for (size_t i = e->n; i-- > 0;) {
        size_t length;
        cover_set group = cover_of_char(e->data + i, e->n - i, &length);
        out[i] = (suffix){group | out[i + length].groups, out[i + length].n + 1};
        for (size_t k = 1; k < length; k++) out[i + k] = out[i];
    }
}

/* Puts a token in the mask of its number of characters; the others follow in fill_slice. */
static void put_in_slice(const grammar_vocab *v, const vocab_slice *s, int32_t token,
                         const suffix *all) {
    if (all->groups & ~s->groups || all->n > VOCAB_SLICE_MOST) return;
    uint32_t *mask = s->masks + (all->n - 1) * v->n_words;
    mask[(uint32_t)token / 32] |= UINT32_C(1) << ((uint32_t)token % 32);
}

/* Masks of at most n characters, out of those of n. */
static void fill_slice(const grammar_vocab *v, const vocab_slice *s) {
    for (size_t i = v->n_words; i < VOCAB_SLICE_MOST * v->n_words; i++)
        s->masks[i] |= s->masks[i - v->n_words];
}

/* Fills the nodes' groups and the slices. Tokens come in the order of the tree, so the nodes of one
 * (`path`) are those of the one before, their next siblings, and first children. */
static void find_groups(grammar_vocab *v, const entry *entries, size_t n, uint32_t *path,
                        suffix *suffixes) {
    for (size_t i = 0; i < n; i++) {
        const entry *e = &entries[i], *before = i ? &entries[i - 1] : NULL;
        size_t shared = 0;
        while (before && shared < e->n && shared < before->n &&
               e->data[shared] == before->data[shared])
            shared++;
        measure(e, suffixes);
        for (size_t d = 0; d < e->n; d++) {
            bool is_next = before && d == shared && d < before->n;
            if (is_next) path[d]++;
            else if (d >= shared) path[d] = v->nodes[d ? path[d - 1] : 0].child;
            trie_node *node = &v->nodes[path[d]];
            node->groups |= suffixes[d].groups;
            uint8_t most = (uint8_t)(suffixes[d].n < UINT8_MAX ? suffixes[d].n : UINT8_MAX);
            if (most > node->most) node->most = most;
        }
        for (int k = 0; k < VOCAB_N_SLICES; k++)
            put_in_slice(v, &v->slices[k], e->id, &suffixes[0]);
    }
}

static bool goes_before(const trie_node *a, const trie_node *b, cover_set groups) {
    bool a_strays = a->groups & ~groups, b_strays = b->groups & ~groups;
    if (a_strays != b_strays) return a_strays;
    return !a_strays && a->most > b->most;
}

static void sort_children(grammar_vocab *v) {
    cover_set begun[256];
    for (int byte = 0; byte < 256; byte++) begun[byte] = cover_begun(byte, byte);
    for (size_t i = 0; i < v->n_nodes; i++) {
        trie_node *c = &v->nodes[v->nodes[i].child];
        for (int k = 0; k < v->nodes[i].n_children; k++) v->nodes[i].next |= begun[c[k].byte];
        for (int k = 1; k < v->nodes[i].n_children; k++) {
            trie_node moved = c[k];
            int to = k;
            for (; to > 0 && goes_before(&moved, &c[to - 1], v->slices[0].groups); to--)
                c[to] = c[to - 1];
            c[to] = moved;
        }
    }
}

static weft_status order_tree(grammar_vocab *v, const entry *entries, size_t n) {
    const cover_set groups[VOCAB_N_SLICES] = {cover_json(), cover_words(), cover_names()};
    uint32_t *path = mem_array(v->longest + 1, sizeof *path);
    suffix *suffixes = mem_array(v->longest + 1, sizeof *suffixes);
    weft_status status = path && suffixes ? WEFT_OK : WEFT_NO_MEMORY;
    for (int k = 0; k < VOCAB_N_SLICES && status == WEFT_OK; k++) {
        v->slices[k].groups = groups[k];
        v->slices[k].masks = mem_array(VOCAB_SLICE_MOST * v->n_words, sizeof(uint32_t));
        if (!v->slices[k].masks) status = WEFT_NO_MEMORY;
    }
    if (status == WEFT_OK) {
        find_groups(v, entries, n, path, suffixes);
        for (int k = 0; k < VOCAB_N_SLICES; k++) fill_slice(v, &v->slices[k]);
        sort_children(v);
        for (uint32_t i = 0; i < v->nodes[0].n_children; i++)
            v->by_byte[v->nodes[v->nodes[0].child + i].byte] = v->nodes[0].child + i;
    }
    mem_free(path);
    mem_free(suffixes);
    return status;
}

static weft_status open_vocab(grammar_vocab *v, const grammar_token *tokens, const int32_t *ends) {
    v->first = mem_array(v->n_tokens, sizeof *v->first);
    v->length = mem_array(v->n_tokens, sizeof *v->length);
    v->order = mem_array(v->n_tokens, sizeof *v->order);
    v->ends = mem_copy(ends, v->n_ends * sizeof *ends);
    entry *entries = mem_array(v->n_tokens, sizeof *entries);
    weft_status status =
        v->order && v->first && v->length && v->ends && entries ? WEFT_OK : WEFT_NO_MEMORY;
    if (status == WEFT_OK) status = copy_tokens(v, tokens, entries, &v->n_order);
    if (status == WEFT_OK) {
        qsort(entries, v->n_order, sizeof *entries, by_bytes);
        status = split_copies(v, entries);
    }
    if (status == WEFT_OK) {
        for (size_t i = 0; i < v->n_order; i++) v->order[i] = entries[i].id;
        status = build(v, entries, v->n_order);
    }
    if (status == WEFT_OK) status = order_tree(v, entries, v->n_order);
    mem_free(entries);
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
    mem_free(v->order);
    mem_free(v->copies);
    for (int k = 0; k < VOCAB_N_SLICES; k++) mem_free(v->slices[k].masks);
    mem_free(v->first);
    mem_free(v->length);
    mem_free(v->bytes);
    mem_free(v->ends);
    mem_free(v);
}
