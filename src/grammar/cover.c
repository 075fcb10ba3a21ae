/* Which characters a node takes whatever they are, and where that leads: for a RANGE node by
 * following its chain of bytes, for others the best of what can be reached without a byte. Only
 * what holds for certain counts; what is missed costs time and no more, since the matcher then
 * looks at each token.
 *
 * A run is a chain of such nodes: a bounded repetition has one step for each copy, a loop leads
 * back to itself. A call takes what its rule takes whole as its first character.
 * SPDX-License-Identifier: MIT */
#include "grammar/cover.h"

enum { FIRST_FORM = 48, N_FORMS = 8 };

/* The forms of well-formed characters past ASCII (RFC 3629): length, the ranges of the first two
 * bytes; the others are 80..BF. */
static const struct form {
    uint8_t n, lo, hi, lo_second, hi_second;
} forms[N_FORMS] = {{2, 0xC2, 0xDF, 0x80, 0xBF}, {3, 0xE0, 0xE0, 0xA0, 0xBF},
                    {3, 0xE1, 0xEC, 0x80, 0xBF}, {3, 0xED, 0xED, 0x80, 0x9F},
                    {3, 0xEE, 0xEF, 0x80, 0xBF}, {4, 0xF0, 0xF0, 0x90, 0xBF},
                    {4, 0xF1, 0xF3, 0x80, 0xBF}, {4, 0xF4, 0xF4, 0x80, 0x8F}};

/* The ASCII groups: what lies between two neighbours here is one group. The control characters but
 * tab, newline and carriage return lie in three pieces, which are three groups. */
static const uint8_t starts[] = {0x00, '\t', '\n', 0x0B, '\r', 0x0E, ' ', '!', '"',  '#',  '$', '%',
                                 '&',  '\'', '(',  ')',  '*',  '+',  ',', '-', '.',  '/',  '0', ':',
                                 ';',  '<',  '=',  '>',  '?',  '@',  'A', 'G', '[',  '\\', ']', '^',
                                 '_',  '`',  'a',  'g',  '{',  '|',  '}', '~', 0x7F, 0x80};
static const cover_set small_letters = UINT64_C(3) << 38; /* a to f, g to z */

/* Of each ASCII byte: the last of `starts` that is not past it. */
static const uint8_t group_of[128] = {
    0,  0,  0,  0,  0,  0,  0,  0,  0,  1,  2,  3,  3,  4,  5,  5,  5,  5,  5,  5,  5,  5,
    5,  5,  5,  5,  5,  5,  5,  5,  5,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15, 16, 17,
    18, 19, 20, 21, 22, 22, 22, 22, 22, 22, 22, 22, 22, 22, 23, 24, 25, 26, 27, 28, 29, 30,
    30, 30, 30, 30, 30, 31, 31, 31, 31, 31, 31, 31, 31, 31, 31, 31, 31, 31, 31, 31, 31, 31,
    31, 31, 31, 32, 33, 34, 35, 36, 37, 38, 38, 38, 38, 38, 38, 39, 39, 39, 39, 39, 39, 39,
    39, 39, 39, 39, 39, 39, 39, 39, 39, 39, 39, 39, 39, 40, 41, 42, 43, 44};

/* Groups a to z, none when z < a. */
static cover_set groups_between(int a, int z) {
    return z < a ? 0 : ((UINT64_C(2) << z) - 1) & ~((UINT64_C(1) << a) - 1);
}

/* The ASCII groups that lie in lo..hi whole; lo is ASCII. */
static cover_set ascii_between(int lo, int hi) {
    int a = group_of[lo], z = group_of[hi < 0x80 ? hi : 0x7F];
    return groups_between(a + (starts[a] < lo), z - (starts[z + 1] - 1 > hi));
}

static cover_set all_forms(void) { return ((UINT64_C(1) << N_FORMS) - 1) << FIRST_FORM; }

cover_set cover_json(void) {
    return (ascii_between(' ', 0x7F) & ~ascii_between('"', '"') & ~ascii_between('\\', '\\')) |
           all_forms();
}

cover_set cover_words(void) {
    return ascii_between(' ', ' ') | ascii_between('0', '9') | ascii_between('A', 'Z') |
           ascii_between('a', 'z') | all_forms();
}

