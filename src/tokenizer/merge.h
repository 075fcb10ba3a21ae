/* The merge engine of byte-pair encoding, shared by the byte-level BPE and the SentencePiece (SPM)
 * tokenizers.
 *
 * A text is a row of symbols; a table says which two neighbours may become one, and in what order
 * (the lowest number first, the leftmost among equals). A symbol is a token id, or a number past
 * the vocabulary for a text that merges need but the vocabulary lacks. Merging costs O(n log n);
 * short words take a plain loop, and words seen before come from a cache. Where no pair joins a
 * space to the end of a word, the text is cut there first: the result is the same. Not here: how
 * text is split into words, and where the table comes from.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_TOKENIZER_MERGE_H
#define WEFT_TOKENIZER_MERGE_H

#include "base/map.h"
#include "base/mem.h"
#include "tokenizer/tokenizer.h"

#define MERGE_NONE UINT32_MAX /* a character without a symbol */

/* What two symbols become, and when. */
typedef struct merge_result {
    uint32_t order, merged;
} merge_result;

typedef struct merger {
    uint64_t *pairs;       /* left << 32 | right; all ones = a free slot */
    merge_result *results; /* of the pair in the same slot */
    size_t n_pairs, n_slots;

    uint32_t n_tokens, n_extra;
    map extra;       /* texts that are no token -> symbol - n_tokens */
    mem_arena arena; /* holds the extra texts */

    bool is_byte_level;         /* symbols of a text are its bytes, else its characters */
    bool joins_spaces;          /* some pair appends a space to a text that does not end in one */
    uint32_t byte_symbols[256]; /* byte level: of every byte; else: of the ASCII characters */
    map char_symbols; /* else: of the characters that have one (a space counts as U+2581 too) */
    int32_t byte_ids[256]; /* ids for the bytes of what has no token; -1 = none */
    int32_t unknown;       /* the id for a byte without even that; -1 = it is left out */
} merger;

/* The symbol of a text: its token among `ids`, else an extra one, made on demand. */
weft_status merge_symbol(merger *m, const map *ids, const char *text, size_t n, uint32_t *symbol);
/* Adds a pair; the first of equal pairs stays. */
weft_status merge_add(merger *m, uint32_t left, uint32_t right, uint32_t order, uint32_t merged);
void merger_free(merger *m);

/* Scratch memory of one encode call. All-zero is ready. */
typedef struct merge_work {
    struct merge_word *cache;
    size_t n_cache;
    struct merge_symbol_cell *cells;
    uint64_t *heap; /* order << 32 | cell */
    size_t cells_capacity, heap_capacity;
} merge_work;
/* Makes the cache, sized for a text of n bytes. */
weft_status merge_work_open(merge_work *w, size_t n);
void merge_work_close(merge_work *w);

/* Appends the ids of one word (valid UTF-8) to `out`. */
weft_status merge_encode(const merger *m, merge_work *w, const char *text, size_t n,
                         token_list *out);

/* Appends what merging makes of a row of n symbols, all of them token ids. */
weft_status merge_symbols(const merger *m, merge_work *w, const uint32_t *symbols, size_t n,
                          token_list *out);
/* The cache of words, for those who find the symbols themselves. */
weft_status merge_recall(const merge_work *w, const char *text, size_t n, token_list *out,
                         bool *found);
void merge_remember(merge_work *w, const char *text, size_t n, const int32_t *ids, size_t n_ids);

weft_status token_list_add(token_list *l, int32_t id);

#endif
