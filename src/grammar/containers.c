/* Lists and objects of a JSON Schema. Both are chains: state i has i members behind it, and there
 * are two ways into member i, with a comma and, as the first, without. Properties that the schema
 * does not name have keys that differ from all it does (a prefix tree of names, walked character by
 * character), and each key has one spelling, so that no name comes in by another spelling.
 * SPDX-License-Identifier: MIT */
#ifdef WEFT_HAVE_JANSSON
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"
#include "grammar/schema_kinds.h"

static weft_status add_text(schema *s, const char *text, nfa_frag *f) {
    nfa_frag part = {0};
    TRY(nfa_text(&s->b, text, strlen(text), &part));
    nfa_concat(&s->b, f, &part);
    return WEFT_OK;
}

static weft_status add_call(schema *s, int32_t rule, nfa_frag *f) {
    nfa_frag part = {0};
    TRY(nfa_call(&s->b, rule, &part));
    nfa_concat(&s->b, f, &part);
    return WEFT_OK;
}

/* Puts another way, to `to`, in front of *hub. */
static weft_status add_way(schema *s, int32_t to, int32_t *hub) {
    return nfa_add(&s->b, NFA_SPLIT, to, *hub, hub);
}

/* ---- lists ----------------------------------------------------------------------------------- */

/* An item, with a comma before it unless it is the first. */
static weft_status build_item(schema *s, int32_t rule, bool is_first, nfa_frag *f) {
    TRY(nfa_empty(&s->b, f));
    if (!is_first) TRY(add_text(s, ",", f));
    if (!is_first) TRY(add_call(s, s->space, f));
    return add_call(s, rule, f);
}

typedef struct list_shape {
    json_t *prefix; /* the first schemas, NULL = none */
    int32_t item;   /* the rule of the others, -1 = there are none */
    int64_t n, least, most;
} list_shape;

static weft_status read_list(schema *s, json_t *one, list_shape *l) {
    json_t *items = json_object_get(one, "items");
    l->prefix = json_object_get(one, "prefixItems");
    if (l->prefix && !json_is_array(l->prefix))
        return schema_fail(s, WEFT_FORMAT, "\"prefixItems\" must be a list");
    TRY(schema_count(s, one, "minItems", 0, &l->least));
    TRY(schema_count(s, one, "maxItems", -1, &l->most));
    l->n = (int64_t)json_array_size(l->prefix);
    if (l->most >= 0 && l->n > l->most) l->n = l->most;
    l->item = items ? -1 : s->value;
    if (json_is_false(items)) {
        if (l->most < 0 || l->most > l->n) l->most = l->n;
    } else if (items) TRY(schema_rule(s, items, "items", &l->item));
    return WEFT_OK;
}

/* The items, from what follows the first ones back to the beginning. */
static weft_status build_items(schema *s, const list_shape *l, nfa_frag *f) {
    nfa_frag rest = {0}, first = {0};
    nfa_builder *b = &s->b;
    f->begin = (int32_t)b->n;
    TRY(nfa_add(b, NFA_SPLIT, NFA_NONE, NFA_NONE, &f->out));
    int32_t after = f->out, begin = f->out; /* after i items; with none yet */
    if (l->most < 0 || l->most > l->n) {
        int64_t least = l->least > l->n ? l->least - l->n : 0;
        int64_t most = l->most < 0 ? -1 : l->most - l->n;
        TRY(build_item(s, l->item, false, &rest));
        TRY(nfa_repeat(b, &rest, least, most));
        b->nodes[rest.out].next = f->out;
        after = begin = rest.start;
        if (!l->n) { /* the first has no comma */
            begin = l->least ? NFA_NONE : f->out;
            TRY(build_item(s, l->item, true, &first));
            TRY(build_item(s, l->item, false, &rest));
            TRY(nfa_repeat(b, &rest, least ? least - 1 : 0, most < 0 ? -1 : most - 1));
            b->nodes[rest.out].next = f->out;
            b->nodes[first.out].next = rest.start;
            TRY(add_way(s, first.start, &begin));
        }
    }
    for (int64_t i = l->n - 1; i >= 0; i--) {
        char place[48];
        int32_t rule, hub = l->least > i ? NFA_NONE : f->out;
        snprintf(place, sizeof place, "prefixItems/%d", (int)i);
        TRY(schema_rule(s, json_array_get(l->prefix, (size_t)i), place, &rule));
        TRY(build_item(s, rule, i == 0, &first));
        b->nodes[first.out].next = after;
        TRY(add_way(s, first.start, &hub));
        after = begin = hub;
    }
    f->start = begin;
    f->end = (int32_t)b->n;
    return WEFT_OK;
}

