/* A vocabulary as a prefix tree, its nodes in preorder in flat arrays, so that the walk over all
 * tokens is a scan that skips subtrees. SPDX-License-Identifier: MIT */
#ifndef WEFT_GRAMMAR_VOCAB_H
#define WEFT_GRAMMAR_VOCAB_H

#include "grammar/grammar.h"

typedef struct trie_node {
    uint8_t byte;
    uint16_t depth; /* the first byte of a token has depth 0 */
    uint32_t end;   /* the first node past this one's subtree */
    int32_t token;  /* of the bytes up to here, -1 = none */
} trie_node;

struct grammar_vocab {
    trie_node *nodes;
    size_t n_nodes, capacity;
    size_t n_tokens, n_words; /* words of 32 bits in a mask */
    int32_t *same;            /* of a token: another with the same bytes, -1 = none */
    uint32_t *first, *length; /* of a token: its bytes */
    char *bytes;
    int32_t *ends;
    size_t n_ends;
    size_t longest;
};

#endif
