/* Reading a schema, keyword by keyword, into conditions. A conjunction of schemas is the
 * conjunction of their conditions: bounds get tighter, lists get longer, and what two schemas say
 * of properties and items stays apart until those are built. Choices are kept as lists.
 * SPDX-License-Identifier: MIT */
#ifdef WEFT_HAVE_JANSSON
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "grammar/schema.h"

enum { MOST_STEPS = 400 };

bool schema_is_annotation(const char *keyword) {
    static const char *const names[] = {"title",
                                        "description",
                                        "default",
                                        "examples",
                                        "example",
                                        "$comment",
                                        "deprecated",
                                        "readOnly",
                                        "writeOnly",
                                        "$schema",
                                        "$id",
                                        "id",
                                        "$defs",
                                        "definitions",
                                        "$anchor",
                                        "$vocabulary",
                                        "discriminator",
                                        "contentEncoding",
                                        "contentMediaType",
                                        "contentSchema",
                                        "externalDocs"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(names[i], keyword)) return true;
    return keyword[0] == 'x' && keyword[1] == '-';
}

unsigned schema_type_of(const json_t *v) {
    double x = json_number_value(v);
    switch (json_typeof(v)) {
    case JSON_NULL: return TYPE_NULL;
    case JSON_TRUE:
    case JSON_FALSE: return TYPE_BOOLEAN;
    case JSON_INTEGER: return TYPE_WHOLE;
    case JSON_REAL: return floor(x) < x ? TYPE_FRACTION : TYPE_WHOLE;
    case JSON_STRING: return TYPE_STRING;
    case JSON_ARRAY: return TYPE_ARRAY;
    case JSON_OBJECT: return TYPE_OBJECT;
    }
    return 0;
}

bool schema_equal(const json_t *a, const json_t *b) {
    size_t i;
    json_t *one;
    const char *key;
    if (json_is_number(a) && json_is_number(b)) {
        double x = json_number_value(a), y = json_number_value(b);
        return json_is_integer(a) && json_is_integer(b)
                   ? json_integer_value(a) == json_integer_value(b)
                   : !(x < y || x > y);
    }
    if (json_is_array(a) && json_is_array(b) && json_array_size(a) == json_array_size(b)) {
        json_array_foreach(a, i, one) if (!schema_equal(one, json_array_get(b, i))) return false;
        return true;
    }
    if (json_is_object(a) && json_is_object(b) && json_object_size(a) == json_object_size(b)) {
        json_object_foreach((json_t *)a, key, one) {
            json_t *other = json_object_get(b, key);
            if (!other || !schema_equal(one, other)) return false;
        }
        return true;
    }
    return json_equal(a, b);
}

bool schema_list_has(const json_t *list, const json_t *value) {
    size_t i;
    json_t *one;
    json_array_foreach(list, i, one) if (schema_equal(one, value)) return true;
    return false;
}

bool schema_names(const json_t *list, const char *name) {
    size_t i;
    json_t *one;
    json_array_foreach(list, i, one) {
        if (json_is_string(one) && !strcmp(json_string_value(one), name)) return true;
    }
    return false;
}

