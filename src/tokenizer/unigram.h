/* The Unigram model's search: a text is covered by the sequence of tokens whose scores sum highest
 * (Viterbi, one step a character). Source: google/sentencepiece, src/unigram_model.cc. Shared by
 * the tokenizers of GGUFs (ugm.c) and of tokenizer.json (hub_unigram.c), which differ in what they
 * make of unknown characters.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_TOKENIZER_UNIGRAM_H
#define WEFT_TOKENIZER_UNIGRAM_H

#include "tokenizer/trie.h"

typedef struct unigram {
    trie tokens;
    double *scores;       /* of every id */
    double unknown_score; /* of a character that no token has */
    int32_t unknown;      /* the id for it; -1 = none, and such a text is an error */
} unigram;

/* Takes the score of the unknown from the lowest one. */
void unigram_set_lowest(unigram *u, double lowest);
void unigram_free(unigram *u);

/* The best way to reach a place: by which token, from where. */
typedef struct unigram_step {
    double score;
    uint32_t from;
    int32_t id;
} unigram_step;

/* All-zero is ready. */
typedef struct unigram_work {
    unigram_step *steps;
    size_t capacity;
} unigram_work;
void unigram_work_free(unigram_work *w);

/* Fills w->steps[0..n]: from w->steps[n] backwards stand the tokens of text[0..n). */
weft_status unigram_cover(const unigram *u, unigram_work *w, const char *text, size_t n);

#endif
