/* Deterministic automata from graphs with anchors.
 *
 * A state is what stands before it (for ^ and \b), the states of the look-behinds' automata, which
 * run along from the text's beginning, and a set of (node, promises) pairs: a promise is a state of
 * a look-ahead's automaton, which runs along until the end. So look-around costs states but needs
 * no backtracking, and nests; the work is counted and bounded.
 * SPDX-License-Identifier: MIT */
#include "grammar/regular.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_WORK = 1 << 26, NEXT_END = 2, N_NEXT = 3 };

/* ---- sequences ------------------------------------------------------------------------------- */

void sequences_free(sequences *s) {
    mem_free(s->items);
    mem_free(s->first);
    mem_free(s->slots);
    *s = (sequences){0};
}

static uint32_t hash_of(const int32_t *items, size_t n) {
    uint64_t h = 0x9E3779B97F4A7C15u ^ n;
    for (size_t i = 0; i < n; i++) h = (h ^ (uint32_t)items[i]) * 0xD6E8FEB86659FD93u, h ^= h >> 32;
    return (uint32_t)h;
}

static weft_status grow_slots(sequences *s) {
    size_t n = s->n_slots ? s->n_slots * 2 : 64;
    uint32_t *slots = mem_array(n, sizeof *slots);
    if (!slots) return WEFT_NO_MEMORY;
    for (size_t i = 0; i < s->n; i++) {
        size_t at = hash_of(s->items + s->first[i], s->first[i + 1] - s->first[i]) & (n - 1);
        while (slots[at]) at = (at + 1) & (n - 1);
        slots[at] = (uint32_t)i + 1;
    }
    mem_free(s->slots);
    s->slots = slots;
    s->n_slots = n;
    return WEFT_OK;
}

weft_status sequences_add(sequences *s, const int32_t *items, size_t n, int32_t *out) {
    if (2 * (s->n + 1) > s->n_slots) TRY(grow_slots(s));
    size_t at = hash_of(items, n) & (s->n_slots - 1);
    for (; s->slots[at]; at = (at + 1) & (s->n_slots - 1)) {
        size_t i = s->slots[at] - 1, length = s->first[i + 1] - s->first[i];
        if (length != n) continue;
        if (n && memcmp(s->items + s->first[i], items, n * sizeof *items)) continue;
        *out = (int32_t)i;
        return WEFT_OK;
    }
    TRY(mem_reserve((void **)&s->items, &s->items_capacity, s->n_items + n + 1, sizeof *s->items));
    TRY(mem_reserve((void **)&s->first, &s->first_capacity, s->n + 2, sizeof *s->first));
    if (n) memcpy(s->items + s->n_items, items, n * sizeof *items);
    s->first[s->n] = s->n_items;
    s->n_items += n;
    *out = (int32_t)s->n++;
    s->first[s->n] = s->n_items;
    s->slots[at] = (uint32_t)s->n;
    return WEFT_OK;
}

/* ---- automata -------------------------------------------------------------------------------- */

void regular_free(regular *r) {
    mem_free(r->next);
    mem_free(r->flags);
    *r = (regular){0};
}

weft_status regular_add(regular *r, int32_t *state) {
    REQUIRE(r->n < REGULAR_MOST_STATES, WEFT_LIMIT, "it needs more than %d states",
            REGULAR_MOST_STATES);
    size_t wide = (size_t)r->n_classes;
    if ((r->n & (r->n + 1)) == 0) { /* at 0, 1, 3, 7 ...: twice as much */
        int32_t *next = mem_grow(r->next, (2 * r->n + 2) * wide, sizeof *next);
        if (next) r->next = next;
        uint8_t *flags = next ? mem_grow(r->flags, 2 * r->n + 2, sizeof *flags) : NULL;
        if (!flags) return WEFT_NO_MEMORY;
        r->flags = flags;
    }
    memset(r->next + r->n * wide, 0, wide * sizeof *r->next);
    r->flags[r->n] = 0;
    *state = (int32_t)r->n++;
    return WEFT_OK;
}

