/* Regular expressions as fragments of the automaton, and characters as JSON spells them.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_GRAMMAR_REGEX_H
#define WEFT_GRAMMAR_REGEX_H

#include "grammar/nfa.h"

typedef enum regex_mode {
    REGEX_WHOLE,  /* the whole text matches */
    REGEX_IN_JSON /* a JSON string's content matches somewhere, as `pattern` has it: characters are
                     spelt as in JSON, and an end without an anchor lets anything stand there */
} regex_mode;

weft_status regex_build(nfa_builder *b, const char *text, size_t n, regex_mode mode, nfa_frag *f);

/* One character of the (tidy) set inside a JSON string, spelt one way: itself, or, where JSON needs
 * an escape, the short one if there is one, else \u00XX. */
weft_status json_class(nfa_builder *b, const code_set *s, nfa_frag *f);
/* Any character inside a JSON string, in any spelling that stands for a character. */
weft_status json_any_char(nfa_builder *b, nfa_frag *f);

#endif
