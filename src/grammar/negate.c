/* The negation of a schema: a value is invalid when some keyword does not hold, so it is an anyOf
 * of each keyword's negation, which speaks of one kind of value. What stands inside is negated when
 * its turn comes ({"not": ...}), so nothing recurses here. Keywords whose negation needs more than
 * there is are refused by name.
 * SPDX-License-Identifier: MIT */
#ifdef WEFT_HAVE_JANSSON
#include <string.h>

#include "grammar/schema_kinds.h"

typedef struct negation {
    schema *s;
    json_t *in, *options;
} negation;
typedef weft_status (*negate_fn)(negation *n, const char *key, json_t *value);

/* Takes over `made`. */
static weft_status add(negation *n, json_t *made) {
    TRY(schema_own(n->s, made));
    return schema_push(n->s, &n->options, made);
}

static weft_status refuse(const negation *n, const char *key) {
    if (!schema_is_keyword(key))
        return schema_fail(n->s, WEFT_UNSUPPORTED, "the keyword \"%.80s\" is not supported", key);
    return schema_fail(n->s, WEFT_UNSUPPORTED,
                       "\"%.80s\" is not supported in what must not hold (not, if, oneOf)", key);
}

static weft_status negate_type(negation *n, const char *key, json_t *value) {
    schema_flat f;
    json_t *alone = json_pack("{s:O}", key, value);
    TRY(schema_own(n->s, alone));
    TRY(schema_flatten(n->s, alone, &f));
    if (json_is_true(json_object_get(n->in, "nullable"))) f.types |= TYPE_NULL;
    if (f.types == TYPE_ALL) return WEFT_OK;
    return add(n, json_pack("{s:i}", SCHEMA_TYPES, (int)(TYPE_ALL & ~f.types)));
}

/* A list or object as a schema for values equal to it. */
static json_t *structure_of(json_t *value) {
    json_t *made = json_is_array(value)
                       ? json_pack("{s:s,s:[],s:b,s:i}", "type", "array", "prefixItems", "items", 0,
                                   "minItems", (int)json_array_size(value))
                       : json_pack("{s:s,s:{},s:b,s:[]}", "type", "object", "properties",
                                   "additionalProperties", 0, "required");
    json_t *one;
    size_t i;
    const char *key;
    int failed = !made;
    json_array_foreach(value, i, one) failed |= json_array_append_new(
        json_object_get(made, "prefixItems"), json_pack("{s:O}", "const", one));
    json_object_foreach(value, key, one) {
        failed |= json_object_set_new(json_object_get(made, "properties"), key,
                                      json_pack("{s:O}", "const", one));
        failed |= json_array_append_new(json_object_get(made, "required"), json_string(key));
    }
    if (!failed) return made;
    json_decref(made);
    return NULL;
}

weft_status schema_structure(schema *s, json_t *value, json_t **out) {
    *out = structure_of(value);
    return schema_own(s, *out);
}

/* None of the values: plain ones by name, lists and objects by their structure. */
static weft_status negate_values(negation *n, const char *key, json_t *value) {
    json_t *plain = json_array(), *all = json_array(), *one, *structure;
    size_t i;
    (void)key;
    weft_status status = schema_own(n->s, plain);
    if (status != WEFT_OK) json_decref(all);
    TRY(status);
    TRY(schema_own(n->s, all));
    json_array_foreach(value, i, one) {
        if (!json_is_array(one) && !json_is_object(one)) {
            TRY(schema_push(n->s, &plain, one));
            continue;
        }
        TRY(schema_structure(n->s, one, &structure));
        json_t *not_it = json_pack("{s:O}", "not", structure);
        TRY(schema_own(n->s, not_it));
        TRY(schema_push(n->s, &all, not_it));
    }
    if (json_array_size(plain)) {
        json_t *not_them = json_pack("{s:O}", SCHEMA_NOT_VALUES, plain);
        TRY(schema_own(n->s, not_them));
        TRY(schema_push(n->s, &all, not_them));
    }
    return add(n, json_pack("{s:O}", "allOf", all));
}

static weft_status negate_enum(negation *n, const char *key, json_t *value) {
    if (!json_is_array(value)) return schema_fail(n->s, WEFT_FORMAT, "\"%s\" must be a list", key);
    return negate_values(n, key, value);
}

static weft_status negate_const(negation *n, const char *key, json_t *value) {
    json_t *list = json_pack("[O]", value);
    TRY(schema_own(n->s, list));
    return negate_values(n, key, list);
}

