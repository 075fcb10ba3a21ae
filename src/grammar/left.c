/* Left recursion: found as circles of the calls that rules make before any byte, and removed.
 *
 * For each rule of a circle (the goal) there is a graph of its own, with a copy of the body of
 * every rule of the circle. A text of the goal begins with something that is no call into the
 * circle, in one of these bodies; from the end of a body it goes on wherever a rule of the circle
 * calls that rule first, behind that call; and the goal's own end is also the end of all (the
 * left-corner transformation: Rosenkrantz and Lewis, 1970). So a sum of terms becomes a term, then
 * a loop.
 *
 * Empty rules hide such circles (a rule may call an empty one, then itself). The new graphs have no
 * empty text: callers pass them over where they could be empty; and what is called at the beginning
 * of a body is called by a rule that leaves the empty text out.
 * SPDX-License-Identifier: MIT */
#include "grammar/left.h"

#include <string.h>

/* ---- first calls ----------------------------------------------------------------------------- */

/* The rules that rule r calls before any byte. */
static weft_status find_of_rule(const grammar *g, left_calls *l, int32_t r) {
    size_t n = 0;
    int32_t start = g->rules[r].start;
    if (start == NFA_NONE || !(g->flags[start] & NFA_IS_ALIVE)) return WEFT_OK;
    l->stack[n++] = start;
    l->seen[start] = r + 1;
    while (n) {
        const nfa_node *node = &g->nodes[l->stack[--n]];
        int32_t to[2] = {node->next, node->kind == NFA_SPLIT ? node->arg : NFA_NONE};
        if (node->kind == NFA_RANGE || node->kind == NFA_FAIL) continue;
        if (node->kind == NFA_CALL) {
            TRY(mem_reserve((void **)&l->callees, &l->capacity, l->n + 1, sizeof *l->callees));
            l->callees[l->n++] = node->arg;
            if (!nfa_rule_is_empty(g, node->arg)) continue;
        }
        for (int i = 0; i < 2; i++) {
            if (to[i] == NFA_NONE || l->seen[to[i]] == r + 1) continue;
            if (!(g->flags[to[i]] & NFA_IS_ALIVE)) continue;
            l->seen[to[i]] = r + 1;
            l->stack[n++] = to[i];
        }
    }
    return WEFT_OK;
}

weft_status left_calls_find(const grammar *g, left_calls *l) {
    l->first = mem_array(g->n_rules + 1, sizeof *l->first);
    l->seen = mem_array(g->n_nodes, sizeof *l->seen);
    l->stack = mem_array(g->n_nodes, sizeof *l->stack);
    if (!l->first || !l->seen || !l->stack) return WEFT_NO_MEMORY;
    for (size_t r = 0; r < g->n_rules; r++) {
        TRY(find_of_rule(g, l, (int32_t)r));
        l->first[r + 1] = l->n;
    }
    return WEFT_OK;
}

void left_calls_free(left_calls *l) {
    mem_free(l->callees);
    mem_free(l->first);
    mem_free(l->seen);
    mem_free(l->stack);
}

/* ---- circles --------------------------------------------------------------------------------- */

/* circle[r]: the number of the circle that rule r belongs to, -1 = none; members[] are the rules of
 * circles, those of one side by side. By Tarjan's algorithm, with a list for its recursion. */
typedef struct circles {
    int32_t *circle, *members;
    int32_t n_circles;
    size_t n_members;
    int32_t *index, *low, *open, *path; /* open: rules whose circle is not known yet */
    size_t *at;
} circles;

static weft_status circles_make(circles *c, size_t n_rules) {
    c->circle = mem_array(n_rules, sizeof *c->circle);
    c->members = mem_array(n_rules, sizeof *c->members);
    c->index = mem_array(n_rules, sizeof *c->index);
    c->low = mem_array(n_rules, sizeof *c->low);
    c->open = mem_array(n_rules, sizeof *c->open);
    c->path = mem_array(n_rules, sizeof *c->path);
    c->at = mem_array(n_rules, sizeof *c->at);
    if (!c->circle || !c->members || !c->index || !c->low || !c->open || !c->path || !c->at)
        return WEFT_NO_MEMORY;
    return WEFT_OK;
}

static void circles_free(circles *c) {
    mem_free(c->circle);
    mem_free(c->members);
    mem_free(c->index);
    mem_free(c->low);
    mem_free(c->open);
    mem_free(c->path);
    mem_free(c->at);
}

