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

/* What the clones of a matcher share. */
typedef struct engine {
    states s;
    const grammar_vocab *v;
    int32_t *stack; /* states along the current path of the prefix tree */
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

static void allow(const grammar_vocab *v, uint32_t *mask, int32_t token) {
    for (; token >= 0; token = v->same[token])
        mask[(uint32_t)token / 32] |= UINT32_C(1) << ((uint32_t)token % 32);
}

/* Walks nodes [at, end) of the prefix tree, whose parent was reached in state `from`. Allowed
 * tokens are set in e->mask. Where the BOTTOM node is met the node joins e->leaving. */
static weft_status walk(engine *e, uint32_t at, uint32_t end, int32_t from) {
    const trie_node *nodes = e->v->nodes;
    const uint8_t *classes = e->s.g->classes;
    if (at >= end) return WEFT_OK;
    e->stack[nodes[at].depth] = from;
    while (at < end) {
        const trie_node *node = &nodes[at];
        int32_t state = e->stack[node->depth], class = classes[node->byte], to;
        const int32_t *next = e->s.list[state].next;
        to = next ? next[class] : STATE_UNKNOWN;
        if (to == STATE_UNKNOWN) TRY(states_step(&e->s, state, class, &to));
        if (to == STATE_DEAD) {
            at = node->end;
            continue;
        }
        allow(e->v, e->mask, node->token);
        uint8_t flags = e->s.list[to].flags;
        if (flags & STATE_POPS && node->end > at + 1) {
            TRY(mem_reserve((void **)&e->leaving, &e->leaving_capacity, e->n_leaving + 1,
                            sizeof *e->leaving));
            e->leaving[e->n_leaving++] = at;
        }
        e->stack[node->depth + 1] = to;
        at = flags & STATE_HAS_BYTES ? at + 1 : node->end;
    }
    return WEFT_OK;
}

/* The part of a set: its pairs with their frame replaced by BOTTOM. */
static weft_status local_state(engine *e, uint32_t first, uint32_t n, int32_t *out) {
    states *s = &e->s;
    TRY(mem_reserve((void **)&s->work, &s->work_capacity, n, sizeof *s->work));
    for (uint32_t i = 0; i < n; i++) s->work[i] = (pair){s->pairs[first + i].node, s->bottom};
    TRY(states_intern(s, s->work, n, out));
    if (s->list[*out].local) return WEFT_OK;
    size_t n_words = e->v->n_words;
    memset(e->mask, 0, n_words * sizeof *e->mask);
    e->n_leaving = 0;
    TRY(walk(e, 0, (uint32_t)e->v->n_nodes, *out));
    size_t bytes = sizeof(struct state_local) + (n_words + e->n_leaving) * sizeof(uint32_t);
    struct state_local *local = mem_alloc(bytes);
    if (!local) return WEFT_NO_MEMORY;
    local->n_leaving = (uint32_t)e->n_leaving;
    memcpy(local->data, e->mask, n_words * sizeof *e->mask);
    if (e->n_leaving) memcpy(local->data + n_words, e->leaving, e->n_leaving * sizeof *e->leaving);
    s->list[*out].local = local;
    s->n_bytes += bytes;
    return WEFT_OK;
}

/* Adds to `mask` what the pairs [first, first + n), which share a frame, allow. */
static weft_status add_part(engine *e, uint32_t first, uint32_t n, uint32_t *mask) {
    int32_t local, below, frame = e->s.pairs[first].frame;
    const grammar_vocab *v = e->v;
    TRY(local_state(e, first, n, &local));
    const struct state_local *l = e->s.list[local].local;
    for (size_t i = 0; i < v->n_words; i++) mask[i] |= l->data[i];
    if (!l->n_leaving) return WEFT_OK;
    TRY(states_close(&e->s, frame, &below));
    if (!(e->s.list[below].flags & STATE_HAS_BYTES)) return WEFT_OK;
    memset(e->mask, 0, v->n_words * sizeof *e->mask);
    for (uint32_t i = 0; i < l->n_leaving; i++) {
        uint32_t at = l->data[v->n_words + i];
        TRY(walk(e, at + 1, v->nodes[at].end, below));
    }
    for (size_t i = 0; i < v->n_words; i++) mask[i] |= e->mask[i];
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
    mem_free(e->stack);
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
    e->stack = mem_array(v->longest + 2, sizeof *e->stack);
    e->mask = mem_array(v->n_words, sizeof *e->mask);
    weft_status status = states_open(&e->s, g);
    grammar_matcher *m = NULL;
    if (!e->stack || !e->mask) status = WEFT_NO_MEMORY;
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
