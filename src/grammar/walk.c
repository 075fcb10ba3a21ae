/* The walk: down the prefix tree, one state of the automaton for each node, cut short where whole
 * subtrees are known.
 *
 * Where a state takes any character of some groups (the inside of a string), most tokens are
 * allowed as they are. The vocabulary has masks of the tokens of such a slice by their number of
 * characters; one of them is taken before the walk, which then only looks for the others: longer
 * ones, and those with other characters in them. Where that does not hold for the state, but does
 * for that after most first characters, the mask is taken too, and the tokens behind the other
 * characters are taken out of it and looked at. Deeper in the tree, a subtree whose texts are all
 * of a state's groups, and not too long, is allowed whole.
 *
 * What holds for certain is used and no more, so the result does not depend on any of this.
 * SPDX-License-Identifier: MIT */
#include "grammar/walk.h"

#include <string.h>

/* ---- sets of tokens -------------------------------------------------------------------------- */

void token_set_clear(token_set *t) {
    if (t->n > t->most) memset(t->mask, 0, t->n_words * sizeof *t->mask);
    else
        for (size_t i = 0; i < t->n; i++) t->mask[t->list[i] / 32] = 0;
    t->n = 0;
}

void token_set_put(token_set *t, uint32_t token) {
    t->mask[token / 32] |= UINT32_C(1) << (token % 32);
    if (t->n < t->most) t->list[t->n] = token;
    t->n++;
}

static void put_range(token_set *t, const int32_t *order, uint32_t at, uint32_t end) {
    if (t->n + (end - at) > t->most) t->n = t->most + 1;
    if (t->n <= t->most)
        for (; at < end; at++) token_set_put(t, (uint32_t)order[at]);
    for (; at < end; at++)
        t->mask[(uint32_t)order[at] / 32] |= UINT32_C(1) << ((uint32_t)order[at] % 32);
}

static void remove_range(token_set *t, const int32_t *order, uint32_t at, uint32_t end) {
    for (; at < end; at++)
        t->mask[(uint32_t)order[at] / 32] &= ~(UINT32_C(1) << ((uint32_t)order[at] % 32));
}

/* Makes it a set of many, with this mask. */
static void take_mask(token_set *t, const uint32_t *mask) {
    memcpy(t->mask, mask, t->n_words * sizeof *mask);
    t->n = t->most + 1;
}

struct state_tokens *token_set_keep(const token_set *t, const uint32_t *leaving, size_t n_leaving,
                                    size_t *bytes) {
    bool is_list = t->n <= t->most;
    size_t n = is_list ? t->n : t->n_words;
    *bytes = sizeof(struct state_tokens) + (n + n_leaving) * sizeof(uint32_t);
    struct state_tokens *kept = mem_alloc(*bytes);
    if (!kept) return NULL;
    kept->n_tokens = (uint32_t)t->n;
    kept->n_leaving = (uint32_t)n_leaving;
    if (n) memcpy(kept->data, is_list ? t->list : t->mask, n * sizeof *kept->data);
    if (n_leaving) memcpy(kept->data + n, leaving, n_leaving * sizeof *leaving);
    return kept;
}

void token_set_add(token_set *to, const struct state_tokens *kept) {
    if (kept->n_tokens > to->most) {
        for (size_t i = 0; i < to->n_words; i++) to->mask[i] |= kept->data[i];
        to->n = to->most + 1;
        return;
    }
    for (size_t i = 0; i < kept->n_tokens; i++) token_set_put(to, kept->data[i]);
}

const uint32_t *state_tokens_leaving(const struct state_tokens *kept, const token_set *like) {
    return kept->data + (kept->n_tokens > like->most ? like->n_words : kept->n_tokens);
}

/* ---- the walk -------------------------------------------------------------------------------- */

/* The texts at which a walk stands: nodes [at, end) of the prefix tree, siblings, whose parent was
 * reached in `state`. While only characters of the slice were met (is_on_path), what goes on with
 * at most `budget` more of them was allowed before the walk; `pending` counts the missing bytes of
 * one that has begun. */
typedef struct walk_level {
    uint32_t at, end;
    int32_t state;
    cover_set groups; /* of the state, with its run */
    uint8_t run, budget, pending;
    bool is_on_path;
} level;

