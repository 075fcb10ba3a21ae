/* Objects of a JSON Schema: the properties it names, in its order, then others.
 *
 * Keys that it does not name are sorted by which patterns of patternProperties they match: each
 * combination that some key has is a class with a rule for its keys and what is said of its values.
 * Each key has one spelling, so that no name comes in by another. A state is a property and how
 * many members there are, as far as that matters. Names in others' places may repeat, so that they
 * count as one for minProperties.
 * SPDX-License-Identifier: MIT */
#ifdef WEFT_HAVE_JANSSON
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"
#include "grammar/schema_kinds.h"

enum { MOST_CLASSES = 64 };

typedef struct property {
    const char *name;
    json_t *schema; /* NULL: it may not be there, but its name is taken */
    bool is_required;
} property;

/* A pattern of patternProperties, and of which of f->objects. */
typedef struct key_pattern {
    size_t object;
    json_t *schema;
} key_pattern;

typedef struct key_class {
    int32_t key, value; /* rules */
} key_class;

typedef struct object_shape {
    const schema_flat *f;
    property *list;
    size_t n, capacity;
    sequences known; /* addresses of nothing: texts of the names, for finding them */
    key_pattern patterns[REGULAR_MOST_PARTS];
    regular automata[REGULAR_MOST_PARTS];
    size_t n_patterns;
    json_t *only; /* the names allowed, where propertyNames names them */
    bool has_names, allows_none;
    schema_language *names; /* what propertyNames says */
    key_class classes[MOST_CLASSES];
    size_t n_classes;
    int64_t least, most;
} object_shape;

static void shape_free(object_shape *o) {
    for (size_t i = 0; i < o->n_patterns; i++) regular_free(&o->automata[i]);
    schema_language_free(o->names);
    mem_free(o->names);
    mem_free(o->list);
    sequences_free(&o->known);
}

/* ---- what is said of a key ------------------------------------------------------------------- */

static weft_status read_patterns(schema *s, object_shape *o) {
    size_t i;
    json_t *one, *value;
    const char *text;
    json_array_foreach(o->f->objects, i, one) {
        json_object_foreach(json_object_get(one, "patternProperties"), text, value) {
            if (o->n_patterns == REGULAR_MOST_PARTS)
                return schema_fail(s, WEFT_LIMIT, "more than %d patternProperties at once",
                                   REGULAR_MOST_PARTS);
            weft_status status =
                regex_make(text, strlen(text), REGEX_SEARCH, &o->automata[o->n_patterns]);
            if (status != WEFT_OK)
                return error_prefix(status, "schema, %s: patternProperties", s->path);
            o->patterns[o->n_patterns++] = (key_pattern){i, value};
        }
    }
    return WEFT_OK;
}

/* The names that propertyNames leaves: a list, or a language. */
static weft_status read_names(schema *s, object_shape *o) {
    json_t *whole, *one;
    schema_flat f;
    size_t i;
    if (!o->f->names) return WEFT_OK;
    TRY(schema_both(s, o->f->names, &whole));
    TRY(schema_flatten(s, whole, &f));
    if (f.any_of || f.one_of)
        return schema_fail(s, WEFT_UNSUPPORTED,
                           "anyOf and oneOf in \"propertyNames\" are not supported");
    o->allows_none = !(f.types & TYPE_STRING);
    f.types &= TYPE_STRING;
    if (!f.values) {
        o->names = mem_alloc(sizeof *o->names);
        if (!o->names) return WEFT_NO_MEMORY;
        o->has_names = true;
        return schema_text_language(s, &f, o->names);
    }
    o->only = json_array();
    TRY(schema_own(s, o->only));
    schema_fitter w = {.f = &f};
    weft_status status = WEFT_OK;
    json_array_foreach(f.values, i, one) {
        bool fits = false;
        if (status == WEFT_OK) status = schema_fitter_has(s, &w, one, &fits);
        if (status == WEFT_OK && fits) status = schema_push(s, &o->only, one);
    }
    schema_fitter_free(&w);
    return status;
}

static bool is_allowed(const object_shape *o, const char *name) {
    if (o->allows_none || (o->only && !schema_names(o->only, name))) return false;
    return !o->has_names || regular_all_has(&o->names->all, name, strlen(name));
}