/* Keywords whose negation is another keyword, for values of one type, with the same value. */
static weft_status negate_swapped(negation *n, const char *key, json_t *value) {
    static const char *const swaps[][3] = {{"minimum", "number", "exclusiveMaximum"},
                                           {"maximum", "number", "exclusiveMinimum"},
                                           {"exclusiveMinimum", "number", "maximum"},
                                           {"exclusiveMaximum", "number", "minimum"},
                                           {"multipleOf", "number", SCHEMA_NOT_MULTIPLE},
                                           {SCHEMA_NOT_MULTIPLE, "number", "multipleOf"},
                                           {"pattern", "string", SCHEMA_NOT_PATTERN},
                                           {SCHEMA_NOT_PATTERN, "string", "pattern"}};
    if (key[0] == 'e' && json_is_boolean(value)) { /* see read_bound */
        json_t *closed = json_object_get(n->in, strstr(key, "Min") ? "minimum" : "maximum");
        if (json_is_false(value) || !closed) return WEFT_OK;
        value = closed;
    }
    for (size_t i = 0; i < sizeof swaps / sizeof *swaps; i++)
        if (!strcmp(swaps[i][0], key))
            return add(n, json_pack("{s:s,s:O}", "type", swaps[i][1], swaps[i][2], value));
    return refuse(n, key);
}

/* minX: k becomes maxX: k - 1, and the other way round. */
static weft_status negate_count(negation *n, const char *key, json_t *value) {
    static const char *const kinds[][3] = {{"minLength", "string", "maxLength"},
                                           {"maxLength", "string", "minLength"},
                                           {"minItems", "array", "maxItems"},
                                           {"maxItems", "array", "minItems"},
                                           {"minProperties", "object", "maxProperties"},
                                           {"maxProperties", "object", "minProperties"}};
    double number = json_number_value(value);
    json_int_t count = (json_int_t)(number < 1e9 ? number : 1e9) + (key[1] == 'i' ? -1 : 1);
    if (!json_is_number(value) || number < 0)
        return schema_fail(n->s, WEFT_FORMAT, "\"%s\" must be a whole number, 0 or more", key);
    if (count < 0) return WEFT_OK;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (!strcmp(kinds[i][0], key))
            return add(n, json_pack("{s:s,s:I}", "type", kinds[i][1], kinds[i][2], count));
    return refuse(n, key);
}

static weft_status negate_format(negation *n, const char *key, json_t *value) {
    const char *outer = "";
    const char *text =
        json_is_string(value) ? schema_format(json_string_value(value), &outer) : NULL;
    if (!text || !outer[0]) return refuse(n, key);
    return add(n, json_pack("{s:s,s:s}", "type", "string", SCHEMA_NOT_PATTERN, outer));
}

static weft_status negate_required(negation *n, const char *key, json_t *value) {
    size_t i;
    json_t *one;
    (void)key;
    json_array_foreach(value, i, one) {
        if (json_is_string(one))
            TRY(add(n, json_pack("{s:s,s:{s:b}}", "type", "object", "properties",
                                 json_string_value(one), 0)));
    }
    return WEFT_OK;
}

static weft_status negate_properties(negation *n, const char *key, json_t *value) {
    const char *name;
    json_t *one;
    (void)key;
    json_object_foreach(value, name, one) {
        if (json_is_true(one)) continue;
        TRY(add(n, json_pack("{s:s,s:[s],s:{s:{s:O}}}", "type", "object", "required", name,
                             "properties", name, "not", one)));
    }
    return WEFT_OK;
}

/* The first items, each with its own schema. */
static weft_status negate_prefix(negation *n, const char *key, json_t *value) {
    size_t i;
    json_t *one, *list = json_array();
    (void)key;
    TRY(schema_own(n->s, list));
    json_array_foreach(value, i, one) {
        json_t *prefix = json_copy(list);
        int failed = !prefix || json_array_append_new(prefix, json_pack("{s:O}", "not", one));
        failed |= json_array_append(list, json_true());
        json_t *made = failed ? NULL
                              : json_pack("{s:s,s:i,s:O}", "type", "array", "minItems", (int)i + 1,
                                          "prefixItems", prefix);
        json_decref(prefix);
        TRY(add(n, made));
    }
    return WEFT_OK;
}

static weft_status negate_items(negation *n, const char *key, json_t *value) {
    size_t n_prefix = json_array_size(json_object_get(n->in, "prefixItems"));
    if (json_is_array(value)) return negate_prefix(n, key, value);
    if (json_is_true(value)) return WEFT_OK;
    if (json_is_false(value))
        return add(n, json_pack("{s:s,s:i}", "type", "array", "minItems", (int)n_prefix + 1));
    return add(n, json_pack("{s:s,s:{s:O},s:i}", "type", "array", "contains", "not", value,
                            SCHEMA_FROM, (int)n_prefix));
}

