/* $ref, allOf and the question whether branches of oneOf exclude each other, by rewriting schemas:
 * the conjunction of two schemas is one schema, keyword by keyword, and that of their properties is
 * again an allOf, worked out when its turn comes.
 * SPDX-License-Identifier: MIT */
#ifdef WEFT_HAVE_JANSSON
#include <string.h>

#include "grammar/schema.h"

enum { MOST_STEPS = 100, MOST_DEPTH = 3 };

bool schema_is_annotation(const char *keyword) {
    static const char *const names[] = {
        "title",    "description", "default",         "examples",
        "$comment", "deprecated",  "readOnly",        "writeOnly",
        "$schema",  "$id",         "$defs",           "definitions",
        "$anchor",  "$vocabulary", "contentEncoding", "contentMediaType"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(names[i], keyword)) return true;
    return false;
}

/* One step of a JSON pointer, escapes undone, into `step`; the rest is returned. */
static const char *take_step(const char *at, char *step, size_t cap) {
    size_t n = 0;
    for (at++; *at && *at != '/'; at++) {
        char c = *at;
        if (c == '~' && (at[1] == '0' || at[1] == '1')) c = *++at == '0' ? '~' : '/';
        if (n + 1 < cap) step[n++] = c;
    }
    step[n] = 0;
    return at;
}

weft_status schema_resolve(schema *s, const char *reference, json_t **out) {
    char step[256];
    json_t *at = s->root;
    if (reference[0] != '#' || (reference[1] && reference[1] != '/') || strchr(reference, '%'))
        return schema_fail(s, WEFT_UNSUPPORTED,
                           "the $ref \"%s\" is not supported: only \"#/...\" is", reference);
    for (const char *p = reference + 1; *p == '/' && at;) {
        p = take_step(p, step, sizeof step);
        if (json_is_array(at)) {
            size_t i = 0;
            for (const char *d = step; *d >= '0' && *d <= '9' && i < 100000; d++)
                i = i * 10 + (size_t)(*d - '0');
            at = json_array_get(at, i);
        } else at = json_object_get(at, step);
    }
    if (!at) return schema_fail(s, WEFT_FORMAT, "the $ref \"%s\" leads nowhere", reference);
    *out = at;
    return WEFT_OK;
}

/* ---- conjunction ----------------------------------------------------------------------------- */

/* The schema {"allOf": [a, b]}, not owned by the bridge but by the caller. */
static json_t *both(json_t *a, json_t *b) {
    if (!a || !b || a == b) return a ? json_incref(a) : json_incref(b);
    return json_pack("{s:[O,O]}", "allOf", a, b);
}

/* What a schema says of a property: its own schema, or additionalProperties. */
static json_t *property_of(json_t *schema, const char *name) {
    json_t *own = json_object_get(json_object_get(schema, "properties"), name);
    return own ? own : json_object_get(schema, "additionalProperties");
}

static int merge_properties(json_t *a, json_t *b, json_t *out) {
    json_t *all = json_object(),
           *part[2] = {json_object_get(a, "properties"), json_object_get(b, "properties")};
    int failed = !all;
    for (int i = 0; i < 2; i++) {
        const char *name;
        json_t *unused;
        json_object_foreach(part[i], name, unused) {
            if (failed || json_object_get(all, name)) continue;
            json_t *one = property_of(a, name), *two = property_of(b, name);
            failed |= json_object_set_new(all, name, both(one, two));
        }
    }
    failed |= json_object_set_new(out, "properties", all);
    json_t *rest[2] = {json_object_get(a, "additionalProperties"),
                       json_object_get(b, "additionalProperties")};
    if (rest[0] || rest[1])
        failed |= json_object_set_new(out, "additionalProperties", both(rest[0], rest[1]));
    return failed;
}

static bool list_has(const json_t *list, const json_t *value) {
    size_t i;
    json_t *one;
    json_array_foreach(list, i, one) if (json_equal(one, value)) return true;
    return false;
}

static bool has_type(const json_t *types, const char *name) {
    size_t i;
    json_t *one;
    if (json_is_string(types)) return !strcmp(json_string_value(types), name);
    json_array_foreach(types, i, one) {
        if (json_is_string(one) && !strcmp(json_string_value(one), name)) return true;
    }
    return false;
}

