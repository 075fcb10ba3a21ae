/* Conjunctions of regular languages as fragments: automata run side by side, made state by state as
 * they are reached. A part whose answer is settled is no longer told apart, so that most states
 * meet. What leads from one character's beginning to the next is put together to a set of
 * characters, and a set is a rule: so a position of a bounded text costs a few nodes.
 * SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "grammar/regex.h"

enum { MOST_STATES = 200000, LARGE = 16, SETTLED = -1, REFUTED = -2 };

/* ---- spelling -------------------------------------------------------------------------------- */

static bool is_escaped(int byte) { return byte < 0x20 || byte == '"' || byte == '\\'; }

void spelling_free(spelling *s) {
    sequences_free(&s->sets);
    mem_free(s->rules);
    *s = (spelling){.is_json = false};
}

/* The rule for one character of a (tidy) set, as it is spelt. */
static weft_status find_rule(spelling *s, nfa_builder *b, const code_set *set, int32_t *rule) {
    int32_t number = 0;
    TRY(sequences_add(&s->sets, (const int32_t *)set->ranges, 2 * set->n, &number));
    TRY(mem_reserve((void **)&s->rules, &s->rules_capacity, s->sets.n, sizeof *s->rules));
    if ((size_t)number == s->n) {
        s->rules[s->n] = nfa_rule_add(b, "character", 9);
        if (s->rules[s->n] < 0) return WEFT_NO_MEMORY;
        s->n++;
    }
    *rule = s->rules[number];
    return WEFT_OK;
}

/* Puts the bytes lo..hi, as they are, to `to` in front of *hub. */
static weft_status add_plain(nfa_builder *b, int lo, int hi, int32_t to, int32_t *hub) {
    int32_t node = 0;
    if (lo > hi) return WEFT_OK;
    TRY(nfa_add(b, NFA_RANGE, to, NFA_NONE, &node));
    b->nodes[node].lo = (uint8_t)lo;
    b->nodes[node].hi = (uint8_t)hi;
    return nfa_add(b, NFA_SPLIT, node, *hub, hub);
}

/* A large set beyond ASCII as a tree: by first byte, then by the next, so that a byte leads to one
 * node. `least`: characters below have fewer bytes. */
typedef struct tree {
    nfa_builder *b;
    const code_set *set;
    int32_t any[4]; /* any one, two, three bytes that continue; any[0]: the end */
    int32_t least;
} tree;

/* The node for `left` more bytes of the characters from `lo` on that share what was read. Depth: at
 * most three. */
static weft_status build_block(tree *t, int32_t lo, int left, int32_t *node) {
    int32_t hi = lo + (1 << 6 * left) - 1, hub = NFA_NONE, run = NFA_NONE;
    size_t low = 0, high = t->set->n;
    *node = NFA_NONE;
    while (low < high) { /* the first range that does not end before `lo` */
        size_t middle = (low + high) / 2;
        if (t->set->ranges[middle].hi < lo) low = middle + 1;
        else high = middle;
    }
    if (low == t->set->n || t->set->ranges[low].lo > hi || hi < t->least) return WEFT_OK;
    *node = t->any[left];
    if (left < 1 ||
        (t->set->ranges[low].lo <= lo && t->set->ranges[low].hi >= hi && lo >= t->least))
        return WEFT_OK;
    for (int first = 0, byte = 0; byte <= 64; byte++) {
        int32_t child = NFA_NONE;
        if (byte < 64) TRY(build_block(t, lo + byte * (1 << 6 * (left - 1)), left - 1, &child));
        if (byte && (byte == 64 || child != run)) {
            if (run != NFA_NONE) TRY(add_plain(t->b, 0x80 + first, 0x80 + byte - 1, run, &hub));
            first = byte;
        }
        run = child;
    }
    *node = hub;
    return WEFT_OK;
}