weft_status schema_decimal(const schema *s, const json_t *value, const char *key,
                           char out[NUMBER_SIZE]) {
    if (!json_is_number(value)) return schema_fail(s, WEFT_FORMAT, "\"%s\" must be a number", key);
    double x = json_number_value(value);
    if (json_is_integer(value)) {
        snprintf(out, NUMBER_SIZE, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
        return WEFT_OK;
    }
    for (int places = 0; places <= 24 && fabs(x) < 1e60; places++) {
        snprintf(out, NUMBER_SIZE, "%.*f", places, x);
        double back = strtod(out, NULL);
        if (!(back < x) && !(back > x)) return WEFT_OK;
    }
    return schema_fail(s, WEFT_UNSUPPORTED, "\"%s\": %g is too large or small a number here", key,
                       x);
}

/* ---- keywords -------------------------------------------------------------------------------- */

/* What a keyword does to the conditions: `value` is its own, `own` the schema that it stands in,
 * `todo` the schemas that hold too. */
typedef struct reader {
    schema *s;
    schema_flat *out;
    json_t *own, *todo;
} reader;
typedef weft_status (*keyword_fn)(reader *r, const char *key, json_t *value);

static weft_status wrong(const reader *r, const char *key, const char *what) {
    return schema_fail(r->s, WEFT_FORMAT, "\"%s\" must be %s", key, what);
}

static weft_status add_todo(reader *r, json_t *one) {
    return json_array_append(r->todo, one) ? error_set(WEFT_NO_MEMORY, "out of memory") : WEFT_OK;
}

static weft_status read_type(reader *r, const char *key, json_t *value) {
    static const struct {
        const char *name;
        unsigned bits;
    } known[] = {{"null", TYPE_NULL},     {"boolean", TYPE_BOOLEAN}, {"integer", TYPE_WHOLE},
                 {"number", TYPE_NUMBER}, {"string", TYPE_STRING},   {"array", TYPE_ARRAY},
                 {"object", TYPE_OBJECT}};
    unsigned types = 0;
    size_t n = json_is_array(value) ? json_array_size(value) : 1;
    for (size_t i = 0; i < n; i++) {
        json_t *name = json_is_array(value) ? json_array_get(value, i) : value;
        unsigned found = 0;
        for (unsigned k = 0; k < sizeof known / sizeof *known && json_is_string(name); k++)
            if (!strcmp(known[k].name, json_string_value(name))) found = known[k].bits;
        if (!found) return schema_fail(r->s, WEFT_FORMAT, "\"%s\" names no type of JSON", key);
        types |= found;
    }
    if (json_is_true(json_object_get(r->own, "nullable"))) types |= TYPE_NULL;
    r->out->types &= types;
    return WEFT_OK;
}

static weft_status read_nullable(reader *r, const char *key, json_t *value) {
    return json_is_boolean(value) ? WEFT_OK : wrong(r, key, "true or false");
}

static weft_status read_types(reader *r, const char *key, json_t *value) {
    (void)key;
    r->out->types &= (unsigned)json_integer_value(value);
    return WEFT_OK;
}

static weft_status keep_values(reader *r, json_t *list) {
    json_t *old = r->out->values, *kept = json_array(), *one;
    size_t i;
    TRY(schema_own(r->s, kept));
    json_array_foreach(list, i, one) {
        if (old && !schema_list_has(old, one)) continue;
        if (json_array_append(kept, one)) return error_set(WEFT_NO_MEMORY, "out of memory");
    }
    r->out->values = kept;
    return WEFT_OK;
}

static weft_status read_enum(reader *r, const char *key, json_t *value) {
    if (!json_is_array(value)) return wrong(r, key, "a list");
    if (r->out->values && json_array_size(value) > 1000 && json_array_size(r->out->values) > 1000)
        return schema_fail(r->s, WEFT_LIMIT, "two lists of more than 1000 values at once");
    if (!r->out->values) {
        r->out->values = value;
        return WEFT_OK;
    }
    return keep_values(r, value);
}

static weft_status read_const(reader *r, const char *key, json_t *value) {
    (void)key;
    json_t *list = json_pack("[O]", value);
    TRY(schema_own(r->s, list));
    return keep_values(r, list);
}

static weft_status read_not_values(reader *r, const char *key, json_t *value) {
    size_t i;
    json_t *one;
    (void)key;
    json_array_foreach(value, i, one) TRY(schema_push(r->s, &r->out->not_values, one));
    return WEFT_OK;
}

static weft_status read_bound(reader *r, const char *key, json_t *value) {
    number_bounds *n = &r->out->bounds;
    bool is_low = strstr(key, "inimum"), is_open = key[0] == 'e';
    char text[NUMBER_SIZE], *mine = is_low ? n->low : n->high;
    bool *is_there = is_low ? &n->has_low : &n->has_high;
    bool *is_mine_open = is_low ? &n->is_low_open : &n->is_high_open;
    if (is_open && json_is_boolean(value)) { /* OpenAPI 3.0 and draft 4: of the other keyword */
        json_t *closed = json_object_get(r->own, is_low ? "minimum" : "maximum");
        if (json_is_false(value) || !closed) return WEFT_OK;
        value = closed;
    }
    TRY(schema_decimal(r->s, value, key, text));
    int order = *is_there ? schema_number_compare(text, mine) * (is_low ? 1 : -1) : 1;
    if (order == 0) *is_mine_open |= is_open;
    if (order <= 0) return WEFT_OK;
    memcpy(mine, text, sizeof text);
    *is_there = true;
    *is_mine_open = is_open;
    return WEFT_OK;
}

static weft_status read_multiple(reader *r, const char *key, json_t *value) {
    bool is_not = key[0] == '\1';
    if (!json_is_number(value) || !(json_number_value(value) > 0))
        return wrong(r, key, "a number above 0");
    return schema_push(r->s, is_not ? &r->out->not_multiples : &r->out->multiples, value);
}

/* minX and maxX of all kinds. */
static weft_status read_count(reader *r, const char *key, json_t *value) {
    schema_flat *f = r->out;
    const struct {
        const char *key;
        int64_t *count;
    } counts[] = {{"minLength", &f->min_length},         {"maxLength", &f->max_length},
                  {"minItems", &f->min_items},           {"maxItems", &f->max_items},
                  {"minProperties", &f->min_properties}, {"maxProperties", &f->max_properties}};
    double number = json_is_number(value) ? json_number_value(value) : -1;
    bool is_least = key[1] == 'i';
    if (number < 0 || floor(number) < number) return wrong(r, key, "a whole number, 0 or more");
    if (number > 1e9) number = 1e9; /* beyond what any state count allows, so the same */
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        int64_t *count = counts[i].count, n = (int64_t)number;
        if (strcmp(counts[i].key, key)) continue;
        if (is_least ? n > *count : *count < 0 || n < *count) *count = n;
    }
    return WEFT_OK;
}

