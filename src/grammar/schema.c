/* JSON Schema (draft 2020-12, the part that docs/grammars.md lists): each schema becomes a rule for
 * the texts of the JSON values that are valid against it.
 *
 * Schemas wait in a list, so nothing recurses on a schema's depth. A keyword that is not known here
 * is an error with its place, never passed over. Objects' properties come in the schema's order,
 * those it does not name after them; white space is what JSON writers put out, and bounded.
 * SPDX-License-Identifier: MIT */
#ifdef WEFT_HAVE_JANSSON
#include "grammar/schema.h"

#include <string.h>

#include "base/str.h"
#include "grammar/schema_kinds.h"

enum { MOST_SCHEMAS = 20000 };

weft_status schema_fail(const schema *s, weft_status status, const char *format, ...) {
    va_list args;
    va_start(args, format);
    error_set_v(status, format, args);
    va_end(args);
    return error_prefix(status, "schema, %s", s->path);
}

weft_status schema_own(schema *s, json_t *made) {
    weft_status status = made ? WEFT_OK : error_set(WEFT_NO_MEMORY, "out of memory");
    if (status == WEFT_OK)
        status =
            mem_reserve((void **)&s->owned, &s->owned_capacity, s->n_owned + 1, sizeof(json_t *));
    if (status == WEFT_OK) s->owned[s->n_owned++] = made;
    else json_decref(made);
    return status;
}

weft_status schema_rule(schema *s, json_t *one, const char *place, int32_t *rule) {
    const char *key;
    json_t *value;
    for (int steps = 0; json_is_object(one) && json_object_get(one, "$ref") && steps < 100;
         steps++) {
        bool is_alone = json_is_string(json_object_get(one, "$ref"));
        json_object_foreach(one, key, value) {
            if (strcmp(key, "$ref") && !schema_is_annotation(key)) is_alone = false;
        }
        if (!is_alone) break;
        TRY(schema_resolve(s, json_string_value(json_object_get(one, "$ref")), &one));
    }
    for (size_t i = 0; i < s->n_jobs; i++)
        if (s->jobs[i].schema == one) {
            *rule = s->jobs[i].rule;
            return WEFT_OK;
        }
    if (s->n_jobs == MOST_SCHEMAS)
        return schema_fail(s, WEFT_LIMIT, "more than %d schemas are needed", MOST_SCHEMAS);
    TRY(mem_reserve((void **)&s->jobs, &s->jobs_capacity, s->n_jobs + 1, sizeof *s->jobs));
    str path = {0};
    weft_status status = str_format(&path, "%.200s%s%.80s", s->path, place[0] ? "/" : "", place);
    const char *copy =
        status == WEFT_OK ? arena_string(&s->b.names, str_text(&path), path.n) : NULL;
    *rule = copy ? nfa_rule_add(&s->b, copy, path.n) : -1;
    str_free(&path);
    if (*rule < 0) return WEFT_NO_MEMORY;
    s->jobs[s->n_jobs++] = (schema_job){one, *rule, copy};
    return WEFT_OK;
}

/* ---- keywords -------------------------------------------------------------------------------- */

static const char *const type_names[] = {"null",   "boolean", "integer", "number",
                                         "string", "array",   "object"};
enum { NULL_TYPE, BOOLEAN, INTEGER, NUMBER, STRING, ARRAY, OBJECT, N_TYPES };

static weft_status check_keywords(const schema *s, json_t *one) {
    static const char *const known[] = {"type",
                                        "enum",
                                        "const",
                                        "properties",
                                        "required",
                                        "items",
                                        "anyOf",
                                        "oneOf",
                                        "additionalProperties",
                                        "pattern",
                                        "format",
                                        "minimum",
                                        "maximum",
                                        "exclusiveMinimum",
                                        "exclusiveMaximum",
                                        "minLength",
                                        "maxLength",
                                        "minItems",
                                        "maxItems",
                                        "prefixItems"};
    const char *key;
    json_t *value;
    json_object_foreach(one, key, value) {
        bool is_known = schema_is_annotation(key);
        for (size_t i = 0; i < sizeof known / sizeof *known; i++)
            is_known |= !strcmp(key, known[i]);
        if (!is_known)
            return schema_fail(s, WEFT_UNSUPPORTED, "the keyword \"%.80s\" is not supported", key);
    }
    return WEFT_OK;
}