static weft_status build_tree(nfa_builder *b, const code_set *set, nfa_frag *f) {
    static const int kinds[][3] = {{0xC2, 0xDF, 0x80}, {0xE0, 0xEF, 0x800}, {0xF0, 0xF4, 0x10000}};
    tree t = {.b = b, .set = set};
    int32_t hub = NFA_NONE;
    f->begin = (int32_t)b->n;
    TRY(nfa_add(b, NFA_SPLIT, NFA_NONE, NFA_NONE, &f->out));
    t.any[0] = f->out;
    for (int i = 1; i < 4; i++) {
        TRY(nfa_add(b, NFA_RANGE, t.any[i - 1], NFA_NONE, &t.any[i]));
        b->nodes[t.any[i]].lo = 0x80;
        b->nodes[t.any[i]].hi = 0xBF;
    }
    for (int left = 1; left < 4; left++)
        for (int lead = kinds[left - 1][0]; lead <= kinds[left - 1][1]; lead++) {
            int32_t node = NFA_NONE, bits = lead & (0x3F >> left);
            t.least = kinds[left - 1][2];
            TRY(build_block(&t, bits * (1 << 6 * left), left, &node));
            if (node != NFA_NONE) TRY(add_plain(b, lead, lead, node, &hub));
        }
    f->start = hub;
    if (hub == NFA_NONE) TRY(nfa_add(b, NFA_FAIL, NFA_NONE, NFA_NONE, &f->start));
    f->end = (int32_t)b->n;
    return WEFT_OK;
}

/* A set in which much lies beyond ASCII; the rest has escapes. */
static weft_status define_large(spelling *s, nfa_builder *b, const code_set *set, nfa_frag *f) {
    code_set ascii = {0}, rest = {0};
    nfa_frag one = {0};
    weft_status status = WEFT_OK;
    for (size_t i = 0; i < set->n && status == WEFT_OK; i++) {
        static const code_range parts[] = {{0, 0x7F}, {0x80, 0xD7FF}, {0xE000, 0x10FFFF}};
        for (int k = 0; k < 3 && status == WEFT_OK; k++) {
            int32_t lo = set->ranges[i].lo, hi = set->ranges[i].hi;
            if (lo < parts[k].lo) lo = parts[k].lo;
            if (hi > parts[k].hi) hi = parts[k].hi;
            if (lo <= hi) status = code_set_add(k ? &rest : &ascii, lo, hi);
        }
    }
    if (status == WEFT_OK) status = build_tree(b, &rest, f);
    if (status == WEFT_OK && ascii.n)
        status = s->is_json ? json_class(b, &ascii, &one) : nfa_class(b, &ascii, &one);
    if (status == WEFT_OK && ascii.n) status = nfa_either(b, f, &one);
    code_set_free(&ascii);
    code_set_free(&rest);
    return status;
}

weft_status spelling_define(spelling *s, nfa_builder *b) {
    for (; s->n_defined < s->n; s->n_defined++) {
        nfa_frag f = {0};
        code_set set = {0};
        weft_status status = WEFT_OK;
        for (size_t i = s->sets.first[s->n_defined]; i < s->sets.first[s->n_defined + 1]; i += 2)
            if (status == WEFT_OK)
                status = code_set_add(&set, s->sets.items[i], s->sets.items[i + 1]);
        if (status == WEFT_OK && set.n > LARGE) status = define_large(s, b, &set, &f);
        else if (status == WEFT_OK)
            status = s->is_json ? json_class(b, &set, &f) : nfa_class(b, &set, &f);
        code_set_free(&set);
        TRY(status);
        TRY(nfa_rule_define(b, s->rules[s->n_defined], &f));
    }
    return WEFT_OK;
}

/* One character of a set, to `to`, in front of *hub: as a call, unless it is a few plain
 * bytes. */
static weft_status add_class(spelling *s, nfa_builder *b, const code_set *set, int32_t to,
                             int32_t *hub) {
    bool is_small = set->n <= 3;
    for (size_t i = 0; i < set->n && is_small; i++) {
        is_small &= set->ranges[i].hi < 0x80;
        for (int byte = set->ranges[i].lo; byte <= set->ranges[i].hi && is_small; byte++)
            is_small &= !s->is_json || !is_escaped(byte);
    }
    for (size_t i = 0; i < set->n && is_small; i++)
        TRY(add_plain(b, set->ranges[i].lo, set->ranges[i].hi, to, hub));
    if (is_small) return WEFT_OK;
    nfa_frag f = {0};
    if (s->is_inline) {
        TRY(nfa_class(b, set, &f));
        b->nodes[f.out].next = to;
        return nfa_add(b, NFA_SPLIT, f.start, *hub, hub);
    }
    int32_t rule = 0, node = 0;
    TRY(find_rule(s, b, set, &rule));
    TRY(nfa_add(b, NFA_CALL, to, rule, &node));
    return nfa_add(b, NFA_SPLIT, node, *hub, hub);
}

