/* Copies rules to where they are called. A rule that is not recursive needs no stack: its body can
 * stand in the caller's place, which leaves the matcher fewer frames to tell apart. Left alone are
 * recursive rules, long ones, those that one rule calls often (the character of a string of 1 to
 * 1000 characters), and those that loop over many characters (a string's content): as calls they
 * give the same tokens wherever they are called from, so that work is done once.
 *
 * Rules are taken callees first (Kahn's order), so that a body is complete when it is copied.
 * SPDX-License-Identifier: MIT */
#include <string.h>

#include "grammar/nfa.h"

enum { MOST_INLINED = 400, MOST_COPIED = 1024, WIDE = 32, MOST_STEPS = 16 };

typedef struct body {
    int32_t begin, end, last; /* in the output; `last` is its END node */
    int32_t n_open;           /* calls to rules not done yet */
    int32_t n_calls;          /* to this rule, of the rule that is being built */
    bool is_reached, is_done, is_inlined;
} body;

typedef struct inliner {
    const nfa_builder *b;
    grammar *g;
    size_t capacity;
    body *bodies;
    int32_t *callers, *first; /* callers[first[r] .. first[r + 1]): rules that call r */
    int32_t *order, *stack;
    size_t n_order;
} inliner;

static weft_status mark_reached(inliner *w, int32_t root) {
    size_t n = 0;
    w->stack[n++] = root;
    w->bodies[root].is_reached = true;
    while (n) {
        const nfa_rule *r = &w->b->rules[w->stack[--n]];
        REQUIRE(r->is_defined, WEFT_FORMAT, "the rule %s is used but not defined", r->name);
        for (int32_t i = r->begin; i < r->end; i++) {
            const nfa_node *node = &w->b->nodes[i];
            if (node->kind != NFA_CALL || w->bodies[node->arg].is_reached) continue;
            w->bodies[node->arg].is_reached = true;
            w->stack[n++] = node->arg;
        }
    }
    return WEFT_OK;
}

/* The rules callees first, those in or above a cycle in any order at the end. */
static weft_status sort_rules(inliner *w) {
    const nfa_builder *b = w->b;
    size_t n_calls = 0;
    for (size_t i = 0; i < b->n; i++) n_calls += b->nodes[i].kind == NFA_CALL;
    w->callers = mem_array(n_calls + 1, sizeof *w->callers);
    w->first = mem_array(b->n_rules + 2, sizeof *w->first);
    if (!w->callers || !w->first) return WEFT_NO_MEMORY;
    for (size_t r = 0; r < b->n_rules; r++)
        for (int32_t i = b->rules[r].begin; i < b->rules[r].end; i++)
            if (b->nodes[i].kind == NFA_CALL) w->first[b->nodes[i].arg + 2]++;
    for (size_t r = 0; r < b->n_rules; r++) w->first[r + 2] += w->first[r + 1];
    for (size_t r = 0; r < b->n_rules; r++) {
        const nfa_rule *rule = &b->rules[r];
        for (int32_t i = rule->begin; i < rule->end; i++)
            if (b->nodes[i].kind == NFA_CALL) {
                w->callers[w->first[b->nodes[i].arg + 1]++] = (int32_t)r;
                w->bodies[r].n_open++;
            }
    }
    for (size_t r = 0; r < b->n_rules; r++)
        if (!w->bodies[r].n_open) w->order[w->n_order++] = (int32_t)r;
    for (size_t i = 0; i < w->n_order; i++) {
        int32_t r = w->order[i];
        w->bodies[r].is_done = true;
        for (int32_t k = w->first[r]; k < w->first[r + 1]; k++)
            if (!--w->bodies[w->callers[k]].n_open) w->order[w->n_order++] = w->callers[k];
    }
    for (size_t r = 0; r < b->n_rules; r++)
        if (!w->bodies[r].is_done) w->order[w->n_order++] = (int32_t)r;
    return WEFT_OK;
}

static weft_status copy(inliner *w, const nfa_node *from, int32_t begin, int32_t end) {
    grammar *g = w->g;
    int32_t shift = (int32_t)g->n_nodes - begin;
    TRY(mem_reserve((void **)&g->nodes, &w->capacity, g->n_nodes + (size_t)(end - begin),
                    sizeof *g->nodes));
    if (!from) from = g->nodes; /* of the output itself, which may just have moved */
    for (int32_t i = begin; i < end; i++) {
        nfa_node node = from[i];
        if (node.next != NFA_NONE) node.next += shift;
        if (node.kind == NFA_SPLIT && node.arg != NFA_NONE) node.arg += shift;
        g->nodes[g->n_nodes++] = node;
    }
    return WEFT_OK;
}