weft_status schema_build_array(schema *s, json_t *one, nfa_frag *f) {
    static const char *const keys[] = {"items", "prefixItems", "minItems", "maxItems"};
    list_shape l;
    nfa_frag items = {0};
    bool is_free = json_object_size(one) > 0;
    for (int i = 0; i < 4; i++) is_free &= !json_object_get(one, keys[i]);
    if (is_free) return nfa_call(&s->b, s->array, f);
    TRY(read_list(s, one, &l));
    if (l.most >= 0 && l.most < l.least) return nfa_fail(&s->b, f);
    TRY(nfa_text(&s->b, "[", 1, f));
    TRY(add_call(s, s->space, f));
    if (build_items(s, &l, &items) != WEFT_OK)
        return error_prefix(error_status(), "schema, %s: items", s->path);
    nfa_concat(&s->b, f, &items);
    TRY(add_call(s, s->space, f));
    return add_text(s, "]", f);
}

/* ---- keys ------------------------------------------------------------------------------------ */

/* A key as JSON, in its one spelling. */
static weft_status build_key(schema *s, const char *name, nfa_frag *f) {
    size_t n = strlen(name);
    weft_status status = nfa_text(&s->b, "\"", 1, f);
    for (size_t at = 0; at < n && status == WEFT_OK;) {
        code_set one = {0};
        nfa_frag part = {0};
        int32_t code;
        at += (size_t)utf8_decode(name + at, n - at, &code);
        status = code_set_add(&one, code, code);
        if (status == WEFT_OK) status = json_class(&s->b, &one, &part);
        if (status == WEFT_OK) nfa_concat(&s->b, f, &part);
        code_set_free(&one);
    }
    return status == WEFT_OK ? add_text(s, "\"", f) : status;
}

typedef struct prefix { /* the names from `first` on that share their first n bytes */
    size_t first, n;
    int32_t hub;
} prefix;

typedef struct keys {
    schema *s;
    const char **names;
    size_t n_names;
    prefix *list;
    size_t n, capacity;
    int32_t any, out;
} keys;

/* Characters of `set` from *hub to `to`. */
static weft_status add_edge(keys *k, const code_set *set, int32_t to, int32_t *hub) {
    nfa_frag f = {0};
    TRY(json_class(&k->s->b, set, &f));
    k->s->b.nodes[f.out].next = to;
    return add_way(k->s, f.start, hub);
}

/* What may follow one prefix: the next characters of names, any other character, and the end unless
 * it is a name itself. `used` is scratch. */
static weft_status build_prefix(keys *k, size_t at, code_set *used, code_set *one) {
    prefix p = k->list[at];
    nfa_builder *b = &k->s->b;
    int32_t hub = NFA_NONE, quote = 0;
    bool is_name = false;
    const char *start = k->names[p.first];
    used->n = 0;
    for (size_t i = 0; i < k->n_names; i++) {
        const char *name = k->names[i];
        int32_t code;
        if (strncmp(name, start, p.n)) continue;
        is_name |= !name[p.n];
        if (!name[p.n]) continue;
        size_t length = (size_t)utf8_decode(name + p.n, strlen(name + p.n), &code);
        bool is_new = true;
        for (size_t u = 0; u < used->n; u++) is_new &= used->ranges[u].lo != code;
        if (!is_new) continue;
        TRY(code_set_add(used, code, code));
        TRY(mem_reserve((void **)&k->list, &k->capacity, k->n + 1, sizeof *k->list));
        prefix next = {.first = i, .n = p.n + length};
        TRY(nfa_add(b, NFA_SPLIT, NFA_NONE, NFA_NONE, &next.hub));
        k->list[k->n++] = next;
        one->n = 0;
        TRY(code_set_add(one, code, code));
        TRY(add_edge(k, one, next.hub, &hub));
    }
    TRY(code_set_invert(used));
    TRY(add_edge(k, used, k->any, &hub));
    if (!is_name) {
        TRY(nfa_add(b, NFA_RANGE, k->out, NFA_NONE, &quote));
        b->nodes[quote].lo = b->nodes[quote].hi = '"';
        TRY(add_way(k->s, quote, &hub));
    }
    b->nodes[p.hub].next = hub;
    return WEFT_OK;
}