/* Sets `flag` on each state that leads to one that has it. */
static weft_status spread_back(regular *r, uint8_t flag) {
    size_t wide = (size_t)r->n_classes, n_edges = r->n * wide, n = 0;
    int32_t *first = mem_array(r->n + 2, sizeof *first),
            *source = mem_array(n_edges, sizeof *first);
    int32_t *stack = mem_array(r->n, sizeof *stack);
    bool is_ok = first && source && stack;
    for (size_t e = 0; is_ok && e < n_edges; e++) first[r->next[e] + 2]++;
    for (size_t i = 0; is_ok && i < r->n; i++) first[i + 2] += first[i + 1];
    for (size_t e = 0; is_ok && e < n_edges; e++)
        source[first[r->next[e] + 1]++] = (int32_t)(e / wide);
    for (size_t i = 0; is_ok && i < r->n; i++)
        if (r->flags[i] & flag) stack[n++] = (int32_t)i;
    while (is_ok && n) {
        int32_t state = stack[--n];
        for (int32_t k = first[state]; k < first[state + 1]; k++) {
            if (r->flags[source[k]] & flag) continue;
            r->flags[source[k]] |= flag;
            stack[n++] = source[k];
        }
    }
    mem_free(first);
    mem_free(source);
    mem_free(stack);
    return is_ok ? WEFT_OK : WEFT_NO_MEMORY;
}

weft_status regular_finish(regular *r) {
    for (size_t i = 0; i < r->n; i++) /* FREE: at first, that it is not */
        r->flags[i] = r->flags[i] & REGULAR_ENDS ? REGULAR_ENDS | REGULAR_LIVE : REGULAR_FREE;
    TRY(spread_back(r, REGULAR_LIVE));
    TRY(spread_back(r, REGULAR_FREE));
    for (size_t i = 0; i < r->n; i++) r->flags[i] ^= REGULAR_FREE;
    return WEFT_OK;
}

weft_status regular_invert(regular *r) {
    size_t wide = (size_t)r->n_classes;
    int32_t all, old_dead;
    TRY(regular_add(r, &all)); /* state 0 becomes an ordinary one, under this number */
    old_dead = all;
    for (size_t e = 0; e < r->n * wide; e++)
        if (!r->next[e]) r->next[e] = old_dead;
    for (int i = 0; i < N_BEFORE; i++)
        if (!r->starts[i]) r->starts[i] = old_dead;
    memset(r->next, 0, wide * sizeof *r->next);
    for (size_t i = 1; i < r->n; i++) r->flags[i] ^= REGULAR_ENDS;
    return regular_finish(r);
}

bool regular_has(const regular *r, const char *text, size_t n) {
    int32_t state = r->starts[BEFORE_NOTHING];
    for (size_t i = 0; i < n; i++)
        state = r->next[state * r->n_classes + r->classes[(uint8_t)text[i]]];
    return r->flags[state] & REGULAR_ENDS;
}

/* ---- making one ------------------------------------------------------------------------------ */

typedef struct way { /* a node, and what was promised */
    int32_t node, promises;
} way;

typedef struct maker {
    const nfa_builder *b;
    nfa_frag f;
    const anchor *anchors;
    size_t n_anchors;
    regular *out;
    sequences promises; /* sorted (anchor, state) pairs; number 0 is the empty one */
    sequences states;   /* before, states of look-behinds, ways; numbers of out's states - 1 */
    bool has_words, has_before, has_next;
    way *
        list[N_NEXT]; /* closures by what comes next: a byte that is no word's, one that is, none */
    size_t n[N_NEXT], capacity[N_NEXT];
    int32_t *order; /* see sort_ways */
    size_t order_capacity, first[258];
    int32_t *key, *pairs;
    size_t key_capacity, pairs_capacity;
    uint32_t *seen, stamp; /* of nodes without promises */
    int32_t *lands;        /* of nodes: where land() ends, plus one */
    size_t work;
} maker;

