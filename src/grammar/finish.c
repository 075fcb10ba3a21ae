/* From the builder's graph to a grammar: which nodes can still be completed, which rules may be
 * empty, in which order rules call each other before any byte, and which bytes are told apart.
 *
 * Everything is a worklist over arrays, linear in the graph. A circle of calls without a byte would
 * make the matcher's closure endless; left.c removes those first.
 * SPDX-License-Identifier: MIT */
#include <string.h>

#include "grammar/cover.h"
#include "grammar/left.h"

/* Edges backwards: the nodes that lead to node i are source[first[i] .. first[i + 1]); the calls
 * of rule r are calls[first_call[r] .. first_call[r + 1]); starts[i] is the rule that starts at
 * node i, or NFA_NONE. */
typedef struct reverse {
    int32_t *first, *source, *first_call, *calls, *starts, *stack;
} reverse;

static void reverse_free(reverse *r) {
    mem_free(r->first);
    mem_free(r->source);
    mem_free(r->first_call);
    mem_free(r->calls);
    mem_free(r->starts);
    mem_free(r->stack);
}

/* The one or two nodes that a node leads to. */
static int edges(const nfa_node *node, int32_t to[2]) {
    int n = 0;
    if (node->kind != NFA_FAIL && node->next != NFA_NONE) to[n++] = node->next;
    if (node->kind == NFA_SPLIT && node->arg != NFA_NONE) to[n++] = node->arg;
    return n;
}

static weft_status reverse_make(const grammar *g, reverse *r) {
    r->first = mem_array(g->n_nodes + 2, sizeof *r->first);
    r->source = mem_array(2 * g->n_nodes, sizeof *r->source);
    r->first_call = mem_array(g->n_rules + 2, sizeof *r->first_call);
    r->calls = mem_array(g->n_nodes, sizeof *r->calls);
    r->starts = mem_array(g->n_nodes, sizeof *r->starts);
    r->stack = mem_array(g->n_nodes, sizeof *r->stack);
    if (!r->first || !r->source || !r->first_call || !r->calls || !r->starts || !r->stack)
        return WEFT_NO_MEMORY;
    for (size_t i = 0; i < g->n_nodes; i++) r->starts[i] = NFA_NONE;
    for (size_t i = 0; i < g->n_rules; i++)
        if (g->rules[i].start != NFA_NONE) r->starts[g->rules[i].start] = (int32_t)i;
    int32_t to[2];
    for (size_t i = 0; i < g->n_nodes; i++) {
        for (int k = edges(&g->nodes[i], to); k-- > 0;) r->first[to[k] + 2]++;
        if (g->nodes[i].kind == NFA_CALL) r->first_call[g->nodes[i].arg + 2]++;
    }
    for (size_t i = 0; i < g->n_nodes; i++) r->first[i + 2] += r->first[i + 1];
    for (size_t i = 0; i < g->n_rules; i++) r->first_call[i + 2] += r->first_call[i + 1];
    for (size_t i = 0; i < g->n_nodes; i++) {
        for (int k = edges(&g->nodes[i], to); k-- > 0;)
            r->source[r->first[to[k] + 1]++] = (int32_t)i;
        if (g->nodes[i].kind == NFA_CALL)
            r->calls[r->first_call[g->nodes[i].arg + 1]++] = (int32_t)i;
    }
    return WEFT_OK;
}

/* Sets `flag` on `node` if it is time to, and remembers it as new. */
static void reach(grammar *g, reverse *r, size_t *n, int32_t node, uint8_t flag) {
    const nfa_node *f = &g->nodes[node];
    if (g->flags[node] & flag || (f->kind == NFA_RANGE && flag == NFA_IS_EMPTY)) return;
    if (f->kind == NFA_CALL && !(g->flags[g->rules[f->arg].start] & flag)) return;
    if (f->kind == NFA_CALL && !(g->flags[f->next] & flag)) return;
    g->flags[node] |= flag;
    r->stack[(*n)++] = node;
}

/* Sets NFA_IS_ALIVE (or NFA_IS_EMPTY) on every node from which its rule's end can be reached (or
 * that without a byte): backwards from the ends; a call waits for its rule and for what follows. */
static void spread(grammar *g, reverse *r, uint8_t flag) {
    size_t n = 0;
    for (size_t i = 0; i < g->n_nodes; i++) {
        uint8_t kind = g->nodes[i].kind;
        if (kind == NFA_END || kind == NFA_ACCEPT || kind == NFA_BOTTOM)
            reach(g, r, &n, (int32_t)i, flag);
    }
    while (n) {
        int32_t node = r->stack[--n], rule = r->starts[node];
        for (int32_t k = r->first[node]; k < r->first[node + 1]; k++)
            reach(g, r, &n, r->source[k], flag);
        if (rule == NFA_NONE) continue;
        for (int32_t k = r->first_call[rule]; k < r->first_call[rule + 1]; k++)
            reach(g, r, &n, r->calls[k], flag);
    }
}

