/* Conjunctions of regular languages as fragments: automata run side by side, made state by state as
 * they are reached. A part whose answer is settled is no longer told apart, so that most states
 * meet. Spelling: how bytes of text become bytes of a JSON string.
 * SPDX-License-Identifier: MIT */
#include <string.h>

#include "grammar/regular.h"

enum { MOST_STATES = 200000, SETTLED = -1, REFUTED = -2, QUOTE_BIT = 34, BACKSLASH_BIT = 35 };

/* ---- spelling -------------------------------------------------------------------------------- */

/* The bit of a byte that JSON strings must escape, or -1. */
static int escape_bit(int byte) {
    if (byte < 0x20) return byte;
    return byte == '"' ? QUOTE_BIT : byte == '\\' ? BACKSLASH_BIT : -1;
}

/* The rule for the escapes of a set of bytes. */
static weft_status find_escapes(spelling *s, nfa_builder *b, uint64_t set, int32_t *rule) {
    for (size_t i = 0; i < s->n; i++)
        if (s->sets[i] == set) {
            *rule = s->rules[i];
            return WEFT_OK;
        }
    REQUIRE(s->n < sizeof s->sets / sizeof *s->sets, WEFT_LIMIT,
            "too many sets of control characters are told apart");
    *rule = nfa_rule_add(b, "escape", 6);
    if (*rule < 0) return WEFT_NO_MEMORY;
    s->sets[s->n] = set;
    s->rules[s->n++] = *rule;
    return WEFT_OK;
}

static weft_status define_escapes(nfa_builder *b, uint64_t set, int32_t rule) {
    static const char short_form[] = "\bb\ff\nn\rr\tt\"\"\\\\"; /* byte, letter */
    nfa_frag f = {0}, one = {0};
    bool has_any = false;
    for (int byte = 0; byte <= '\\'; byte++) {
        static const char hex[] = "0123456789abcdef";
        int bit = escape_bit(byte);
        if (bit < 0 || !(set >> bit & 1)) continue;
        char text[] = {'\\', 'u', '0', '0', hex[byte >> 4], hex[byte & 15]};
        size_t n = sizeof text;
        for (size_t i = 0; i + 1 < sizeof short_form; i += 2)
            if (short_form[i] == byte) text[1] = short_form[i + 1], n = 2;
        TRY(nfa_text(b, text, n, &one));
        if (n > 2 && (byte & 15) > 9) { /* the last digit in either case */
            int32_t upper = 0, lower = 0;
            TRY(nfa_add(b, NFA_RANGE, one.out, NFA_NONE, &upper));
            b->nodes[upper].lo = b->nodes[upper].hi = (uint8_t)(hex[byte & 15] - 32);
            TRY(nfa_add(b, NFA_RANGE, one.out, NFA_NONE, &lower));
            b->nodes[lower].lo = b->nodes[lower].hi = (uint8_t)hex[byte & 15];
            b->nodes[one.out - 1] = (nfa_node){.next = upper, .arg = lower, .kind = NFA_SPLIT};
            one.end = (int32_t)b->n;
        }
        if (has_any) TRY(nfa_either(b, &f, &one));
        else f = one;
        has_any = true;
    }
    if (!has_any) TRY(nfa_fail(b, &f));
    return nfa_rule_define(b, rule, &f);
}