/* What a node for bytes becomes in JSON: plain bytes, and escapes by way of a rule. */
static weft_status respell(spelling *s, nfa_builder *b, int32_t at) {
    nfa_node node = b->nodes[at];
    int32_t hub = NFA_NONE;
    code_set set = {0};
    weft_status status = WEFT_OK;
    for (int lo = node.lo, byte = lo; byte <= node.hi + 1; byte++) {
        bool is_end = byte > node.hi;
        if (!is_end && !is_escaped(byte)) continue;
        if (status == WEFT_OK) status = add_plain(b, lo, byte - 1, node.next, &hub);
        if (status == WEFT_OK && !is_end) status = code_set_add(&set, byte, byte);
        lo = byte + 1;
    }
    code_set_tidy(&set);
    if (status == WEFT_OK && set.n) status = add_class(s, b, &set, node.next, &hub);
    code_set_free(&set);
    b->nodes[at] = (nfa_node){.next = hub, .arg = NFA_NONE, .kind = NFA_SPLIT};
    return status;
}

weft_status spelling_copy(spelling *s, nfa_builder *b, const nfa_builder *from, const nfa_frag *f,
                          nfa_frag *out) {
    int32_t shift = (int32_t)b->n - f->begin, made = 0;
    for (int32_t i = f->begin; i < f->end; i++) {
        nfa_node node = from->nodes[i];
        if (node.next != NFA_NONE) node.next += shift;
        if (node.kind == NFA_SPLIT && node.arg != NFA_NONE) node.arg += shift;
        TRY(nfa_add(b, NFA_FAIL, NFA_NONE, NFA_NONE, &made));
        b->nodes[made] = node;
    }
    for (int32_t i = f->begin; i < f->end && s->is_json; i++) {
        const nfa_node *node = &b->nodes[i + shift];
        bool has_escape = false;
        for (int byte = node->lo; node->kind == NFA_RANGE && byte <= node->hi; byte++)
            has_escape |= is_escaped(byte);
        if (has_escape) TRY(respell(s, b, i + shift));
    }
    *out = (nfa_frag){.begin = f->begin + shift,
                      .end = (int32_t)b->n,
                      .start = f->start + shift,
                      .out = f->out + shift};
    return WEFT_OK;
}

/* ---- the product ----------------------------------------------------------------------------- */

/* A state is one number for each part. Lengths are counted when it is emitted. */
typedef struct product {
    regular_part parts[2 * REGULAR_MOST_PARTS + 1];
    size_t n, n_needed; /* those after n_needed are only watched */
    sequences states;
    int32_t key[2 * REGULAR_MOST_PARTS + 1];
    bool begins[256]; /* a byte that is told apart from the one before */
    regular utf8;
} product;

weft_status regular_all_add(regular_all *a, const regular *r, bool is_not) {
    REQUIRE(a->n < REGULAR_MOST_PARTS, WEFT_LIMIT, "more than %d patterns at once",
            REGULAR_MOST_PARTS);
    a->parts[a->n++] = (regular_part){r, is_not};
    return WEFT_OK;
}

/* A part's state, or that it no longer matters; REGULAR_DEAD when the text is lost. */
static int32_t settle(const product *p, size_t i, int32_t state) {
    uint8_t flags = p->parts[i].r->flags[state];
    bool is_lost = !(flags & REGULAR_LIVE), is_won = flags & REGULAR_FREE;
    if (i >= p->n_needed) return is_lost ? REFUTED : is_won ? SETTLED : state;
    if (p->parts[i].is_not ? is_won : is_lost) return REGULAR_DEAD;
    return (p->parts[i].is_not ? is_lost : is_won) ? SETTLED : state;
}

static weft_status product_open(product *p, const regular_all *a, const regular *watched,
                                size_t n_watched) {
    nfa_builder b = {0};
    nfa_frag f = {0};
    code_set all = {0};
    weft_status status = code_set_add(&all, 0, 0x10FFFF);
    if (status == WEFT_OK) status = nfa_class(&b, &all, &f);
    if (status == WEFT_OK) status = nfa_repeat(&b, &f, 0, -1);
    if (status == WEFT_OK) status = regular_make(&b, &f, NULL, 0, &p->utf8);
    code_set_free(&all);
    nfa_builder_free(&b);
    TRY(status);
    memcpy(p->parts, a->parts, a->n * sizeof *p->parts);
    p->n = a->n;
    p->parts[p->n++] = (regular_part){&p->utf8, false};
    p->n_needed = p->n;
    for (size_t i = 0; i < n_watched; i++) p->parts[p->n++] = (regular_part){&watched[i], false};
    for (int byte = 1; byte < 256; byte++) {
        p->begins[byte] = byte >= 0x80 && (byte & 0x3F) == 0; /* kinds of bytes of UTF-8 */
        p->begins[byte] |= byte == 0xE0 || byte == 0xF0;
        for (size_t i = 0; i < p->n; i++)
            p->begins[byte] |= p->parts[i].r->classes[byte] != p->parts[i].r->classes[byte - 1];
    }
    p->begins[0] = true;
    return WEFT_OK;
}