/* All that is said of the value of a key: `name`, or any that matches the patterns in `set`. */
static weft_status value_schema(schema *s, const object_shape *o, const char *name, uint32_t set,
                                json_t **out) {
    json_t *all = NULL, *one;
    size_t i;
    for (size_t k = 0; name && k < o->n_patterns; k++)
        if (regular_has(&o->automata[k], name, strlen(name))) set |= 1u << k;
    json_array_foreach(o->f->objects, i, one) {
        json_t *own = name ? json_object_get(json_object_get(one, "properties"), name) : NULL;
        bool is_extra = !own;
        if (own) TRY(schema_push(s, &all, own));
        for (size_t k = 0; k < o->n_patterns; k++) {
            if (!(set >> k & 1) || o->patterns[k].object != i) continue;
            is_extra = false;
            TRY(schema_push(s, &all, o->patterns[k].schema));
        }
        own = json_object_get(one, "additionalProperties");
        if (is_extra && own) TRY(schema_push(s, &all, own));
    }
    *out = json_true();
    return all ? schema_both(s, all, out) : WEFT_OK;
}

/* ---- properties ------------------------------------------------------------------------------ */

static weft_status add_property(schema *s, object_shape *o, const char *name) {
    size_t n = strlen(name), wide = n / 4 + 1;
    int32_t number, *key = mem_array(wide, sizeof *key);
    if (!key) return WEFT_NO_MEMORY;
    memcpy(key, name, n);
    weft_status status = sequences_add(&o->known, key, wide, &number);
    mem_free(key);
    TRY(status);
    if ((size_t)number < o->n) return WEFT_OK;
    TRY(mem_reserve((void **)&o->list, &o->capacity, o->n + 1, sizeof *o->list));
    property *p = &o->list[o->n++];
    *p = (property){.name = name};
    if (!is_allowed(o, name)) p->schema = json_false();
    else TRY(value_schema(s, o, name, 0, &p->schema));
    return WEFT_OK;
}

static weft_status read_properties(schema *s, object_shape *o) {
    size_t i;
    json_t *one, *value;
    const char *name;
    json_array_foreach(o->f->objects, i, one) {
        json_object_foreach(json_object_get(one, "properties"), name, value)
            TRY(add_property(s, o, name));
    }
    json_array_foreach(o->f->required, i, one) TRY(add_property(s, o, json_string_value(one)));
    json_array_foreach(o->only, i, one) TRY(add_property(s, o, json_string_value(one)));
    for (size_t k = 0; k < o->n; k++) {
        property *p = &o->list[k];
        p->is_required = schema_names(o->f->required, p->name);
        if (json_is_false(p->schema) && !p->is_required) p->schema = NULL;
    }
    return WEFT_OK;
}

/* ---- other keys ------------------------------------------------------------------------------ */

/* The rule for the keys of `base` that match just the patterns of `set`. */
static weft_status define_key(schema *s, object_shape *o, const regular_all *base, uint32_t set,
                              int32_t *rule) {
    regular_all all = *base;
    nfa_frag f = {0}, part = {0};
    *rule = s->string;
    if (!all.n && !o->n_patterns && !all.least && all.most < 0) return WEFT_OK;
    for (size_t k = 0; k < o->n_patterns; k++)
        TRY(regular_all_add(&all, &o->automata[k], !(set >> k & 1)));
    *rule = nfa_rule_add(&s->b, "key", 3);
    if (*rule < 0) return WEFT_NO_MEMORY;
    TRY(nfa_text(&s->b, "\"", 1, &f));
    TRY(regular_emit(&all, &s->spelling, &s->b, &part));
    nfa_concat(&s->b, &f, &part);
    TRY(schema_add_text(s, "\"", &f));
    return nfa_rule_define(&s->b, *rule, &f);
}

static weft_status define_classes(schema *s, object_shape *o, const regular_all *base) {
    uint32_t sets[MOST_CLASSES] = {0};
    size_t n = 1;
    if (o->n_patterns) TRY(regular_sort(base, o->automata, o->n_patterns, sets, MOST_CLASSES, &n));
    for (size_t i = 0; i < n; i++) {
        key_class c;
        json_t *value;
        TRY(value_schema(s, o, NULL, sets[i], &value));
        if (json_is_false(value)) continue;
        TRY(schema_rule(s, value, sets[i] ? "patternProperties" : "additionalProperties",
                        &c.value));
        TRY(define_key(s, o, base, sets[i], &c.key));
        o->classes[o->n_classes++] = c;
    }
    return WEFT_OK;
}