/* The types allowed, one bit each. */
static weft_status read_types(const schema *s, json_t *one, unsigned *types) {
    json_t *type = json_object_get(one, "type"), *name;
    *types = 0;
    if (!type) *types = (1u << N_TYPES) - 1;
    size_t n = json_is_array(type) ? json_array_size(type) : type ? 1 : 0;
    for (size_t i = 0; i < n; i++) {
        name = json_is_array(type) ? json_array_get(type, i) : type;
        unsigned found = 0;
        for (unsigned k = 0; k < N_TYPES && json_is_string(name); k++)
            if (!strcmp(type_names[k], json_string_value(name))) found = 1u << k;
        if (!found) return schema_fail(s, WEFT_FORMAT, "\"type\" names no type of JSON");
        *types |= found;
    }
    if (*types & 1u << NUMBER) *types &= ~(1u << INTEGER);
    return WEFT_OK;
}

static bool value_has_type(const json_t *v, unsigned types) {
    switch (json_typeof(v)) {
    case JSON_NULL: return types >> NULL_TYPE & 1;
    case JSON_TRUE:
    case JSON_FALSE: return types >> BOOLEAN & 1;
    case JSON_INTEGER: return (types >> INTEGER & 1) || (types >> NUMBER & 1);
    case JSON_REAL: return types >> NUMBER & 1;
    case JSON_STRING: return types >> STRING & 1;
    case JSON_ARRAY: return types >> ARRAY & 1;
    case JSON_OBJECT: return types >> OBJECT & 1;
    }
    return false;
}

/* One of the values that enum or const name, written as JSON without needless white space. */
static weft_status build_values(schema *s, json_t *one, unsigned types, nfa_frag *f) {
    json_t *list = json_object_get(one, "enum"), *only = json_object_get(one, "const"), *value;
    const char *key;
    bool has_any = false;
    size_t i;
    if (list && !json_is_array(list)) return schema_fail(s, WEFT_FORMAT, "\"enum\" must be a list");
    json_object_foreach(one, key, value) {
        if (!schema_is_annotation(key) && strcmp(key, "enum") && strcmp(key, "const") &&
            strcmp(key, "type"))
            return schema_fail(s, WEFT_UNSUPPORTED,
                               "\"%.80s\" together with enum or const is not supported", key);
    }
    size_t n = list ? json_array_size(list) : 1;
    for (i = 0; i < n; i++) {
        value = list ? json_array_get(list, i) : only;
        if (!value_has_type(value, types) || (list && only && !json_equal(value, only))) continue;
        char *text = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT | JSON_REAL_PRECISION(17));
        if (!text) return error_set(WEFT_NO_MEMORY, "out of memory");
        nfa_frag choice = {0};
        weft_status status = nfa_text(&s->b, text, strlen(text), &choice);
        json_free_t release;
        json_get_alloc_funcs(NULL, &release);
        release(text);
        if (status == WEFT_OK && has_any) status = nfa_either(&s->b, f, &choice);
        else if (status == WEFT_OK) *f = choice;
        TRY(status);
        has_any = true;
    }
    return has_any ? WEFT_OK : nfa_fail(&s->b, f);
}

/* anyOf and oneOf: one branch, merged with what else the schema says. */
static weft_status build_branches(schema *s, json_t *one, const char *key, nfa_frag *f) {
    json_t *list = json_object_get(one, key), *rest = json_copy(one), *merged;
    bool has_any = false;
    TRY(schema_own(s, rest));
    if (!json_is_array(list) || !json_array_size(list))
        return schema_fail(s, WEFT_FORMAT, "\"%s\" must be a list with something in it", key);
    json_object_del(rest, key);
    bool is_bare = true;
    const char *name;
    json_t *value;
    json_object_foreach(rest, name, value) is_bare &= schema_is_annotation(name);
    for (size_t i = 0; i < json_array_size(list); i++) {
        for (size_t k = 0; k < i && !strcmp(key, "oneOf"); k++) {
            bool are_disjoint;
            TRY(schema_are_disjoint(s, json_array_get(list, i), json_array_get(list, k), 0,
                                    &are_disjoint));
            if (!are_disjoint)
                return schema_fail(s, WEFT_UNSUPPORTED,
                                   "oneOf is supported where its schemas exclude each other by "
                                   "type, value or a required property; %zu and %zu do not",
                                   k, i);
        }
        char place[48];
        snprintf(place, sizeof place, "%s/%zu", key, i);
        merged = json_array_get(list, i);
        if (!is_bare) {
            merged = json_pack("{s:[O,O]}", "allOf", rest, merged);
            TRY(schema_own(s, merged));
        }
        int32_t rule;
        nfa_frag branch = {0};
        TRY(schema_rule(s, merged, place, &rule));
        TRY(nfa_call(&s->b, rule, &branch));
        if (has_any) TRY(nfa_either(&s->b, f, &branch));
        else *f = branch;
        has_any = true;
    }
    return WEFT_OK;
}

