/* Lists of a JSON Schema. What several schemas say of item i is one conjunction. Without
 * `contains` a list is a chain: the first items, each in its place, then the others, repeated. With
 * it, a grid: how many items there are, and how many of them are of the kind that is counted.
 * uniqueItems is known where the items are a few named values: a state is the set of those used.
 * SPDX-License-Identifier: MIT */
#ifdef WEFT_HAVE_JANSSON
#include <stdio.h>
#include <string.h>

#include "grammar/schema_kinds.h"

enum { MOST_UNIQUE = 10 };

weft_status schema_add_text(schema *s, const char *text, nfa_frag *f) {
    nfa_frag part = {0};
    TRY(nfa_text(&s->b, text, strlen(text), &part));
    nfa_concat(&s->b, f, &part);
    return WEFT_OK;
}

weft_status schema_add_call(schema *s, int32_t rule, nfa_frag *f) {
    nfa_frag part = {0};
    TRY(nfa_call(&s->b, rule, &part));
    nfa_concat(&s->b, f, &part);
    return WEFT_OK;
}

weft_status schema_add_way(schema *s, int32_t to, int32_t *hub) {
    return nfa_add(&s->b, NFA_SPLIT, to, *hub, hub);
}

typedef struct list_shape {
    const schema_flat *f;
    int64_t n, least, most; /* n: items that have places of their own */
    json_t *rest;           /* what the others are */
} list_shape;

/* What is said of item i, -1 = of those that have no place of their own. */
static weft_status item_schema(schema *s, const schema_flat *f, int64_t i, json_t **out) {
    json_t *all = NULL, *one;
    size_t k;
    json_array_foreach(f->lists, k, one) {
        json_t *items = json_object_get(one, "items"), *prefix;
        prefix = json_is_array(items) ? items : json_object_get(one, "prefixItems");
        if (json_is_array(items)) items = json_object_get(one, "additionalItems");
        bool is_own = i >= 0 && i < (int64_t)json_array_size(prefix);
        json_t *mine = is_own ? json_array_get(prefix, (size_t)i) : items;
        if (mine) TRY(schema_push(s, &all, mine));
    }
    *out = json_true();
    return all ? schema_both(s, all, out) : WEFT_OK;
}

static weft_status read_list(schema *s, const schema_flat *f, list_shape *l) {
    json_t *one;
    size_t k;
    *l = (list_shape){.f = f, .least = f->min_items, .most = f->max_items};
    json_array_foreach(f->lists, k, one) {
        json_t *items = json_object_get(one, "items");
        if (json_is_array(items) && json_object_get(one, "prefixItems"))
            return schema_fail(s, WEFT_FORMAT, "\"items\" is a list beside \"prefixItems\"");
        json_t *prefix = json_is_array(items) ? items : json_object_get(one, "prefixItems");
        if ((int64_t)json_array_size(prefix) > l->n) l->n = (int64_t)json_array_size(prefix);
    }
    if (l->most >= 0 && l->n > l->most) l->n = l->most;
    TRY(item_schema(s, f, -1, &l->rest));
    if (json_is_false(l->rest) && (l->most < 0 || l->most > l->n)) l->most = l->n;
    return WEFT_OK;
}

/* An item, with a comma before it unless it is the first. */
static weft_status build_item(schema *s, int32_t rule, bool is_first, nfa_frag *f) {
    TRY(nfa_empty(&s->b, f));
    if (!is_first) TRY(schema_add_text(s, ",", f));
    if (!is_first) TRY(schema_add_call(s, s->space, f));
    return schema_add_call(s, rule, f);
}

static weft_status item_rule(schema *s, const list_shape *l, int64_t i, int32_t *rule) {
    char place[48];
    json_t *one = l->rest;
    snprintf(place, sizeof place, i < 0 ? "items" : "prefixItems/%d", (int)i);
    if (i >= 0) TRY(item_schema(s, l->f, i, &one));
    return schema_rule(s, one, place, rule);
}