/* Keys that are not named, built before the object that uses their rules. */
static weft_status define_others(schema *s, object_shape *o) {
    regular named = {0};
    regular_all base = {.most = -1};
    if (o->only || o->allows_none || o->most == 0) return WEFT_OK;
    if (!o->n_patterns) { /* often there are none at all */
        json_t *value;
        TRY(value_schema(s, o, NULL, 0, &value));
        if (json_is_false(value)) return WEFT_OK;
    }
    if (o->has_names) base = o->names->all;
    const char **names = mem_array(o->n + 1, sizeof *names);
    weft_status status = names ? WEFT_OK : WEFT_NO_MEMORY;
    for (size_t i = 0; i < o->n && status == WEFT_OK; i++) names[i] = o->list[i].name;
    if (status == WEFT_OK && o->n) {
        status = regular_texts(names, o->n, &named);
        if (status == WEFT_OK) status = regular_all_add(&base, &named, true);
    }
    if (status == WEFT_OK) status = define_classes(s, o, &base);
    regular_free(&named);
    mem_free(names);
    if (status == WEFT_OK || status == WEFT_NO_MEMORY) return status;
    return error_prefix(status, "schema, %s: the keys that are not named", s->path);
}

/* ---- members --------------------------------------------------------------------------------- */

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
    return status == WEFT_OK ? schema_add_text(s, "\"", f) : status;
}

static weft_status add_value(schema *s, int32_t rule, nfa_frag *f) {
    TRY(schema_add_text(s, ":", f));
    TRY(schema_add_call(s, s->space, f));
    return schema_add_call(s, rule, f);
}

/* A member, with a comma before it unless it is the first: `name`, or one of the others (NULL). */
static weft_status build_member(schema *s, const object_shape *o, const char *name, int32_t rule,
                                bool is_first, nfa_frag *f) {
    nfa_frag key = {0}, one = {0};
    TRY(nfa_empty(&s->b, f));
    if (!is_first) TRY(schema_add_text(s, ",", f));
    if (!is_first) TRY(schema_add_call(s, s->space, f));
    if (name) {
        TRY(build_key(s, name, &key));
        TRY(add_value(s, rule, &key));
    }
    for (size_t i = 0; !name && i < o->n_classes; i++) {
        nfa_frag *part = i ? &one : &key;
        TRY(nfa_call(&s->b, o->classes[i].key, part));
        TRY(add_value(s, o->classes[i].value, part));
        if (i) TRY(nfa_either(&s->b, &key, &one));
    }
    nfa_concat(&s->b, f, &key);
    return WEFT_OK;
}

typedef struct members {
    const object_shape *o;
    int64_t n_counts; /* 0 to n_counts - 1 members; the last stands for more unless most is given */
    int32_t *now, *next; /* by count: where a text is before property i, and after it */
    int32_t more;        /* after one of the others */
    int32_t out;
} members;

/* After all that is named: the others, `least` to `most` members in all. */
static weft_status build_others(schema *s, members *m) {
    const object_shape *o = m->o;
    nfa_builder *b = &s->b;
    nfa_frag one = {0};
    for (int64_t c = 0; c < m->n_counts; c++) m->next[c] = c >= o->least ? m->out : NFA_NONE;
    if (!o->n_classes) return WEFT_OK;
    if (o->most < 0) {
        TRY(build_member(s, o, NULL, 0, false, &one));
        TRY(nfa_repeat(b, &one, 0, -1));
        b->nodes[one.out].next = m->out;
        m->more = one.start;
    } else m->more = m->out;
    for (int64_t c = m->n_counts - 1; c >= 0; c--) { /* more: how many are left grows as c falls */
        if (o->most >= 0 && c >= o->most) continue;
        if (c + 1 >= o->least) {
            TRY(build_member(s, o, NULL, 0, c == 0, &one));
            b->nodes[one.out].next = m->more;
            TRY(schema_add_way(s, one.start, &m->next[c]));
        }
        if (o->most < 0 || c == 0) continue;
        TRY(build_member(s, o, NULL, 0, false, &one));
        b->nodes[one.out].next = m->more;
        m->more = m->out;
        TRY(schema_add_way(s, one.start, &m->more));
    }
    return WEFT_OK;
}