static weft_status build_type(schema *s, json_t *one, int type, nfa_frag *f) {
    switch (type) {
    case NULL_TYPE: return nfa_call(&s->b, s->null, f);
    case BOOLEAN: return nfa_call(&s->b, s->boolean, f);
    case INTEGER: return schema_build_number(s, one, true, f);
    case NUMBER: return schema_build_number(s, one, false, f);
    case STRING: return schema_build_string(s, one, f);
    case ARRAY: return schema_build_array(s, one, f);
    default: return schema_build_object(s, one, f);
    }
}

static weft_status build_schema(schema *s, json_t *one, nfa_frag *f) {
    unsigned types;
    bool has_any = false;
    TRY(schema_flatten(s, one, &one));
    if (json_is_false(one)) return nfa_fail(&s->b, f);
    if (json_is_true(one) || !json_object_size(one)) return nfa_call(&s->b, s->value, f);
    TRY(check_keywords(s, one));
    TRY(read_types(s, one, &types));
    if (json_object_get(one, "anyOf")) return build_branches(s, one, "anyOf", f);
    if (json_object_get(one, "oneOf")) return build_branches(s, one, "oneOf", f);
    if (json_object_get(one, "enum") || json_object_get(one, "const"))
        return build_values(s, one, types, f);
    for (int t = 0; t < N_TYPES; t++) {
        nfa_frag choice = {0};
        if (!(types >> t & 1)) continue;
        TRY(build_type(s, one, t, &choice));
        if (has_any) TRY(nfa_either(&s->b, f, &choice));
        else *f = choice;
        has_any = true;
    }
    return has_any ? WEFT_OK : nfa_fail(&s->b, f);
}

static weft_status build_all(schema *s, const char *text, size_t n, grammar **out) {
    json_error_t why;
    int32_t root;
    s->path = "#";
    s->spelling.is_json = true;
    s->root = json_loadb(text, n, JSON_DECODE_ANY | JSON_REJECT_DUPLICATES, &why);
    REQUIRE(s->root, WEFT_FORMAT, "the schema is not JSON: line %d: %s", why.line, why.text);
    TRY(schema_base_rules(s));
    TRY(schema_rule(s, s->root, "", &root));
    while (s->n_built < s->n_jobs) {
        schema_job job = s->jobs[s->n_built++];
        nfa_frag f = {0};
        s->path = job.path;
        TRY(build_schema(s, job.schema, &f));
        TRY(nfa_rule_define(&s->b, job.rule, &f));
    }
    TRY(spelling_define(&s->spelling, &s->b));
    return nfa_finish(&s->b, root, out);
}

weft_status grammar_open_json_schema(const char *text, size_t n, grammar **out) {
    REQUIRE(text && out, WEFT_INVALID, "the schema's text is NULL");
    schema s = {0};
    weft_status status = build_all(&s, text, n, out);
    json_decref(s.root);
    for (size_t i = 0; i < s.n_owned; i++) json_decref(s.owned[i]);
    mem_free(s.owned);
    mem_free(s.jobs);
    nfa_builder_free(&s.b);
    return status;
}

#else

#include "grammar/grammar.h"

weft_status grammar_open_json_schema(const char *text, size_t n, grammar **out) {
    (void)text;
    (void)n;
    (void)out;
    return error_set(WEFT_UNSUPPORTED,
                     "this weft was built without jansson, which JSON Schema needs");
}

#endif
