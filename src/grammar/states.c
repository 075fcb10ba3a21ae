/* Sets of (node, frame) pairs: closure, stepping, and the table that gives equal sets one number.
 *
 * The closure takes calls in the order of the rules' ranks: when a rule is entered, everything that
 * calls it at this place is known, so it is entered once, with all its returns in one frame. That
 * keeps an ambiguous grammar's sets small (a graph-structured stack), and a call in tail position
 * adds no frame, so right recursion costs no depth.
 * SPDX-License-Identifier: MIT */
#include "grammar/states.h"

#include <stdlib.h>
#include <string.h>

#include "base/map.h"

/* What hostile grammars meet. */
enum { MOST_PAIRS = 1 << 16 };
static const size_t most_bytes = (size_t)512 << 20;

/* By frame, then node: neither is negative. */
static uint64_t order_of(const pair *p) { return (uint64_t)p->frame << 32 | (uint32_t)p->node; }

static int by_order(const void *a, const void *b) {
    uint64_t x = order_of(a), y = order_of(b);
    return (x > y) - (x < y);
}

/* What a closure finds is sorted in pieces, so few pairs have far to go. */
static void sort_pairs(pair *p, size_t n) {
    enum { FEW = 64 };
    if (n > FEW) {
        qsort(p, n, sizeof *p, by_order);
        return;
    }
    for (size_t i = 1; i < n; i++) {
        pair moved = p[i];
        size_t to = i;
        for (; to > 0 && order_of(&p[to - 1]) > order_of(&moved); to--) p[to] = p[to - 1];
        p[to] = moved;
    }
}

static weft_status grow_slots(states *s) {
    size_t n_slots = s->n_slots ? 2 * s->n_slots : 256;
    uint32_t *slots = mem_array(n_slots, sizeof *slots);
    if (!slots) return WEFT_NO_MEMORY;
    for (size_t i = 0; i < s->n; i++) {
        const state *one = &s->list[i];
        size_t at = hash_bytes(s->pairs + one->first, one->n * sizeof(pair), 1);
        for (at &= n_slots - 1; slots[at]; at = (at + 1) & (n_slots - 1)) continue;
        slots[at] = (uint32_t)i + 1;
    }
    mem_free(s->slots);
    s->slots = slots;
    s->n_slots = n_slots;
    return WEFT_OK;
}

static uint8_t flags_of(const states *s, const pair *pairs, size_t n) {
    uint8_t flags = 0;
    for (size_t i = 0; i < n; i++) {
        uint8_t kind = s->g->nodes[pairs[i].node].kind;
        if (kind == NFA_RANGE) flags |= STATE_HAS_BYTES;
        if (kind == NFA_ACCEPT) flags |= STATE_ACCEPTS;
        if (kind == NFA_BOTTOM) flags |= STATE_POPS;
    }
    return flags;
}

weft_status states_intern(states *s, pair *pairs, size_t n, int32_t *out) {
    size_t kept = 0;
    sort_pairs(pairs, n);
    for (size_t i = 0; i < n; i++)
        if (!kept || order_of(&pairs[kept - 1]) != order_of(&pairs[i])) pairs[kept++] = pairs[i];
    if (2 * (s->n + 1) > s->n_slots) TRY(grow_slots(s));
    size_t at = hash_bytes(pairs, kept * sizeof *pairs, 1) & (s->n_slots - 1);
    for (; s->slots[at]; at = (at + 1) & (s->n_slots - 1)) {
        const state *one = &s->list[s->slots[at] - 1];
        if (one->n != kept) continue;
        if (kept && memcmp(s->pairs + one->first, pairs, kept * sizeof *pairs) != 0) continue;
        *out = (int32_t)s->slots[at] - 1;
        return WEFT_OK;
    }
    REQUIRE(s->n * sizeof *s->list + s->n_pairs * sizeof *pairs < most_bytes, WEFT_LIMIT,
            "the grammar needs more than %zu MB for its states", most_bytes >> 20);
    TRY(mem_reserve((void **)&s->list, &s->capacity, s->n + 1, sizeof *s->list));
    TRY(mem_reserve((void **)&s->pairs, &s->pairs_capacity, s->n_pairs + kept, sizeof *s->pairs));
    if (kept) memcpy(s->pairs + s->n_pairs, pairs, kept * sizeof *pairs);
    s->list[s->n] = (state){.first = (uint32_t)s->n_pairs,
                            .n = (uint32_t)kept,
                            .closed = STATE_UNKNOWN,
                            .flags = flags_of(s, pairs, kept)};
    s->n_pairs += kept;
    *out = (int32_t)s->n++;
    s->slots[at] = (uint32_t)s->n;
    return WEFT_OK;
}