static weft_status read_pattern(reader *r, const char *key, json_t *value) {
    json_t **list = key[0] == '\1' ? &r->out->not_patterns : &r->out->patterns;
    if (!json_is_string(value)) return wrong(r, key, "a text");
    return schema_list_has(*list, value) ? WEFT_OK : schema_push(r->s, list, value);
}

/* Formats of numbers are ranges (the OpenAPI registry's); others are texts'. */
static weft_status read_format(reader *r, const char *key, json_t *value) {
    static const struct {
        const char *name, *low, *high;
    } ranges[] = {{"int8", "-128", "127"},
                  {"int16", "-32768", "32767"},
                  {"int32", "-2147483648", "2147483647"},
                  {"int64", "-9223372036854775808", "9223372036854775807"},
                  {"uint8", "0", "255"},
                  {"uint16", "0", "65535"},
                  {"uint32", "0", "4294967295"},
                  {"uint64", "0", "18446744073709551615"},
                  {"float", NULL, NULL},
                  {"double", NULL, NULL}};
    number_bounds *n = &r->out->bounds;
    if (!json_is_string(value)) return wrong(r, key, "a text");
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++) {
        if (strcmp(ranges[i].name, json_string_value(value))) continue;
        if (!ranges[i].low) return WEFT_OK;
        if (!n->has_low || schema_number_compare(ranges[i].low, n->low) > 0) {
            snprintf(n->low, sizeof n->low, "%s", ranges[i].low);
            n->has_low = true;
            n->is_low_open = false;
        }
        if (!n->has_high || schema_number_compare(ranges[i].high, n->high) < 0) {
            snprintf(n->high, sizeof n->high, "%s", ranges[i].high);
            n->has_high = true;
            n->is_high_open = false;
        }
        return WEFT_OK;
    }
    if (schema_list_has(r->out->formats, value)) return WEFT_OK;
    return schema_push(r->s, &r->out->formats, value);
}

static bool has_name(json_t *list, const json_t *one) {
    size_t i;
    json_t *other;
    json_array_foreach(list, i, other) if (other == one) return true;
    return false;
}

static weft_status push_own(reader *r, json_t **list) {
    return has_name(*list, r->own) ? WEFT_OK : schema_push(r->s, list, r->own);
}

static weft_status read_items(reader *r, const char *key, json_t *value) {
    bool is_list = !strcmp(key, "prefixItems");
    if (is_list && !json_is_array(value)) return wrong(r, key, "a list");
    return push_own(r, &r->out->lists);
}

