/* A vocabulary as a prefix tree in a flat array. The children of a node stand side by side, and the
 * tokens of any subtree are one piece of the sorted list of tokens, so that a subtree can be
 * skipped or taken whole. SPDX-License-Identifier: MIT */
#ifndef WEFT_GRAMMAR_VOCAB_H
#define WEFT_GRAMMAR_VOCAB_H

#include "grammar/cover.h"

typedef struct trie_node {
    /* of the texts that end in its subtree, each from this node's byte on (from the beginning of
     * the character that this byte goes on with): the groups of their characters, and the number
     * of characters of the longest */
    cover_set groups;
    cover_set next; /* what its children begin: cover_begun */
    uint32_t child;
    uint32_t first, end; /* its subtree's tokens in `order`; the first ends here if is_token */
    uint16_t n_children : 9, is_token : 1;
    uint8_t byte, most;
} trie_node;

/* Tokens of some groups alone. masks has VOCAB_SLICE_MOST masks: the tokens of at most 1, 2 ...
 * characters, all of these groups. */
enum { VOCAB_SLICE_MOST = 32, VOCAB_N_SLICES = 3 };
typedef struct vocab_slice {
    cover_set groups;
    uint32_t *masks;
} vocab_slice;

struct grammar_vocab {
    /* Node 0 is the root. Children of one node: first those with something in their subtrees that
     * is not of the first slice's groups, then the others, longest first. */
    trie_node *nodes;
    size_t n_nodes, capacity;
    uint32_t by_byte[256];    /* the root's children, 0 = none */
    size_t n_tokens, n_words; /* words of 32 bits in a mask */
    int32_t *order;           /* the tokens, sorted by their bytes; of equal ones the first */
    size_t n_order;
    struct token_copy {
        int32_t of, copy;
    } * copies; /* the others: tokens with the bytes of one in `order` */
    size_t n_copies;
    vocab_slice slices[VOCAB_N_SLICES]; /* the insides of JSON strings; words; names */
    uint32_t *first, *length;           /* of a token: its bytes */
    char *bytes;
    int32_t *ends;
    size_t n_ends;
    size_t longest;
};

#endif