static bool is_worth_inlining(const inliner *w, const body *b) {
    bool has_loop = false, is_wide = false;
    for (int32_t i = b->begin; i < b->end; i++) {
        const nfa_node *node = &w->g->nodes[i];
        has_loop |= node->kind == NFA_SPLIT && node->lo;
        is_wide |= node->kind == NFA_RANGE && node->hi - node->lo >= WIDE;
    }
    return b->is_done && b->end - b->begin <= MOST_INLINED && !(has_loop && is_wide);
}

static weft_status build(inliner *w, int32_t r) {
    const nfa_rule *rule = &w->b->rules[r];
    body *own = &w->bodies[r];
    grammar *g = w->g;
    own->begin = (int32_t)g->n_nodes;
    TRY(copy(w, w->b->nodes, rule->begin, rule->end));
    int32_t shift = own->begin - rule->begin, n_own = (int32_t)g->n_nodes;
    g->rules[r].start = rule->start + shift;
    own->last = rule->out + shift;
    for (int32_t i = own->begin; i < n_own; i++)
        if (g->nodes[i].kind == NFA_CALL) w->bodies[g->nodes[i].arg].n_calls = 0;
    for (int32_t i = own->begin; i < n_own; i++)
        if (g->nodes[i].kind == NFA_CALL) w->bodies[g->nodes[i].arg].n_calls++;
    for (int32_t i = own->begin; i < n_own; i++) {
        if (g->nodes[i].kind != NFA_CALL) continue;
        const body *callee = &w->bodies[g->nodes[i].arg];
        size_t grown = g->n_nodes + (size_t)(callee->end - callee->begin);
        if (!callee->is_inlined || grown > NFA_MOST_NODES * 2) continue;
        if ((callee->end - callee->begin) * (int64_t)callee->n_calls > MOST_COPIED) continue;
        int32_t moved = (int32_t)g->n_nodes - callee->begin, after = g->nodes[i].next;
        int32_t start = g->rules[g->nodes[i].arg].start + moved;
        TRY(copy(w, NULL, callee->begin, callee->end));
        g->nodes[i] = (nfa_node){.next = start, .arg = NFA_NONE, .kind = NFA_SPLIT};
        g->nodes[callee->last + moved] =
            (nfa_node){.next = after, .arg = NFA_NONE, .kind = NFA_SPLIT};
    }
    own->end = (int32_t)g->n_nodes;
    own->is_inlined = is_worth_inlining(w, own);
    return WEFT_OK;
}

/* Edges skip splits that only lead on. Backwards, since most edges lead forward, and a few steps at
 * most, so that it stays linear. */
static void shorten(grammar *g) {
    for (size_t i = g->n_nodes; i-- > 0;) {
        nfa_node *node = &g->nodes[i];
        int32_t *edge[2] = {&node->next, node->kind == NFA_SPLIT ? &node->arg : &node->next};
        for (int e = 0; e < 2; e++)
            for (int step = 0; step < MOST_STEPS && *edge[e] != NFA_NONE; step++) {
                const nfa_node *to = &g->nodes[*edge[e]];
                if (to->kind != NFA_SPLIT || to->arg != NFA_NONE || to->next == NFA_NONE) break;
                *edge[e] = to->next;
            }
    }
}

static weft_status run(inliner *w, int32_t root) {
    grammar *g = w->g;
    g->n_rules = w->b->n_rules;
    w->bodies = mem_array(g->n_rules, sizeof *w->bodies);
    w->order = mem_array(g->n_rules, sizeof *w->order);
    w->stack = mem_array(g->n_rules, sizeof *w->stack);
    g->rules = mem_array(g->n_rules, sizeof *g->rules);
    if (!w->bodies || !w->order || !w->stack || !g->rules) return WEFT_NO_MEMORY;
    TRY(mem_reserve((void **)&g->nodes, &w->capacity, w->b->n + 2, sizeof *g->nodes));
    g->nodes[g->n_nodes++] = (nfa_node){.next = NFA_NONE, .arg = NFA_NONE, .kind = NFA_ACCEPT};
    g->nodes[g->n_nodes++] = (nfa_node){.next = NFA_NONE, .arg = NFA_NONE, .kind = NFA_BOTTOM};
    for (size_t r = 0; r < g->n_rules; r++) {
        g->rules[r].name = w->b->rules[r].name;
        g->rules[r].start = NFA_NONE;
    }
    TRY(mark_reached(w, root));
    TRY(sort_rules(w));
    for (size_t i = 0; i < w->n_order; i++)
        if (w->bodies[w->order[i]].is_reached) TRY(build(w, w->order[i]));
    shorten(g);
    g->root = root;
    return WEFT_OK;
}

weft_status nfa_inline(const nfa_builder *b, int32_t root, grammar *g) {
    inliner w = {.b = b, .g = g};
    weft_status status = run(&w, root);
    mem_free(w.bodies);
    mem_free(w.order);
    mem_free(w.stack);
    mem_free(w.callers);
    mem_free(w.first);
    return status;
}