/* The tokens that were allowed before the walk: those of slice k of the vocabulary with at most
 * `budget` characters. is_exact: there are no more of the slice's groups alone. */
typedef struct slice {
    cover_set groups;
    int k;
    uint8_t budget;
    bool is_exact;
} slice;

/* Stands at the children of a node that was reached in `state`; false when none can come. */
static bool open_level(walk *w, level *l, const trie_node *node, int32_t state) {
    if (!w->s.list[state].has_cover) states_cover(&w->s, state);
    const struct state *s = &w->s.list[state];
    if (!(node->next & s->begun)) return false;
    *l = (level){.at = node->child,
                 .end = node->child + node->n_children,
                 .state = state,
                 .groups = s->groups,
                 .run = s->run};
    return true;
}

/* What a byte leaves of the budget. Texts of a grammar are well-formed, so counting is enough to
 * know where a character ends; a slice has all of UTF-8 past ASCII, or none. */
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
        if (from->pending || !cover_is_wide(s->groups)) return;
        to->pending = byte < 0xE0 ? 1 : byte < 0xF0 ? 2 : 3;
    }
    if (!to->pending && !to->budget) return;
    if (!to->pending) to->budget--;
    to->is_on_path = true;
}

/* Walks from levels[0] on. */
static weft_status descend(walk *w, const slice *s) {
    const grammar_vocab *v = w->v;
    const uint8_t *classes = w->s.g->classes;
    for (level *l = w->levels; l >= w->levels;) {
        if (l->at == l->end) {
            l--;
            continue;
        }
        const trie_node *node = &v->nodes[l->at++];
        if (l->is_on_path && !(node->groups & ~s->groups) &&
            (node->most <= l->budget || s->is_exact)) {
            if (s->k == 0) l->at = l->end; /* the others are such too: vocab.h */
            continue;
        }
        if (!(node->groups & ~l->groups) && node->most <= l->run) {
            put_range(&w->found, v->order, node->first, node->end);
            continue;
        }
        int32_t class = classes[node->byte], to;
        const int32_t *next = w->s.list[l->state].next;
        to = next ? next[class] : STATE_UNKNOWN;
        if (to == STATE_UNKNOWN) TRY(states_step(&w->s, l->state, class, &to));
        if (to == STATE_DEAD) continue;
        if (node->is_token) token_set_put(&w->found, (uint32_t)v->order[node->first]);
        if (!node->n_children) continue;
        uint8_t flags = w->s.list[to].flags;
        if (flags & STATE_POPS) {
            TRY(mem_reserve((void **)&w->leaving, &w->leaving_capacity, w->n_leaving + 1,
                            sizeof *w->leaving));
            w->leaving[w->n_leaving++] = l->at - 1;
        }
        if (!(flags & STATE_HAS_BYTES) || !open_level(w, l + 1, node, to)) continue;
        if (l->is_on_path) spend(l + 1, l, node->byte, s);
        l++;
    }
    return WEFT_OK;
}

/* The slice that a state takes, if any: `first` characters came before the state. */
static weft_status find_slice(walk *w, int32_t state, int first, slice *out) {
    if (!w->s.list[state].has_cover) states_cover(&w->s, state);
    const struct state *s = &w->s.list[state];
    *out = (slice){.k = -1};
    for (int k = 0; k < VOCAB_N_SLICES && out->k < 0 && s->run; k++)
        if (!(w->v->slices[k].groups & ~s->groups)) out->k = k;
    if (out->k < 0) return WEFT_OK;
    int most = VOCAB_SLICE_MOST - first, exact = -1, run = s->run;
    out->groups = w->v->slices[out->k].groups;
    if (run <= most) TRY(states_exact_run(&w->s, state, out->groups, most, &exact));
    out->is_exact = exact > 0;
    if (out->is_exact) run = exact;
    out->budget = (uint8_t)(first + (run < most ? run : most));
    return WEFT_OK;
}

/* Walks the subtree of one child of the root, `first` being the level of all of them. */
static weft_status descend_child(walk *w, const level *first, uint32_t child, const slice *s,
                                 bool is_on_path) {
    w->levels[0] = *first;
    w->levels[0].at = child;
    w->levels[0].end = child + 1;
    w->levels[0].is_on_path = is_on_path;
    return descend(w, s);
}

