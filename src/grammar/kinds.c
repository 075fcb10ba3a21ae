/* Plain values of a JSON Schema: numbers with bounds and multiples, texts with lengths, patterns
 * and formats, and the rules for any JSON value. What one graph can say is built as such; more
 * conditions are automata side by side. SPDX-License-Identifier: MIT */
#ifdef WEFT_HAVE_JANSSON
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "grammar/schema_kinds.h"

/* ---- rules for any value --------------------------------------------------------------------- */

static weft_status define_chars(schema *s) {
    nfa_frag f = {0}, more = {0};
    TRY(json_any_char(&s->b, &f));
    TRY(nfa_rule_define(&s->b, s->character, &f));
    TRY(nfa_text(&s->b, "\"", 1, &f));
    TRY(nfa_call(&s->b, s->character, &more));
    TRY(nfa_repeat(&s->b, &more, 0, -1));
    nfa_concat(&s->b, &f, &more);
    TRY(nfa_text(&s->b, "\"", 1, &more));
    nfa_concat(&s->b, &f, &more);
    return nfa_rule_define(&s->b, s->string, &f);
}

/* A rule from a regular expression over the JSON text itself. */
static weft_status define_regex(schema *s, int32_t rule, const char *text) {
    nfa_frag f = {0};
    TRY(regex_build(&s->b, text, strlen(text), &f));
    return nfa_rule_define(&s->b, rule, &f);
}

weft_status schema_base_rules(schema *s) {
    int32_t *const rules[] = {&s->space,   &s->character, &s->string, &s->number, &s->integer,
                              &s->boolean, &s->null,      &s->value,  &s->object, &s->array};
    static const char *const names[] = {"space",   "character", "string", "number", "integer",
                                        "boolean", "null",      "value",  "object", "array"};
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        *rules[i] = nfa_rule_add(&s->b, names[i], strlen(names[i]));
        if (*rules[i] < 0) return WEFT_NO_MEMORY;
    }
    TRY(define_regex(s, s->space, "( |\\n[ \\t]{0,32})?"));
    TRY(define_chars(s));
    TRY(define_regex(s, s->number, "-?(0|[1-9]\\d*)(\\.\\d+)?([eE][+-]?\\d{1,2})?"));
    TRY(define_regex(s, s->integer, "-?(0|[1-9]\\d*)"));
    TRY(define_regex(s, s->boolean, "true|false"));
    TRY(define_regex(s, s->null, "null"));
    nfa_frag f = {0}, one = {0};
    const int32_t kinds[] = {s->string, s->number, s->boolean, s->null, s->object, s->array};
    TRY(nfa_call(&s->b, kinds[0], &f));
    for (int i = 1; i < 6; i++) {
        TRY(nfa_call(&s->b, kinds[i], &one));
        TRY(nfa_either(&s->b, &f, &one));
    }
    TRY(nfa_rule_define(&s->b, s->value, &f));
    schema_flat any = {.types = TYPE_ALL, .max_items = -1, .max_properties = -1};
    TRY(schema_build_object(s, &any, &f));
    TRY(nfa_rule_define(&s->b, s->object, &f));
    TRY(schema_build_array(s, &any, &f));
    return nfa_rule_define(&s->b, s->array, &f);
}

/* ---- languages ------------------------------------------------------------------------------- */

weft_status schema_language_add(schema_language *l, regular *made, bool is_not) {
    weft_status status =
        l->n_made < REGULAR_MOST_PARTS
            ? WEFT_OK
            : error_set(WEFT_LIMIT, "more than %d patterns at once", REGULAR_MOST_PARTS);
    if (status == WEFT_OK) {
        l->made[l->n_made] = *made;
        status = regular_all_add(&l->all, &l->made[l->n_made++], is_not);
    } else regular_free(made);
    return status;
}

void schema_language_free(schema_language *l) {
    if (!l) return;
    for (size_t i = 0; i < l->n_made; i++) regular_free(&l->made[i]);
    l->n_made = l->all.n = 0;
}

static weft_status add_regex(schema *s, schema_language *l, const char *text, bool is_not,
                             const char *key) {
    regular made;
    weft_status status = regex_make(text, strlen(text), REGEX_SEARCH, &made);
    if (status == WEFT_OK) status = schema_language_add(l, &made, is_not);
    return schema_where(s, status, key);
}

static weft_status add_regexes(schema *s, schema_language *l, json_t *list, bool is_not) {
    size_t i;
    json_t *one;
    json_array_foreach(list, i, one)
        TRY(add_regex(s, l, json_string_value(one), is_not, "pattern"));
    return WEFT_OK;
}

