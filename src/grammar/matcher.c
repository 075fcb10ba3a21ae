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

#include "grammar/walk.h"

enum { STATE_ENDED = -2 };                        /* an end token was accepted */
static const size_t most_kept = (size_t)96 << 20; /* bytes of tables and masks, then they go */

/* What the clones of a matcher share. */
typedef struct engine {
    walk w;
    token_set all; /* of one mask; its bits are the caller's */
    int n_users;
} engine;

struct grammar_matcher {
    engine *e;
    int32_t *path; /* the states after 0, 1 ... steps */
    size_t n, capacity;
};

/* The tokens of a state that stands for a part of a set with its frame replaced by BOTTOM. */
static weft_status make_local(engine *e, int32_t local) {
    states *s = &e->w.s;
    size_t bytes;
    if (s->list[local].local) return WEFT_OK;
    TRY(walk_all(&e->w, local));
    struct state_tokens *kept = token_set_keep(&e->w.found, e->w.leaving, e->w.n_leaving, &bytes);
    if (!kept) return WEFT_NO_MEMORY;
    s->list[local].local = kept;
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

static void add_found(engine *e) {
    const token_set *found = &e->w.found;
    token_set *all = &e->all;
    if (found->n > found->most) {
        for (size_t i = 0; i < all->n_words; i++) all->mask[i] |= found->mask[i];
        all->n = all->most + 1;
        return;
    }
    for (size_t i = 0; i < found->n; i++) token_set_put(all, found->list[i]);
}

/* Adds what the pairs [first, first + n), which share a frame, allow. Where the frame makes a run
 * of characters longer (the rule is one character, and it is called many times) the part is looked
 * at as it is: nearly every token would leave the rule. */
static weft_status add_part(engine *e, uint32_t first, uint32_t n) {
    states *s = &e->w.s;
    int32_t local, whole, below, frame = s->pairs[first].frame;
    TRY(part_state(s, first, n, s->bottom, &local));
    TRY(part_state(s, first, n, frame, &whole));
    if (s->list[whole].run > s->list[local].run) {
        TRY(walk_all(&e->w, whole));
        add_found(e);
        return WEFT_OK;
    }
    TRY(make_local(e, local));
    const struct state_tokens *l = s->list[local].local;
    token_set_add(&e->all, l);
    if (!l->n_leaving) return WEFT_OK;
    TRY(states_close(s, frame, &below));
    if (!(s->list[below].flags & STATE_HAS_BYTES)) return WEFT_OK;
    TRY(walk_below(&e->w, state_tokens_leaving(l, &e->all), l->n_leaving, below));
    add_found(e);
    return WEFT_OK;
}

static weft_status make_mask(engine *e, int32_t at) {
    states *s = &e->w.s;
    const grammar_vocab *v = e->w.v;
    size_t bytes;
    uint32_t end = s->list[at].first + s->list[at].n;
    for (uint32_t i = s->list[at].first, n; i < end; i += n) {
        for (n = 1; i + n < end && s->pairs[i + n].frame == s->pairs[i].frame;) n++;
        if (s->g->nodes[s->pairs[i].node].kind == NFA_RANGE) TRY(add_part(e, i, n));
    }
    if (s->list[at].flags & STATE_ACCEPTS)
        for (size_t k = 0; k < v->n_ends; k++) token_set_put(&e->all, (uint32_t)v->ends[k]);
    for (size_t i = 0; i < v->n_copies; i++) {
        uint32_t of = (uint32_t)v->copies[i].of;
        if (e->all.mask[of / 32] >> (of % 32) & 1)
            token_set_put(&e->all, (uint32_t)v->copies[i].copy);
    }
    struct state_tokens *kept = token_set_keep(&e->all, NULL, 0, &bytes);
    if (!kept) return WEFT_NO_MEMORY;
    s->list[at].mask = kept;
    s->n_bytes += bytes;
    return WEFT_OK;
}

weft_status grammar_matcher_mask(grammar_matcher *m, uint32_t *bits) {
    REQUIRE(m && bits, WEFT_INVALID, "grammar_matcher_mask: an argument is NULL");
    engine *e = m->e;
    states *s = &e->w.s;
    int32_t at = m->path[m->n];
    e->all.mask = bits;
    e->all.n = 0;
    memset(bits, 0, e->all.n_words * sizeof *bits);
    if (at == STATE_ENDED) return WEFT_OK;
    if (s->list[at].mask) {
        token_set_add(&e->all, s->list[at].mask);
        return WEFT_OK;
    }
    if (s->n_bytes > most_kept) states_forget(s);
    s->n_steps = 0;
    return make_mask(e, at);
}

/* ---- following a text ------------------------------------------------------------------------ */

static weft_status advance(grammar_matcher *m, const char *bytes, size_t n, int32_t *to) {
    engine *e = m->e;
    *to = m->path[m->n];
    if (*to == STATE_ENDED) *to = STATE_DEAD;
    if (e->w.s.n_bytes > most_kept) states_forget(&e->w.s);
    for (size_t i = 0; i < n && *to != STATE_DEAD; i++) {
        e->w.s.n_steps = 0;
        TRY(states_step(&e->w.s, *to, e->w.s.g->classes[(uint8_t)bytes[i]], to));
    }
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
    const grammar_vocab *v = m->e->w.v;
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
    return at == STATE_ENDED || (m && m->e->w.s.list[at].flags & STATE_ACCEPTS);
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
    walk_free(&e->w);
    mem_free(e->all.list);
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
    e->n_users = 1;
    weft_status status = walk_open(&e->w, g, v);
    grammar_matcher *m = NULL;
    e->all = (token_set){.most = e->w.found.most, .n_words = v->n_words};
    e->all.list = mem_array(e->all.most + 1, sizeof *e->all.list);
    if (!e->all.list) status = WEFT_NO_MEMORY;
    if (status == WEFT_OK && !(m = new_matcher(e, 0))) status = WEFT_NO_MEMORY;
    if (status == WEFT_OK) {
        m->path[0] = e->w.s.start;
        *out = m;
    }
    engine_release(e);
    return status;
}

void grammar_matcher_limit(grammar_matcher *m, int64_t steps) {
    if (m) m->e->w.s.most_steps = steps > 0 ? steps : STATES_MOST_STEPS;
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