static weft_status negate_contains(negation *n, const char *key, json_t *value) {
    json_t *least = json_object_get(n->in, "minContains"),
           *most = json_object_get(n->in, "maxContains");
    double low = least ? json_number_value(least) : 1, high = json_number_value(most);
    (void)key;
    if (low > 1e9 || high > 1e9) return refuse(n, key);
    if (most)
        TRY(add(n, json_pack("{s:s,s:O,s:i}", "type", "array", "contains", value, "minContains",
                             (int)high + 1)));
    if (low >= 1 && low < 2)
        return add(n, json_pack("{s:s,s:{s:O}}", "type", "array", "items", "not", value));
    if (low < 1) return WEFT_OK;
    return add(n, json_pack("{s:s,s:O,s:i,s:i}", "type", "array", "contains", value, "minContains",
                            0, "maxContains", (int)low - 1));
}

static weft_status negate_choice(negation *n, const char *key, json_t *value) {
    json_t *none = json_array(), *one;
    size_t i, k;
    TRY(schema_own(n->s, none));
    if (!json_is_array(value)) return schema_fail(n->s, WEFT_FORMAT, "\"%s\" must be a list", key);
    json_array_foreach(value, i, one) {
        if (json_array_append_new(none, json_pack("{s:O}", "not", one)))
            return error_set(WEFT_NO_MEMORY, "out of memory");
        for (k = 0; k < i && key[0] == 'o'; k++) /* oneOf: or two of them */
            TRY(add(n, json_pack("{s:[O,O]}", "allOf", json_array_get(value, k), one)));
    }
    return add(n, json_pack("{s:O}", "allOf", none));
}

static weft_status negate_all(negation *n, const char *key, json_t *value) {
    size_t i;
    json_t *one;
    (void)key;
    json_array_foreach(value, i, one) TRY(add(n, json_pack("{s:O}", "not", one)));
    return WEFT_OK;
}

static weft_status negate_not(negation *n, const char *key, json_t *value) {
    (void)key;
    return schema_push(n->s, &n->options, value);
}

static weft_status negate_ref(negation *n, const char *key, json_t *value) {
    json_t *target;
    if (!json_is_string(value)) return schema_fail(n->s, WEFT_FORMAT, "\"%s\" must be a text", key);
    TRY(schema_resolve(n->s, value, &target));
    return add(n, json_pack("{s:O}", "not", target));
}

static weft_status negate_if(negation *n, const char *key, json_t *value) {
    json_t *yes = json_object_get(n->in, "then"), *no = json_object_get(n->in, "else");
    (void)key;
    if (yes) TRY(add(n, json_pack("{s:[O,{s:O}]}", "allOf", value, "not", yes)));
    if (no) TRY(add(n, json_pack("{s:[{s:O},{s:O}]}", "allOf", "not", value, "not", no)));
    return WEFT_OK;
}

static weft_status negate_dependent(negation *n, const char *key, json_t *value) {
    const char *name;
    json_t *needs;
    (void)key;
    json_object_foreach(value, name, needs) {
        json_t *then =
            json_is_array(needs) ? json_pack("{s:O}", "required", needs) : json_incref(needs);
        TRY(add(n, json_pack("{s:s,s:[s],s:o}", "type", "object", "required", name, "not", then)));
    }
    return WEFT_OK;
}

static weft_status negate_not_values(negation *n, const char *key, json_t *value) {
    (void)key;
    return add(n, json_pack("{s:O}", "enum", value));
}

static weft_status negate_types(negation *n, const char *key, json_t *value) {
    unsigned types = (unsigned)json_integer_value(value);
    return add(n, json_pack("{s:i}", key, (int)(TYPE_ALL & ~types)));
}

/* Some member whose name is of the schema `name` and whose value is not of `value`; takes over
 * `name`. */
static weft_status add_has(negation *n, json_t *name, json_t *value) {
    return add(n, json_pack("{s:s,s:{s:o,s:{s:O}}}", "type", "object", SCHEMA_HAS, "key", name,
                            "value", "not", value));
}

static weft_status negate_patterns(negation *n, const char *key, json_t *value) {
    const char *pattern;
    json_t *one;
    (void)key;
    json_object_foreach(value, pattern, one) {
        if (!json_is_true(one)) TRY(add_has(n, json_pack("{s:s}", "pattern", pattern), one));
    }
    return WEFT_OK;
}