static weft_status read_contains(reader *r, const char *key, json_t *value) {
    bool is_count = strcmp(key, "contains");
    double number = json_is_number(value) ? json_number_value(value) : -1;
    if (!is_count) return push_own(r, &r->out->contains);
    if (number < 0 || floor(number) < number || number > 1e9)
        return wrong(r, key, "a whole number, 0 to 1e9");
    return WEFT_OK;
}

static weft_status read_unique(reader *r, const char *key, json_t *value) {
    if (!json_is_boolean(value)) return wrong(r, key, "true or false");
    r->out->is_unique |= json_is_true(value);
    return WEFT_OK;
}

static weft_status read_properties(reader *r, const char *key, json_t *value) {
    bool is_map = strcmp(key, "additionalProperties");
    if (is_map && !json_is_object(value)) return wrong(r, key, "an object");
    return push_own(r, &r->out->objects);
}

static weft_status read_names(reader *r, const char *key, json_t *value) {
    (void)key;
    return schema_push(r->s, &r->out->names, value);
}

static weft_status read_has(reader *r, const char *key, json_t *value) {
    (void)key;
    return schema_push(r->s, &r->out->has, value);
}

static weft_status read_required(reader *r, const char *key, json_t *value) {
    size_t i;
    json_t *one;
    if (!json_is_array(value)) return wrong(r, key, "a list of names");
    if (!r->out->is_required) {
        json_t *made = json_object();
        TRY(schema_own(r->s, made));
        r->out->is_required = made;
    }
    json_array_foreach(value, i, one) {
        if (!json_is_string(one)) return wrong(r, key, "a list of names");
        if (json_object_get(r->out->is_required, json_string_value(one))) continue;
        if (json_object_set_new(r->out->is_required, json_string_value(one), json_true()))
            return error_set(WEFT_NO_MEMORY, "out of memory");
        TRY(schema_push(r->s, &r->out->required, one));
    }
    return WEFT_OK;
}

static weft_status read_ref(reader *r, const char *key, json_t *value) {
    json_t *target;
    if (!json_is_string(value)) return wrong(r, key, "a text");
    TRY(schema_resolve(r->s, value, &target));
    return add_todo(r, target);
}

static weft_status read_all_of(reader *r, const char *key, json_t *value) {
    if (!json_is_array(value)) return wrong(r, key, "a list");
    return json_array_extend(r->todo, value) ? error_set(WEFT_NO_MEMORY, "out of memory") : WEFT_OK;
}

static weft_status read_choice(reader *r, const char *key, json_t *value) {
    bool is_any = !strcmp(key, "anyOf");
    if (!json_is_array(value) || !json_array_size(value))
        return wrong(r, key, "a list with something in it");
    r->out->has_choice = true;
    if (json_array_size(value) == 1) return add_todo(r, json_array_get(value, 0));
    if (has_name(is_any ? r->out->any_of : r->out->one_of, value)) {
        return WEFT_OK;
    }
    return schema_push(r->s, is_any ? &r->out->any_of : &r->out->one_of, value);
}

static weft_status read_not(reader *r, const char *key, json_t *value) {
    json_t *negated;
    (void)key;
    r->out->has_choice = true;
    TRY(schema_negate(r->s, value, &negated));
    return add_todo(r, negated);
}

static weft_status add_any(reader *r, json_t *list) {
    TRY(schema_own(r->s, list));
    r->out->has_choice = true;
    return schema_push(r->s, &r->out->any_of, list);
}

static weft_status read_if(reader *r, const char *key, json_t *value) {
    json_t *yes = json_object_get(r->own, "then"), *no = json_object_get(r->own, "else");
    (void)key;
    r->out->has_choice = true;
    if (!yes && !no) return WEFT_OK;
    if (!yes) return add_any(r, json_pack("[O,O]", value, no));
    if (!no) return add_any(r, json_pack("[{s:O},O]", "not", value, yes));
    return add_any(
        r, json_pack("[{s:[O,O]},{s:[{s:O},O]}]", "allOf", value, yes, "allOf", "not", value, no));
}

static weft_status read_then(reader *r, const char *key, json_t *value) {
    (void)r;
    (void)key;
    (void)value;
    return WEFT_OK; /* read with `if`, and nothing without */
}