/* The items, from what follows the first ones back to the beginning. */
static weft_status build_chain(schema *s, const list_shape *l, nfa_frag *f) {
    nfa_frag rest = {0}, first = {0};
    nfa_builder *b = &s->b;
    int32_t rule;
    f->begin = (int32_t)b->n;
    TRY(nfa_add(b, NFA_SPLIT, NFA_NONE, NFA_NONE, &f->out));
    int32_t after = f->out, begin = f->out; /* after i items; with none yet */
    if (l->most < 0 || l->most > l->n) {
        int64_t least = l->least > l->n ? l->least - l->n : 0;
        int64_t most = l->most < 0 ? -1 : l->most - l->n;
        TRY(item_rule(s, l, -1, &rule));
        TRY(build_item(s, rule, false, &rest));
        TRY(nfa_repeat(b, &rest, least, most));
        b->nodes[rest.out].next = f->out;
        after = begin = rest.start;
        if (!l->n) { /* the first has no comma */
            begin = l->least ? NFA_NONE : f->out;
            TRY(build_item(s, rule, true, &first));
            TRY(build_item(s, rule, false, &rest));
            TRY(nfa_repeat(b, &rest, least ? least - 1 : 0, most < 0 ? -1 : most - 1));
            b->nodes[rest.out].next = f->out;
            b->nodes[first.out].next = rest.start;
            TRY(schema_add_way(s, first.start, &begin));
        }
    }
    for (int64_t i = l->n - 1; i >= 0; i--) {
        int32_t hub = l->least > i ? NFA_NONE : f->out;
        TRY(item_rule(s, l, i, &rule));
        TRY(build_item(s, rule, i == 0, &first));
        b->nodes[first.out].next = after;
        TRY(schema_add_way(s, first.start, &hub));
        after = begin = hub;
    }
    f->start = begin;
    f->end = (int32_t)b->n;
    return WEFT_OK;
}

/* ---- contains -------------------------------------------------------------------------------- */

typedef struct grid {
    const list_shape *l;
    json_t *kind;               /* what is counted */
    int64_t few, many;          /* how many; many < 0 = no limit */
    int64_t from;               /* items before this one are not counted */
    int64_t n_places, n_counts; /* the last of each stands for more */
    int32_t *nodes;             /* n_places * n_counts */
} grid;

static weft_status read_contains(schema *s, const schema_flat *f, grid *g) {
    json_t *one = json_array_get(f->contains, 0);
    if (json_array_size(f->contains) > 1)
        return schema_fail(s, WEFT_UNSUPPORTED, "two \"contains\" at once are not supported");
    json_t *few = json_object_get(one, "minContains"), *many = json_object_get(one, "maxContains");
    g->kind = json_object_get(one, "contains");
    g->from = json_integer_value(json_object_get(one, SCHEMA_FROM));
    g->few = few ? (int64_t)json_number_value(few) : 1;
    g->many = many ? (int64_t)json_number_value(many) : -1;
    return WEFT_OK;
}

/* From one cell: an item of the kind, or another (one that is not of it, where it matters). */
static weft_status add_item_edge(schema *s, grid *g, int64_t place, int64_t count, bool is_counted,
                                 int32_t *hub) {
    const list_shape *l = g->l;
    int64_t next = place + 1 < g->n_places ? place + 1 : place;
    int64_t next_count = count + is_counted < g->n_counts ? count + is_counted : count;
    int64_t item = place < l->n ? place : -1;
    bool is_loop = next == place && next_count == count;
    json_t *all = NULL, *own = l->rest, *whole;
    nfa_frag f = {0};
    int32_t rule;
    if ((is_counted && place < g->from) || (l->most >= 0 && place >= l->most) ||
        (is_counted && g->many >= 0 && count >= g->many))
        return WEFT_OK;
    if (item >= 0) TRY(item_schema(s, l->f, item, &own));
    TRY(schema_push(s, &all, own));
    if (is_counted) TRY(schema_push(s, &all, g->kind));
    else if (g->many >= 0) {
        json_t *others;
        TRY(schema_negate(s, g->kind, &others));
        TRY(schema_push(s, &all, others));
    }
    TRY(schema_both(s, all, &whole));
    if (json_is_false(whole)) return WEFT_OK;
    TRY(schema_rule(s, whole, is_counted ? "contains" : "items", &rule));
    TRY(build_item(s, rule, place == 0, &f));
    s->b.nodes[f.out].next = g->nodes[next * g->n_counts + next_count];
    s->b.nodes[f.out].lo = is_loop;
    return schema_add_way(s, f.start, hub);
}

