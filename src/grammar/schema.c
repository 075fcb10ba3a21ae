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

enum { MOST_SCHEMAS = 20000, MOST_WORK = 200000 };

weft_status schema_fail(const schema *s, weft_status status, const char *format, ...) {
    va_list args;
    va_start(args, format);
    error_set_v(status, format, args);
    va_end(args);
    return error_prefix(status, "schema, %s", s->path);
}

weft_status schema_where(const schema *s, weft_status status, const char *part) {
    if (status == WEFT_OK || status == WEFT_NO_MEMORY ||
        !strncmp(error_message(), "schema, ", strlen("schema, ")))
        return status;
    return error_prefix(status, "schema, %s%s%s", s->path, part[0] ? ": " : "", part);
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

weft_status schema_push(schema *s, json_t **list, json_t *item) {
    if (!*list) {
        json_t *made = json_array();
        TRY(schema_own(s, made));
        *list = made;
    }
    return json_array_append(*list, item) ? error_set(WEFT_NO_MEMORY, "out of memory") : WEFT_OK;
}

weft_status schema_step(schema *s) {
    if (++s->work < MOST_WORK) return WEFT_OK;
    return schema_fail(s, WEFT_LIMIT,
                       "the schema's combinations (anyOf, oneOf, allOf, not) are too many");
}

/* The members of a list without those that say nothing and those that came before. */
static weft_status tidy_list(schema *s, json_t *list, json_t *out, bool *is_false) {
    size_t i, k;
    json_t *one, *other;
    json_array_foreach(list, i, one) {
        json_t *all = json_object_get(one, "allOf");
        bool is_known = json_is_true(one);
        *is_false |= json_is_false(one);
        json_array_foreach(out, k, other) is_known |= one == other;
        if (json_is_array(all) && json_object_size(one) == 1 && !is_known) {
            json_array_foreach(all, k, other) {
                if (json_array_append(out, other))
                    return error_set(WEFT_NO_MEMORY, "out of memory");
            }
        } else if (!is_known && json_array_append(out, one))
            return error_set(WEFT_NO_MEMORY, "out of memory");
    }
    return schema_step(s);
}

weft_status schema_both(schema *s, json_t *list, json_t **out) {
    json_t *kept = json_array();
    bool is_false = false;
    int32_t found;
    TRY(schema_own(s, kept));
    TRY(tidy_list(s, list, kept, &is_false));
    size_t n = json_array_size(kept);
    *out = is_false ? json_false() : n ? json_array_get(kept, 0) : json_true();
    if (is_false || n < 2) return WEFT_OK;
    int32_t *key = mem_array(2 * n, sizeof *key);
    if (!key) return WEFT_NO_MEMORY;
    for (size_t i = 0; i < n; i++) {
        json_t *one = json_array_get(kept, i);
        memcpy(key + 2 * i, &one, sizeof(one) < 8 ? sizeof(one) : 8);
    }
    weft_status status = sequences_add(&s->both_keys, key, 2 * n, &found);
    mem_free(key);
    TRY(status);
    if ((size_t)found == s->n_both) {
        TRY(mem_reserve((void **)&s->both, &s->both_capacity, s->n_both + 1, sizeof *s->both));
        s->both[s->n_both++] = NULL;
    }
    if (!s->both[found]) {
        json_t *made = json_pack("{s:O}", "allOf", kept);
        TRY(schema_own(s, made));
        s->both[found] = made;
    }
    *out = s->both[found];
    return WEFT_OK;
}

/* Follows a schema that is nothing but a $ref. */
static weft_status skip_refs(schema *s, json_t **one) {
    const char *key;
    json_t *value;
    for (int steps = 0; json_is_object(*one) && steps < 100; steps++) {
        json_t *reference = json_object_get(*one, "$ref");
        if (!json_is_string(reference)) break;
        json_object_foreach(*one, key, value) {
            if (strcmp(key, "$ref") && !schema_is_annotation(key)) return WEFT_OK;
        }
        TRY(schema_resolve(s, reference, one));
    }
    return WEFT_OK;
}

weft_status schema_rule(schema *s, json_t *one, const char *place, int32_t *rule) {
    int32_t key[2] = {0, 0}, found;
    TRY(skip_refs(s, &one));
    if (json_is_true(one)) {
        *rule = s->value;
        return WEFT_OK;
    }
    memcpy(key, &one, sizeof one < sizeof key ? sizeof one : sizeof key);
    TRY(sequences_add(&s->job_keys, key, 2, &found));
    if ((size_t)found < s->n_jobs) {
        *rule = s->jobs[found].rule;
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

/* ---- choices --------------------------------------------------------------------------------- */

static weft_status add_branch(schema *s, json_t *rest, json_t *branch, const char *key, size_t i,
                              bool *has_any, nfa_frag *f) {
    char place[48];
    int32_t rule;
    nfa_frag one = {0};
    json_t *list = json_copy(rest), *whole;
    TRY(schema_own(s, list));
    if (json_array_append(list, branch)) return error_set(WEFT_NO_MEMORY, "out of memory");
    TRY(schema_both(s, list, &whole));
    if (json_is_false(whole)) return WEFT_OK;
    snprintf(place, sizeof place, "%s/%zu", key, i);
    TRY(schema_rule(s, whole, place, &rule));
    TRY(nfa_call(&s->b, rule, &one));
    if (*has_any) return nfa_either(&s->b, f, &one);
    *f = one;
    *has_any = true;
    return WEFT_OK;
}

/* What holds besides the first list of any_of, or of one_of if there is none. */
static weft_status find_rest(schema *s, const schema_flat *flat, json_t **out) {
    size_t i;
    json_t *list, *made;
    bool is_any = flat->any_of;
    *out = flat->parts ? json_copy(flat->parts) : json_array();
    TRY(schema_own(s, *out));
    json_array_foreach(flat->any_of, i, list) {
        if (i == 0) continue;
        made = json_pack("{s:O}", "anyOf", list);
        TRY(schema_own(s, made));
        TRY(schema_push(s, out, made));
    }
    json_array_foreach(flat->one_of, i, list) {
        if (i == 0 && !is_any) continue;
        made = json_pack("{s:O}", "oneOf", list);
        TRY(schema_own(s, made));
        TRY(schema_push(s, out, made));
    }
    return WEFT_OK;
}

static bool is_object_schema(const json_t *one) {
    const char *type = json_string_value(json_object_get(one, "type"));
    return type && !strcmp(type, "object");
}

/* Two schemas for objects that require a property with different values: the usual way to tell
 * branches apart, seen without looking further. */
static bool have_tags(json_t *a, json_t *b) {
    json_t *names = json_object_get(a, "required"), *name;
    size_t i;
    if (!is_object_schema(a) || !is_object_schema(b)) return false;
    json_array_foreach(names, i, name) {
        const char *key = json_string_value(name);
        if (!key || !schema_names(json_object_get(b, "required"), key)) continue;
        json_t *one =
            json_object_get(json_object_get(json_object_get(a, "properties"), key), "const");
        json_t *two =
            json_object_get(json_object_get(json_object_get(b, "properties"), key), "const");
        if (json_is_string(one) && json_is_string(two) && !json_equal(one, two)) return true;
    }
    return false;
}

/* A branch of oneOf, less those of the others that it is not known to exclude. */
static weft_status exclude_others(schema *s, json_t *rest, json_t *list, size_t i, json_t **out) {
    json_t *all = json_pack("[O]", json_array_get(list, i)), *other, *negated, *mine;
    size_t k;
    TRY(schema_own(s, all));
    mine = json_array_get(list, i);
    TRY(skip_refs(s, &mine));
    json_array_foreach(list, k, other) {
        bool are_disjoint;
        json_t *theirs = other;
        TRY(skip_refs(s, &theirs));
        if (k == i || have_tags(mine, theirs)) continue;
        json_t *pair = json_copy(rest), *whole;
        TRY(schema_own(s, pair));
        if (json_array_append(pair, json_array_get(list, i)) || json_array_append(pair, other))
            return error_set(WEFT_NO_MEMORY, "out of memory");
        TRY(schema_both(s, pair, &whole));
        TRY(schema_is_empty(s, whole, 0, &are_disjoint));
        if (are_disjoint) continue;
        if (schema_negate(s, other, &negated) != WEFT_OK)
            return error_prefix(error_status(),
                                "schema, %s: oneOf: %zu and %zu may both hold, and the second has "
                                "no negation",
                                s->path, i, k);
        if (json_array_append(all, negated)) return error_set(WEFT_NO_MEMORY, "out of memory");
    }
    return schema_both(s, all, out);
}

static weft_status build_choice(schema *s, const schema_flat *flat, nfa_frag *f) {
    bool is_any = flat->any_of, has_any = false;
    json_t *list = json_array_get(is_any ? flat->any_of : flat->one_of, 0), *rest, *branch;
    size_t i;
    TRY(find_rest(s, flat, &rest));
    json_array_foreach(list, i, branch) {
        if (!is_any) TRY(exclude_others(s, rest, list, i, &branch));
        TRY(add_branch(s, rest, branch, is_any ? "anyOf" : "oneOf", i, &has_any, f));
    }
    return has_any ? WEFT_OK : nfa_fail(&s->b, f);
}

/* ---- one schema ------------------------------------------------------------------------------ */

static weft_status build_boolean(schema *s, const schema_flat *flat, nfa_frag *f) {
    bool has_yes = !schema_list_has(flat->not_values, json_true());
    bool has_no = !schema_list_has(flat->not_values, json_false());
    if (has_yes && has_no) return nfa_call(&s->b, s->boolean, f);
    if (!has_yes && !has_no) return nfa_fail(&s->b, f);
    return nfa_text(&s->b, has_yes ? "true" : "false", has_yes ? 4 : 5, f);
}

static weft_status build_type(schema *s, const schema_flat *flat, unsigned type, nfa_frag *f) {
    switch (type) {
    case TYPE_NULL:
        if (schema_list_has(flat->not_values, json_null())) return nfa_fail(&s->b, f);
        return nfa_call(&s->b, s->null, f);
    case TYPE_BOOLEAN: return build_boolean(s, flat, f);
    case TYPE_NUMBER: return schema_build_number(s, flat, f);
    case TYPE_STRING: return schema_build_string(s, flat, f);
    case TYPE_ARRAY: return schema_build_array(s, flat, f);
    default: return schema_build_object(s, flat, f);
    }
}

static weft_status build_schema(schema *s, json_t *one, nfa_frag *f) {
    static const unsigned types[] = {TYPE_OBJECT, /* first: it defines rules of its own */
                                     TYPE_NULL,   TYPE_BOOLEAN, TYPE_NUMBER,
                                     TYPE_STRING, TYPE_ARRAY};
    schema_flat flat;
    bool has_any = false;
    TRY(schema_flatten(s, one, &flat));
    if (!flat.types) return nfa_fail(&s->b, f);
    if (!flat.parts && !flat.any_of && !flat.one_of) return nfa_call(&s->b, s->value, f);
    if (flat.any_of || flat.one_of) return build_choice(s, &flat, f);
    if (flat.values) return schema_build_values(s, &flat, f);
    for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
        nfa_frag choice = {0};
        if (!(flat.types & types[t])) continue;
        TRY(build_type(s, &flat, types[t], &choice));
        if (has_any) TRY(nfa_either(&s->b, f, &choice));
        else *f = choice;
        has_any = true;
    }
    return has_any ? WEFT_OK : nfa_fail(&s->b, f);
}

static weft_status build_all(schema *s, const char *text, size_t n, grammar **out) {
    json_error_t why;
    int32_t root = 0;
    s->path = "#";
    s->spelling.is_json = true;
    s->root = json_loadb(text, n, JSON_DECODE_ANY | JSON_REJECT_DUPLICATES, &why);
    REQUIRE(s->root, WEFT_FORMAT, "the schema is not JSON: line %d: %s", why.line, why.text);
    TRY(schema_find_places(s));
    TRY(schema_base_rules(s));
    TRY(schema_rule(s, s->root, "", &root));
    while (s->n_built < s->n_jobs) {
        schema_job job = s->jobs[s->n_built++];
        nfa_frag f = {0};
        s->path = job.path;
        weft_status status = build_schema(s, job.schema, &f);
        if (status != WEFT_OK) return schema_where(s, status, "");
        TRY(nfa_rule_define(&s->b, job.rule, &f));
    }
    TRY(spelling_define(&s->spelling, &s->b));
    TRY(spelling_define(&s->plain, &s->b));
    return nfa_finish(&s->b, root, out);
}

static void schema_free(schema *s) {
    json_decref(s->root);
    for (size_t i = 0; i < s->n_owned; i++) json_decref(s->owned[i]);
    mem_free(s->owned);
    mem_free(s->jobs);
    mem_free(s->both);
    mem_free(s->places);
    mem_free(s->references);
    spelling_free(&s->spelling);
    spelling_free(&s->plain);
    sequences_free(&s->job_keys);
    sequences_free(&s->both_keys);
    sequences_free(&s->walked);
    sequences_free(&s->reference_keys);
    nfa_builder_free(&s->b);
}

weft_status grammar_open_json_schema(const char *text, size_t n, grammar **out) {
    REQUIRE(text && out, WEFT_INVALID, "the schema's text is NULL");
    schema s = {0};
    weft_status status = build_all(&s, text, n, out);
    schema_free(&s);
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
