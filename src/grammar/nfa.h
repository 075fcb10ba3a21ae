/* The automaton that all notations are compiled into: rules, each a small graph over bytes whose
 * edges may call other rules. The notations build it from fragments; nfa_finish checks it, inlines
 * small rules and works out what the matcher needs.
 *
 * Fragments are contiguous pieces of the node array and are combined in the order they were built:
 * that is what makes a repetition a copy with shifted numbers, and keeps building free of
 * recursion.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_GRAMMAR_NFA_H
#define WEFT_GRAMMAR_NFA_H

#include "base/mem.h"
#include "grammar/grammar.h"

enum { NFA_NONE = -1, NFA_MOST_NODES = 1 << 19 };

typedef enum nfa_kind {
    NFA_SPLIT,  /* to next, and to arg unless it is NFA_NONE, without a byte; lo = 1: ends a loop */
    NFA_RANGE,  /* to next with a byte of lo..hi */
    NFA_CALL,   /* through rule arg, then to next */
    NFA_END,    /* the rule is done */
    NFA_ACCEPT, /* the whole text may end (one node) */
    NFA_BOTTOM, /* below what is looked at (one node): see matcher.c */
    NFA_FAIL    /* leads nowhere */
} nfa_kind;

typedef struct nfa_node {
    int32_t next, arg;
    uint8_t kind, lo, hi;
} nfa_node;

typedef struct nfa_rule {
    const char *name; /* for messages */
    int32_t begin, end, start, out;
    bool is_defined;
} nfa_rule;

typedef struct nfa_builder {
    nfa_node *nodes;
    size_t n, capacity;
    nfa_rule *rules;
    size_t n_rules, rules_capacity;
    mem_arena names;
} nfa_builder;
void nfa_builder_free(nfa_builder *b);

/* Nodes [begin, end) with one way in and one way out (a split that leads nowhere yet). */
typedef struct nfa_frag {
    int32_t begin, end, start, out;
} nfa_frag;

/* One bare node, for graphs that fragments cannot express. */
weft_status nfa_add(nfa_builder *b, nfa_kind kind, int32_t next, int32_t arg, int32_t *out);
weft_status nfa_empty(nfa_builder *b, nfa_frag *f);
weft_status nfa_fail(nfa_builder *b, nfa_frag *f); /* matches nothing at all */
weft_status nfa_byte(nfa_builder *b, int lo, int hi, nfa_frag *f);
weft_status nfa_text(nfa_builder *b, const char *bytes, size_t n, nfa_frag *f);
weft_status nfa_call(nfa_builder *b, int32_t rule, nfa_frag *f);
/* f then g, f or g, f repeated (most < 0: without end). g was built right after f; a repeated f
 * was built last. */
void nfa_concat(nfa_builder *b, nfa_frag *f, const nfa_frag *g);
weft_status nfa_either(nfa_builder *b, nfa_frag *f, const nfa_frag *g);
weft_status nfa_repeat(nfa_builder *b, nfa_frag *f, int64_t least, int64_t most);

/* A new rule, not yet defined; -1 = out of memory. The name is copied. */
int32_t nfa_rule_add(nfa_builder *b, const char *name, size_t n);
weft_status nfa_rule_define(nfa_builder *b, int32_t rule, nfa_frag *f);

/* Sets of code points: sorted disjoint ranges after code_set_tidy. */
typedef struct code_range {
    int32_t lo, hi;
} code_range;
typedef struct code_set {
    code_range *ranges;
    size_t n, capacity;
} code_set;
weft_status code_set_add(code_set *s, int32_t lo, int32_t hi);
void code_set_tidy(code_set *s);
/* Everything else up to U+10FFFF; tidies first. */
weft_status code_set_invert(code_set *s);
void code_set_free(code_set *s);
/* One character of the (tidy) set as UTF-8; surrogates are never matched. */
weft_status nfa_class(nfa_builder *b, const code_set *s, nfa_frag *f);

/* What a grammar is once finished. Nodes 0 and 1 are the ACCEPT and the BOTTOM node. */
struct grammar {
    nfa_node *nodes;
    size_t n_nodes;
    struct nfa_compiled_rule {
        const char *name;
        int32_t start, rank; /* a rule that another calls before any byte has a higher rank */
    } * rules;
    size_t n_rules;
    int32_t root;
    uint8_t *flags;       /* of nodes: NFA_IS_* */
    uint8_t classes[256]; /* bytes that no node tells apart have one class */
    int n_classes;
    uint8_t class_byte[256]; /* the last byte of each class */
    struct nfa_closed {
        uint32_t first, n;
    } * closed; /* of nodes: what splits lead to is closures[first .. first + n), n = 0: not */
    int32_t *closures; /* worked out, or no split */
    size_t n_closures;
    struct nfa_cover *covers; /* of nodes: cover.h */
    mem_arena names;
};
enum {
    NFA_IS_ALIVE = 1, /* its rule can be completed from here */
    NFA_IS_EMPTY = 2, /* ... without a byte */
    NFA_IS_TAIL = 4   /* nothing but the rule's end follows */
};
static inline bool nfa_rule_is_empty(const grammar *g, int32_t rule) {
    return g->flags[g->rules[rule].start] & NFA_IS_EMPTY;
}

/* Makes the grammar; the builder is used up (its names move). Refuses undefined rules, left
 * recursion and a grammar without any text. */
weft_status nfa_finish(nfa_builder *b, int32_t root, grammar **out);
/* Fills g->closed. */
weft_status nfa_find_closures(grammar *g);
/* finish.c's second half, in inline.c: g gets nodes and rules with small rules copied to where they
 * are called. */
weft_status nfa_inline(const nfa_builder *b, int32_t root, grammar *g);

#endif