/* A name that neither properties nor patternProperties speak of. */
static weft_status negate_additional(negation *n, const char *key, json_t *value) {
    json_t *names = json_array(), *all = json_array(), *one;
    const char *name;
    int failed = !names || !all;
    (void)key;
    json_object_foreach(json_object_get(n->in, "properties"), name, one) failed |=
        json_array_append_new(names, json_string(name));
    failed |= json_array_append_new(all, json_pack("{s:O}", SCHEMA_NOT_VALUES, names));
    json_object_foreach(json_object_get(n->in, "patternProperties"), name, one) failed |=
        json_array_append_new(all, json_pack("{s:s}", SCHEMA_NOT_PATTERN, name));
    json_decref(names);
    if (failed || json_is_true(value)) json_decref(all);
    if (failed) return error_set(WEFT_NO_MEMORY, "out of memory");
    return json_is_true(value) ? WEFT_OK : add_has(n, json_pack("{s:o}", "allOf", all), value);
}

static weft_status negate_names(negation *n, const char *key, json_t *value) {
    (void)key;
    return add_has(n, json_pack("{s:O}", "not", value), json_false());
}

static weft_status negate_nothing(negation *n, const char *key, json_t *value) {
    (void)n;
    (void)key;
    (void)value;
    return WEFT_OK;
}

static weft_status negate_unique(negation *n, const char *key, json_t *value) {
    return json_is_false(value) ? WEFT_OK : refuse(n, key);
}

weft_status schema_negate(schema *s, json_t *in, json_t **out) {
    static const struct {
        const char *name;
        negate_fn negate;
    } known[] = {{"type", negate_type},
                 {"enum", negate_enum},
                 {"const", negate_const},
                 {SCHEMA_NOT_VALUES, negate_not_values},
                 {SCHEMA_TYPES, negate_types},
                 {"minimum", negate_swapped},
                 {"maximum", negate_swapped},
                 {"exclusiveMinimum", negate_swapped},
                 {"exclusiveMaximum", negate_swapped},
                 {"multipleOf", negate_swapped},
                 {SCHEMA_NOT_MULTIPLE, negate_swapped},
                 {"pattern", negate_swapped},
                 {SCHEMA_NOT_PATTERN, negate_swapped},
                 {"minLength", negate_count},
                 {"maxLength", negate_count},
                 {"minItems", negate_count},
                 {"maxItems", negate_count},
                 {"minProperties", negate_count},
                 {"maxProperties", negate_count},
                 {"format", negate_format},
                 {"required", negate_required},
                 {"properties", negate_properties},
                 {"patternProperties", negate_patterns},
                 {"additionalProperties", negate_additional},
                 {"propertyNames", negate_names},
                 {"prefixItems", negate_prefix},
                 {"items", negate_items},
                 {"contains", negate_contains},
                 {"minContains", negate_nothing},
                 {"maxContains", negate_nothing},
                 {"uniqueItems", negate_unique},
                 {"anyOf", negate_choice},
                 {"oneOf", negate_choice},
                 {"allOf", negate_all},
                 {"not", negate_not},
                 {"$ref", negate_ref},
                 {"if", negate_if},
                 {"then", negate_nothing},
                 {"else", negate_nothing},
                 {"dependentRequired", negate_dependent},
                 {"dependentSchemas", negate_dependent},
                 {"dependencies", negate_dependent},
                 {"nullable", negate_nothing}};
    negation n = {.s = s, .in = in};
    const char *key;
    json_t *value;
    TRY(schema_step(s));
    if (json_is_boolean(in)) {
        *out = json_boolean(json_is_false(in));
        return WEFT_OK;
    }
    if (!json_is_object(in))
        return schema_fail(s, WEFT_FORMAT, "a schema must be an object, true or false");
    json_object_foreach(in, key, value) {
        bool is_known = schema_is_annotation(key);
        for (size_t i = 0; i < sizeof known / sizeof *known && !is_known; i++) {
            if (strcmp(known[i].name, key)) continue;
            TRY(known[i].negate(&n, key, value));
            is_known = true;
        }
        if (!is_known) return refuse(&n, key);
    }
    *out = json_false();
    if (json_array_size(n.options) == 1) *out = json_array_get(n.options, 0);
    else if (n.options) {
        *out = json_pack("{s:O}", "anyOf", n.options);
        TRY(schema_own(s, *out));
    }
    return WEFT_OK;
}

#endif
