/* Walks over the vocabulary: the tokens that may come from a state, and where they leave its rule.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_GRAMMAR_WALK_H
#define WEFT_GRAMMAR_WALK_H

#include "grammar/states.h"
#include "grammar/vocab.h"

/* A set of tokens: a mask, and a list of them (in which some may stand twice) while they are few;
 * once n > most the list is not complete. */
typedef struct token_set {
    uint32_t *mask, *list;
    size_t n, most, n_words;
} token_set;
void token_set_clear(token_set *t);
void token_set_put(token_set *t, uint32_t token);

/* Such a set as it is kept, and prefix-tree nodes below which the text has left the rule. */
struct state_tokens {
    uint32_t n_tokens, n_leaving; /* more tokens than a list holds: a mask */
    uint32_t data[];              /* the list or mask, then the nodes */
};
/* A copy of t, NULL when out of memory; *bytes is its size. */
struct state_tokens *token_set_keep(const token_set *t, const uint32_t *leaving, size_t n_leaving,
                                    size_t *bytes);
void token_set_add(token_set *to, const struct state_tokens *kept);
const uint32_t *state_tokens_leaving(const struct state_tokens *kept, const token_set *like);

typedef struct walk {
    states s;
    const grammar_vocab *v;
    struct walk_level *levels; /* along the current path of the prefix tree */
    token_set found;           /* what the last walk allows */
    uint32_t *leaving;         /* where it met the BOTTOM node */
    size_t n_leaving, leaving_capacity;
} walk;
weft_status walk_open(walk *w, const grammar *g, const grammar_vocab *v);
void walk_free(walk *w);
/* From `state`, a closed set, over all tokens. */
weft_status walk_all(walk *w, int32_t state);
/* Over the tokens below the given nodes of the prefix tree, all reached in `state`. */
weft_status walk_below(walk *w, const uint32_t *nodes, size_t n, int32_t state);

#endif
