/* Building the automaton: fragments, sets of code points, and UTF-8 as byte ranges.
 * A class of characters becomes at most a few chains of byte ranges per range of code points: the
 * ranges are cut where the length changes, and then so that the trailing bytes are independent.
 * SPDX-License-Identifier: MIT */
#include "grammar/nfa.h"

#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"

static const char *const too_big = "the grammar has more than %d states: too many or too large "
                                   "repetitions";

void nfa_builder_free(nfa_builder *b) {
    mem_free(b->nodes);
    mem_free(b->rules);
    arena_free(&b->names);
    *b = (nfa_builder){0};
}

weft_status nfa_add(nfa_builder *b, nfa_kind kind, int32_t next, int32_t arg, int32_t *out) {
    REQUIRE(b->n < NFA_MOST_NODES, WEFT_LIMIT, too_big, NFA_MOST_NODES);
    TRY(mem_reserve((void **)&b->nodes, &b->capacity, b->n + 1, sizeof *b->nodes));
    *out = (int32_t)b->n;
    b->nodes[b->n++] = (nfa_node){.next = next, .arg = arg, .kind = (uint8_t)kind};
    return WEFT_OK;
}

static weft_status add_out(nfa_builder *b, nfa_frag *f) {
    TRY(nfa_add(b, NFA_SPLIT, NFA_NONE, NFA_NONE, &f->out));
    f->end = (int32_t)b->n;
    return WEFT_OK;
}

weft_status nfa_empty(nfa_builder *b, nfa_frag *f) {
    f->begin = f->start = (int32_t)b->n;
    return add_out(b, f);
}

static weft_status single(nfa_builder *b, nfa_kind kind, int32_t arg, nfa_frag *f) {
    f->begin = (int32_t)b->n;
    TRY(nfa_add(b, kind, (int32_t)b->n + 1, arg, &f->start));
    return add_out(b, f);
}

weft_status nfa_fail(nfa_builder *b, nfa_frag *f) { return single(b, NFA_FAIL, NFA_NONE, f); }

weft_status nfa_call(nfa_builder *b, int32_t rule, nfa_frag *f) {
    return single(b, NFA_CALL, rule, f);
}

weft_status nfa_byte(nfa_builder *b, int lo, int hi, nfa_frag *f) {
    TRY(single(b, NFA_RANGE, NFA_NONE, f));
    b->nodes[f->start].lo = (uint8_t)lo;
    b->nodes[f->start].hi = (uint8_t)hi;
    return WEFT_OK;
}

weft_status nfa_text(nfa_builder *b, const char *bytes, size_t n, nfa_frag *f) {
    f->begin = f->start = (int32_t)b->n;
    for (size_t i = 0; i < n; i++) {
        int32_t node = 0;
        TRY(nfa_add(b, NFA_RANGE, (int32_t)b->n + 1, NFA_NONE, &node));
        b->nodes[node].lo = b->nodes[node].hi = (uint8_t)bytes[i];
    }
    return add_out(b, f);
}

void nfa_concat(nfa_builder *b, nfa_frag *f, const nfa_frag *g) {
    b->nodes[f->out].next = g->start;
    f->out = g->out;
    f->end = g->end;
}

weft_status nfa_either(nfa_builder *b, nfa_frag *f, const nfa_frag *g) {
    int32_t split = 0;
    TRY(nfa_add(b, NFA_SPLIT, f->start, g->start, &split));
    int32_t old = f->out;
    f->start = split;
    TRY(add_out(b, f));
    b->nodes[old].next = f->out;
    b->nodes[g->out].next = f->out;
    return WEFT_OK;
}

weft_status nfa_repeat(nfa_builder *b, nfa_frag *f, int64_t least, int64_t most) {
    bool is_open = most < 0;
    int64_t size = f->end - f->begin, copies = is_open ? (least > 1 ? least : 1) : most;
    if (copies == 0) {
        b->n = (size_t)f->begin;
        return nfa_empty(b, f);
    }
    REQUIRE(copies <= (NFA_MOST_NODES - f->begin - 2) / size, WEFT_LIMIT, too_big, NFA_MOST_NODES);
    TRY(mem_reserve((void **)&b->nodes, &b->capacity, (size_t)(f->begin + copies * size + 2),
                    sizeof *b->nodes));
    for (int64_t c = 1; c < copies; c++)
        for (int64_t i = 0; i < size; i++) {
            nfa_node node = b->nodes[f->begin + i];
            if (node.next != NFA_NONE) node.next += (int32_t)(c * size);
            if (node.kind == NFA_SPLIT && node.arg != NFA_NONE) node.arg += (int32_t)(c * size);
            b->nodes[b->n++] = node;
        }
    int32_t entry = 0, last = (int32_t)b->n + 1;
    TRY(nfa_add(b, NFA_SPLIT, f->start, least == 0 ? last : NFA_NONE, &entry));
    for (int64_t c = 0; c < copies; c++) {
        nfa_node *out = &b->nodes[f->out + c * size];
        bool is_last = c + 1 == copies, may_stop = c + 1 >= least;
        int32_t again = f->start + (int32_t)((is_last ? c : c + 1) * size);
        out->next = is_last && !is_open ? last : again;
        if (may_stop && out->next != last) out->arg = last;
        if (is_last && is_open) out->lo = 1;
    }
    f->start = entry;
    return add_out(b, f);
}