/* Only the bytes that can come: where they are few, which is most often. */
static weft_status walk_live(walk *w, const level *first) {
    const grammar *g = w->s.g;
    const slice none = {.k = -1};
    for (int byte = 0; byte < 256; byte++) {
        int class = g->classes[byte];
        const int32_t *next = w->s.list[first->state].next;
        if (next && next[class] == STATE_DEAD) {
            byte = g->class_byte[class];
            continue;
        }
        uint32_t child = w->v->by_byte[byte];
        if (child) TRY(descend_child(w, first, child, &none, false));
    }
    return WEFT_OK;
}

/* The slice of the state that letters lead to from here, when these are most of the vocabulary. */
static weft_status find_slice_after(walk *w, int32_t state, int32_t *usual, slice *out) {
    const uint8_t *classes = w->s.g->classes;
    size_t n = 0;
    *out = (slice){.k = -1};
    TRY(states_step(&w->s, state, classes[' '], usual));
    if (*usual == STATE_DEAD) return WEFT_OK;
    for (int byte = 0; byte < 0x80; byte++) {
        int32_t to;
        uint32_t child = w->v->by_byte[byte];
        TRY(states_step(&w->s, state, classes[byte], &to));
        if (child && to == *usual) n += w->v->nodes[child].end - w->v->nodes[child].first;
    }
    return 2 * n > w->v->n_order ? find_slice(w, *usual, 1, out) : WEFT_OK;
}

static weft_status walk_letters(walk *w, const level *first, int32_t usual, const slice *s) {
    const grammar_vocab *v = w->v;
    for (uint32_t child = first->at; child < first->end; child++) {
        const trie_node *node = &v->nodes[child];
        char c = (char)node->byte;
        size_t length;
        int32_t to;
        TRY(states_step(&w->s, first->state, w->s.g->classes[node->byte], &to));
        bool is_usual = to == usual && cover_of_char(&c, 1, &length) & s->groups;
        if (!is_usual) remove_range(&w->found, v->order, node->first, node->end);
        TRY(descend_child(w, first, child, s, is_usual));
    }
    return WEFT_OK;
}

weft_status walk_all(walk *w, int32_t state) {
    const grammar_vocab *v = w->v;
    slice s;
    level *l = w->levels, first;
    int32_t usual;
    w->n_leaving = 0;
    token_set_clear(&w->found);
    if (!open_level(w, l, &v->nodes[0], state)) return WEFT_OK;
    TRY(find_slice(w, state, 0, &s));
    if (s.k >= 0) {
        take_mask(&w->found, v->slices[s.k].masks + (size_t)(s.budget - 1) * v->n_words);
        l->budget = s.budget;
        l->is_on_path = true;
        return descend(w, &s);
    }
    TRY(find_slice_after(w, state, &usual, &s));
    first = *l;
    if (s.k < 0) return walk_live(w, &first);
    take_mask(&w->found, v->slices[s.k].masks + (size_t)(s.budget - 1) * v->n_words);
    first.budget = s.budget;
    return walk_letters(w, &first, usual, &s);
}

weft_status walk_below(walk *w, const uint32_t *nodes, size_t n, int32_t state) {
    const slice none = {.k = -1};
    w->n_leaving = 0;
    token_set_clear(&w->found);
    for (size_t i = 0; i < n; i++)
        if (open_level(w, w->levels, &w->v->nodes[nodes[i]], state)) TRY(descend(w, &none));
    return WEFT_OK;
}

weft_status walk_open(walk *w, const grammar *g, const grammar_vocab *v) {
    w->v = v;
    w->levels = mem_array(v->longest + 2, sizeof *w->levels);
    w->found = (token_set){.most = v->n_words / 4, .n_words = v->n_words};
    w->found.mask = mem_array(v->n_words, sizeof *w->found.mask);
    w->found.list = mem_array(w->found.most + 1, sizeof *w->found.list);
    if (!w->levels || !w->found.mask || !w->found.list) return WEFT_NO_MEMORY;
    return states_open(&w->s, g);
}

void walk_free(walk *w) {
    states_free(&w->s);
    mem_free(w->levels);
    mem_free(w->found.mask);
    mem_free(w->found.list);
    mem_free(w->leaving);
}