static void product_close(product *p) {
    sequences_free(&p->states);
    regular_free(&p->utf8);
}

/* The number of the state in p->key, -1 when no text leads on from it. */
static weft_status find_state(product *p, int32_t *state) {
    *state = -1;
    for (size_t i = 0; i < p->n; i++) {
        if (p->key[i] < 0) continue;
        p->key[i] = settle(p, i, p->key[i]);
        if (i < p->n_needed && p->key[i] == REGULAR_DEAD) return WEFT_OK;
    }
    REQUIRE(p->states.n < MOST_STATES, WEFT_LIMIT,
            "together they need more than %d states: give smaller lengths or fewer patterns",
            MOST_STATES);
    return sequences_add(&p->states, p->key, p->n, state);
}

static weft_status find_start(product *p, int32_t *state) {
    for (size_t i = 0; i < p->n; i++) p->key[i] = p->parts[i].r->starts[BEFORE_NOTHING];
    return find_state(p, state);
}

static weft_status step(product *p, int32_t from, int byte, int32_t *to) {
    const int32_t *old = p->states.items + p->states.first[from];
    for (size_t i = 0; i < p->n; i++) {
        const regular *r = p->parts[i].r;
        p->key[i] = old[i] < 0 ? old[i] : r->next[old[i] * r->n_classes + r->classes[byte]];
    }
    return find_state(p, to);
}

static bool may_end(const product *p, int32_t state) {
    const int32_t *key = p->states.items + p->states.first[state];
    for (size_t i = 0; i < p->n_needed; i++)
        if (key[i] >= 0 && !(p->parts[i].r->flags[key[i]] & REGULAR_ENDS) != p->parts[i].is_not)
            return false;
    return true;
}

bool regular_all_has(const regular_all *a, const char *text, size_t n) {
    int64_t count = 0;
    for (size_t i = 0; i < a->n; i++)
        if (regular_has(a->parts[i].r, text, n) == a->parts[i].is_not) return false;
    for (size_t i = 0; i < n; i++) count += (text[i] & 0xC0) != 0x80;
    return count >= a->least && (a->most < 0 || count <= a->most);
}

/* ---- as a fragment --------------------------------------------------------------------------- */

/* An edge between states where characters begin: the set-th of e->sets leads to `to`. */
typedef struct edge {
    int32_t to, set;
} edge;

typedef struct emitter {
    product p;
    const regular_all *a;
    spelling *s;
    nfa_builder *b;
    sequences places; /* the states where characters begin: numbers of p's */
    edge *edges;      /* of place i: edges[first[i] .. first[i + 1]) */
    size_t n_edges, edges_capacity, *first, first_capacity;
    sequences sets;     /* of characters, as ranges */
    code_set *by_place; /* of the place that is worked on: characters by where they lead */
    size_t by_place_capacity, n_by_place;
    int32_t *touched;
    size_t n_touched, touched_capacity;
    sequences counted; /* (place, characters so far), as far as that matters */
    int32_t *hubs;     /* by number in `counted` */
    size_t hubs_capacity, n_hubs;
} emitter;

static void emitter_free(emitter *e) {
    product_close(&e->p);
    sequences_free(&e->places);
    sequences_free(&e->sets);
    sequences_free(&e->counted);
    for (size_t i = 0; i < e->n_by_place; i++) code_set_free(&e->by_place[i]);
    mem_free(e->by_place);
    mem_free(e->touched);
    mem_free(e->edges);
    mem_free(e->first);
    mem_free(e->hubs);
}