int32_t nfa_rule_add(nfa_builder *b, const char *name, size_t n) {
    if (mem_reserve((void **)&b->rules, &b->rules_capacity, b->n_rules + 1, sizeof *b->rules) !=
        WEFT_OK)
        return -1;
    char *copy = arena_string(&b->names, name, n);
    if (!copy) return -1;
    b->rules[b->n_rules] = (nfa_rule){.name = copy};
    return (int32_t)b->n_rules++;
}

weft_status nfa_rule_define(nfa_builder *b, int32_t rule, nfa_frag *f) {
    nfa_rule *r = &b->rules[rule];
    r->begin = f->begin;
    r->end = f->end;
    r->start = f->start;
    r->out = f->out;
    r->is_defined = true;
    b->nodes[f->out].kind = NFA_END;
    return WEFT_OK;
}

/* ---- sets of code points ------------------------------------------------------------------- */

weft_status code_set_add(code_set *s, int32_t lo, int32_t hi) {
    TRY(mem_reserve((void **)&s->ranges, &s->capacity, s->n + 1, sizeof *s->ranges));
    s->ranges[s->n++] = (code_range){lo, hi};
    return WEFT_OK;
}

static int by_lo(const void *a, const void *b) {
    const code_range *x = a, *y = b;
    return (x->lo > y->lo) - (x->lo < y->lo);
}

void code_set_tidy(code_set *s) {
    if (!s->n) return;
    qsort(s->ranges, s->n, sizeof *s->ranges, by_lo);
    size_t kept = 0;
    for (size_t i = 1; i < s->n; i++) {
        code_range r = s->ranges[i], *last = &s->ranges[kept];
        if (r.lo <= last->hi + 1) last->hi = r.hi > last->hi ? r.hi : last->hi;
        else s->ranges[++kept] = r;
    }
    s->n = kept + 1;
}

weft_status code_set_invert(code_set *s) {
    code_set_tidy(s);
    TRY(mem_reserve((void **)&s->ranges, &s->capacity, s->n + 1, sizeof *s->ranges));
    int32_t from = 0;
    size_t kept = 0, n = s->n;
    for (size_t i = 0; i < n; i++) {
        code_range r = s->ranges[i];
        if (r.lo > from) s->ranges[kept++] = (code_range){from, r.lo - 1};
        from = r.hi + 1;
    }
    if (from <= 0x10FFFF) s->ranges[kept++] = (code_range){from, 0x10FFFF};
    s->n = kept;
    return WEFT_OK;
}

void code_set_free(code_set *s) {
    mem_free(s->ranges);
    *s = (code_set){0};
}

/* ---- characters as bytes --------------------------------------------------------------------- */

typedef struct class_builder {
    nfa_builder *b;
    nfa_frag *f;
    bool has_any;
} class_builder;

/* One more chain of n byte ranges. */
static weft_status add_chain(class_builder *c, const char *lo, const char *hi, int n) {
    nfa_frag chain = {0};
    for (int i = 0; i < n; i++) {
        nfa_frag one = {0};
        TRY(nfa_byte(c->b, (uint8_t)lo[i], (uint8_t)hi[i], &one));
        if (i) nfa_concat(c->b, &chain, &one);
        else chain = one;
    }
    if (c->has_any) return nfa_either(c->b, c->f, &chain);
    *c->f = chain;
    c->has_any = true;
    return WEFT_OK;
}

/* The code points lo..hi, cut so that each piece is a product of byte ranges: first at the ends of
 * each length and the surrogates, then where `lo` begins, or `hi` ends, inside a block of 2^6k. */
static weft_status add_range(class_builder *c, int32_t lo, int32_t hi) {
    static const int32_t last[] = {0x7F, 0x7FF, 0xD7FF, 0xDFFF, 0xFFFF, 0x10FFFF};
    while (lo <= hi) {
        int32_t top = hi;
        bool is_surrogate = lo >= 0xD800 && lo <= 0xDFFF;
        for (size_t i = sizeof last / sizeof *last; i-- > 0;)
            if (lo <= last[i] && top > last[i]) top = last[i];
        for (int bits = 18; bits >= 6 && lo > 0x7F && !is_surrogate; bits -= 6) {
            int32_t block = (1 << bits) - 1;
            if ((lo & ~block) == (top & ~block)) continue;
            if (lo & block) top = lo | block;
            else if ((top & block) != block) top = (top & ~block) - 1;
        }
        if (!is_surrogate) {
            char a[4], z[4];
            int n = utf8_encode(lo, a);
            utf8_encode(top, z);
            TRY(add_chain(c, a, z, n));
        }
        lo = top + 1;
    }
    return WEFT_OK;
}

weft_status nfa_class(nfa_builder *b, const code_set *s, nfa_frag *f) {
    class_builder c = {.b = b, .f = f};
    for (size_t i = 0; i < s->n; i++) TRY(add_range(&c, s->ranges[i].lo, s->ranges[i].hi));
    return c.has_any ? WEFT_OK : nfa_fail(b, f);
}