/* The types of both: a whole number is a number too. */
static json_t *common_types(const json_t *a, const json_t *b) {
    static const char *const names[] = {"null",   "boolean", "integer", "number",
                                        "string", "array",   "object"};
    json_t *out = json_array();
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *n = names[i];
        bool is_whole = !strcmp(n, "integer");
        bool in_a = has_type(a, n) || (is_whole && has_type(a, "number"));
        bool in_b = has_type(b, n) || (is_whole && has_type(b, "number"));
        if (in_a && in_b) json_array_append_new(out, json_string(n));
    }
    return out;
}

/* The list of values that a schema names, NULL = any. Not owned. */
static weft_status values_of(schema *s, json_t *schema, json_t **out) {
    json_t *one = json_object_get(schema, "const");
    *out = json_object_get(schema, "enum");
    if (!one) return WEFT_OK;
    if (*out && !list_has(*out, one)) *out = json_array();
    else *out = json_pack("[O]", one);
    return schema_own(s, *out);
}

/* Values for a keyword that both have: NULL when it is not one that can be merged. */
static json_t *merge_value(const char *key, json_t *a, json_t *b) {
    bool is_least = !strncmp(key, "min", 3) || !strcmp(key, "exclusiveMinimum");
    bool is_most = !strncmp(key, "max", 3) || !strcmp(key, "exclusiveMaximum");
    if (json_equal(a, b)) return json_incref(a);
    if (json_is_number(a) && json_is_number(b) && (is_least || is_most)) {
        bool a_less = json_number_value(a) < json_number_value(b);
        return json_incref(a_less == is_most ? a : b);
    }
    if (!strcmp(key, "type")) return common_types(a, b);
    if (!strcmp(key, "items")) return both(a, b);
    if (!strcmp(key, "required") && json_is_array(a) && json_is_array(b)) {
        json_t *out = json_copy(a), *name;
        size_t i;
        json_array_foreach(b, i, name) if (!list_has(a, name)) json_array_append(out, name);
        return out;
    }
    return NULL;
}

static weft_status merge_into(schema *s, json_t *a, json_t *b, json_t *out) {
    const char *key;
    json_t *value, *values[2];
    TRY(values_of(s, a, &values[0]));
    TRY(values_of(s, b, &values[1]));
    int failed = merge_properties(a, b, out);
    for (int i = 0; i < 2; i++) {
        json_t *from = i ? b : a, *other = i ? a : b;
        json_object_foreach(from, key, value) {
            json_t *theirs = json_object_get(other, key);
            if (schema_is_annotation(key) || !strcmp(key, "properties") || !strcmp(key, "const") ||
                !strcmp(key, "enum") || !strcmp(key, "additionalProperties"))
                continue;
            if (i && theirs) continue;
            if (!theirs) failed |= json_object_set(out, key, value);
            else {
                json_t *made = merge_value(key, value, theirs);
                if (!made)
                    return schema_fail(s, WEFT_UNSUPPORTED,
                                       "two different \"%s\" at once are not supported", key);
                failed |= json_object_set_new(out, key, made);
            }
        }
    }
    if ((json_object_get(a, "prefixItems") != json_object_get(b, "prefixItems")) &&
        (json_object_get(a, "items") != json_object_get(b, "items")))
        return schema_fail(s, WEFT_UNSUPPORTED,
                           "\"prefixItems\" merged with another schema's \"items\" is not "
                           "supported");
    if (values[0] || values[1]) {
        json_t *kept = json_array(), *one;
        json_t *first = values[0] ? values[0] : values[1], *second = values[1] ? values[1] : first;
        size_t i;
        json_array_foreach(first, i, one) if (list_has(second, one)) json_array_append(kept, one);
        failed |= json_object_set_new(out, "enum", kept);
    }
    if (!json_object_size(json_object_get(out, "properties"))) json_object_del(out, "properties");
    return failed ? error_set(WEFT_NO_MEMORY, "out of memory") : WEFT_OK;
}

weft_status schema_merge(schema *s, json_t *a, json_t *b, json_t **out) {
    if (json_is_true(a) || json_is_false(b)) *out = b;
    else if (json_is_true(b) || json_is_false(a)) *out = a;
    else {
        *out = json_object();
        TRY(schema_own(s, *out));
        TRY(merge_into(s, a, b, *out));
    }
    return WEFT_OK;
}

/* ---- $ref and allOf -------------------------------------------------------------------------- */