static bool calls_itself(const left_calls *l, int32_t r) {
    for (size_t i = l->first[r]; i < l->first[r + 1]; i++)
        if (l->callees[i] == r) return true;
    return false;
}

/* Takes the rules from r on off the open ones: together a circle, unless it is r alone. */
static void close_circle(circles *c, const left_calls *l, int32_t r, size_t *n_open) {
    size_t first = *n_open;
    while (c->open[first - 1] != r) first--;
    first--;
    bool is_circle = *n_open - first > 1 || calls_itself(l, r);
    for (size_t i = first; i < *n_open; i++) {
        c->circle[c->open[i]] = is_circle ? c->n_circles : -1;
        c->index[c->open[i]] = INT32_MAX;
        if (is_circle) c->members[c->n_members++] = c->open[i];
    }
    c->n_circles += is_circle;
    *n_open = first;
}

static void find_circles(circles *c, const left_calls *l, size_t n_rules) {
    int32_t next = 1;
    size_t n_open = 0;
    for (size_t root = 0; root < n_rules; root++) {
        size_t depth = 0;
        if (c->index[root]) continue;
        for (int32_t r = (int32_t)root;;) {
            if (!c->index[r]) {
                c->index[r] = c->low[r] = next++;
                c->open[n_open++] = r;
                c->path[depth] = r;
                c->at[depth++] = l->first[r];
            }
            if (c->at[depth - 1] < l->first[r + 1]) {
                int32_t callee = l->callees[c->at[depth - 1]++];
                if (!c->index[callee]) r = callee;
                else if (c->index[callee] < c->low[r]) c->low[r] = c->index[callee];
                continue;
            }
            if (c->low[r] == c->index[r]) close_circle(c, l, r, &n_open);
            if (--depth == 0) break;
            int32_t caller = c->path[depth - 1];
            if (c->low[r] < c->low[caller]) c->low[caller] = c->low[r];
            r = caller;
        }
    }
}

/* ---- rewriting ------------------------------------------------------------------------------- */

enum { AS_IT_IS = 1 }; /* a call's `lo`: its rule cannot be empty any more */

typedef struct rewriter {
    grammar *g;
    circles c;
    size_t n_old, capacity, rules_capacity; /* n_old: nodes before */
    int32_t *start;                         /* of a rule in a circle: of its new graph */
    int32_t *ends;                          /* of a rule in a circle: where its copy ends */
    int32_t *copy, *stack, *seen;           /* of old nodes; seen: the last walk that met it */
    int32_t n_walks;
    int32_t *full;   /* of an old rule: the one without the empty text, 0 = none yet */
    int32_t *wanted; /* old rules whose such a rule has yet to be built */
    size_t n_wanted, wanted_capacity, n_rules;
} rewriter;

static weft_status add_node(rewriter *w, nfa_node node, int32_t *out) {
    grammar *g = w->g;
    REQUIRE(g->n_nodes < (size_t)NFA_MOST_NODES * 2, WEFT_LIMIT,
            "the left recursion of the rules takes more than %d states to remove",
            NFA_MOST_NODES * 2);
    TRY(mem_reserve((void **)&g->nodes, &w->capacity, g->n_nodes + 1, sizeof *g->nodes));
    *out = (int32_t)g->n_nodes;
    g->nodes[g->n_nodes++] = node;
    return WEFT_OK;
}

static weft_status add_hub(rewriter *w, int32_t *out) {
    return add_node(w, (nfa_node){.next = NFA_NONE, .arg = NFA_NONE, .kind = NFA_SPLIT}, out);
}

/* One more way out of a split. */
static weft_status add_way(rewriter *w, int32_t hub, int32_t to) {
    nfa_node *node = &w->g->nodes[hub];
    int32_t more = 0;
    if (node->next == NFA_NONE) node->next = to;
    else if (node->arg == NFA_NONE) node->arg = to;
    else {
        TRY(add_node(w, (nfa_node){.next = to, .arg = node->arg, .kind = NFA_SPLIT}, &more));
        w->g->nodes[hub].arg = more;
    }
    return WEFT_OK;
}

/* The rule of all texts of an old one but the empty one. */
static weft_status full_rule(rewriter *w, int32_t rule, int32_t *out) {
    grammar *g = w->g;
    *out = rule;
    if (w->c.circle[rule] >= 0 || !nfa_rule_is_empty(g, rule)) return WEFT_OK;
    if (!w->full[rule]) {
        TRY(mem_reserve((void **)&g->rules, &w->rules_capacity, g->n_rules + 1, sizeof *g->rules));
        TRY(mem_reserve((void **)&w->wanted, &w->wanted_capacity, w->n_wanted + 1,
                        sizeof *w->wanted));
        g->rules[g->n_rules] = (struct nfa_compiled_rule){.name = g->rules[rule].name};
        w->wanted[w->n_wanted++] = rule;
        w->full[rule] = (int32_t)g->n_rules++;
    }
    *out = w->full[rule];
    return WEFT_OK;
}