/* The values of one kind in a list, as texts; *texts is the caller's. */
static weft_status texts_of(json_t *list, const char ***texts, size_t *n) {
    size_t i;
    json_t *one;
    *n = 0;
    *texts = mem_array(json_array_size(list) + 1, sizeof **texts);
    if (!*texts) return WEFT_NO_MEMORY;
    json_array_foreach(list, i, one) {
        if (json_is_string(one)) (*texts)[(*n)++] = json_string_value(one);
    }
    return WEFT_OK;
}

static bool has_kind(json_t *list, unsigned types) {
    size_t i;
    json_t *one;
    json_array_foreach(list, i, one) if (schema_type_of(one) & types) return true;
    return false;
}

/* A format's texts are not all written anyway, so that of long ones those are left out that would
 * need too many states: about 300 characters of an email remain, 1000 of a URI. */
static void limit_format(const schema_flat *f, schema_language *l) {
    enum { BUDGET = 400000, NODES = 10 /* of a state, at each length */ };
    size_t n = 1;
    for (size_t i = 0; i < l->n_made; i++)
        if (l->made[i].n > n) n = l->made[i].n;
    int64_t most = BUDGET / NODES / (int64_t)n;
    if (most < f->min_length) most = f->min_length;
    if (l->all.most > most) l->all.most = most;
}

weft_status schema_text_language(schema *s, const schema_flat *f, schema_language *out) {
    size_t i, n;
    json_t *one;
    const char **texts, *outer;
    out->all.least = f->min_length;
    out->all.most = f->max_length;
    TRY(add_regexes(s, out, f->patterns, false));
    TRY(add_regexes(s, out, f->not_patterns, true));
    json_array_foreach(f->formats, i, one) {
        const char *text = schema_format(json_string_value(one), &outer);
        if (!text)
            return schema_fail(s, WEFT_UNSUPPORTED, "the format \"%.80s\" is not supported",
                               json_string_value(one));
        TRY(add_regex(s, out, text, false, "format"));
    }
    if (f->formats) limit_format(f, out);
    if (!has_kind(f->not_values, TYPE_STRING)) return WEFT_OK;
    TRY(texts_of(f->not_values, &texts, &n));
    regular made;
    weft_status status = regular_texts(texts, n, &made);
    if (status == WEFT_OK) status = schema_language_add(out, &made, true);
    mem_free(texts);
    return status;
}

/* ---- numbers --------------------------------------------------------------------------------- */

static weft_status add_bounds(schema_language *l, const number_bounds *n, bool is_not) {
    nfa_builder b = {0};
    nfa_frag f = {0};
    regular made;
    weft_status status = schema_number(&b, n, &f);
    if (status == WEFT_OK) status = regular_make(&b, &f, NULL, 0, &made);
    if (status == WEFT_OK) status = schema_language_add(l, &made, is_not);
    nfa_builder_free(&b);
    return status;
}

static weft_status add_multiples(schema *s, schema_language *l, json_t *list, bool is_not) {
    size_t i;
    json_t *one;
    json_array_foreach(list, i, one) {
        char text[NUMBER_SIZE];
        regular made;
        TRY(schema_decimal(s, one, "multipleOf", text));
        weft_status status = schema_multiples(text, &made);
        if (status == WEFT_OK) status = schema_language_add(l, &made, is_not);
        else regular_free(&made);
        if (status != WEFT_OK) return schema_where(s, status, "multipleOf");
    }
    return WEFT_OK;
}

weft_status schema_number_language(schema *s, const schema_flat *f, schema_language *out) {
    number_bounds n = f->bounds;
    size_t i;
    json_t *one;
    out->all.most = -1;
    n.is_whole = (f->types & TYPE_NUMBER) == TYPE_WHOLE;
    TRY(add_bounds(out, &n, false));
    TRY(add_multiples(s, out, f->multiples, false));
    TRY(add_multiples(s, out, f->not_multiples, true));
    if ((f->types & TYPE_NUMBER) == TYPE_FRACTION) {
        regular whole;
        weft_status status = schema_multiples("1", &whole);
        if (status == WEFT_OK) status = schema_language_add(out, &whole, true);
        else regular_free(&whole);
        TRY(status);
    }
    json_array_foreach(f->not_values, i, one) {
        number_bounds equal = {.has_low = true, .has_high = true};
        if (!json_is_number(one)) continue;
        TRY(schema_decimal(s, one, "const", equal.low));
        memcpy(equal.high, equal.low, sizeof equal.high);
        TRY(add_bounds(out, &equal, true));
    }
    return WEFT_OK;
}