/* The characters lo..hi lead from the place that is worked on to p's state `to`. */
static weft_status add_characters(emitter *e, int32_t to, int32_t lo, int32_t hi) {
    int32_t place = 0;
    TRY(sequences_add(&e->places, &to, 1, &place));
    TRY(mem_reserve((void **)&e->by_place, &e->by_place_capacity, (size_t)place + 1,
                    sizeof *e->by_place));
    while (e->n_by_place <= (size_t)place) e->by_place[e->n_by_place++] = (code_set){0};
    if (!e->by_place[place].n) {
        TRY(mem_reserve((void **)&e->touched, &e->touched_capacity, e->n_touched + 1,
                        sizeof *e->touched));
        e->touched[e->n_touched++] = place;
    }
    return code_set_add(&e->by_place[place], lo, hi);
}

/* The last byte of those from `first` to `last` that lead to the same state as `first` does. */
static weft_status find_run(emitter *e, int32_t at, int first, int last, int *end, int32_t *to) {
    TRY(step(&e->p, at, first, to));
    for (*end = first; *end < last; ++*end) {
        int32_t next = *to;
        if (e->p.begins[*end + 1]) TRY(step(&e->p, at, *end + 1, &next));
        if (next != *to) break;
    }
    return WEFT_OK;
}

/* Inside a character, `left` bytes before its end, in p's state `at`: its code, as far as read, is
 * one of lo..hi. Depth: at most three. */
static weft_status read_character(emitter *e, int32_t at, int32_t lo, int32_t hi, int left) {
    if (!left) return add_characters(e, at, lo, hi);
    for (int first = 0x80, end; first < 0xC0; first = end + 1) {
        int32_t to = 0;
        TRY(find_run(e, at, first, 0xBF, &end, &to));
        if (to < 0) continue;
        bool is_all = first == 0x80 && end == 0xBF;
        if (is_all) TRY(read_character(e, to, lo << 6, hi << 6 | 63, left - 1));
        for (int32_t code = lo; code <= hi && !is_all; code++)
            TRY(read_character(e, to, code << 6 | (first - 0x80), code << 6 | (end - 0x80),
                               left - 1));
    }
    return WEFT_OK;
}

