/* What can be reached from a node by splits alone, worked out once where a text can arrive: after a
 * byte, after a call, at the start of a rule. The matcher's closures then skip the splits.
 *
 * Lists are only kept while they are few and short together (nested optional parts would need the
 * square of their number); nodes without one are followed split by split.
 *
 * Places that take the same bytes to the same nodes are one place: the copies of a character, and
 * the states of an automaton that was not reduced, come together again. Long lists are looked at,
 * some times over, since what was made one makes others the same.
 * SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "grammar/nfa.h"

enum { LONG = 6, MOST_ROUNDS = 12 };

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

/* ---- places that are the same ---------------------------------------------------------------- */

typedef struct merger {
    grammar *g;
    int32_t *slots; /* a hash table of nodes, plus one */
    size_t n_slots;
    int32_t *instead; /* of a node: the one that does the same, -1 = itself */
} merger;

static int by_value(const void *a, const void *b) {
    const int32_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

static void sort_nodes(int32_t *list, uint32_t n) {
    enum { FEW = 32 };
    if (n > FEW) {
        qsort(list, n, sizeof *list, by_value);
        return;
    }
    for (uint32_t i = 1; i < n; i++) {
        int32_t moved = list[i];
        uint32_t to = i;
        for (; to > 0 && list[to - 1] > moved; to--) list[to] = list[to - 1];
        list[to] = moved;
    }
}

/* The first node met that takes the same bytes, or calls the same rule, and leads to the same. */
static int32_t same_node(merger *m, int32_t at) {
    const nfa_node *node = &m->g->nodes[at], *other;
    if (node->kind != NFA_RANGE && node->kind != NFA_CALL) return at;
    int32_t key[3] = {node->next, node->arg, node->kind << 16 | node->lo << 8 | node->hi};
    size_t slot = hash_bytes(key, sizeof key, 3) & (m->n_slots - 1);
    for (; m->slots[slot]; slot = (slot + 1) & (m->n_slots - 1)) {
        other = &m->g->nodes[m->slots[slot] - 1];
        if (other->next == node->next && other->arg == node->arg && other->kind == node->kind &&
            other->lo == node->lo && other->hi == node->hi)
            return m->slots[slot] - 1;
    }
    m->slots[slot] = at + 1;
    return at;
}

/* The first node met whose list is the same. */
static int32_t same_list(merger *m, int32_t at) {
    const grammar *g = m->g;
    struct nfa_closed mine = g->closed[at];
    const int32_t *list = g->closures + mine.first;
    size_t slot = hash_bytes(list, mine.n * sizeof *list, 4) & (m->n_slots - 1);
    for (; m->slots[slot]; slot = (slot + 1) & (m->n_slots - 1)) {
        struct nfa_closed other = g->closed[m->slots[slot] - 1];
        if (other.n == mine.n && !memcmp(list, g->closures + other.first, mine.n * sizeof *list))
            return m->slots[slot] - 1;
    }
    m->slots[slot] = at + 1;
    return at;
}

/* Makes the list one of first nodes, sorted. */
static void tidy_list(merger *m, struct nfa_closed *closed) {
    int32_t *list = m->g->closures + closed->first;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < closed->n; i++) list[i] = same_node(m, list[i]);
    sort_nodes(list, closed->n);
    for (uint32_t i = 0; i < closed->n; i++)
        if (!kept || list[kept - 1] != list[i]) list[kept++] = list[i];
    closed->n = kept;
}

static bool merge_once(merger *m) {
    grammar *g = m->g;
    bool has_changed = false;
    memset(m->slots, 0, m->n_slots * sizeof *m->slots);
    for (size_t i = 0; i < g->n_nodes; i++)
        if (g->closed[i].n >= LONG) tidy_list(m, &g->closed[i]);
    memset(m->slots, 0, m->n_slots * sizeof *m->slots);
    for (size_t i = 0; i < g->n_nodes; i++) {
        if (g->closed[i].n < LONG || m->instead[i] >= 0) continue;
        int32_t first = same_list(m, (int32_t)i);
        if (first == (int32_t)i) continue;
        m->instead[i] = first;
        has_changed = true;
    }
    for (size_t i = 0; i < g->n_nodes && has_changed; i++) {
        nfa_node *node = &g->nodes[i];
        if (node->kind != NFA_RANGE && node->kind != NFA_CALL) continue;
        while (node->next >= 0 && m->instead[node->next] >= 0) node->next = m->instead[node->next];
    }
    return has_changed;
}

static weft_status merge_places(grammar *g) {
    merger m = {.g = g, .n_slots = 64};
    size_t n = 0;
    for (size_t i = 0; i < g->n_nodes; i++)
        if (g->closed[i].n >= LONG) n += g->closed[i].n;
    if (!n) return WEFT_OK;
    while (m.n_slots < 2 * n) m.n_slots *= 2;
    m.slots = mem_array(m.n_slots, sizeof *m.slots);
    m.instead = mem_array(g->n_nodes, sizeof *m.instead);
    bool has_room = m.slots && m.instead;
    if (has_room) memset(m.instead, 0xFF, g->n_nodes * sizeof *m.instead);
    for (int round = 0; has_room && round < MOST_ROUNDS && merge_once(&m); round++) continue;
    mem_free(m.slots);
    mem_free(m.instead);
    return has_room ? WEFT_OK : WEFT_NO_MEMORY;
}

weft_status nfa_find_closures(grammar *g) {
    closer c = {.g = g, .most = 8 * g->n_nodes + 4096};
    g->closed = mem_array(g->n_nodes, sizeof *g->closed);
    c.seen = mem_array(g->n_nodes, sizeof *c.seen);
    c.stack = mem_array(g->n_nodes, sizeof *c.stack);
    weft_status status = g->closed && c.seen && c.stack ? close_all(&c) : WEFT_NO_MEMORY;
    mem_free(c.seen);
    mem_free(c.stack);
    return status == WEFT_OK ? merge_places(g) : status;
}
