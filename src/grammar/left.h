/* Which rules a rule can call before any byte, for the matcher's order of rules and against left
 * recursion. SPDX-License-Identifier: MIT */
#ifndef WEFT_GRAMMAR_LEFT_H
#define WEFT_GRAMMAR_LEFT_H

#include "grammar/nfa.h"

typedef struct left_calls {
    int32_t *callees; /* of rule r: callees[first[r] .. first[r + 1]) */
    size_t n, capacity;
    size_t *first;
    int32_t *seen, *stack; /* of nodes: the last rule that saw it, plus one */
} left_calls;
/* Needs the nodes' flags. */
weft_status left_calls_find(const grammar *g, left_calls *l);
void left_calls_free(left_calls *l);

/* Rewrites rules that can call themselves before any byte so that none does; the flags are to be
 * worked out anew when *has_changed. */
weft_status left_recursion_remove(grammar *g, bool *has_changed);

#endif