cover_set cover_names(void) { return ascii_between('0', '9') | ascii_between('a', 'z'); }

bool cover_is_wide(cover_set groups) { return !(all_forms() & ~groups); }

cover_set cover_of_char(const char *text, size_t n, size_t *length) {
    const uint8_t *t = (const uint8_t *)text;
    *length = 1;
    if (t[0] < 0x80) {
        return UINT64_C(1) << group_of[t[0]];
    }
    for (int i = 0; i < N_FORMS; i++) {
        const struct form *f = &forms[i];
        if (t[0] < f->lo || t[0] > f->hi) continue;
        if (n < f->n || t[1] < f->lo_second || t[1] > f->hi_second) return COVER_NONE;
        for (int k = 2; k < f->n; k++)
            if ((t[k] & 0xC0) != 0x80) return COVER_NONE;
        *length = f->n;
        return UINT64_C(1) << (FIRST_FORM + i);
    }
    return COVER_NONE;
}

cover_set cover_begun(int lo, int hi) {
    cover_set groups = 0;
    if (lo < 0x80) groups = groups_between(group_of[lo], group_of[hi < 0x80 ? hi : 0x7F]);
    if (hi < 0x80) return groups;
    for (int i = 0; i < N_FORMS; i++)
        if (lo <= forms[i].hi && hi >= forms[i].lo) groups |= UINT64_C(1) << (FIRST_FORM + i);
    bool has_none = (lo < 0xC2 && hi >= 0x80) || hi > 0xF4;
    return has_none ? groups | COVER_NONE : groups;
}

/* ---- nodes ----------------------------------------------------------------------------------- */

/* The RANGE node that `at` is, or leads to by splits with one way out. */
static const nfa_node *next_range(const grammar *g, int32_t at) {
    enum { MOST_STEPS = 8 };
    for (int i = 0; i < MOST_STEPS && at != NFA_NONE; i++) {
        const nfa_node *node = &g->nodes[at];
        if (node->kind == NFA_RANGE) return node;
        if (node->kind != NFA_SPLIT || node->arg != NFA_NONE) return NULL;
        at = node->next;
    }
    return NULL;
}

/* A chain of RANGE nodes: the forms that it takes whole, and where they lead. */
static void find_chain(const grammar *g, const nfa_node *node, nfa_cover *c) {
    const nfa_node *at[4] = {node};
    int n = node->lo < 0xE0 ? 2 : node->lo < 0xF0 ? 3 : 4;
    for (int i = 1; i < n; i++) {
        at[i] = next_range(g, at[i - 1]->next);
        if (!at[i] || (i > 1 && (at[i]->lo > 0x80 || at[i]->hi < 0xBF))) return;
    }
    for (int i = 0; i < N_FORMS; i++) {
        const struct form *f = &forms[i];
        if (f->n == n && node->lo <= f->lo && f->hi <= node->hi && at[1]->lo <= f->lo_second &&
            f->hi_second <= at[1]->hi)
            c->groups |= UINT64_C(1) << (FIRST_FORM + i);
    }
    c->to = at[n - 1]->next;
}

void cover_count(cover_tally *t, cover_set groups, int32_t to, int32_t frame) {
    enum { MOST = sizeof t->targets / sizeof *t->targets };
    for (int i = 0; i < t->n; i++)
        if (t->targets[i].to == to && t->targets[i].frame == frame) {
            t->targets[i].groups |= groups;
            return;
        }
    if (t->n < MOST) t->targets[t->n++] = (struct cover_target){groups, to, frame};
}

/* How much of a text the groups are likely to make up: letters before any number of marks. */
static int weigh(cover_set s) {
    int weight = s & small_letters ? 64 : 0;
    for (; s; s &= s - 1) weight++;
    return weight;
}

const struct cover_target *cover_best(const cover_tally *t) {
    const struct cover_target *best = NULL;
    int most = 0;
    for (int i = 0; i < t->n; i++) {
        int n = weigh(t->targets[i].groups);
        if (n <= most) continue;
        most = n;
        best = &t->targets[i];
    }
    return best;
}