static weft_status build_keys(keys *k, nfa_frag *f) {
    nfa_builder *b = &k->s->b;
    code_set used = {0}, one = {0};
    int32_t quote = 0;
    f->begin = (int32_t)b->n;
    TRY(nfa_add(b, NFA_SPLIT, NFA_NONE, NFA_NONE, &f->out));
    TRY(nfa_add(b, NFA_SPLIT, NFA_NONE, NFA_NONE, &k->any));
    k->out = f->out;
    TRY(mem_reserve((void **)&k->list, &k->capacity, 1, sizeof *k->list));
    TRY(nfa_add(b, NFA_SPLIT, NFA_NONE, NFA_NONE, &k->list[0].hub));
    k->list[0].first = k->list[0].n = 0;
    k->n = 1;
    TRY(nfa_add(b, NFA_RANGE, k->list[0].hub, NFA_NONE, &f->start));
    b->nodes[f->start].lo = b->nodes[f->start].hi = '"';
    weft_status status = WEFT_OK;
    for (size_t i = 0; i < k->n && status == WEFT_OK; i++) status = build_prefix(k, i, &used, &one);
    /* past all names: anything, then the end */
    int32_t hub = NFA_NONE;
    used.n = 0;
    if (status == WEFT_OK) status = code_set_add(&used, 0, 0x10FFFF);
    if (status == WEFT_OK) status = add_edge(k, &used, k->any, &hub);
    if (status == WEFT_OK) status = nfa_add(b, NFA_RANGE, k->out, NFA_NONE, &quote);
    code_set_free(&used);
    code_set_free(&one);
    TRY(status);
    b->nodes[quote].lo = b->nodes[quote].hi = '"';
    b->nodes[k->any].next = hub;
    b->nodes[k->any].arg = quote;
    b->nodes[k->any].lo = 1; /* a loop */
    f->end = (int32_t)b->n;
    return WEFT_OK;
}

/* ---- objects --------------------------------------------------------------------------------- */

typedef struct property {
    const char *name;
    json_t *schema;
    bool is_required;
} property;

typedef struct object_shape {
    property *list;
    size_t n;
    int32_t extra_key, extra; /* rules of other properties; extra < 0: there are none */
} object_shape;

static bool is_in(const json_t *list, const char *name) {
    size_t i;
    json_t *one;
    json_array_foreach(list, i, one) {
        if (json_is_string(one) && !strcmp(json_string_value(one), name)) return true;
    }
    return false;
}

static weft_status read_properties(schema *s, json_t *one, object_shape *o) {
    json_t *properties = json_object_get(one, "properties"), *value, *name;
    json_t *required = json_object_get(one, "required");
    json_t *extra = json_object_get(one, "additionalProperties");
    const char *key;
    size_t i;
    if ((properties && !json_is_object(properties)) || (required && !json_is_array(required)))
        return schema_fail(s, WEFT_FORMAT,
                           "\"properties\" must be an object and \"required\" a list");
    o->list =
        mem_array(json_object_size(properties) + json_array_size(required) + 1, sizeof *o->list);
    if (!o->list) return WEFT_NO_MEMORY;
    json_object_foreach(properties, key, value) {
        bool is_needed = is_in(required, key);
        if (json_is_false(value) && !is_needed) value = NULL; /* kept out of the others' keys */
        o->list[o->n++] = (property){key, value, is_needed};
    }
    json_array_foreach(required, i, name) {
        bool is_known = !json_is_string(name);
        if (is_known) return schema_fail(s, WEFT_FORMAT, "\"required\" must name properties");
        for (size_t k = 0; k < o->n; k++)
            is_known |= !strcmp(o->list[k].name, json_string_value(name));
        if (!is_known)
            o->list[o->n++] =
                (property){json_string_value(name), extra ? extra : json_true(), true};
    }
    o->extra = s->value;
    if (json_is_false(extra)) o->extra = -1;
    else if (extra && !json_is_true(extra))
        TRY(schema_rule(s, extra, "additionalProperties", &o->extra));
    return WEFT_OK;
}