/* ---- the order of rules ---------------------------------------------------------------------- */

/* Ranks by depth-first search: a rule is numbered when all it calls have been. */
static void rank_rules(grammar *g, const left_calls *l, int32_t *path, size_t *at) {
    enum { NEW, OPEN = -1 };
    int32_t next = (int32_t)g->n_rules;
    for (size_t root = 0; root < g->n_rules; root++) {
        size_t depth = 0;
        if (g->rules[root].rank != NEW) continue;
        path[depth] = (int32_t)root;
        at[depth++] = l->first[root];
        g->rules[root].rank = OPEN;
        while (depth) {
            int32_t r = path[depth - 1];
            if (at[depth - 1] == l->first[r + 1]) {
                g->rules[r].rank = next--;
                depth--;
                continue;
            }
            /* `first` counts what is in `callees`, so there is one here.
             * NOLINTNEXTLINE(clang-analyzer-core.NullDereference) */
            int32_t callee = l->callees[at[depth - 1]++];
            /* There is no circle: left.c has removed them all. */
            if (g->rules[callee].rank != NEW) continue;
            g->rules[callee].rank = OPEN;
            path[depth] = callee;
            at[depth++] = l->first[callee];
        }
    }
}

static weft_status order_rules(grammar *g) {
    left_calls l = {0};
    int32_t *path = mem_array(g->n_rules, sizeof *path);
    size_t *at = mem_array(g->n_rules, sizeof *at);
    weft_status status = path && at ? left_calls_find(g, &l) : WEFT_NO_MEMORY;
    if (status == WEFT_OK) rank_rules(g, &l, path, at);
    left_calls_free(&l);
    mem_free(path);
    mem_free(at);
    return status;
}

/* ---- finishing ------------------------------------------------------------------------------- */

static void find_classes(grammar *g) {
    bool is_cut[257] = {false};
    for (size_t i = 0; i < g->n_nodes; i++) {
        if (g->nodes[i].kind != NFA_RANGE || !(g->flags[i] & NFA_IS_ALIVE)) continue;
        is_cut[g->nodes[i].lo] = is_cut[g->nodes[i].hi + 1] = true;
    }
    int class = 0;
    for (int byte = 0; byte < 256; byte++) {
        if (byte && is_cut[byte]) class ++;
        g->classes[byte] = (uint8_t) class;
        g->class_byte[class] = (uint8_t)byte;
    }
    g->n_classes = class + 1;
}

static void find_tails(grammar *g) {
    for (size_t i = 0; i < g->n_nodes; i++) {
        const nfa_node *node = &g->nodes[i];
        bool leads_on = node->kind == NFA_SPLIT && node->arg == NFA_NONE && node->next != NFA_NONE;
        if (g->nodes[leads_on ? node->next : (int32_t)i].kind == NFA_END)
            g->flags[i] |= NFA_IS_TAIL;
    }
}

/* The nodes' flags. */
static weft_status find_flags(grammar *g) {
    reverse r = {0};
    mem_free(g->flags);
    g->flags = mem_alloc(g->n_nodes);
    if (!g->flags) return WEFT_NO_MEMORY;
    weft_status status = reverse_make(g, &r);
    if (status == WEFT_OK) {
        spread(g, &r, NFA_IS_ALIVE);
        spread(g, &r, NFA_IS_EMPTY);
    }
    reverse_free(&r);
    return status;
}

static weft_status finish(const nfa_builder *b, int32_t root, grammar *g) {
    bool has_changed;
    TRY(nfa_inline(b, root, g));
    TRY(find_flags(g));
    REQUIRE(g->flags[g->rules[root].start] & NFA_IS_ALIVE, WEFT_FORMAT,
            "no text at all follows the grammar: the rule %s can never end", g->rules[root].name);
    TRY(left_recursion_remove(g, &has_changed));
    if (has_changed) TRY(find_flags(g));
    find_classes(g);
    find_tails(g);
    TRY(order_rules(g));
    TRY(nfa_find_closures(g));
    return cover_find(g);
}

weft_status nfa_finish(nfa_builder *b, int32_t root, grammar **out) {
    grammar *g = mem_alloc(sizeof *g);
    if (!g) return WEFT_NO_MEMORY;
    weft_status status = finish(b, root, g);
    g->names = b->names;
    b->names = (mem_arena){0};
    if (status != WEFT_OK) {
        grammar_close(g);
        return status;
    }
    *out = g;
    return WEFT_OK;
}

void grammar_close(grammar *g) {
    if (!g) return;
    mem_free(g->nodes);
    mem_free(g->rules);
    mem_free(g->flags);
    mem_free(g->covers);
    mem_free(g->closed);
    mem_free(g->closures);
    arena_free(&g->names);
    mem_free(g);
}