static bool is_word(int byte) {
    return (byte >= '0' && byte <= '9') || (byte >= 'A' && byte <= 'Z') || byte == '_' ||
           (byte >= 'a' && byte <= 'z');
}

/* `promises` and one more. */
static weft_status promise(maker *m, int32_t promises, int32_t anchor, int32_t state,
                           int32_t *out) {
    const sequences *p = &m->promises;
    size_t n = p->first[promises + 1] - p->first[promises], kept = 0;
    const regular *look = &m->anchors[anchor].look;
    *out = promises;
    if (look->flags[state] & REGULAR_FREE) return WEFT_OK;
    TRY(mem_reserve((void **)&m->pairs, &m->pairs_capacity, n + 2, sizeof *m->pairs));
    const int32_t *old = p->items + p->first[promises];
    for (size_t i = 0; i < n; i += 2) {
        if (old[i] == anchor && old[i + 1] == state) return WEFT_OK;
        if (old[i] < anchor || (old[i] == anchor && old[i + 1] < state)) kept = i + 2;
    }
    if (n) memcpy(m->pairs, old, n * sizeof *old);
    memmove(m->pairs + kept + 2, m->pairs + kept, (n - kept) * sizeof *old);
    m->pairs[kept] = anchor;
    m->pairs[kept + 1] = state;
    return sequences_add(&m->promises, m->pairs, n + 2, out);
}

/* All promises one byte on; -1 = one is broken. */
static weft_status step_promises(maker *m, int32_t promises, int byte, int32_t *out) {
    int32_t now = 0;
    size_t n = m->promises.first[promises + 1] - m->promises.first[promises];
    for (size_t i = 0; i < n; i += 2) {
        const int32_t *pair = m->promises.items + m->promises.first[promises] + i;
        const regular *look = &m->anchors[pair[0]].look;
        int32_t state = look->next[pair[1] * look->n_classes + look->classes[byte]];
        *out = -1;
        if (!(look->flags[state] & REGULAR_LIVE)) return WEFT_OK;
        TRY(promise(m, now, pair[0], state, &now));
    }
    *out = now;
    return WEFT_OK;
}

static bool are_kept(const maker *m, int32_t promises) {
    const sequences *p = &m->promises;
    for (size_t i = p->first[promises]; i < p->first[promises + 1]; i += 2)
        if (!(m->anchors[p->items[i]].look.flags[p->items[i + 1]] & REGULAR_ENDS)) return false;
    return true;
}

static weft_status put_way(maker *m, int next, int32_t node, int32_t promises) {
    if (node == NFA_NONE) return WEFT_OK;
    if (!promises) {
        if (m->seen[node - m->f.begin] == m->stamp) return WEFT_OK;
        m->seen[node - m->f.begin] = m->stamp;
    } else
        for (size_t i = 0; i < m->n[next]; i++) {
            const way *w = &m->list[next][i];
            if (w->node == node && w->promises == promises) return WEFT_OK;
            m->work++;
        }
    TRY(mem_reserve((void **)&m->list[next], &m->capacity[next], m->n[next] + 1, sizeof(way)));
    m->list[next][m->n[next]++] = (way){node, promises};
    return WEFT_OK;
}

/* The state of the i-th look-behind, or -1: `key` is a state's sequence. */
static int32_t behind_state(const maker *m, const int32_t *key, int32_t anchor) {
    size_t at = 1;
    for (int32_t i = 0; i < anchor; i++)
        at += m->anchors[i].kind == ANCHOR_BEHIND || m->anchors[i].kind == ANCHOR_NOT_BEHIND;
    return key[at];
}