weft_status spelling_define(spelling *s, nfa_builder *b) {
    for (; s->n_defined < s->n; s->n_defined++)
        TRY(define_escapes(b, s->sets[s->n_defined], s->rules[s->n_defined]));
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

/* The same for escapes. */
static weft_status add_escapes(spelling *s, nfa_builder *b, uint64_t set, int32_t to,
                               int32_t *hub) {
    int32_t rule = 0, node = 0;
    TRY(find_escapes(s, b, set, &rule));
    TRY(nfa_add(b, NFA_CALL, to, rule, &node));
    return nfa_add(b, NFA_SPLIT, node, *hub, hub);
}

weft_status spelling_copy(spelling *s, nfa_builder *b, const nfa_builder *from, const nfa_frag *f,
                          nfa_frag *out) {
    int32_t shift = (int32_t)b->n - f->begin, unused;
    for (int32_t i = f->begin; i < f->end; i++) {
        nfa_node node = from->nodes[i];
        if (node.next != NFA_NONE) node.next += shift;
        if (node.kind == NFA_SPLIT && node.arg != NFA_NONE) node.arg += shift;
        TRY(nfa_add(b, NFA_FAIL, NFA_NONE, NFA_NONE, &unused));
        b->nodes[unused] = node;
    }
    for (int32_t i = f->begin; i < f->end && s->is_json; i++) {
        nfa_node node = b->nodes[i + shift];
        int32_t hub = NFA_NONE;
        uint64_t set = 0;
        if (node.kind != NFA_RANGE) continue;
        for (int byte = node.lo; byte <= node.hi; byte++)
            if (escape_bit(byte) >= 0) set |= (uint64_t)1 << escape_bit(byte);
        if (!set) continue;
        for (int lo = node.lo, byte = lo; byte <= node.hi + 1; byte++) {
            if (byte <= node.hi && escape_bit(byte) < 0) continue;
            TRY(add_plain(b, lo, byte - 1, node.next, &hub));
            lo = byte + 1;
        }
        TRY(add_escapes(s, b, set, node.next, &hub));
        b->nodes[i + shift] = (nfa_node){.next = hub, .arg = NFA_NONE, .kind = NFA_SPLIT};
    }
    *out = (nfa_frag){.begin = f->begin + shift,
                      .end = (int32_t)b->n,
                      .start = f->start + shift,
                      .out = f->out + shift};
    return WEFT_OK;
}

/* ---- the product ----------------------------------------------------------------------------- */

/* A state is one number for each part, and how many characters there were. */
typedef struct product {
    const regular_all *a;
    regular_part parts[2 * REGULAR_MOST_PARTS + 1];
    size_t n, n_needed; /* those after n_needed are only watched */
    sequences states;
    int32_t key[2 * REGULAR_MOST_PARTS + 2];
    uint8_t classes[256];
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
    p->a = a;
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
        p->begins[byte] = escape_bit(byte) >= 0 || escape_bit(byte - 1) >= 0;
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
        if (p->key[i] == REGULAR_DEAD && i < p->n_needed) return WEFT_OK;
    }
    REQUIRE(p->states.n < MOST_STATES, WEFT_LIMIT,
            "together they need more than %d states: give smaller lengths or fewer patterns",
            MOST_STATES);
    return sequences_add(&p->states, p->key, p->n + 1, state);
}

static weft_status find_start(product *p, int32_t *state) {
    for (size_t i = 0; i < p->n; i++) p->key[i] = p->parts[i].r->starts[BEFORE_NOTHING];
    p->key[p->n] = 0;
    return find_state(p, state);
}

static weft_status step(product *p, int32_t from, int byte, int32_t *to) {
    const int32_t *old = p->states.items + p->states.first[from];
    int64_t count = old[p->n];
    *to = -1;
    for (size_t i = 0; i < p->n; i++) {
        const regular *r = p->parts[i].r;
        p->key[i] = old[i] < 0 ? old[i] : r->next[old[i] * r->n_classes + r->classes[byte]];
    }
    if ((byte & 0xC0) != 0x80) count++;
    if (p->a->most >= 0 && count > p->a->most) return WEFT_OK;
    if (p->a->most < 0 && count > p->a->least) count = p->a->least;
    p->key[p->n] = (int32_t)count;
    return find_state(p, to);
}

static bool may_end(const product *p, int32_t state) {
    const int32_t *key = p->states.items + p->states.first[state];
    for (size_t i = 0; i < p->n_needed; i++)
        if (key[i] >= 0 && !(p->parts[i].r->flags[key[i]] & REGULAR_ENDS) != p->parts[i].is_not)
            return false;
    return key[p->n] >= p->a->least;
}

bool regular_all_has(const regular_all *a, const char *text, size_t n) {
    int64_t count = 0;
    for (size_t i = 0; i < a->n; i++)
        if (regular_has(a->parts[i].r, text, n) == a->parts[i].is_not) return false;
    for (size_t i = 0; i < n; i++) count += (text[i] & 0xC0) != 0x80;
    return count >= a->least && (a->most < 0 || count <= a->most);
}

