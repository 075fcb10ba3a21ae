/* Regular languages as deterministic automata over bytes: what fragments cannot express, such as
 * "both of these", "not this" and look-around, is exact here. The automata are small, and each one
 * is bounded; regular_emit makes a fragment of the conjunction of several.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_GRAMMAR_REGULAR_H
#define WEFT_GRAMMAR_REGULAR_H

#include "grammar/nfa.h"

enum { REGULAR_DEAD = 0, REGULAR_MOST_STATES = 20000, REGULAR_MOST_PARTS = 24 };
enum {
    REGULAR_ENDS = 1, /* the text may end here */
    REGULAR_LIVE = 2, /* some continuation (of any bytes) may end */
    REGULAR_FREE = 4  /* every continuation may end */
};
/* What stands before a text: nothing, a letter of \w, or something else. */
typedef enum regular_before { BEFORE_NOTHING, BEFORE_WORD, BEFORE_OTHER, N_BEFORE } regular_before;

/* State 0 is dead. All-zero is an empty language that nothing owns. */
typedef struct regular {
    int32_t *next; /* of state s by class c of byte: next[s * n_classes + c] */
    uint8_t *flags;
    size_t n;
    uint8_t classes[256];
    int n_classes;
    int32_t starts[N_BEFORE];
} regular;
void regular_free(regular *r);
/* A state fewer than REGULAR_MOST_STATES; its transitions are to the dead state. */
weft_status regular_add(regular *r, int32_t *state);
/* Works out REGULAR_LIVE and REGULAR_FREE, once the states and REGULAR_ENDS are there. */
weft_status regular_finish(regular *r);
/* All texts that are not of it, in place. */
weft_status regular_invert(regular *r);
bool regular_has(const regular *r, const char *text, size_t n);

/* What an NFA_CALL node of a graph given to regular_make stands for: a place between characters
 * that is passed without a byte. Only \w's letters are told apart, which are single bytes. */
typedef enum anchor_kind {
    ANCHOR_BEGIN,
    ANCHOR_END,
    ANCHOR_WORD,
    ANCHOR_NOT_WORD,
    ANCHOR_AHEAD,      /* what follows, to the text's end, is of `look` */
    ANCHOR_BEHIND,     /* what precedes, from the text's beginning, is of `look` */
    ANCHOR_NOT_BEHIND, /* ... is not */
} anchor_kind;
typedef struct anchor {
    anchor_kind kind;
    regular look;
} anchor;

/* The automaton of a fragment. */
weft_status regular_make(const nfa_builder *b, const nfa_frag *f, const anchor *anchors,
                         size_t n_anchors, regular *out);
/* The n texts (0-terminated). */
weft_status regular_texts(const char *const *texts, size_t n, regular *out);

/* Sequences of numbers, numbered in the order in which they came. */
typedef struct sequences {
    int32_t *items;
    size_t n_items, items_capacity;
    size_t *first; /* n + 1 of them */
    size_t n, first_capacity;
    uint32_t *slots; /* hash table of numbers + 1, 0 = free */
    size_t n_slots;
} sequences;
weft_status sequences_add(sequences *s, const int32_t *items, size_t n, int32_t *out);
void sequences_free(sequences *s);

/* ---- conjunctions ---------------------------------------------------------------------------- */

/* How fragments spell text: as it is, or as the content of a JSON string (json_class). Sets of
 * characters are calls of rules that spelling_define defines, once no fragment is being built;
 * is_inline (not for JSON): there are no calls. */
typedef struct spelling {
    bool is_json, is_inline;
    sequences sets; /* ranges of characters */
    int32_t *rules; /* of each */
    size_t n, n_defined, rules_capacity;
} spelling;
weft_status spelling_define(spelling *s, nfa_builder *b);
void spelling_free(spelling *s);
/* A graph without calls as a fragment. */
weft_status spelling_copy(spelling *s, nfa_builder *b, const nfa_builder *from, const nfa_frag *f,
                          nfa_frag *out);

/* The texts of characters (UTF-8, from `least` to `most` of them, -1 = without end) that are in all
 * of parts[0..n) except for those marked `is_not`, in none of which they are. */
typedef struct regular_part {
    const regular *r;
    bool is_not;
} regular_part;
typedef struct regular_all {
    regular_part parts[REGULAR_MOST_PARTS];
    size_t n;
    int64_t least, most;
} regular_all;
weft_status regular_all_add(regular_all *a, const regular *r, bool is_not);
weft_status regular_emit(const regular_all *a, spelling *s, nfa_builder *b, nfa_frag *f);
bool regular_all_has(const regular_all *a, const char *text, size_t n);
/* The texts of `a`, sorted by which of others[0..n) they are in: sets[0..*n_sets) are the
 * combinations (bit i: in others[i]) that some text has; at most `cap`, else WEFT_LIMIT. */
weft_status regular_sort(const regular_all *a, const regular *others, size_t n, uint32_t *sets,
                         size_t cap, size_t *n_sets);

#endif