static weft_status build_property(schema *s, members *m, const property *p) {
    char place[300];
    int32_t rule;
    snprintf(place, sizeof place, "properties/%s", p->name);
    TRY(schema_rule(s, p->schema, place, &rule));
    for (int64_t c = 0; c < m->n_counts; c++) {
        int64_t next = c + 1 < m->n_counts ? c + 1 : c;
        nfa_frag one = {0};
        m->now[c] = p->is_required ? NFA_NONE : m->next[c];
        if ((m->o->most >= 0 && c >= m->o->most) || m->next[next] == NFA_NONE) continue;
        TRY(build_member(s, m->o, p->name, rule, c == 0, &one));
        s->b.nodes[one.out].next = m->next[next];
        TRY(schema_add_way(s, one.start, &m->now[c]));
    }
    return WEFT_OK;
}

static weft_status build_members(schema *s, members *m, nfa_frag *f) {
    nfa_builder *b = &s->b;
    f->begin = (int32_t)b->n;
    TRY(nfa_add(b, NFA_SPLIT, NFA_NONE, NFA_NONE, &f->out));
    m->out = f->out;
    TRY(build_others(s, m));
    for (size_t i = m->o->n; i-- > 0;) {
        if (!m->o->list[i].schema) continue;
        TRY(build_property(s, m, &m->o->list[i]));
        int32_t *swap = m->now;
        m->now = m->next;
        m->next = swap;
    }
    f->start = m->next[0];
    if (f->start == NFA_NONE) TRY(nfa_add(b, NFA_FAIL, NFA_NONE, NFA_NONE, &f->start));
    f->end = (int32_t)b->n;
    return WEFT_OK;
}

static weft_status build_counted(schema *s, object_shape *o, nfa_frag *f) {
    size_t n_named = 0;
    for (size_t i = 0; i < o->n; i++) n_named += o->list[i].schema != NULL;
    if (!o->n_classes && o->most > (int64_t)n_named) o->most = -1;
    if (o->n_classes && o->least > (int64_t)n_named + 1)
        return schema_fail(s, WEFT_UNSUPPORTED,
                           "\"minProperties\" asks for %d names that the schema does not give: "
                           "they count as one",
                           (int)(o->least - (int64_t)n_named));
    members m = {.o = o};
    m.n_counts = 1 + (o->most >= 0 ? o->most : o->least > 1 ? o->least : 1);
    if (m.n_counts > NFA_MOST_NODES)
        return schema_fail(s, WEFT_LIMIT, "maxProperties needs more than %d states",
                           NFA_MOST_NODES);
    m.now = mem_array((size_t)m.n_counts, sizeof *m.now);
    m.next = mem_array((size_t)m.n_counts, sizeof *m.next);
    weft_status status = m.now && m.next ? build_members(s, &m, f) : WEFT_NO_MEMORY;
    mem_free(m.now);
    mem_free(m.next);
    return status;
}

static weft_status build_object(schema *s, object_shape *o, nfa_frag *f) {
    nfa_frag all = {0};
    TRY(read_patterns(s, o));
    TRY(read_names(s, o));
    TRY(read_properties(s, o));
    TRY(define_others(s, o));
    TRY(nfa_text(&s->b, "{", 1, f));
    TRY(schema_add_call(s, s->space, f));
    TRY(build_counted(s, o, &all));
    nfa_concat(&s->b, f, &all);
    TRY(schema_add_call(s, s->space, f));
    return schema_add_text(s, "}", f);
}

weft_status schema_build_object(schema *s, const schema_flat *f, nfa_frag *out) {
    bool is_free =
        !f->objects && !f->names && !f->required && !f->min_properties && f->max_properties < 0;
    if (is_free && s->n_built) return nfa_call(&s->b, s->object, out);
    if (f->max_properties >= 0 && f->max_properties < f->min_properties)
        return nfa_fail(&s->b, out);
    object_shape *o = mem_alloc(sizeof *o);
    if (!o) return WEFT_NO_MEMORY;
    o->f = f;
    o->least = f->min_properties;
    o->most = f->max_properties;
    weft_status status = build_object(s, o, out);
    shape_free(o);
    mem_free(o);
    return status;
}

#endif