/* ---- as a fragment --------------------------------------------------------------------------- */

typedef struct emitter {
    product p;
    spelling *s;
    nfa_builder *b;
    int32_t *hubs; /* by state */
    size_t hubs_capacity, n_hubs;
} emitter;

/* The node of the state that a byte leads to, NFA_NONE = there is none. */
static weft_status find_target(emitter *e, int32_t from, int byte, int32_t *target) {
    int32_t to = 0;
    TRY(step(&e->p, from, byte, &to));
    *target = NFA_NONE;
    if (to < 0) return WEFT_OK;
    TRY(mem_reserve((void **)&e->hubs, &e->hubs_capacity, (size_t)to + 1, sizeof *e->hubs));
    for (; e->n_hubs <= (size_t)to; e->n_hubs++)
        TRY(nfa_add(e->b, NFA_SPLIT, NFA_NONE, NFA_NONE, &e->hubs[e->n_hubs]));
    *target = e->hubs[to];
    return WEFT_OK;
}

static weft_status add_edges(emitter *e, const int32_t targets[257], int32_t *hub) {
    uint64_t done = 0;
    for (int lo = 0, byte = 1; byte <= 256; byte++) {
        bool is_escaped = e->s->is_json && escape_bit(lo) >= 0;
        if (byte < 256 && !is_escaped && targets[byte] == targets[lo] &&
            !(e->s->is_json && escape_bit(byte) >= 0))
            continue;
        if (!is_escaped && targets[lo] != NFA_NONE)
            TRY(add_plain(e->b, lo, byte - 1, targets[lo], hub));
        lo = byte;
    }
    for (int byte = 0; byte <= '\\' && e->s->is_json; byte++) {
        uint64_t set = 0;
        if (escape_bit(byte) < 0 || targets[byte] == NFA_NONE) continue;
        for (int other = byte; other <= '\\'; other++)
            if (escape_bit(other) >= 0 && targets[other] == targets[byte])
                set |= (uint64_t)1 << escape_bit(other);
        if ((set & ~done) != set) continue; /* went with an earlier one */
        done |= set;
        TRY(add_escapes(e->s, e->b, set, targets[byte], hub));
    }
    return WEFT_OK;
}

static weft_status emit_state(emitter *e, int32_t state, int32_t out) {
    int32_t targets[257], hub = NFA_NONE, target = NFA_NONE;
    bool is_loop = false;
    for (int byte = 0; byte < 256; byte++) {
        if (e->p.begins[byte]) TRY(find_target(e, state, byte, &target));
        targets[byte] = target;
        is_loop |= target != NFA_NONE && target <= e->hubs[state];
    }
    targets[256] = NFA_NONE;
    TRY(add_edges(e, targets, &hub));
    if (may_end(&e->p, state)) TRY(nfa_add(e->b, NFA_SPLIT, out, hub, &hub));
    nfa_node *node = &e->b->nodes[e->hubs[state]];
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
    if (start < 0) {
        TRY(nfa_add(e->b, NFA_FAIL, NFA_NONE, NFA_NONE, &f->start));
    } else {
        TRY(mem_reserve((void **)&e->hubs, &e->hubs_capacity, 1, sizeof *e->hubs));
        TRY(nfa_add(e->b, NFA_SPLIT, NFA_NONE, NFA_NONE, &e->hubs[0]));
        e->n_hubs = 1;
        f->start = e->hubs[0];
        for (size_t i = 0; i < e->p.states.n; i++) TRY(emit_state(e, (int32_t)i, f->out));
    }
    f->end = (int32_t)e->b->n;
    return WEFT_OK;
}

weft_status regular_emit(const regular_all *a, spelling *s, nfa_builder *b, nfa_frag *f) {
    emitter e = {.s = s, .b = b};
    weft_status status = product_open(&e.p, a, NULL, 0);
    if (status == WEFT_OK) status = emit(&e, f);
    product_close(&e.p);
    mem_free(e.hubs);
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