/* A member, with a comma before it unless it is the first: `name`, or a key of the others' rule. */
static weft_status build_member(schema *s, const object_shape *o, const char *name, int32_t rule,
                                bool is_first, nfa_frag *f) {
    nfa_frag key = {0};
    TRY(nfa_empty(&s->b, f));
    if (!is_first) TRY(add_text(s, ",", f));
    if (!is_first) TRY(add_call(s, s->space, f));
    if (name) TRY(build_key(s, name, &key));
    else TRY(nfa_call(&s->b, o->extra_key, &key));
    nfa_concat(&s->b, f, &key);
    TRY(add_text(s, ":", f));
    TRY(add_call(s, s->space, f));
    return add_call(s, rule, f);
}

/* The members, from the last to the first. `after` is where a text is once something was written,
 * `begin` where nothing was yet. */
static weft_status build_members(schema *s, const object_shape *o, nfa_frag *f) {
    nfa_builder *b = &s->b;
    nfa_frag first = {0}, next = {0};
    f->begin = (int32_t)b->n;
    TRY(nfa_add(b, NFA_SPLIT, NFA_NONE, NFA_NONE, &f->out));
    int32_t after = f->out, begin = f->out;
    if (o->extra >= 0) {
        TRY(build_member(s, o, NULL, o->extra, false, &next));
        TRY(nfa_repeat(b, &next, 0, -1));
        b->nodes[next.out].next = f->out;
        after = next.start;
        TRY(build_member(s, o, NULL, o->extra, true, &first));
        b->nodes[first.out].next = after;
        TRY(add_way(s, first.start, &begin));
    }
    for (size_t i = o->n; i-- > 0;) {
        const property *p = &o->list[i];
        char place[300];
        int32_t rule, hub_after, hub_begin;
        if (!p->schema) continue;
        snprintf(place, sizeof place, "properties/%s", p->name);
        TRY(schema_rule(s, p->schema, place, &rule));
        TRY(build_member(s, o, p->name, rule, false, &next));
        TRY(build_member(s, o, p->name, rule, true, &first));
        b->nodes[next.out].next = b->nodes[first.out].next = after;
        hub_after = p->is_required ? NFA_NONE : after;
        hub_begin = p->is_required ? NFA_NONE : begin;
        TRY(add_way(s, next.start, &hub_after));
        TRY(add_way(s, first.start, &hub_begin));
        after = hub_after;
        begin = hub_begin;
    }
    f->start = begin;
    f->end = (int32_t)b->n;
    return WEFT_OK;
}

/* The rule for keys of other properties, built before the object that uses it. */
static weft_status define_extra_key(schema *s, object_shape *o) {
    nfa_frag f = {0};
    if (o->extra < 0) return WEFT_OK;
    keys k = {.s = s, .n_names = o->n};
    o->extra_key = nfa_rule_add(&s->b, "key", 3);
    k.names = mem_array(o->n + 1, sizeof *k.names);
    weft_status status = o->extra_key >= 0 && k.names ? WEFT_OK : WEFT_NO_MEMORY;
    for (size_t i = 0; i < o->n && status == WEFT_OK; i++) k.names[i] = o->list[i].name;
    if (status == WEFT_OK && !o->n) k.names[0] = "";
    if (status == WEFT_OK) status = build_keys(&k, &f);
    if (status == WEFT_OK) status = nfa_rule_define(&s->b, o->extra_key, &f);
    mem_free(k.names);
    mem_free(k.list);
    return status;
}

static weft_status build_object(schema *s, object_shape *o, nfa_frag *f) {
    nfa_frag members = {0};
    TRY(define_extra_key(s, o));
    TRY(nfa_text(&s->b, "{", 1, f));
    TRY(add_call(s, s->space, f));
    TRY(build_members(s, o, &members));
    nfa_concat(&s->b, f, &members);
    TRY(add_call(s, s->space, f));
    return add_text(s, "}", f);
}

weft_status schema_build_object(schema *s, json_t *one, nfa_frag *f) {
    static const char *const used[] = {"properties", "required", "additionalProperties"};
    object_shape o = {0};
    bool is_free = json_object_size(one) > 0;
    for (int i = 0; i < 3; i++) is_free &= !json_object_get(one, used[i]);
    if (is_free) return nfa_call(&s->b, s->object, f);
    weft_status status = read_properties(s, one, &o);
    if (status == WEFT_OK) status = build_object(s, &o, f);
    mem_free(o.list);
    return status;
}

#endif