static weft_status build_cells(schema *s, grid *g, nfa_frag *f) {
    nfa_builder *b = &s->b;
    const list_shape *l = g->l;
    f->begin = (int32_t)b->n;
    TRY(nfa_add(b, NFA_SPLIT, NFA_NONE, NFA_NONE, &f->out));
    for (int64_t i = 0; i < g->n_places * g->n_counts; i++)
        TRY(nfa_add(b, NFA_SPLIT, NFA_NONE, NFA_NONE, &g->nodes[i]));
    for (int64_t place = 0; place < g->n_places; place++)
        for (int64_t count = 0; count < g->n_counts && count <= place; count++) {
            int32_t hub = NFA_NONE, cell = g->nodes[place * g->n_counts + count];
            bool is_settled = g->many < 0 && count == g->few;
            TRY(add_item_edge(s, g, place, count, false, &hub));
            if (!is_settled) TRY(add_item_edge(s, g, place, count, true, &hub));
            if (place >= l->least && count >= g->few) TRY(schema_add_way(s, f->out, &hub));
            b->nodes[cell].next = hub;
        }
    f->start = g->nodes[0];
    f->end = (int32_t)b->n;
    return WEFT_OK;
}

static weft_status build_grid(schema *s, const list_shape *l, nfa_frag *f) {
    grid g = {.l = l};
    TRY(read_contains(s, l->f, &g));
    if (g.many >= 0 && g.many < g.few) return nfa_fail(&s->b, f);
    if (!g.few && g.many < 0) return build_chain(s, l, f);
    int64_t last = l->most >= 0 ? l->most : l->least > l->n ? l->least : l->n;
    if (l->most < 0 && g.from > last) last = g.from;
    g.n_counts = (g.many >= 0 ? g.many : g.few) + 1;
    if (l->most < 0) last += g.n_counts; /* counts never exceed places */
    g.n_places = last + 1;
    if (g.n_places > NFA_MOST_NODES || g.n_counts > NFA_MOST_NODES / g.n_places)
        return schema_fail(s, WEFT_LIMIT,
                           "\"contains\" with so many items needs more than %d states",
                           NFA_MOST_NODES);
    g.nodes = mem_array((size_t)(g.n_places * g.n_counts), sizeof *g.nodes);
    weft_status status = g.nodes ? build_cells(s, &g, f) : WEFT_NO_MEMORY;
    mem_free(g.nodes);
    return status;
}

/* ---- uniqueItems ----------------------------------------------------------------------------- */

/* The values that the items may have, at most MOST_UNIQUE; *out NULL: more, or not known. */
static weft_status find_few(schema *s, json_t *item, json_t **out) {
    static const unsigned plain = TYPE_NULL | TYPE_BOOLEAN;
    schema_flat f;
    json_t *list = json_array(), *one;
    size_t i;
    TRY(schema_own(s, list));
    *out = NULL;
    TRY(schema_flatten(s, item, &f));
    if (f.any_of || f.one_of || (!f.values && f.types & ~plain)) return WEFT_OK;
    if (!f.values) {
        if (f.types & TYPE_NULL) TRY(schema_push(s, &f.values, json_null()));
        if (f.types & TYPE_BOOLEAN) TRY(schema_push(s, &f.values, json_true()));
        if (f.types & TYPE_BOOLEAN) TRY(schema_push(s, &f.values, json_false()));
    }
    schema_fitter w = {.f = &f};
    weft_status status = WEFT_OK;
    bool is_plain = true;
    json_array_foreach(f.values, i, one) {
        bool fits;
        if (status == WEFT_OK) status = schema_fitter_has(s, &w, one, &fits);
        if (status != WEFT_OK || !fits || schema_list_has(list, one)) continue;
        is_plain &= !json_is_array(one) && !json_is_object(one);
        status = schema_push(s, &list, one);
        if (json_array_size(list) > MOST_UNIQUE) break;
    }
    schema_fitter_free(&w);
    if (is_plain && json_array_size(list) <= MOST_UNIQUE) *out = list;
    return status;
}