/* The nodes of an old body, all or (is_first) those before any byte, in w->stack[0 .. n). */
static size_t find_nodes(rewriter *w, int32_t rule, bool is_first) {
    const grammar *g = w->g;
    size_t n = 0;
    int32_t walk = ++w->n_walks, start = g->rules[rule].start;
    w->stack[n++] = start;
    w->seen[start] = walk;
    for (size_t i = 0; i < n; i++) {
        const nfa_node *node = &g->nodes[w->stack[i]];
        int32_t to[2] = {node->next, node->kind == NFA_SPLIT ? node->arg : NFA_NONE};
        if (node->kind == NFA_FAIL) continue;
        if (is_first && node->kind == NFA_RANGE) continue;
        if (is_first && node->kind == NFA_CALL && !nfa_rule_is_empty(g, node->arg)) continue;
        for (int k = 0; k < 2; k++) {
            if (to[k] == NFA_NONE || w->seen[to[k]] == walk) continue;
            if (is_first && !(g->flags[to[k]] & NFA_IS_ALIVE)) continue;
            w->seen[to[k]] = walk;
            w->stack[n++] = to[k];
        }
    }
    return n;
}

/* A copy of a rule's body; its end leads to `end`. */
static weft_status copy_body(rewriter *w, int32_t rule, int32_t end) {
    grammar *g = w->g;
    size_t n = find_nodes(w, rule, false);
    for (size_t i = 0; i < n; i++) TRY(add_node(w, g->nodes[w->stack[i]], &w->copy[w->stack[i]]));
    for (size_t i = 0; i < n; i++) {
        nfa_node *node = &g->nodes[w->copy[w->stack[i]]];
        if (node->kind == NFA_END)
            *node = (nfa_node){.next = end, .arg = NFA_NONE, .kind = NFA_SPLIT};
        else if (node->next != NFA_NONE && node->kind != NFA_FAIL) {
            node->next = w->copy[node->next];
            if (node->kind == NFA_SPLIT && node->arg != NFA_NONE) node->arg = w->copy[node->arg];
        }
    }
    return WEFT_OK;
}

/* Adds to `start` the ways in which a body begins: by a byte, or by a call out of the circle. With
 * a call into the circle it goes on behind that rule's end. `copy` maps nodes, NULL: they stay. */
static weft_status add_beginnings(rewriter *w, int32_t rule, int32_t start, const int32_t *copy) {
    grammar *g = w->g;
    size_t n = find_nodes(w, rule, true);
    for (size_t i = 0; i < n; i++) {
        int32_t at = w->stack[i], call = 0, full = 0;
        nfa_node node = g->nodes[at];
        if (node.kind == NFA_RANGE) TRY(add_way(w, start, copy ? copy[at] : at));
        if (node.kind != NFA_CALL) continue;
        int32_t next = copy ? copy[node.next] : node.next;
        if (copy && w->c.circle[node.arg] == w->c.circle[rule]) {
            TRY(add_way(w, w->ends[node.arg], next));
            continue;
        }
        TRY(full_rule(w, node.arg, &full));
        node = (nfa_node){.next = next, .arg = full, .kind = NFA_CALL, .lo = AS_IT_IS};
        TRY(add_node(w, node, &call));
        TRY(add_way(w, start, call));
    }
    return WEFT_OK;
}

/* The graph of one goal, out of the rules of its circle. */
static weft_status build_goal(rewriter *w, int32_t goal, const int32_t *members, size_t n) {
    int32_t end = 0;
    TRY(add_hub(w, &w->start[goal]));
    for (size_t i = 0; i < n; i++) TRY(add_hub(w, &w->ends[members[i]]));
    for (size_t i = 0; i < n; i++) TRY(copy_body(w, members[i], w->ends[members[i]]));
    for (size_t i = 0; i < n; i++) TRY(add_beginnings(w, members[i], w->start[goal], w->copy));
    TRY(add_node(w, (nfa_node){.next = NFA_NONE, .arg = NFA_NONE, .kind = NFA_END}, &end));
    return add_way(w, w->ends[goal], end);
}