/* {name: names} or {name: schema}: a property, if there, asks for others or for a schema. */
static weft_status read_dependent(reader *r, const char *key, json_t *value) {
    const char *name;
    json_t *needs;
    if (!json_is_object(value)) return wrong(r, key, "an object");
    json_object_foreach(value, name, needs) {
        bool is_names = json_is_array(needs);
        if (is_names ? !strcmp(key, "dependentSchemas") : !strcmp(key, "dependentRequired"))
            return wrong(r, key, "of the other kind: one has names, one schemas");
        json_t *then = is_names ? json_pack("{s:O}", "required", needs) : json_incref(needs);
        TRY(add_any(r, json_pack("[{s:{s:b}},o]", "properties", name, 0, then)));
    }
    return WEFT_OK;
}

/* unevaluatedItems/Properties beside nothing but $ref and allOf: what those leave. */
static weft_status read_unevaluated(reader *r, const char *key, json_t *value) {
    json_t *rest = json_copy(r->own), *made, *one, *known, *list;
    bool is_items = !strcmp(key, "unevaluatedItems"), has_rest = false;
    schema_flat f;
    size_t i, n = 0;
    const char *name;
    TRY(schema_own(r->s, rest));
    json_object_del(rest, "unevaluatedItems");
    json_object_del(rest, "unevaluatedProperties");
    TRY(schema_flatten(r->s, rest, &f));
    if (f.has_choice || (is_items && f.contains))
        return schema_fail(r->s, WEFT_UNSUPPORTED,
                           "\"%s\" is supported beside $ref and allOf only, no other "
                           "combination and no contains",
                           key);
    made = is_items ? json_pack("{s:[],s:O}", "prefixItems", "items", value)
                    : json_pack("{s:{},s:{},s:O}", "properties", "patternProperties",
                                "additionalProperties", value);
    TRY(schema_own(r->s, made));
    int failed = 0;
    json_array_foreach(is_items ? f.lists : f.objects, i, one) {
        list = json_object_get(one, "items");
        if (is_items) {
            json_t *prefix = json_is_array(list) ? list : json_object_get(one, "prefixItems");
            if (json_array_size(prefix) > n) n = json_array_size(prefix);
            has_rest |= list && !json_is_array(list);
            has_rest |= json_is_array(list) && json_object_get(one, "additionalItems");
            continue;
        }
        has_rest |= json_object_get(one, "additionalProperties") != NULL;
        json_object_foreach(json_object_get(one, "properties"), name, known) failed |=
            json_object_set_new(json_object_get(made, "properties"), name, json_true());
        json_object_foreach(json_object_get(one, "patternProperties"), name, known) failed |=
            json_object_set_new(json_object_get(made, "patternProperties"), name, json_true());
    }
    for (i = 0; i < n; i++)
        failed |= json_array_append_new(json_object_get(made, "prefixItems"), json_true());
    if (failed) return error_set(WEFT_NO_MEMORY, "out of memory");
    return has_rest ? WEFT_OK : add_todo(r, made);
}

/* In this order, which is not the schema's: nothing depends on it but a keyword of another. */
static const struct keyword {
    const char *name;
    keyword_fn read;
    bool is_applicator; /* stays out of `parts` */
} keywords[] = {
    {"$ref", read_ref, true},
    {"allOf", read_all_of, true},
    {"anyOf", read_choice, true},
    {"oneOf", read_choice, true},
    {"not", read_not, true},
    {"if", read_if, true},
    {"then", read_then, true},
    {"else", read_then, true},
    {"dependentRequired", read_dependent, true},
    {"dependentSchemas", read_dependent, true},
    {"dependencies", read_dependent, true},
    {"unevaluatedItems", read_unevaluated, true},
    {"unevaluatedProperties", read_unevaluated, true},
    {"type", read_type, false},
    {"nullable", read_nullable, false},
    {"enum", read_enum, false},
    {"const", read_const, false},
    {"minimum", read_bound, false},
    {"maximum", read_bound, false},
    {"exclusiveMinimum", read_bound, false},
    {"exclusiveMaximum", read_bound, false},
    {"multipleOf", read_multiple, false},
    {"minLength", read_count, false},
    {"maxLength", read_count, false},
    {"minItems", read_count, false},
    {"maxItems", read_count, false},
    {"minProperties", read_count, false},
    {"maxProperties", read_count, false},
    {"pattern", read_pattern, false},
    {"format", read_format, false},
    {"items", read_items, false},
    {"prefixItems", read_items, false},
    {"additionalItems", read_items, false},
    {"contains", read_contains, false},
    {"minContains", read_contains, false},
    {"maxContains", read_contains, false},
    {"uniqueItems", read_unique, false},
    {"properties", read_properties, false},
    {"patternProperties", read_properties, false},
    {"additionalProperties", read_properties, false},
    {"propertyNames", read_names, false},
    {"required", read_required, false},
    {SCHEMA_TYPES, read_types, false},
    {SCHEMA_HAS, read_has, false},
    {SCHEMA_FROM, read_contains, false},
    {SCHEMA_NOT_VALUES, read_not_values, false},
    {SCHEMA_NOT_MULTIPLE, read_multiple, false},
    {SCHEMA_NOT_PATTERN, read_pattern, false},
};