/* ---- closure --------------------------------------------------------------------------------- */

static void note_seen(states *s, size_t i) {
    size_t at = hash_bytes(&s->found[i], sizeof(pair), 2) & (s->seen_slots - 1);
    while (s->seen[at]) at = (at + 1) & (s->seen_slots - 1);
    s->seen[at] = (uint32_t)i + 1;
}

/* Whether a pair was found. Few are compared one by one; for more there is a table, which gets what
 * was found since the last look, and is made anew, twice as large as needed, when it is full. */
static weft_status was_found(states *s, pair p, bool *out) {
    enum { FEW = 16 };
    *out = false;
    if (s->n_found < FEW) {
        for (size_t i = 0; i < s->n_found && !*out; i++)
            *out = s->found[i].node == p.node && s->found[i].frame == p.frame;
        return WEFT_OK;
    }
    if (!s->n_seen || 2 * s->n_found >= s->seen_slots) {
        size_t n_slots = 64;
        while (n_slots < 4 * s->n_found) n_slots *= 2;
        TRY(mem_reserve((void **)&s->seen, &s->seen_capacity, n_slots, sizeof *s->seen));
        memset(s->seen, 0, n_slots * sizeof *s->seen);
        s->seen_slots = n_slots;
        s->n_seen = 0;
    }
    while (s->n_seen < s->n_found) note_seen(s, s->n_seen++);
    size_t at = hash_bytes(&p, sizeof p, 2) & (s->seen_slots - 1);
    for (; s->seen[at] && !*out; at = (at + 1) & (s->seen_slots - 1)) {
        const pair *q = &s->found[s->seen[at] - 1];
        *out = q->node == p.node && q->frame == p.frame;
    }
    return WEFT_OK;
}

/* A pair to be looked at, unless it was met before. `found` is everything met, in order; what is
 * past n_work has yet to be looked at. Only nodes met with two frames need a search. */
static weft_status find_pair(states *s, int32_t node, int32_t frame) {
    struct pair_mark *mark = &s->marks[node];
    REQUIRE(++s->n_steps <= s->most_steps, WEFT_LIMIT,
            "the grammar is too ambiguous: more than %lld steps for one token",
            (long long)s->most_steps);
    if (mark->closure == s->closure) {
        bool is_known = mark->frame == frame;
        if (!is_known) TRY(was_found(s, (pair){node, frame}, &is_known));
        if (is_known) return WEFT_OK;
    }
    *mark = (struct pair_mark){s->closure, frame};
    REQUIRE(s->n_found < MOST_PAIRS, WEFT_LIMIT,
            "the grammar can be followed in more than %d ways at once", MOST_PAIRS);
    TRY(mem_reserve((void **)&s->found, &s->found_capacity, s->n_found + 1, sizeof *s->found));
    s->found[s->n_found++] = (pair){node, frame};
    return WEFT_OK;
}

/* A node that is reached: itself, or what its splits lead to; what cannot be completed is not
 * followed. */
static weft_status push(states *s, int32_t node, int32_t frame) {
    const grammar *g = s->g;
    if (node == NFA_NONE || !(g->flags[node] & NFA_IS_ALIVE)) return WEFT_OK;
    struct nfa_closed closed = g->closed[node];
    if (!closed.n) return find_pair(s, node, frame);
    for (uint32_t i = 0; i < closed.n; i++) TRY(find_pair(s, g->closures[closed.first + i], frame));
    return WEFT_OK;
}

/* A call waits in `calls` (frame: the rule's number) until its rule's turn; the pair after it, its
 * return, follows. An empty rule may also be passed over at once. */
static weft_status call(states *s, const nfa_node *node, int32_t frame) {
    if (!(s->g->flags[s->g->rules[node->arg].start] & NFA_IS_ALIVE)) return WEFT_OK;
    TRY(mem_reserve((void **)&s->calls, &s->calls_capacity, s->n_calls + 2, sizeof *s->calls));
    s->calls[s->n_calls++] = (pair){node->arg, 0};
    s->calls[s->n_calls++] = (pair){node->next, frame};
    return nfa_rule_is_empty(s->g, node->arg) ? push(s, node->next, frame) : WEFT_OK;
}

