/* Masks: which tokens may come next.
 *
 * A position's set is split by frame. The part with one frame is looked at alone, with the frame
 * replaced by BOTTOM: its walk over the vocabulary gives a mask that holds whatever lies below, and
 * the places of the prefix tree where the text would leave the rule. That is worked out once, since
 * it is the same at every depth and for every caller; then only the subtrees at those places are
 * walked with the real frame. The union over the parts is the position's mask, kept with it.
 *
 * Every state that is not dead can be completed (nodes that cannot are not followed), so a token is
 * allowed exactly when its last byte leads to a state.
 * SPDX-License-Identifier: MIT */
#include <string.h>

#include "grammar/states.h"
#include "grammar/vocab.h"

enum { STATE_ENDED = -2 };                        /* an end token was accepted */
static const size_t most_kept = (size_t)96 << 20; /* bytes of tables and masks, then they go */

struct state_local {
    uint32_t n_leaving; /* prefix-tree nodes below which the text has left the rule */
    uint32_t data[];    /* n_words of the mask, then these */
};

/* The texts at which a walk stands: nodes [at, end) of the prefix tree, siblings, whose parent was
 * reached in `state`. While only characters of the slice were met (is_on_path), what goes on with
 * at most `budget` more of them was allowed before the walk; `pending` counts the missing bytes of
 * one that has begun. */
typedef struct level {
    uint32_t at, end;
    int32_t state;
    cover_set groups; /* of the state, with its run */
    uint8_t run, budget, pending;
    bool is_on_path;
} level;

/* The tokens that were allowed before the walk. is_exact: there are no more of the slice's groups
 * alone; is_sorted: the vocabulary's order puts subtrees of these groups last. */
typedef struct slice {
    cover_set groups;
    bool is_exact, is_sorted;
} slice;

/* What the clones of a matcher share. */
typedef struct engine {
    states s;
    const grammar_vocab *v;
    level *levels; /* along the current path of the prefix tree */
    uint32_t *leaving;
    size_t n_leaving, leaving_capacity;
    uint32_t *mask; /* scratch */
    int n_users;
} engine;

struct grammar_matcher {
    engine *e;
    int32_t *path; /* the states after 0, 1 ... steps */
    size_t n, capacity;
};

static void allow(const grammar_vocab *v, uint32_t *mask, uint32_t at, uint32_t end) {
    for (; at < end; at++) {
        uint32_t token = (uint32_t)v->order[at];
        mask[token / 32] |= UINT32_C(1) << (token % 32);
    }
}

/* Stands at the children of a node that was reached in `state`; false when none can come. */
static bool open_level(engine *e, level *l, const trie_node *node, int32_t state) {
    if (!e->s.list[state].has_cover) states_cover(&e->s, state);
    const struct state *s = &e->s.list[state];
    if (!(node->next & s->begun)) return false;
    *l = (level){.at = node->child,
                 .end = node->child + node->n_children,
                 .state = state,
                 .groups = s->groups,
                 .run = s->run};
    return true;
}

/* What a byte leaves of the budget. Texts of a grammar are well-formed, so counting is enough to
 * know where a character ends; the slices have all of UTF-8 past ASCII. */
static void spend(level *to, const level *from, uint8_t byte, const slice *s) {
    size_t length;
    char c = (char)byte;
    to->budget = from->budget;
    if (byte < 0x80) {
        if (from->pending || !(cover_of_char(&c, 1, &length) & s->groups)) return;
    } else if (byte < 0xC0) {
        if (!from->pending) return;
        to->pending = from->pending - 1;
    } else {
        if (from->pending) return;
        to->pending = byte < 0xE0 ? 1 : byte < 0xF0 ? 2 : 3;
    }
    if (!to->pending && !to->budget) return;
    if (!to->pending) to->budget--;
    to->is_on_path = true;
}

/* Walks the subtree of e->levels[0]. Allowed tokens are set in e->mask. Where the BOTTOM node is
 * met the node joins e->leaving. */
