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
    json_t *wanted; /* the schema of one that is the member that must be there, or NULL */
} property;

/* A pattern of patternProperties, and of which of f->objects. */
typedef struct key_pattern {
    size_t object;
    json_t *schema;
} key_pattern;

typedef struct key_class {
    int32_t key, value,
        wanted; /* rules; wanted: of values of the member that must be there, or -1 */
} key_class;

typedef struct object_shape {
    const schema_flat *f;
    property *list;
    size_t n, capacity;
    sequences known; /* addresses of nothing: texts of the names, for finding them */
    key_pattern patterns[REGULAR_MOST_PARTS];
    regular automata[REGULAR_MOST_PARTS];
    size_t n_patterns;
    json_t *has;  /* the value of the member that must be there; its keys are the last pattern's */
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
            if (status != WEFT_OK) return schema_where(s, status, "patternProperties");
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

/* The names that a list gives, as an automaton. */
static weft_status make_names(json_t *list, regular *out) {
    const char **names = mem_array(json_array_size(list) + 1, sizeof *names);
    size_t n = 0, i;
    json_t *one;
    if (!names) return WEFT_NO_MEMORY;
    json_array_foreach(list, i, one) {
        if (json_is_string(one)) names[n++] = json_string_value(one);
    }
    weft_status status = regular_texts(names, n, out);
    mem_free(names);
    return status;
}

/* The keys that conditions on texts leave, as one automaton. */
static weft_status make_keys(schema *s, const schema_flat *key, regular *out) {
    spelling plain = {.is_inline = true};
    nfa_builder b = {0};
    nfa_frag f = {0};
    if (!(key->types & TYPE_STRING)) return make_names(NULL, out);
    if (key->values) return make_names(key->values, out);
    schema_language *l = mem_alloc(sizeof *l);
    if (!l) return WEFT_NO_MEMORY;
    weft_status status = schema_text_language(s, key, l);
    if (status == WEFT_OK) status = regular_emit(&l->all, &plain, &b, &f);
    if (status == WEFT_OK) status = regular_make(&b, &f, NULL, 0, out);
    nfa_builder_free(&b);
    schema_language_free(l);
    mem_free(l);
    return status;
}

/* The member that must be somewhere: the automaton of its keys becomes one more pattern. */
static weft_status read_has(schema *s, object_shape *o) {
    json_t *one = json_array_get(o->f->has, 0);
    schema_flat key;
    if (!one) return WEFT_OK;
    if (json_array_size(o->f->has) > 1 || o->n_patterns == REGULAR_MOST_PARTS)
        return schema_fail(s, WEFT_UNSUPPORTED,
                           "two keywords on names of properties that must not hold (not, if, "
                           "oneOf) are not supported at once");
    TRY(schema_flatten(s, json_object_get(one, "key"), &key));
    bool is_mixed = key.values && (key.patterns || key.not_patterns || key.formats ||
                                   key.not_values || key.min_length || key.max_length >= 0);
    if (key.any_of || key.one_of || is_mixed)
        return schema_fail(s, WEFT_UNSUPPORTED,
                           "this \"propertyNames\" is not supported in what must not hold (not, "
                           "if, oneOf)");
    TRY(schema_where(s, make_keys(s, &key, &o->automata[o->n_patterns]), "propertyNames"));
    o->patterns[o->n_patterns++] = (key_pattern){SIZE_MAX, NULL};
    o->has = json_object_get(one, "value");
    return WEFT_OK;
}

/* A member's schema if it is to be the one that must be there; NULL: its key is not of that
 * kind. */
static weft_status wanted_schema(schema *s, const object_shape *o, bool is_of_kind, json_t *value,
                                 json_t **out) {
    json_t *all = NULL;
    *out = NULL;
    if (!o->has || !is_of_kind) return WEFT_OK;
    TRY(schema_push(s, &all, value));
    TRY(schema_push(s, &all, o->has));
    TRY(schema_both(s, all, out));
    if (json_is_false(*out)) *out = NULL;
    return WEFT_OK;
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
    json_t *value = json_false();
    if (is_allowed(o, name)) TRY(value_schema(s, o, name, 0, &value));
    p->schema = value;
    bool is_of_kind = o->has && regular_has(&o->automata[o->n_patterns - 1], name, strlen(name));
    return wanted_schema(s, o, is_of_kind, value, &p->wanted);
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
        p->is_required = json_object_get(o->f->is_required, p->name) != NULL;
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
        key_class c = {.wanted = -1};
        json_t *value, *wanted;
        TRY(value_schema(s, o, NULL, sets[i], &value));
        if (json_is_false(value)) continue;
        TRY(schema_rule(s, value, sets[i] ? "patternProperties" : "additionalProperties",
                        &c.value));
        TRY(wanted_schema(s, o, o->has && sets[i] >> (o->n_patterns - 1) & 1, value, &wanted));
        if (wanted) TRY(schema_rule(s, wanted, "additionalProperties", &c.wanted));
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
    return schema_where(s, status, "the keys that are not named");
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

/* A member of that name, with a comma before it unless it is the first. */
static weft_status build_member(schema *s, const char *name, int32_t rule, bool is_first,
                                nfa_frag *f) {
    nfa_frag key = {0};
    TRY(nfa_empty(&s->b, f));
    if (!is_first) TRY(schema_add_text(s, ",", f));
    if (!is_first) TRY(schema_add_call(s, s->space, f));
    TRY(build_key(s, name, &key));
    TRY(add_value(s, rule, &key));
    nfa_concat(&s->b, f, &key);
    return WEFT_OK;
}

/* One of the others; is_wanted: that is the member that must be there. */
static weft_status build_other(schema *s, const object_shape *o, bool is_wanted, bool is_first,
                               nfa_frag *f) {
    nfa_frag any = {0}, one = {0};
    bool has_any = false;
    TRY(nfa_empty(&s->b, f));
    if (!is_first) TRY(schema_add_text(s, ",", f));
    if (!is_first) TRY(schema_add_call(s, s->space, f));
    for (size_t i = 0; i < o->n_classes; i++) {
        const key_class *c = &o->classes[i];
        if (is_wanted && c->wanted < 0) continue;
        TRY(nfa_call(&s->b, c->key, &one));
        TRY(add_value(s, is_wanted ? c->wanted : c->value, &one));
        if (has_any) TRY(nfa_either(&s->b, &any, &one));
        else any = one;
        has_any = true;
    }
    if (!has_any) TRY(nfa_fail(&s->b, &any));
    nfa_concat(&s->b, f, &any);
    return WEFT_OK;
}

/* A state is how many members there are (0 to n_counts - 1; the last stands for more unless `most`
 * is given), and, in two rows, whether the member that must be there has yet to come (row 0). */
typedef struct members {
    const object_shape *o;
    int64_t n_counts;
    int n_rows;          /* 1: there is none that must be there */
    int32_t *now, *next; /* by row and count: where a text is before property i, and after it */
    int32_t more[2];     /* by row: after one of the others */
    int32_t out;
} members;

static int32_t *cell(const members *m, int32_t *list, int row, int64_t count) {
    return &list[row * m->n_counts + count];
}

/* One of the others from row `row`, as one more way in *hub; `more` is where it leads. */
static weft_status add_other(schema *s, members *m, int row, bool is_first, const int32_t more[2],
                             int32_t *hub) {
    nfa_frag one = {0};
    if (more[row] != NFA_NONE) {
        TRY(build_other(s, m->o, false, is_first, &one));
        s->b.nodes[one.out].next = more[row];
        TRY(schema_add_way(s, one.start, hub));
    }
    if (row + 1 == m->n_rows || more[row + 1] == NFA_NONE) return WEFT_OK;
    TRY(build_other(s, m->o, true, is_first, &one));
    s->b.nodes[one.out].next = more[row + 1];
    return schema_add_way(s, one.start, hub);
}

/* Without a limit: any number of others in a loop. */
static weft_status build_loops(schema *s, members *m) {
    int32_t hub;
    for (int row = 0; row < m->n_rows; row++)
        TRY(nfa_add(&s->b, NFA_SPLIT, NFA_NONE, NFA_NONE, &m->more[row]));
    for (int row = 0; row < m->n_rows; row++) {
        hub = row + 1 == m->n_rows ? m->out : NFA_NONE;
        TRY(add_other(s, m, row, false, m->more, &hub));
        s->b.nodes[m->more[row]].next = hub;
        s->b.nodes[m->more[row]].lo = 1;
    }
    return WEFT_OK;
}

/* After all that is named: the others, `least` to `most` members in all. */
static weft_status build_others(schema *s, members *m) {
    const object_shape *o = m->o;
    int last = m->n_rows - 1;
    for (int64_t c = 0; c < m->n_counts; c++) {
        *cell(m, m->next, 0, c) = NFA_NONE;
        *cell(m, m->next, last, c) = c >= o->least ? m->out : NFA_NONE;
    }
    if (!o->n_classes) return WEFT_OK;
    m->more[0] = NFA_NONE;
    m->more[last] = m->out;
    if (o->most < 0) TRY(build_loops(s, m));
    for (int64_t c = m->n_counts - 1; c >= 0;
         c--) { /* `more`: how many are left grows as c falls */
        int32_t left[2] = {NFA_NONE, NFA_NONE};
        if (o->most >= 0 && c >= o->most) continue;
        for (int row = 0; row <= last && c + 1 >= o->least; row++)
            TRY(add_other(s, m, row, c == 0, m->more, cell(m, m->next, row, c)));
        if (o->most < 0 || c == 0) continue;
        left[last] = m->out;
        for (int row = 0; row <= last; row++) TRY(add_other(s, m, row, false, m->more, &left[row]));
        memcpy(m->more, left, sizeof left);
    }
    return WEFT_OK;
}

/* One way past a property that is there. */
static weft_status add_named(schema *s, const char *name, int32_t rule, int64_t count, int32_t to,
                             int32_t *hub) {
    nfa_frag one = {0};
    if (to == NFA_NONE) return WEFT_OK;
    TRY(build_member(s, name, rule, count == 0, &one));
    s->b.nodes[one.out].next = to;
    return schema_add_way(s, one.start, hub);
}

static weft_status build_property(schema *s, members *m, const property *p) {
    char place[300];
    int32_t rule, wanted = -1;
    snprintf(place, sizeof place, "properties/%s", p->name);
    TRY(schema_rule(s, p->schema, place, &rule));
    if (p->wanted) TRY(schema_rule(s, p->wanted, place, &wanted));
    for (int row = 0; row < m->n_rows; row++)
        for (int64_t c = 0; c < m->n_counts; c++) {
            int64_t next = c + 1 < m->n_counts ? c + 1 : c;
            int32_t *hub = cell(m, m->now, row, c);
            *hub = p->is_required ? NFA_NONE : *cell(m, m->next, row, c);
            if (m->o->most >= 0 && c >= m->o->most) continue;
            TRY(add_named(s, p->name, rule, c, *cell(m, m->next, row, next), hub));
            if (wanted >= 0 && row + 1 < m->n_rows)
                TRY(add_named(s, p->name, wanted, c, *cell(m, m->next, row + 1, next), hub));
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
    members m = {.o = o, .n_rows = o->has ? 2 : 1};
    m.n_counts = 1 + (o->most >= 0 ? o->most : o->least > 1 ? o->least : 1);
    if (m.n_counts > NFA_MOST_NODES)
        return schema_fail(s, WEFT_LIMIT, "maxProperties needs more than %d states",
                           NFA_MOST_NODES);
    m.now = mem_array(2 * (size_t)m.n_counts, sizeof *m.now);
    m.next = mem_array(2 * (size_t)m.n_counts, sizeof *m.next);
    weft_status status = m.now && m.next ? build_members(s, &m, f) : WEFT_NO_MEMORY;
    mem_free(m.now);
    mem_free(m.next);
    return status;
}

static weft_status build_object(schema *s, object_shape *o, nfa_frag *f) {
    nfa_frag all = {0};
    TRY(read_patterns(s, o));
    TRY(read_names(s, o));
    TRY(read_has(s, o));
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
    bool is_free = !f->objects && !f->names && !f->has && !f->required && !f->min_properties &&
                   f->max_properties < 0;
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