weft_status schema_build_number(schema *s, const schema_flat *f, nfa_frag *out) {
    number_bounds n = f->bounds;
    unsigned types = f->types & TYPE_NUMBER;
    bool is_plain = !f->multiples && !f->not_multiples && types != TYPE_FRACTION &&
                    !has_kind(f->not_values, TYPE_NUMBER);
    n.is_whole = types == TYPE_WHOLE;
    if (is_plain && !n.has_low && !n.has_high)
        return nfa_call(&s->b, n.is_whole ? s->integer : s->number, out);
    if (is_plain) return schema_number(&s->b, &n, out);
    schema_language *l = mem_alloc(sizeof *l);
    if (!l) return WEFT_NO_MEMORY;
    weft_status status = schema_number_language(s, f, l);
    if (status == WEFT_OK) status = regular_emit(&l->all, &s->plain, &s->b, out);
    schema_language_free(l);
    mem_free(l);
    return status;
}

/* ---- strings --------------------------------------------------------------------------------- */

const char *schema_format(const char *name, const char **outer) {
    static const struct {
        const char *name, *regex, *outer;
    } formats[] = {
#define SCHEMA_FORMAT(name, regex, outer) {name, regex, outer},
#include "grammar/formats.def"
#undef SCHEMA_FORMAT
    };
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        if (!strcmp(formats[i].name, name)) {
            *outer = formats[i].outer;
            return formats[i].regex;
        }
    return NULL;
}

/* Any characters, `least` to `most` of them. */
static weft_status build_length(schema *s, int64_t least, int64_t most, nfa_frag *f) {
    if (most >= 0 && most < least) return nfa_fail(&s->b, f);
    TRY(nfa_call(&s->b, s->character, f));
    return schema_where(s, nfa_repeat(&s->b, f, least, most), "minLength/maxLength");
}

/* One expression alone: its own graph where it needs no automaton, and has at most `most` nodes
 * (large sets of characters make better automata). */
static weft_status build_plain(schema *s, const char *text, size_t most, bool *is_done,
                               nfa_frag *f) {
    regex x;
    weft_status status = regex_parse(text, strlen(text), REGEX_SEARCH, &x);
    if (status != WEFT_OK) return schema_where(s, status, "pattern");
    *is_done = !x.n_anchors && x.b.n <= most;
    status = *is_done ? spelling_copy(&s->spelling, &s->b, &x.b, &x.f, f) : WEFT_OK;
    regex_free(&x);
    return status;
}

static weft_status build_content(schema *s, const schema_flat *f, nfa_frag *out) {
    enum { SMALL = 2000 };
    bool has_not = f->not_patterns || has_kind(f->not_values, TYPE_STRING), is_done = false;
    bool has_length = f->min_length > 0 || f->max_length >= 0;
    size_t n = json_array_size(f->patterns) + json_array_size(f->formats);
    const char *outer, *only = json_string_value(json_array_get(f->patterns, 0));
    if (!n && !has_not) return build_length(s, f->min_length, f->max_length, out);
    if (f->formats && n == 1)
        only = schema_format(json_string_value(json_array_get(f->formats, 0)), &outer);
    bool is_plain = n == 1 && !has_not && !has_length && only;
    if (is_plain) TRY(build_plain(s, only, SMALL, &is_done, out));
    if (is_done) return WEFT_OK;
    schema_language *l = mem_alloc(sizeof *l);
    if (!l) return WEFT_NO_MEMORY;
    weft_status status = schema_text_language(s, f, l);
    if (status == WEFT_LIMIT && is_plain) {
        weft_status other = build_plain(s, only, NFA_MOST_NODES, &is_done, out);
        if (other != WEFT_OK || is_done) status = other;
    } else if (status == WEFT_OK)
        status = schema_where(s, regular_emit(&l->all, &s->spelling, &s->b, out), "pattern");
    schema_language_free(l);
    mem_free(l);
    return status;
}

weft_status schema_build_string(schema *s, const schema_flat *f, nfa_frag *out) {
    nfa_frag part = {0};
    if (!f->patterns && !f->not_patterns && !f->formats && f->min_length == 0 &&
        f->max_length < 0 && !has_kind(f->not_values, TYPE_STRING))
        return nfa_call(&s->b, s->string, out);
    TRY(nfa_text(&s->b, "\"", 1, out));
    TRY(build_content(s, f, &part));
    nfa_concat(&s->b, out, &part);
    TRY(nfa_text(&s->b, "\"", 1, &part));
    nfa_concat(&s->b, out, &part);
    return WEFT_OK;
}

#endif