weft_status schema_flatten(schema *s, json_t *in, json_t **out) {
    json_t *todo = json_pack("[O]", in), *flat = json_true();
    weft_status status = schema_own(s, todo);
    for (size_t i = 0; status == WEFT_OK && i < json_array_size(todo); i++) {
        json_t *one = json_array_get(todo, i), *target = NULL, *own = one;
        if (i == MOST_STEPS)
            return schema_fail(s, WEFT_LIMIT, "more than %d schemas are merged by $ref and allOf",
                               MOST_STEPS);
        json_t *reference = json_object_get(one, "$ref"), *all = json_object_get(one, "allOf");
        if (!json_is_object(one) && !json_is_boolean(one))
            return schema_fail(s, WEFT_FORMAT, "a schema must be an object, true or false");
        if (reference && !json_is_string(reference))
            return schema_fail(s, WEFT_FORMAT, "\"$ref\" must be a text");
        if (all && !json_is_array(all))
            return schema_fail(s, WEFT_FORMAT, "\"allOf\" must be a list");
        if (reference || all) {
            own = json_copy(one);
            TRY(schema_own(s, own));
            json_object_del(own, "$ref");
            json_object_del(own, "allOf");
        }
        if (reference) {
            TRY(schema_resolve(s, json_string_value(reference), &target));
            json_array_append(todo, target);
        }
        if (all) json_array_extend(todo, all);
        status = schema_merge(s, flat, own, &flat);
    }
    *out = flat;
    return status;
}

/* ---- oneOf ----------------------------------------------------------------------------------- */

static bool requires(const json_t *schema, const char *name) {
    const json_t *required = json_object_get(schema, "required");
    size_t i;
    json_t *one;
    json_array_foreach(required, i, one) {
        if (json_is_string(one) && !strcmp(json_string_value(one), name)) return true;
    }
    return false;
}

static bool values_are_disjoint(const json_t *a, const json_t *b) {
    size_t i, k;
    json_t *one, *two;
    json_array_foreach(a, i, one) {
        json_array_foreach(b, k, two) {
            bool are_numbers = json_is_number(one) && json_is_number(two);
            if (json_equal(one, two)) return false;
            if (json_typeof(one) == json_typeof(two) && (json_is_array(one) || json_is_object(one)))
                return false; /* [1] and [1.0]: not looked into */
            if (are_numbers && !(json_number_value(one) < json_number_value(two) ||
                                 json_number_value(one) > json_number_value(two)))
                return false;
        }
    }
    return true;
}

/* Objects of both kinds alone: a required property that the other cannot have, or has otherwise. */
static weft_status objects_are_disjoint(schema *s, json_t *a, json_t *b, int depth, bool *out) {
    json_t *required = json_object_get(a, "required"), *one;
    size_t i;
    json_array_foreach(required, i, one) {
        if (!json_is_string(one)) continue;
        json_t *mine = property_of(a, json_string_value(one));
        json_t *theirs = property_of(b, json_string_value(one));
        *out = json_is_false(theirs);
        if (!*out && mine && theirs && requires(b, json_string_value(one)))
            TRY(schema_are_disjoint(s, mine, theirs, depth + 1, out));
        if (*out) return WEFT_OK;
    }
    return WEFT_OK;
}

weft_status schema_are_disjoint(schema *s, json_t *a, json_t *b, int depth, bool *out) {
    json_t *values[2], *common;
    *out = false;
    if (depth > MOST_DEPTH) return WEFT_OK;
    TRY(schema_flatten(s, a, &a));
    TRY(schema_flatten(s, b, &b));
    *out = json_is_false(a) || json_is_false(b);
    if (*out || json_is_true(a) || json_is_true(b)) return WEFT_OK;
    TRY(values_of(s, a, &values[0]));
    TRY(values_of(s, b, &values[1]));
    *out = values[0] && values[1] && values_are_disjoint(values[0], values[1]);
    json_t *types[2] = {json_object_get(a, "type"), json_object_get(b, "type")};
    if (*out || !types[0] || !types[1]) return WEFT_OK;
    common = common_types(types[0], types[1]);
    TRY(schema_own(s, common));
    *out = json_array_size(common) == 0;
    if (*out || json_array_size(common) > 1 || !has_type(common, "object")) return WEFT_OK;
    TRY(objects_are_disjoint(s, a, b, depth, out));
    return *out ? WEFT_OK : objects_are_disjoint(s, b, a, depth, out);
}

#endif