static weft_status walk(engine *e, const slice *s) {
    const grammar_vocab *v = e->v;
    const uint8_t *classes = e->s.g->classes;
    for (level *l = e->levels; l >= e->levels;) {
        if (l->at == l->end) {
            l--;
            continue;
        }
        const trie_node *node = &v->nodes[l->at++];
        if (l->is_on_path && !(node->groups & ~s->groups) &&
            (node->most <= l->budget || s->is_exact)) {
            if (s->is_sorted) l->at = l->end;
            continue;
        }
        if (!(node->groups & ~l->groups) && node->most <= l->run) {
            allow(v, e->mask, node->first, node->end);
            continue;
        }
        int32_t class = classes[node->byte], to;
        const int32_t *next = e->s.list[l->state].next;
        to = next ? next[class] : STATE_UNKNOWN;
        if (to == STATE_UNKNOWN) TRY(states_step(&e->s, l->state, class, &to));
        if (to == STATE_DEAD) continue;
        allow(v, e->mask, node->first, node->first + node->is_token);
        if (!node->n_children) continue;
        uint8_t flags = e->s.list[to].flags;
        if (flags & STATE_POPS) {
            TRY(mem_reserve((void **)&e->leaving, &e->leaving_capacity, e->n_leaving + 1,
                            sizeof *e->leaving));
            e->leaving[e->n_leaving++] = l->at - 1;
        }
        if (!(flags & STATE_HAS_BYTES) || !open_level(e, l + 1, node, to)) continue;
        if (l->is_on_path) spend(l + 1, l, node->byte, s);
        l++;
    }
    return WEFT_OK;
}

/* Walks all tokens from `state`, having taken those of a slice that it allows as they are. */
static weft_status walk_all(engine *e, int32_t state) {
    const grammar_vocab *v = e->v;
    slice s = {0};
    level *l = e->levels;
    size_t bytes = v->n_words * sizeof *e->mask;
    if (!open_level(e, l, &v->nodes[0], state)) {
        memset(e->mask, 0, bytes);
        return WEFT_OK;
    }
    for (int k = 0; k < VOCAB_N_SLICES && !l->is_on_path && l->run; k++) {
        if (v->slices[k].groups & ~l->groups) continue;
        int exact = -1;
        s.groups = v->slices[k].groups;
        s.is_sorted = k == 0;
        l->budget = l->run < VOCAB_SLICE_MOST ? l->run : VOCAB_SLICE_MOST;
        if (l->run <= VOCAB_SLICE_MOST)
            TRY(states_exact_run(&e->s, state, s.groups, VOCAB_SLICE_MOST, &exact));
        s.is_exact = exact > 0;
        if (s.is_exact) l->budget = (uint8_t)exact;
        l->is_on_path = true;
        memcpy(e->mask, v->slices[k].masks + (size_t)(l->budget - 1) * v->n_words, bytes);
    }
    if (!l->is_on_path) memset(e->mask, 0, bytes);
    return walk(e, &s);
}

/* The mask of a state that stands for a part of a set with its frame replaced by BOTTOM. */
static weft_status make_local(engine *e, int32_t local) {
    states *s = &e->s;
    size_t n_words = e->v->n_words;
    if (s->list[local].local) return WEFT_OK;
    e->n_leaving = 0;
    TRY(walk_all(e, local));
    size_t bytes = sizeof(struct state_local) + (n_words + e->n_leaving) * sizeof(uint32_t);
    struct state_local *l = mem_alloc(bytes);
    if (!l) return WEFT_NO_MEMORY;
    l->n_leaving = (uint32_t)e->n_leaving;
    memcpy(l->data, e->mask, n_words * sizeof *e->mask);
    if (e->n_leaving) memcpy(l->data + n_words, e->leaving, e->n_leaving * sizeof *e->leaving);
    s->list[local].local = l;
    s->n_bytes += bytes;
    return WEFT_OK;
}

/* The set of the pairs [first, first + n), which share a frame, with `frame` in its place. */
static weft_status part_state(states *s, uint32_t first, uint32_t n, int32_t frame, int32_t *out) {
    TRY(mem_reserve((void **)&s->work, &s->work_capacity, n, sizeof *s->work));
    for (uint32_t i = 0; i < n; i++) s->work[i] = (pair){s->pairs[first + i].node, frame};
    TRY(states_intern(s, s->work, n, out));
    if (!s->list[*out].has_cover) states_cover(s, *out);
    return WEFT_OK;
}

static void add_mask(const engine *e, uint32_t *mask, const uint32_t *more) {
    for (size_t i = 0; i < e->v->n_words; i++) mask[i] |= more[i];
}