uint8_t cover_run(const grammar *g, cover_set groups, int32_t to) {
    const nfa_cover *then = &g->covers[to];
    if (!groups) return 0;
    if (groups & ~then->groups || !then->run) return 1;
    return (uint8_t)(then->run < COVER_ENDLESS - 1 ? then->run + 1 : then->run);
}

typedef struct finder {
    grammar *g;
    int32_t *chain;
    uint8_t *is_met;
} finder;

static void count_node(const grammar *g, int32_t at, cover_tally *tally) {
    const nfa_node *node = &g->nodes[at];
    if (node->kind == NFA_RANGE && g->covers[at].groups)
        cover_count(tally, g->covers[at].groups, g->covers[at].to, 0);
    if (node->kind != NFA_CALL) return;
    const nfa_cover *rule = &g->covers[g->rules[node->arg].start];
    if (rule->groups && g->flags[rule->to] & NFA_IS_TAIL)
        cover_count(tally, rule->groups, node->next, 0);
}

/* What can be reached from a node without a byte, tallied. */
static void find_groups(finder *f, int32_t target) {
    grammar *g = f->g;
    cover_tally tally = {.n = 0};
    struct nfa_closed closed = g->closed[target];
    if (!closed.n) count_node(g, target, &tally);
    for (uint32_t i = 0; i < closed.n; i++) count_node(g, g->closures[closed.first + i], &tally);
    const struct cover_target *best = cover_best(&tally);
    g->covers[target].to = best ? best->to : NFA_NONE;
    g->covers[target].groups = best ? best->groups : 0;
}

/* The run of a target: along the chain to one that was met before, or that takes nothing; then
 * back. A node that leads to itself has no end; a longer circle counts as if it were cut. */
static void find_run(finder *f, int32_t target) {
    nfa_cover *covers = f->g->covers;
    size_t n = 0;
    for (int32_t at = target; !f->is_met[at]; at = covers[at].to) {
        f->is_met[at] = 1;
        if (f->g->nodes[at].kind != NFA_RANGE) find_groups(f, at);
        covers[at].run = 0;
        if (!covers[at].groups) break;
        f->chain[n++] = at;
    }
    while (n) {
        nfa_cover *c = &covers[f->chain[--n]];
        c->run = c->to == f->chain[n] ? COVER_ENDLESS : cover_run(f->g, c->groups, c->to);
    }
}

/* Rules first that others begin with, since those need theirs; then where characters lead. */
static void find_all(finder *f) {
    grammar *g = f->g;
    for (size_t i = 0; i < g->n_rules; i++)
        f->chain[g->n_rules - (size_t)g->rules[i].rank] = (int32_t)i;
    for (size_t i = 0; i < g->n_rules; i++) {
        int32_t start = g->rules[f->chain[i]].start;
        if (start != NFA_NONE && g->nodes[start].kind != NFA_RANGE) find_groups(f, start);
    }
    for (size_t i = 0; i < g->n_nodes; i++) {
        if (g->covers[i].groups) find_run(f, g->covers[i].to);
        if (g->nodes[i].kind == NFA_CALL) find_run(f, g->nodes[i].next);
    }
}

weft_status cover_find(grammar *g) {
    finder f = {.g = g};
    g->covers = mem_array(g->n_nodes, sizeof *g->covers);
    f.chain = mem_array(g->n_nodes + g->n_rules, sizeof *f.chain);
    f.is_met = mem_array(g->n_nodes, sizeof *f.is_met);
    bool has_all = g->covers && f.chain && f.is_met;
    for (size_t i = 0; i < g->n_nodes && has_all; i++) {
        const nfa_node *node = &g->nodes[i];
        nfa_cover *c = &g->covers[i];
        c->to = NFA_NONE;
        if (node->kind != NFA_RANGE || !(g->flags[i] & NFA_IS_ALIVE)) continue;
        c->begun = cover_begun(node->lo, node->hi);
        if (node->lo >= 0xC2) find_chain(g, node, c);
        if (node->lo < 0x80) {
            c->groups = ascii_between(node->lo, node->hi);
            c->to = node->next;
        }
    }
    if (has_all) find_all(&f);
    mem_free(f.chain);
    mem_free(f.is_met);
    return has_all ? WEFT_OK : WEFT_NO_MEMORY;
}
