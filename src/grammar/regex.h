/* Regular expressions as graphs over bytes, and characters as JSON spells them.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_GRAMMAR_REGEX_H
#define WEFT_GRAMMAR_REGEX_H

#include "grammar/regular.h"

typedef enum regex_mode {
    REGEX_WHOLE, /* the whole text matches */
    REGEX_SEARCH /* it matches somewhere in the text, as `pattern` has it */
} regex_mode;

/* A graph of its own. With anchors (^, $ and \b inside, look-around) it is one for regular_make;
 * without, it is a plain fragment too. */
typedef struct regex {
    nfa_builder b;
    nfa_frag f;
    anchor *anchors;
    size_t n_anchors, anchors_capacity;
} regex;
weft_status regex_parse(const char *text, size_t n, regex_mode mode, regex *out);
void regex_free(regex *x);
/* The automaton of an expression. */
weft_status regex_make(const char *text, size_t n, regex_mode mode, regular *out);
/* A whole text of an expression, which has no anchors, as a fragment. */
weft_status regex_build(nfa_builder *b, const char *text, size_t n, nfa_frag *f);

/* One character of the (tidy) set inside a JSON string, spelt one way: itself, or, where JSON needs
 * an escape, the short one if there is one, else \u00XX. */
weft_status json_class(nfa_builder *b, const code_set *s, nfa_frag *f);
/* Any character inside a JSON string, in any spelling that stands for a character. */
weft_status json_any_char(nfa_builder *b, nfa_frag *f);

#endif