static weft_status build_circles(rewriter *w) {
    for (size_t i = 0, n; i < w->c.n_members; i += n) {
        const int32_t *m = w->c.members + i;
        for (n = 1; i + n < w->c.n_members && w->c.circle[m[n]] == w->c.circle[m[0]];) n++;
        for (size_t k = 0; k < n; k++) TRY(build_goal(w, m[k], m, n));
    }
    for (size_t i = 0; i < w->n_wanted; i++) {
        int32_t start = 0;
        TRY(add_hub(w, &start));
        TRY(add_beginnings(w, w->wanted[i], start, NULL));
        w->g->rules[w->full[w->wanted[i]]].start = start;
    }
    return WEFT_OK;
}

/* A call of a rule that could be empty and now cannot: it may be passed over. */
static weft_status pass_over(rewriter *w, size_t at) {
    grammar *g = w->g;
    nfa_node node = g->nodes[at];
    if (node.kind != NFA_CALL || (size_t)node.arg >= w->n_rules || node.lo == AS_IT_IS)
        return WEFT_OK;
    if (w->c.circle[node.arg] < 0 || !nfa_rule_is_empty(g, node.arg)) return WEFT_OK;
    int32_t call = 0;
    node.lo = AS_IT_IS;
    TRY(add_node(w, node, &call));
    g->nodes[at] = (nfa_node){.next = call, .arg = node.next, .kind = NFA_SPLIT};
    return WEFT_OK;
}

/* A root that could be empty and now cannot gets a rule that calls it or is empty. */
static weft_status wrap_root(rewriter *w) {
    grammar *g = w->g;
    int32_t root = g->root, end = 0, call = 0, start = 0;
    if (w->c.circle[root] < 0 || !nfa_rule_is_empty(g, root)) return WEFT_OK;
    TRY(mem_reserve((void **)&g->rules, &w->rules_capacity, g->n_rules + 1, sizeof *g->rules));
    TRY(add_node(w, (nfa_node){.next = NFA_NONE, .arg = NFA_NONE, .kind = NFA_END}, &end));
    TRY(add_node(w, (nfa_node){.next = end, .arg = root, .kind = NFA_CALL, .lo = AS_IT_IS}, &call));
    TRY(add_node(w, (nfa_node){.next = call, .arg = end, .kind = NFA_SPLIT}, &start));
    g->root = (int32_t)g->n_rules;
    g->rules[g->n_rules++] =
        (struct nfa_compiled_rule){.name = g->rules[root].name, .start = start};
    return WEFT_OK;
}

static weft_status rewrite(rewriter *w) {
    grammar *g = w->g;
    w->n_old = w->capacity = g->n_nodes;
    w->n_rules = w->rules_capacity = g->n_rules;
    w->start = mem_array(g->n_rules, sizeof *w->start);
    w->ends = mem_array(g->n_rules, sizeof *w->ends);
    w->full = mem_array(g->n_rules, sizeof *w->full);
    w->copy = mem_array(g->n_nodes, sizeof *w->copy);
    w->seen = mem_array(g->n_nodes, sizeof *w->seen);
    w->stack = mem_array(g->n_nodes, sizeof *w->stack);
    if (!w->start || !w->ends || !w->full || !w->copy || !w->seen || !w->stack)
        return WEFT_NO_MEMORY;
    TRY(build_circles(w));
    TRY(wrap_root(w));
    size_t n = g->n_nodes;
    for (size_t i = 0; i < n; i++) TRY(pass_over(w, i));
    for (size_t i = 0; i < g->n_nodes; i++)
        if (g->nodes[i].kind == NFA_CALL) g->nodes[i].lo = 0;
    for (size_t i = 0; i < w->c.n_members; i++)
        g->rules[w->c.members[i]].start = w->start[w->c.members[i]];
    return WEFT_OK;
}

weft_status left_recursion_remove(grammar *g, bool *has_changed) {
    rewriter w = {.g = g};
    left_calls l = {0};
    weft_status status = left_calls_find(g, &l);
    if (status == WEFT_OK) status = circles_make(&w.c, g->n_rules);
    if (status == WEFT_OK) find_circles(&w.c, &l, g->n_rules);
    left_calls_free(&l);
    *has_changed = status == WEFT_OK && w.c.n_members > 0;
    if (*has_changed) status = rewrite(&w);
    circles_free(&w.c);
    mem_free(w.start);
    mem_free(w.ends);
    mem_free(w.full);
    mem_free(w.copy);
    mem_free(w.seen);
    mem_free(w.stack);
    mem_free(w.wanted);
    return status;
}
