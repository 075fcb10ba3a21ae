/* Added tokens of a tokenizer.json in a text. Private to this folder.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_TOKENIZER_HUB_ADDED_H
#define WEFT_TOKENIZER_HUB_ADDED_H

#include "tokenizer/hub_steps.h"
#include "tokenizer/trie.h"

typedef struct hub_added_tokens {
    hub_added *items; /* special ones first, each kind in the order of the file */
    size_t n;
    token_text *normal_texts; /* of those that are found in normal forms */
    trie raw, normal;         /* found in the text as it is, and in its normal form */
    mem_arena arena;
} hub_added_tokens;

weft_status hub_added_open(hub_added_tokens *a, const hub_spec *s, const hub_normalizer *n);
void hub_added_close(hub_added_tokens *a);

typedef struct hub_added_sink {
    weft_status (*text)(void *context, hub_piece piece); /* n >= 1 bytes between tokens */
    weft_status (*token)(void *context, int32_t id);
    void *context;
} hub_added_sink;
/* Cuts a text at its added tokens. Special ones count only with `parse_special`. */
weft_status hub_added_cut(const hub_added_tokens *a, const trie *among, bool parse_special,
                          hub_piece text, const hub_added_sink *sink);

#endif