static weft_status return_to(states *s, int32_t frame) {
    for (uint32_t i = 0; i < s->list[frame].n; i++) {
        pair p = s->pairs[s->list[frame].first + i];
        TRY(push(s, p.node, p.frame));
    }
    return WEFT_OK;
}

/* Looks at what was found until only calls are left. */
static weft_status follow(states *s) {
    while (s->n_work < s->n_found) {
        pair p = s->found[s->n_work++];
        const nfa_node *node = &s->g->nodes[p.node];
        switch (node->kind) {
        case NFA_SPLIT:
            TRY(push(s, node->next, p.frame));
            TRY(push(s, node->arg, p.frame));
            break;
        case NFA_CALL: TRY(call(s, node, p.frame)); break;
        case NFA_END: TRY(return_to(s, p.frame)); break;
        default: break;
        }
    }
    return WEFT_OK;
}

/* Enters the rule of lowest rank among the calls that wait, with all its returns as one frame. */
static weft_status enter(states *s) {
    const grammar *g = s->g;
    int32_t rule = s->calls[0].node;
    s->n_steps += (int64_t)s->n_calls;
    for (size_t i = 2; i < s->n_calls; i += 2)
        if (g->rules[s->calls[i].node].rank < g->rules[rule].rank) rule = s->calls[i].node;
    size_t kept = 0, n = 0;
    for (size_t i = 0; i < s->n_calls; i += 2) {
        pair back = s->calls[i + 1];
        if (s->calls[i].node != rule) {
            s->calls[kept++] = s->calls[i];
            s->calls[kept++] = back;
            continue;
        }
        bool is_tail = g->flags[back.node] & NFA_IS_TAIL;
        size_t more = is_tail ? s->list[back.frame].n : 1;
        TRY(mem_reserve((void **)&s->work, &s->work_capacity, n + more, sizeof *s->work));
        if (is_tail)
            memcpy(s->work + n, s->pairs + s->list[back.frame].first, more * sizeof *s->work);
        else s->work[n] = back;
        n += more;
        REQUIRE(n < MOST_PAIRS * 16, WEFT_LIMIT,
                "the grammar can be followed in more than %d ways at once", MOST_PAIRS);
    }
    s->n_calls = kept;
    int32_t frame = 0;
    TRY(states_intern(s, s->work, n, &frame));
    return push(s, g->rules[rule].start, frame);
}

static void begin(states *s) {
    s->n_found = s->n_work = s->n_calls = s->n_seen = 0;
    if (++s->closure) return;
    memset(s->marks, 0, s->g->n_nodes * sizeof *s->marks); /* 2^32 closures later */
    s->closure = 1;
}

/* Closes what was pushed since begin(). */
static weft_status finish(states *s, int32_t *out) {
    TRY(follow(s));
    while (s->n_calls) {
        TRY(enter(s));
        TRY(follow(s));
    }
    size_t n = 0;
    for (size_t i = 0; i < s->n_found; i++) {
        uint8_t kind = s->g->nodes[s->found[i].node].kind;
        if (kind == NFA_RANGE || kind == NFA_ACCEPT || kind == NFA_BOTTOM)
            s->found[n++] = s->found[i];
    }
    TRY(states_intern(s, s->found, n, out));
    s->list[*out].closed = *out;
    return WEFT_OK;
}

weft_status states_close(states *s, int32_t set, int32_t *out) {
    *out = s->list[set].closed;
    if (*out != STATE_UNKNOWN) return WEFT_OK;
    begin(s);
    TRY(return_to(s, set));
    TRY(finish(s, out));
    s->list[set].closed = *out;
    return WEFT_OK;
}

weft_status states_step(states *s, int32_t from, int class, int32_t *to) {
    state *f = &s->list[from];
    if (!f->next) {
        size_t n = (size_t)s->g->n_classes;
        f->next = mem_array(n, sizeof *f->next);
        if (!f->next) return WEFT_NO_MEMORY;
        const uint8_t *classes = s->g->classes;
        for (uint32_t i = 0; i < f->n; i++) { /* the other classes stay STATE_DEAD, which is 0 */
            const nfa_node *node = &s->g->nodes[s->pairs[f->first + i].node];
            if (node->kind != NFA_RANGE) continue;
            for (int c = classes[node->lo]; c <= classes[node->hi]; c++) f->next[c] = STATE_UNKNOWN;
        }
        s->n_bytes += n * sizeof *f->next;
    }
    *to = f->next[class];
    if (*to != STATE_UNKNOWN) return WEFT_OK;
    uint8_t byte = s->g->class_byte[class];
    begin(s);
    for (uint32_t i = 0; i < s->list[from].n; i++) {
        pair p = s->pairs[s->list[from].first + i];
        const nfa_node *node = &s->g->nodes[p.node];
        if (node->kind == NFA_RANGE && node->lo <= byte && byte <= node->hi)
            TRY(push(s, node->next, p.frame));
    }
    TRY(finish(s, to));
    s->list[from].next[class] = *to;
    return WEFT_OK;
}