/* Whether an anchor without promises lets through. */
static bool is_met(const maker *m, const int32_t *key, int next, int32_t i) {
    bool was_word = key[0] == BEFORE_WORD, is_behind;
    switch (m->anchors[i].kind) {
    case ANCHOR_BEGIN: return key[0] == BEFORE_NOTHING;
    case ANCHOR_END: return next == NEXT_END;
    case ANCHOR_WORD: return was_word != (next == 1);
    case ANCHOR_NOT_WORD: return was_word == (next == 1);
    case ANCHOR_AHEAD: return true;
    default: break;
    }
    is_behind = m->anchors[i].look.flags[behind_state(m, key, i)] & REGULAR_ENDS;
    return is_behind == (m->anchors[i].kind == ANCHOR_BEHIND);
}

/* The ways of a state that take a byte or end, into list[next]. */
static weft_status close_ways(maker *m, const int32_t *key, size_t head, size_t n, int next) {
    m->n[next] = 0;
    m->stamp++;
    for (size_t i = head; i < n; i += 2) TRY(put_way(m, next, key[i], key[i + 1]));
    for (size_t i = 0; i < m->n[next]; i++) {
        way w = m->list[next][i];
        const nfa_node *node = &m->b->nodes[w.node];
        m->work++;
        if (node->kind == NFA_SPLIT && w.node != m->f.out) {
            TRY(put_way(m, next, node->next, w.promises));
            TRY(put_way(m, next, node->arg, w.promises));
        } else if (node->kind == NFA_CALL) {
            int32_t promises = w.promises;
            if (!is_met(m, key, next, node->arg)) continue;
            if (m->anchors[node->arg].kind == ANCHOR_AHEAD) {
                const regular *look = &m->anchors[node->arg].look;
                int32_t state = look->starts[key[0]];
                if (!(look->flags[state] & REGULAR_LIVE)) continue;
                TRY(promise(m, promises, node->arg, state, &promises));
            }
            TRY(put_way(m, next, node->next, promises));
        }
    }
    return WEFT_OK;
}

static int by_way(const void *a, const void *b) {
    const int32_t *x = a, *y = b;
    if (x[0] != y[0]) return x[0] < y[0] ? -1 : 1;
    return (x[1] > y[1]) - (x[1] < y[1]);
}

/* The number in `out` of the state whose sequence is key[0..n), ways unsorted. */
static weft_status find_state(maker *m, size_t head, size_t n, int32_t *state) {
    size_t kept = head;
    *state = REGULAR_DEAD;
    if (n == head) return WEFT_OK;
    qsort(m->key + head, (n - head) / 2, 2 * sizeof *m->key, by_way);
    for (size_t i = head; i < n; i += 2) {
        if (i > head && !by_way(m->key + i, m->key + kept - 2)) continue;
        m->key[kept] = m->key[i];
        m->key[kept + 1] = m->key[i + 1];
        kept += 2;
    }
    TRY(sequences_add(&m->states, m->key, kept, state));
    (*state)++;
    if ((size_t)*state < m->out->n) return WEFT_OK;
    return regular_add(m->out, state);
}

/* The node where a text is after one that leads to `node`: past those that only lead on, so that
 * ways that meet are one. Paths get shorter as they are walked. */
static int32_t land(maker *m, int32_t node) {
    int32_t at = node, *lands = m->lands - m->f.begin;
    while (!lands[at]) {
        const nfa_node *here = &m->b->nodes[at];
        bool leads_on = here->kind == NFA_SPLIT && here->arg == NFA_NONE && at != m->f.out;
        if (!leads_on || here->next == NFA_NONE) break;
        at = here->next;
    }
    if (lands[at]) at = lands[at] - 1;
    while (node != at && !lands[node]) {
        int32_t next = m->b->nodes[node].next;
        lands[node] = at + 1;
        node = next;
    }
    return at;
}

/* Sorts the ways of a closure by the classes of bytes that they take: class c's are
 * m->order[m->first[c] .. m->first[c + 1]), numbers into list[next]. */
