/* Values that enum and const name: which of them meet the schema's other conditions, and their
 * texts as one prefix tree, so that many values stay one way to follow.
 * SPDX-License-Identifier: MIT */
#ifdef WEFT_HAVE_JANSSON
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "grammar/schema_kinds.h"

/* ---- which ----------------------------------------------------------------------------------- */

typedef weft_status (*language_fn)(schema *s, const schema_flat *f, schema_language *out);

static weft_status make_once(schema *s, const schema_flat *f, language_fn make,
                             schema_language **out) {
    if (*out) return WEFT_OK;
    *out = mem_alloc(sizeof **out);
    return *out ? make(s, f, *out) : WEFT_NO_MEMORY;
}

static bool has_number_conditions(const schema_flat *f) {
    return f->bounds.has_low || f->bounds.has_high || f->multiples || f->not_multiples;
}

static bool has_text_conditions(const schema_flat *f) {
    return f->patterns || f->not_patterns || f->formats || f->min_length > 0 || f->max_length >= 0;
}

weft_status schema_fitter_has(schema *s, schema_fitter *w, const json_t *value, bool *out) {
    const schema_flat *f = w->f;
    unsigned type = schema_type_of(value);
    *out = (f->types & type) && !schema_list_has(f->not_values, value);
    if (!*out) return WEFT_OK;
    if (type & TYPE_NUMBER && has_number_conditions(f)) {
        char text[NUMBER_SIZE];
        TRY(make_once(s, f, schema_number_language, &w->number));
        TRY(schema_decimal(s, value, "enum", text));
        *out = regular_all_has(&w->number->all, text, strlen(text));
    }
    if (type == TYPE_STRING && has_text_conditions(f)) {
        TRY(make_once(s, f, schema_text_language, &w->text));
        *out = regular_all_has(&w->text->all, json_string_value(value), json_string_length(value));
    }
    return WEFT_OK;
}

void schema_fitter_free(schema_fitter *w) {
    schema_language_free(w->text);
    schema_language_free(w->number);
    mem_free(w->text);
    mem_free(w->number);
    w->text = w->number = NULL;
}

/* ---- a prefix tree --------------------------------------------------------------------------- */

typedef struct tree_node {
    int32_t child, sibling; /* NFA_NONE = none */
    int32_t entry;          /* the graph's node for what follows */
    uint8_t byte;
    bool may_end;
} tree_node;

typedef struct tree {
    tree_node *list;
    size_t n, capacity;
} tree;

static weft_status add_node(tree *t, uint8_t byte, int32_t *out) {
    REQUIRE(t->n < NFA_MOST_NODES, WEFT_LIMIT, "the values have more than %d characters",
            NFA_MOST_NODES);
    TRY(mem_reserve((void **)&t->list, &t->capacity, t->n + 1, sizeof *t->list));
    *out = (int32_t)t->n;
    t->list[t->n++] = (tree_node){.child = NFA_NONE, .sibling = NFA_NONE, .byte = byte};
    return WEFT_OK;
}

/* The texts come sorted, so only a node's newest child can be the next byte's. */
static weft_status add_to_tree(tree *t, const char *text) {
    int32_t at = 0;
    for (const char *c = text; *c; c++) {
        int32_t child = t->list[at].child;
        if (child == NFA_NONE || t->list[child].byte != (uint8_t)*c) {
            TRY(add_node(t, (uint8_t)*c, &child));
            t->list[child].sibling = t->list[at].child;
            t->list[at].child = child;
        }
        at = child;
    }
    t->list[at].may_end = true;
    return WEFT_OK;
}

/* The graph of the tree, children first: they have higher numbers. */
static weft_status build_tree(schema *s, tree *t, nfa_frag *f) {
    nfa_builder *b = &s->b;
    f->begin = (int32_t)b->n;
    TRY(nfa_add(b, NFA_SPLIT, NFA_NONE, NFA_NONE, &f->out));
    for (size_t i = t->n; i-- > 0;) {
        tree_node *node = &t->list[i];
        int32_t hub = NFA_NONE;
        for (int32_t c = node->child; c != NFA_NONE; c = t->list[c].sibling) {
            int32_t edge = 0;
            TRY(nfa_add(b, NFA_RANGE, t->list[c].entry, NFA_NONE, &edge));
            b->nodes[edge].lo = b->nodes[edge].hi = t->list[c].byte;
            bool is_only = c == node->child && t->list[c].sibling == NFA_NONE && !node->may_end;
            if (is_only) hub = edge;
            else TRY(nfa_add(b, NFA_SPLIT, edge, hub, &hub));
        }
        if (node->may_end) TRY(nfa_add(b, NFA_SPLIT, f->out, hub, &hub));
        node->entry = hub;
    }
    f->start = t->list[0].entry;
    f->end = (int32_t)b->n;
    return WEFT_OK;
}