static const struct keyword *find_keyword(const char *name) {
    for (size_t i = 0; i < sizeof keywords / sizeof *keywords; i++)
        if (!strcmp(keywords[i].name, name)) return &keywords[i];
    return NULL;
}

bool schema_is_keyword(const char *name) { return find_keyword(name) != NULL && name[0] != '\1'; }

/* One schema's keywords; what is not an applicator goes to `parts`. */
static weft_status read_schema(reader *r) {
    const char *key;
    json_t *value, *rest = r->own;
    bool has_applicator = false, has_other = false;
    if (json_is_true(r->own)) return WEFT_OK;
    if (json_is_false(r->own)) {
        r->out->types = 0;
        return schema_push(r->s, &r->out->parts, r->own);
    }
    if (!json_is_object(r->own))
        return schema_fail(r->s, WEFT_FORMAT, "a schema must be an object, true or false");
    json_object_foreach(r->own, key, value) {
        const struct keyword *k = find_keyword(key);
        if (!k && schema_is_annotation(key)) continue;
        if (!k)
            return schema_fail(r->s, WEFT_UNSUPPORTED, "the keyword \"%.80s\" is not supported",
                               key);
        has_applicator |= k->is_applicator;
        has_other |= !k->is_applicator;
    }
    if (has_applicator && has_other) {
        rest = json_copy(r->own);
        TRY(schema_own(r->s, rest));
        for (size_t i = 0; i < sizeof keywords / sizeof *keywords; i++)
            if (keywords[i].is_applicator) json_object_del(rest, keywords[i].name);
    }
    if (has_other) TRY(schema_push(r->s, &r->out->parts, rest));
    json_t *whole = r->own;
    json_object_foreach(whole, key, value) {
        const struct keyword *k = find_keyword(key);
        r->own = k && !k->is_applicator ? rest : whole;
        if (k) TRY(k->read(r, key, value));
    }
    return WEFT_OK;
}

weft_status schema_flatten(schema *s, json_t *in, schema_flat *out) {
    *out =
        (schema_flat){.types = TYPE_ALL, .max_length = -1, .max_items = -1, .max_properties = -1};
    reader r = {.s = s, .out = out, .todo = json_pack("[O]", in)};
    size_t from[MOST_STEPS] = {0}, n = 1; /* by whom each was added */
    TRY(schema_own(s, r.todo));
    for (size_t i = 0; i < json_array_size(r.todo); i++) {
        r.own = json_array_get(r.todo, i);
        TRY(schema_step(s));
        bool is_known = false;
        for (size_t k = 0; k < i && !is_known; k++)
            is_known = json_is_object(r.own) && json_array_get(r.todo, k) == r.own;
        for (size_t k = i; is_known && k; k = from[k])
            if (json_array_get(r.todo, from[k]) == r.own)
                return schema_fail(s, WEFT_UNSUPPORTED,
                                   "a schema is defined by itself, through $ref, allOf or not");
        if (!is_known) TRY(read_schema(&r));
        if (json_array_size(r.todo) > MOST_STEPS)
            return schema_fail(s, WEFT_LIMIT,
                               "more than %d schemas hold at once, by $ref, allOf and not",
                               MOST_STEPS);
        for (; n < json_array_size(r.todo); n++) from[n] = i;
    }
    return WEFT_OK;
}

#endif
