/* A read-only trie over byte strings: added tokens and the Unigram vocabulary are found with it.
 *
 * Nodes are laid out breadth first, so a node's children are neighbours and sorted by their byte;
 * the root's are in a table. Node 0 is the root and doubles as "none".
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_TOKENIZER_TRIE_H
#define WEFT_TOKENIZER_TRIE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

typedef struct trie_key {
    const char *text; /* n >= 1 bytes */
    size_t n;
    int32_t value; /* >= 0 */
} trie_key;

typedef struct trie_node {
    uint32_t first; /* its first child */
    uint16_t n;     /* children */
    uint8_t byte;   /* the byte that leads here */
    int32_t value;  /* -1: no key ends here */
} trie_node;

/* All-zero is an empty trie. */
typedef struct trie {
    trie_node *nodes;
    size_t n_nodes;
    uint32_t root[256];
} trie;

/* Reorders `keys`. Of equal keys the one with the lowest value stays. */
weft_status trie_build(trie *t, trie_key *keys, size_t n);
void trie_free(trie *t);

/* The child of `node` along `byte`, 0 when there is none. */
uint32_t trie_child(const trie *t, uint32_t node, uint8_t byte);
/* The longest key that is a prefix of text[0..n): its length (0 = none) and value. */
size_t trie_longest(const trie *t, const char *text, size_t n, int32_t *value);

#endif
