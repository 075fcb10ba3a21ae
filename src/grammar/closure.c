/* What can be reached from a node by splits alone, worked out once where a text can arrive: after a
 * byte, after a call, at the start of a rule. The matcher's closures then skip the splits.
 *
 * Lists are only kept while they are few and short together (nested optional parts would need the
 * square of their number); nodes without one are followed split by split.
 * SPDX-License-Identifier: MIT */
#include "grammar/nfa.h"

typedef struct closer {
    grammar *g;
    size_t capacity, most;
    int32_t *seen, *stack; /* seen: the last node whose closure met this one, plus one */
} closer;

/* The closure of a split; given up when the list gets too long. */
static weft_status close_node(closer *c, int32_t from) {
    grammar *g = c->g;
    size_t n = 0, begin = g->n_closures;
    c->stack[n++] = from;
    c->seen[from] = from + 1;
    while (n) {
        int32_t at = c->stack[--n];
        const nfa_node *node = &g->nodes[at];
        int32_t to[2] = {node->arg, node->next};
        if (node->kind != NFA_SPLIT) {
            TRY(mem_reserve((void **)&g->closures, &c->capacity, g->n_closures + 1,
                            sizeof *g->closures));
            g->closures[g->n_closures++] = at;
            if (g->n_closures > c->most) break;
            continue;
        }
        for (int i = 0; i < 2; i++) {
            if (to[i] == NFA_NONE || c->seen[to[i]] == from + 1) continue;
            if (!(g->flags[to[i]] & NFA_IS_ALIVE)) continue;
            c->seen[to[i]] = from + 1;
            c->stack[n++] = to[i];
        }
    }
    if (n) g->n_closures = begin;
    else {
        g->closed[from].first = (uint32_t)begin;
        g->closed[from].n = (uint32_t)(g->n_closures - begin);
    }
    return WEFT_OK;
}

/* A node where a text arrives. */
static weft_status close_target(closer *c, int32_t to) {
    const grammar *g = c->g;
    if (to == NFA_NONE || g->nodes[to].kind != NFA_SPLIT || g->closed[to].n) return WEFT_OK;
    if (!(g->flags[to] & NFA_IS_ALIVE) || g->n_closures > c->most) return WEFT_OK;
    return close_node(c, to);
}

static weft_status close_all(closer *c) {
    const grammar *g = c->g;
    for (size_t i = 0; i < g->n_rules; i++) TRY(close_target(c, g->rules[i].start));
    for (size_t i = 0; i < g->n_nodes; i++)
        if (g->nodes[i].kind == NFA_RANGE || g->nodes[i].kind == NFA_CALL)
            TRY(close_target(c, g->nodes[i].next));
    return WEFT_OK;
}

weft_status nfa_find_closures(grammar *g) {
    closer c = {.g = g, .most = 8 * g->n_nodes + 4096};
    g->closed = mem_array(g->n_nodes, sizeof *g->closed);
    c.seen = mem_array(g->n_nodes, sizeof *c.seen);
    c.stack = mem_array(g->n_nodes, sizeof *c.stack);
    weft_status status = g->closed && c.seen && c.stack ? close_all(&c) : WEFT_NO_MEMORY;
    mem_free(c.seen);
    mem_free(c.stack);
    return status;
}