/* Adds to `mask` what the pairs [first, first + n), which share a frame, allow. Where the frame
 * makes a run of characters longer (the rule is one character, and it is called many times) the
 * part is looked at as it is: nearly every token would leave the rule. */
static weft_status add_part(engine *e, uint32_t first, uint32_t n, uint32_t *mask) {
    int32_t local, whole, below, frame = e->s.pairs[first].frame;
    const grammar_vocab *v = e->v;
    TRY(part_state(&e->s, first, n, e->s.bottom, &local));
    TRY(part_state(&e->s, first, n, frame, &whole));
    if (e->s.list[whole].run > e->s.list[local].run) {
        TRY(walk_all(e, whole));
        add_mask(e, mask, e->mask);
        return WEFT_OK;
    }
    TRY(make_local(e, local));
    const struct state_local *l = e->s.list[local].local;
    add_mask(e, mask, l->data);
    if (!l->n_leaving) return WEFT_OK;
    TRY(states_close(&e->s, frame, &below));
    if (!(e->s.list[below].flags & STATE_HAS_BYTES)) return WEFT_OK;
    memset(e->mask, 0, v->n_words * sizeof *e->mask);
    for (uint32_t i = 0; i < l->n_leaving; i++) {
        const trie_node *node = &v->nodes[l->data[v->n_words + i]];
        if (open_level(e, e->levels, node, below)) TRY(walk(e, &(slice){0}));
    }
    add_mask(e, mask, e->mask);
    return WEFT_OK;
}

static weft_status make_mask(engine *e, int32_t at, uint32_t *mask) {
    states *s = &e->s;
    uint32_t end = s->list[at].first + s->list[at].n;
    for (uint32_t i = s->list[at].first, n; i < end; i += n) {
        for (n = 1; i + n < end && s->pairs[i + n].frame == s->pairs[i].frame;) n++;
        if (s->g->nodes[s->pairs[i].node].kind == NFA_RANGE) TRY(add_part(e, i, n, mask));
    }
    if (s->list[at].flags & STATE_ACCEPTS)
        for (size_t k = 0; k < e->v->n_ends; k++)
            mask[e->v->ends[k] / 32] |= UINT32_C(1) << (e->v->ends[k] % 32);
    for (size_t i = 0; i < e->v->n_copies; i++) {
        uint32_t of = (uint32_t)e->v->copies[i].of, copy = (uint32_t)e->v->copies[i].copy;
        mask[copy / 32] |= (mask[of / 32] >> (of % 32) & 1) << (copy % 32);
    }
    return WEFT_OK;
}

weft_status grammar_matcher_mask(grammar_matcher *m, uint32_t *bits) {
    REQUIRE(m && bits, WEFT_INVALID, "grammar_matcher_mask: an argument is NULL");
    engine *e = m->e;
    int32_t at = m->path[m->n];
    size_t bytes = e->v->n_words * sizeof *bits;
    if (at == STATE_ENDED) {
        memset(bits, 0, bytes);
        return WEFT_OK;
    }
    if (!e->s.list[at].mask) {
        if (e->s.n_bytes > most_kept) states_forget(&e->s);
        uint32_t *mask = mem_alloc(bytes);
        weft_status status = mask ? make_mask(e, at, mask) : WEFT_NO_MEMORY;
        if (status != WEFT_OK) {
            mem_free(mask);
            return status;
        }
        e->s.list[at].mask = mask;
        e->s.n_bytes += bytes;
    }
    memcpy(bits, e->s.list[at].mask, bytes);
    return WEFT_OK;
}

/* ---- following a text ------------------------------------------------------------------------ */

static weft_status advance(grammar_matcher *m, const char *bytes, size_t n, int32_t *to) {
    engine *e = m->e;
    *to = m->path[m->n];
    if (*to == STATE_ENDED) *to = STATE_DEAD;
    if (e->s.n_bytes > most_kept) states_forget(&e->s);
    for (size_t i = 0; i < n && *to != STATE_DEAD; i++)
        TRY(states_step(&e->s, *to, e->s.g->classes[(uint8_t)bytes[i]], to));
    return WEFT_OK;
}

static weft_status put_step(grammar_matcher *m, int32_t to) {
    TRY(mem_reserve((void **)&m->path, &m->capacity, m->n + 2, sizeof *m->path));
    m->path[++m->n] = to;
    return WEFT_OK;
}