static weft_status sort_ways(maker *m, int next) {
    const uint8_t *classes = m->out->classes;
    size_t n = 0;
    memset(m->first, 0, sizeof m->first);
    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < m->n[next]; i++) {
            const nfa_node *node = &m->b->nodes[m->list[next][i].node];
            if (node->kind != NFA_RANGE) continue;
            for (int c = classes[node->lo]; c <= classes[node->hi]; c++, n++)
                if (pass) m->order[m->first[c + 1]++] = (int32_t)i;
                else m->first[c + 2]++;
        }
        if (pass) break;
        TRY(mem_reserve((void **)&m->order, &m->order_capacity, n + 1, sizeof *m->order));
        for (int c = 0; c <= 256; c++) m->first[c + 1] += m->first[c];
    }
    m->work += n;
    return WEFT_OK;
}

/* The state that class `class` of bytes leads to from state `from`. */
static weft_status step(maker *m, int32_t from, size_t head, int class, int byte, int next) {
    size_t n = head, n_ways = m->first[class + 1] - m->first[class];
    int32_t promises, state;
    TRY(mem_reserve((void **)&m->key, &m->key_capacity, head + 2 * n_ways + 2, sizeof *m->key));
    for (size_t i = m->first[class]; i < m->first[class + 1]; i++) {
        way w = m->list[next][m->order[i]];
        TRY(step_promises(m, w.promises, byte, &promises));
        if (promises < 0) continue;
        m->key[n++] = land(m, m->b->nodes[w.node].next);
        m->key[n++] = promises;
    }
    const int32_t *old = m->states.items + m->states.first[from - 1];
    m->key[0] = m->has_words && is_word(byte) ? BEFORE_WORD : BEFORE_OTHER;
    for (size_t i = 0, at = 1; i < m->n_anchors; i++) {
        const anchor *a = &m->anchors[i];
        if (a->kind != ANCHOR_BEHIND && a->kind != ANCHOR_NOT_BEHIND) continue;
        m->key[at] = a->look.next[old[at] * a->look.n_classes + a->look.classes[byte]];
        at++;
    }
    TRY(find_state(m, head, n, &state));
    m->out->next[from * m->out->n_classes + class] = state;
    m->work += 1 + m->n_anchors;
    REQUIRE(m->work < MOST_WORK, WEFT_LIMIT, "it takes too many steps to work out");
    return WEFT_OK;
}

static weft_status expand(maker *m, int32_t state, size_t head) {
    size_t first = m->states.first[state - 1], n = m->states.first[state] - first;
    int n_next = m->has_next ? N_NEXT : 1;
    for (int next = 0; next < n_next; next++)
        TRY(close_ways(m, m->states.items + first, head, n, next));
    const int end = m->has_next ? NEXT_END : 0;
    for (size_t i = 0; i < m->n[end]; i++)
        if (m->list[end][i].node == m->f.out && are_kept(m, m->list[end][i].promises))
            m->out->flags[state] |= REGULAR_ENDS;
    for (int next = 0; next < (m->has_next ? 2 : 1); next++) {
        TRY(sort_ways(m, next));
        for (int byte = 0, class = -1; byte < 256; byte++) {
            if (m->out->classes[byte] == class) continue;
            class = m->out->classes[byte];
            if (m->has_next && is_word(byte) != next) continue;
            TRY(step(m, state, head, class, byte, next));
        }
    }
    return WEFT_OK;
}

static void find_classes(maker *m) {
    bool is_cut[257] = {false};
    for (int32_t i = m->f.begin; i < m->f.end; i++) {
        const nfa_node *node = &m->b->nodes[i];
        if (node->kind == NFA_RANGE) is_cut[node->lo] = is_cut[node->hi + 1] = true;
    }
    for (int byte = 1; byte < 256; byte++) {
        if (m->has_words && is_word(byte) != is_word(byte - 1)) is_cut[byte] = true;
        for (size_t i = 0; i < m->n_anchors; i++) {
            const regular *look = &m->anchors[i].look;
            if (look->n && look->classes[byte] != look->classes[byte - 1]) is_cut[byte] = true;
        }
    }
    int class = 0;
    for (int byte = 0; byte < 256; byte++) {
        if (byte && is_cut[byte]) class ++;
        m->out->classes[byte] = (uint8_t) class;
    }
    m->out->n_classes = class + 1;
}