static int by_number(const void *a, const void *b) {
    const int32_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

/* All that leads on from one place. */
static weft_status read_place(emitter *e, int32_t place) {
    int32_t state = e->places.items[e->places.first[place]];
    e->n_touched = 0;
    static const int kinds[][2] = {{0, 0x7F}, {0xC0, 0xDF}, {0xE0, 0xEF}, {0xF0, 0xF7}};
    for (int left = 0; left < 4; left++) /* bytes after the first */
        for (int first = kinds[left][0], end; first <= kinds[left][1]; first = end + 1) {
            int32_t to = 0, mask = left ? 0x3F >> left : 0x7F;
            TRY(find_run(e, state, first, kinds[left][1], &end, &to));
            if (to >= 0) TRY(read_character(e, to, first & mask, end & mask, left));
        }
    if (e->n_touched) qsort(e->touched, e->n_touched, sizeof *e->touched, by_number);
    for (size_t i = 0; i < e->n_touched; i++) {
        code_set *set = &e->by_place[e->touched[i]];
        edge *made;
        code_set_tidy(set);
        TRY(mem_reserve((void **)&e->edges, &e->edges_capacity, e->n_edges + 1, sizeof *e->edges));
        made = &e->edges[e->n_edges++];
        made->to = e->touched[i];
        TRY(sequences_add(&e->sets, (const int32_t *)set->ranges, 2 * set->n, &made->set));
        set->n = 0;
    }
    return WEFT_OK;
}

static weft_status read_places(emitter *e, int32_t start) {
    int32_t unused;
    TRY(sequences_add(&e->places, &start, 1, &unused));
    for (size_t i = 0; i < e->places.n; i++) {
        TRY(mem_reserve((void **)&e->first, &e->first_capacity, i + 2, sizeof *e->first));
        e->first[i] = e->n_edges;
        TRY(read_place(e, (int32_t)i));
        e->first[i + 1] = e->n_edges;
    }
    return WEFT_OK;
}

/* The node of a place after `count` characters. */
static weft_status find_hub(emitter *e, int32_t place, int64_t count, int32_t *hub) {
    int32_t key[2] = {place, (int32_t)count}, number = 0;
    REQUIRE(e->counted.n < MOST_STATES, WEFT_LIMIT,
            "together they need more than %d states: give smaller lengths or fewer patterns",
            MOST_STATES);
    TRY(sequences_add(&e->counted, key, 2, &number));
    TRY(mem_reserve((void **)&e->hubs, &e->hubs_capacity, e->counted.n, sizeof *e->hubs));
    if ((size_t)number == e->n_hubs) {
        TRY(nfa_add(e->b, NFA_SPLIT, NFA_NONE, NFA_NONE, &e->hubs[number]));
        e->n_hubs++;
    }
    *hub = e->hubs[number];
    return WEFT_OK;
}

static weft_status emit_state(emitter *e, size_t number, int32_t out) {
    int32_t place = e->counted.items[2 * number], hub = NFA_NONE, target = 0;
    int64_t count = e->counted.items[2 * number + 1], next = count + 1;
    bool is_loop = false;
    if (e->a->most < 0 && next > e->a->least) next = e->a->least;
    for (size_t i = e->first[place]; i < e->first[place + 1]; i++) {
        const edge *made = &e->edges[i];
        if (e->a->most >= 0 && next > e->a->most) break;
        TRY(find_hub(e, made->to, next, &target));
        is_loop |= target <= e->hubs[number];
        code_set set = {.ranges = (code_range *)&e->sets.items[e->sets.first[made->set]],
                        .n = (e->sets.first[made->set + 1] - e->sets.first[made->set]) / 2};
        TRY(add_class(e->s, e->b, &set, target, &hub));
    }
    if (may_end(&e->p, e->places.items[e->places.first[place]]) && count >= e->a->least)
        TRY(nfa_add(e->b, NFA_SPLIT, out, hub, &hub));
    nfa_node *node = &e->b->nodes[e->hubs[number]];
    if (hub == NFA_NONE) node->kind = NFA_FAIL;
    else node->next = hub;
    node->lo = is_loop;
    return WEFT_OK;
}

static weft_status emit(emitter *e, nfa_frag *f) {
    int32_t start = 0;
    f->begin = (int32_t)e->b->n;
    TRY(nfa_add(e->b, NFA_SPLIT, NFA_NONE, NFA_NONE, &f->out));
    TRY(find_start(&e->p, &start));
    if (start < 0) TRY(nfa_add(e->b, NFA_FAIL, NFA_NONE, NFA_NONE, &f->start));
    else {
        TRY(read_places(e, start));
        TRY(find_hub(e, 0, 0, &f->start));
        for (size_t i = 0; i < e->counted.n; i++) TRY(emit_state(e, i, f->out));
    }
    f->end = (int32_t)e->b->n;
    return WEFT_OK;
}

weft_status regular_emit(const regular_all *a, spelling *s, nfa_builder *b, nfa_frag *f) {
    emitter e = {.a = a, .s = s, .b = b};
    weft_status status = product_open(&e.p, a, NULL, 0);
    if (status == WEFT_OK) status = emit(&e, f);
    emitter_free(&e);
    return status;
}

/* ---- sorting --------------------------------------------------------------------------------- */

static weft_status sort_state(product *p, int32_t state, uint32_t *sets, size_t cap, size_t *n) {
    uint32_t set = 0;
    int32_t unused;
    if (may_end(p, state)) {
        const int32_t *key = p->states.items + p->states.first[state];
        for (size_t i = p->n_needed; i < p->n; i++)
            if (key[i] == SETTLED || (key[i] >= 0 && p->parts[i].r->flags[key[i]] & REGULAR_ENDS))
                set |= 1u << (i - p->n_needed);
        size_t k = 0;
        while (k < *n && sets[k] != set) k++;
        REQUIRE(k < cap, WEFT_LIMIT, "the patterns overlap in more than %zu ways", cap);
        if (k == *n) sets[(*n)++] = set;
    }
    for (int byte = 0; byte < 256; byte++)
        if (p->begins[byte]) TRY(step(p, state, byte, &unused));
    return WEFT_OK;
}

weft_status regular_sort(const regular_all *a, const regular *others, size_t n, uint32_t *sets,
                         size_t cap, size_t *n_sets) {
    product p = {0};
    int32_t start = 0;
    *n_sets = 0;
    REQUIRE(n <= REGULAR_MOST_PARTS, WEFT_LIMIT, "more than %d patterns at once",
            REGULAR_MOST_PARTS);
    weft_status status = product_open(&p, a, others, n);
    if (status == WEFT_OK) status = find_start(&p, &start);
    for (size_t i = 0; start >= 0 && i < p.states.n && status == WEFT_OK; i++)
        status = sort_state(&p, (int32_t)i, sets, cap, n_sets);
    product_close(&p);
    return status;
}