static weft_status build_sets(schema *s, const list_shape *l, json_t *values, nfa_frag *f) {
    nfa_builder *b = &s->b;
    int32_t rules[MOST_UNIQUE], nodes[1 << MOST_UNIQUE];
    int n = (int)json_array_size(values);
    for (int i = 0; i < n; i++) {
        json_t *only = json_pack("{s:O}", "const", json_array_get(values, (size_t)i));
        TRY(schema_own(s, only));
        TRY(schema_rule(s, only, "items", &rules[i]));
    }
    f->begin = (int32_t)b->n;
    TRY(nfa_add(b, NFA_SPLIT, NFA_NONE, NFA_NONE, &f->out));
    for (int set = (1 << n) - 1; set >= 0; set--) {
        int32_t hub = NFA_NONE;
        int64_t count = 0;
        for (int i = 0; i < n; i++) count += set >> i & 1;
        for (int i = 0; i < n; i++) {
            nfa_frag one = {0};
            if (set >> i & 1 || (l->most >= 0 && count >= l->most)) continue;
            TRY(build_item(s, rules[i], count == 0, &one));
            b->nodes[one.out].next = nodes[set | 1 << i];
            TRY(schema_add_way(s, one.start, &hub));
        }
        if (count >= l->least) TRY(schema_add_way(s, f->out, &hub));
        if (hub == NFA_NONE) TRY(nfa_add(b, NFA_FAIL, NFA_NONE, NFA_NONE, &hub));
        nodes[set] = hub;
    }
    f->start = nodes[0];
    f->end = (int32_t)b->n;
    return WEFT_OK;
}

static weft_status build_unique(schema *s, const list_shape *l, nfa_frag *f) {
    json_t *values = NULL;
    if (l->most >= 0 && l->most <= 1)
        return l->f->contains ? build_grid(s, l, f) : build_chain(s, l, f);
    if (!l->n && !l->f->contains) TRY(find_few(s, l->rest, &values));
    if (!values)
        return schema_fail(s, WEFT_UNSUPPORTED,
                           "\"uniqueItems\" is supported where the items are at most %d named "
                           "values, or maxItems is at most 1",
                           MOST_UNIQUE);
    return build_sets(s, l, values, f);
}

weft_status schema_build_array(schema *s, const schema_flat *f, nfa_frag *out) {
    list_shape l;
    nfa_frag items = {0};
    bool is_free = !f->lists && !f->contains && !f->is_unique && !f->min_items && f->max_items < 0;
    if (is_free && s->n_built) return nfa_call(&s->b, s->array, out);
    TRY(read_list(s, f, &l));
    if (l.most >= 0 && l.most < l.least) return nfa_fail(&s->b, out);
    TRY(nfa_text(&s->b, "[", 1, out));
    TRY(schema_add_call(s, s->space, out));
    weft_status status = f->is_unique  ? build_unique(s, &l, &items)
                         : f->contains ? build_grid(s, &l, &items)
                                       : build_chain(s, &l, &items);
    if (status != WEFT_OK) return schema_where(s, status, "items");
    nfa_concat(&s->b, out, &items);
    TRY(schema_add_call(s, s->space, out));
    return schema_add_text(s, "]", out);
}

#endif