static weft_status make(maker *m) {
    int32_t unused;
    size_t head = 1;
    for (size_t i = 0; i < m->n_anchors; i++) {
        anchor_kind kind = m->anchors[i].kind;
        bool is_word_anchor = kind == ANCHOR_WORD || kind == ANCHOR_NOT_WORD;
        m->has_words |= is_word_anchor;
        m->has_next |= is_word_anchor || kind == ANCHOR_END;
        m->has_before |= is_word_anchor || kind == ANCHOR_BEGIN || kind == ANCHOR_AHEAD;
        if (kind == ANCHOR_AHEAD) /* its own \b looks at what stands before */
            m->has_words |=
                m->anchors[i].look.starts[BEFORE_WORD] != m->anchors[i].look.starts[BEFORE_OTHER];
        head += kind == ANCHOR_BEHIND || kind == ANCHOR_NOT_BEHIND;
    }
    find_classes(m);
    m->seen = mem_array((size_t)(m->f.end - m->f.begin), sizeof *m->seen);
    m->lands = mem_array((size_t)(m->f.end - m->f.begin), sizeof *m->lands);
    if (!m->seen || !m->lands) return WEFT_NO_MEMORY;
    TRY(sequences_add(&m->promises, NULL, 0, &unused));
    TRY(regular_add(m->out, &unused)); /* the dead state */
    TRY(mem_reserve((void **)&m->key, &m->key_capacity, head + 2, sizeof *m->key));
    for (int before = 0; before < N_BEFORE; before++) {
        m->key[0] = m->has_before ? before : BEFORE_OTHER;
        for (size_t i = 0, at = 1; i < m->n_anchors; i++)
            if (m->anchors[i].kind == ANCHOR_BEHIND || m->anchors[i].kind == ANCHOR_NOT_BEHIND)
                m->key[at++] = m->anchors[i].look.starts[before];
        m->key[head] = m->f.start;
        m->key[head + 1] = 0;
        TRY(find_state(m, head, head + 2, &m->out->starts[before]));
    }
    for (size_t i = 1; i < m->out->n; i++) TRY(expand(m, (int32_t)i, head));
    return regular_finish(m->out);
}

weft_status regular_make(const nfa_builder *b, const nfa_frag *f, const anchor *anchors,
                         size_t n_anchors, regular *out) {
    maker m = {.b = b, .f = *f, .anchors = anchors, .n_anchors = n_anchors, .out = out};
    *out = (regular){0};
    weft_status status = make(&m);
    sequences_free(&m.promises);
    sequences_free(&m.states);
    for (int i = 0; i < N_NEXT; i++) mem_free(m.list[i]);
    mem_free(m.order);
    mem_free(m.key);
    mem_free(m.pairs);
    mem_free(m.seen);
    mem_free(m.lands);
    if (status != WEFT_OK) regular_free(out);
    return status;
}

weft_status regular_texts(const char *const *texts, size_t n, regular *out) {
    nfa_builder b = {0};
    nfa_frag f = {0}, one = {0};
    weft_status status = n ? nfa_text(&b, texts[0], strlen(texts[0]), &f) : nfa_fail(&b, &f);
    for (size_t i = 1; i < n && status == WEFT_OK; i++) {
        status = nfa_text(&b, texts[i], strlen(texts[i]), &one);
        if (status == WEFT_OK) status = nfa_either(&b, &f, &one);
    }
    if (status == WEFT_OK) status = regular_make(&b, &f, NULL, 0, out);
    nfa_builder_free(&b);
    return status;
}