weft_status grammar_matcher_accept_bytes(grammar_matcher *m, const char *bytes, size_t n) {
    REQUIRE(m && (bytes || !n), WEFT_INVALID, "grammar_matcher_accept_bytes: an argument is NULL");
    int32_t to;
    TRY(advance(m, bytes, n, &to));
    REQUIRE(to != STATE_DEAD, WEFT_INVALID, "the grammar does not allow this text here");
    return put_step(m, to);
}

weft_status grammar_matcher_accept(grammar_matcher *m, int32_t token) {
    REQUIRE(m, WEFT_INVALID, "grammar_matcher_accept: the matcher is NULL");
    const grammar_vocab *v = m->e->v;
    REQUIRE(token >= 0 && (size_t)token < v->n_tokens, WEFT_INDEX, "token %d is out of range",
            token);
    int32_t to = STATE_DEAD;
    for (size_t k = 0; k < v->n_ends; k++)
        if (v->ends[k] == token && m->path[m->n] != STATE_ENDED && grammar_matcher_may_end(m))
            to = STATE_ENDED;
    if (v->length[token]) TRY(advance(m, v->bytes + v->first[token], v->length[token], &to));
    REQUIRE(to != STATE_DEAD, WEFT_INVALID, "the grammar does not allow token %d here", token);
    return put_step(m, to);
}

bool grammar_matcher_may_end(const grammar_matcher *m) {
    int32_t at = m ? m->path[m->n] : STATE_DEAD;
    return at == STATE_ENDED || (m && m->e->s.list[at].flags & STATE_ACCEPTS);
}

size_t grammar_matcher_steps(const grammar_matcher *m) { return m ? m->n : 0; }

weft_status grammar_matcher_rollback(grammar_matcher *m, size_t steps) {
    REQUIRE(m && steps <= m->n, WEFT_INVALID, "there are only %zu steps, so none to %zu",
            m ? m->n : 0, steps);
    m->n = steps;
    return WEFT_OK;
}

/* ---- opening and closing --------------------------------------------------------------------- */

static void engine_release(engine *e) {
    if (!e || --e->n_users > 0) return;
    states_free(&e->s);
    mem_free(e->levels);
    mem_free(e->leaving);
    mem_free(e->mask);
    mem_free(e);
}

/* A matcher that uses e (one user more), with room for n steps. */
static grammar_matcher *new_matcher(engine *e, size_t n) {
    grammar_matcher *m = mem_alloc(sizeof *m);
    if (!m) return NULL;
    e->n_users++;
    m->e = e;
    if (mem_reserve((void **)&m->path, &m->capacity, n + 1, sizeof *m->path) == WEFT_OK) return m;
    grammar_matcher_close(m);
    return NULL;
}

weft_status grammar_matcher_open(const grammar *g, const grammar_vocab *v, grammar_matcher **out) {
    REQUIRE(g && v && out, WEFT_INVALID, "grammar_matcher_open: an argument is NULL");
    engine *e = mem_alloc(sizeof *e);
    if (!e) return WEFT_NO_MEMORY;
    e->v = v;
    e->n_users = 1;
    e->levels = mem_array(v->longest + 2, sizeof *e->levels);
    e->mask = mem_array(v->n_words, sizeof *e->mask);
    weft_status status = states_open(&e->s, g);
    grammar_matcher *m = NULL;
    if (!e->levels || !e->mask) status = WEFT_NO_MEMORY;
    if (status == WEFT_OK && !(m = new_matcher(e, 0))) status = WEFT_NO_MEMORY;
    if (status == WEFT_OK) {
        m->path[0] = e->s.start;
        *out = m;
    }
    engine_release(e);
    return status;
}

weft_status grammar_matcher_clone(grammar_matcher *m, grammar_matcher **out) {
    REQUIRE(m && out, WEFT_INVALID, "grammar_matcher_clone: an argument is NULL");
    grammar_matcher *copy = new_matcher(m->e, m->n);
    if (!copy) return WEFT_NO_MEMORY;
    memcpy(copy->path, m->path, (m->n + 1) * sizeof *m->path);
    copy->n = m->n;
    *out = copy;
    return WEFT_OK;
}

void grammar_matcher_close(grammar_matcher *m) {
    if (!m) return;
    engine_release(m->e);
    mem_free(m->path);
    mem_free(m);
}