static int by_text(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

weft_status schema_add_choice(schema *s, char **texts, size_t n, nfa_frag *f) {
    tree t = {0};
    int32_t root;
    if (!n) return nfa_fail(&s->b, f);
    qsort(texts, n, sizeof *texts, by_text);
    weft_status status = add_node(&t, 0, &root);
    for (size_t i = 0; i < n && status == WEFT_OK; i++) status = add_to_tree(&t, texts[i]);
    if (status == WEFT_OK) status = build_tree(s, &t, f);
    mem_free(t.list);
    return schema_where(s, status, "enum");
}

/* ---- enum and const -------------------------------------------------------------------------- */

typedef struct texts {
    char **list;
    size_t n, capacity;
} texts;

static weft_status add_copy(texts *t, const char *text) {
    TRY(mem_reserve((void **)&t->list, &t->capacity, t->n + 1, sizeof *t->list));
    t->list[t->n] = mem_string(text);
    return t->list[t->n++] ? WEFT_OK : WEFT_NO_MEMORY;
}

/* The JSON text of a value; a whole number that was written with a point may lose it. */
static weft_status add_text_of(texts *t, json_t *value) {
    char number[NUMBER_SIZE];
    json_free_t release;
    json_get_alloc_funcs(NULL, &release);
    char *text = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT | JSON_REAL_PRECISION(17));
    if (!text) return error_set(WEFT_NO_MEMORY, "out of memory");
    weft_status status = add_copy(t, text);
    release(text);
    double x = json_number_value(value);
    if (status != WEFT_OK || !json_is_real(value) || schema_type_of(value) != TYPE_WHOLE ||
        x > 1e15 || x < -1e15)
        return status;
    snprintf(number, sizeof number, "%.0f", x);
    return add_copy(t, number);
}

/* A list or object, as a schema for what equals it. */
static weft_status add_structure(schema *s, const schema_flat *f, json_t *value, size_t i,
                                 bool *has_any, nfa_frag *out) {
    json_t *all = NULL, *structure, *whole, *part;
    size_t k;
    char place[48];
    int32_t rule;
    nfa_frag one = {0};
    TRY(schema_structure(s, value, &structure));
    TRY(schema_push(s, &all, structure));
    json_array_foreach(f->parts, k, part) {
        if (json_object_get(part, "enum") || json_object_get(part, "const")) {
            part = json_copy(part);
            TRY(schema_own(s, part));
            json_object_del(part, "enum");
            json_object_del(part, "const");
        }
        TRY(schema_push(s, &all, part));
    }
    TRY(schema_both(s, all, &whole));
    snprintf(place, sizeof place, "enum/%zu", i);
    TRY(schema_rule(s, whole, place, &rule));
    TRY(nfa_call(&s->b, rule, &one));
    if (*has_any) return nfa_either(&s->b, out, &one);
    *out = one;
    *has_any = true;
    return WEFT_OK;
}

static weft_status build_values(schema *s, const schema_flat *f, schema_fitter *w, texts *t,
                                nfa_frag *out) {
    bool has_any = false;
    size_t i;
    json_t *value;
    nfa_frag plain = {0};
    json_array_foreach(f->values, i, value) {
        bool fits;
        unsigned type = schema_type_of(value);
        TRY(schema_fitter_has(s, w, value, &fits));
        if (!fits) continue;
        if (type & (TYPE_ARRAY | TYPE_OBJECT)) TRY(add_structure(s, f, value, i, &has_any, out));
        else TRY(add_text_of(t, value));
    }
    if (has_any && !t->n) return WEFT_OK;
    TRY(schema_add_choice(s, t->list, t->n, &plain));
    if (has_any) return nfa_either(&s->b, out, &plain);
    *out = plain;
    return WEFT_OK;
}

weft_status schema_build_values(schema *s, const schema_flat *f, nfa_frag *out) {
    schema_fitter w = {.f = f};
    texts t = {0};
    weft_status status = build_values(s, f, &w, &t, out);
    for (size_t i = 0; i < t.n; i++) mem_free(t.list[i]);
    mem_free(t.list);
    schema_fitter_free(&w);
    return status;
}

#endif
