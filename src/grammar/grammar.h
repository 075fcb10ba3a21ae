/* Grammars that an answer must follow, compiled into one byte-level pushdown automaton that says,
 * at every step, which tokens may come next.
 *
 * A grammar is compiled once; a grammar_vocab is made once per model; a grammar_matcher follows one
 * text. A token is allowed when its bytes keep some text of the grammar possible (tokens may end
 * inside a character); an end token is allowed where the grammar may end. What is supported:
 * docs/grammars.md.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_GRAMMAR_GRAMMAR_H
#define WEFT_GRAMMAR_GRAMMAR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

typedef struct grammar grammar;

/* llama.cpp's notation; the text must follow the rule `root`. What is wrong is WEFT_FORMAT (a line
 * and the reason), what is too big WEFT_LIMIT, what is not known here WEFT_UNSUPPORTED. */
weft_status grammar_open_gbnf(const char *text, size_t n, grammar **out);
/* An ECMA-262 regular expression that the whole text must match. */
weft_status grammar_open_regex(const char *text, size_t n, grammar **out);
/* A JSON Schema: the text is a JSON value that the schema accepts. A keyword that is not supported
 * is WEFT_UNSUPPORTED and named, with the place where it stands. */
weft_status grammar_open_json_schema(const char *text, size_t n, grammar **out);
void grammar_close(grammar *g);

/* The vocabulary, ordered for the walk. Immutable: matchers in several threads may share it. */
typedef struct grammar_vocab grammar_vocab;
typedef struct grammar_token {
    const char *data; /* the token's bytes; n = 0: never allowed (control tokens) */
    size_t n;
} grammar_token;
/* Copies what it keeps. ends[0..n_ends) are the tokens that end a text (their bytes do not count).
 * A token may have 65,535 bytes. */
weft_status grammar_vocab_open(const grammar_token *tokens, size_t n_tokens, const int32_t *ends,
                               size_t n_ends, grammar_vocab **out);
void grammar_vocab_close(grammar_vocab *v);

typedef struct grammar_matcher grammar_matcher;
/* At the beginning of a text. Borrows both. */
weft_status grammar_matcher_open(const grammar *g, const grammar_vocab *v, grammar_matcher **out);
/* How many steps one token may take before it is an error (WEFT_LIMIT); 0 = the usual 2^26, a few
 * seconds. Only very ambiguous grammars come near. Shared by a matcher and its clones. */
void grammar_matcher_limit(grammar_matcher *m, int64_t steps);
void grammar_matcher_close(grammar_matcher *m);
/* Sets bits[0 .. (n_tokens + 31) / 32): bit id % 32 of bits[id / 32] is set when the token is
 * allowed. */
weft_status grammar_matcher_mask(grammar_matcher *m, uint32_t *bits);
/* Moves on by one token; one that is not allowed is WEFT_INVALID and changes nothing. */
weft_status grammar_matcher_accept(grammar_matcher *m, int32_t token);
/* The same for bytes, as one step. */
weft_status grammar_matcher_accept_bytes(grammar_matcher *m, const char *bytes, size_t n);
/* True where the text may end, and true once an end token was accepted. */
bool grammar_matcher_may_end(const grammar_matcher *m);
/* Steps accepted so far, and back to an earlier number of them (constant time). */
size_t grammar_matcher_steps(const grammar_matcher *m);
weft_status grammar_matcher_rollback(grammar_matcher *m, size_t steps);
/* A second text that begins as this one did. The two share what was worked out, so they belong to
 * one thread. */
weft_status grammar_matcher_clone(grammar_matcher *m, grammar_matcher **out);

#endif