void states_cover(states *s, int32_t set) {
    state *one = &s->list[set];
    const nfa_cover *covers = s->g->covers;
    cover_tally tally = {.n = 0};
    for (uint32_t i = 0; i < one->n; i++) {
        pair p = s->pairs[one->first + i];
        one->begun |= covers[p.node].begun;
        if (s->g->nodes[p.node].kind == NFA_RANGE && covers[p.node].groups)
            cover_count(&tally, covers[p.node].groups, covers[p.node].to, p.frame);
    }
    const struct cover_target *best = cover_best(&tally);
    one->has_cover = true;
    if (!best) return;
    one->groups = best->groups;
    one->run = cover_run(s->g, best->groups, best->to);
    const state *back = &s->list[best->frame];
    for (uint32_t i = 0; s->g->flags[best->to] & NFA_IS_TAIL && i < back->n; i++) {
        uint8_t run = cover_run(s->g, best->groups, s->pairs[back->first + i].node);
        if (run > one->run) one->run = run;
    }
}

/* Whether all pairs of a set that can take a character of `groups` lead to one place, and take all
 * of them; is_open: whether there are any. */
static bool is_one_way(states *s, int32_t set, cover_set groups, bool *is_open) {
    int32_t to = NFA_NONE, frame = 0;
    *is_open = false;
    for (uint32_t i = 0; i < s->list[set].n; i++) {
        pair p = s->pairs[s->list[set].first + i];
        const nfa_cover *c = &s->g->covers[p.node];
        if (!(c->begun & groups)) continue;
        if (!c->groups || (*is_open && (to != c->to || frame != p.frame))) return false;
        to = c->to;
        frame = p.frame;
        *is_open = true;
    }
    if (!s->list[set].has_cover) states_cover(s, set);
    return !*is_open || !(groups & ~s->list[set].groups);
}

weft_status states_exact_run(states *s, int32_t set, cover_set groups, int most, int *out) {
    size_t length;
    char letter = 0; /* one of the groups */
    while (!(cover_of_char(&letter, 1, &length) & groups)) letter++;
    *out = -1;
    for (int n = 0; n <= most; n++) {
        bool is_open;
        if (s->list[set].flags & STATE_POPS || !is_one_way(s, set, groups, &is_open))
            return WEFT_OK;
        if (!is_open) {
            *out = n;
            return WEFT_OK;
        }
        TRY(states_step(s, set, s->g->classes[(uint8_t)letter], &set));
    }
    return WEFT_OK;
}

weft_status states_open(states *s, const grammar *g) {
    *s = (states){.g = g, .most_steps = STATES_MOST_STEPS};
    s->marks = mem_array(g->n_nodes, sizeof *s->marks);
    if (!s->marks) return WEFT_NO_MEMORY;
    int32_t dead = 0, accept = 0;
    pair done = {0, STATE_DEAD}, below = {1, STATE_DEAD};
    TRY(states_intern(s, NULL, 0, &dead));
    s->list[dead].closed = dead;
    TRY(states_intern(s, &done, 1, &accept));
    TRY(states_intern(s, &below, 1, &s->bottom));
    begin(s);
    TRY(push(s, g->rules[g->root].start, accept));
    return finish(s, &s->start);
}

void states_forget(states *s) {
    for (size_t i = 0; i < s->n; i++) {
        mem_free(s->list[i].next);
        mem_free(s->list[i].mask);
        mem_free(s->list[i].local);
        s->list[i].next = NULL;
        s->list[i].mask = NULL;
        s->list[i].local = NULL;
    }
    s->n_bytes = 0;
}

void states_free(states *s) {
    states_forget(s);
    mem_free(s->list);
    mem_free(s->pairs);
    mem_free(s->slots);
    mem_free(s->work);
    mem_free(s->found);
    mem_free(s->calls);
    mem_free(s->seen);
    mem_free(s->marks);
}
