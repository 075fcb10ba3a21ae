/* Plain values of a JSON Schema: numbers with bounds, strings with lengths, patterns and formats,
 * and the rules for any JSON value. SPDX-License-Identifier: MIT */
#ifdef WEFT_HAVE_JANSSON
#include <math.h>
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
    json_t *empty = json_object();
    weft_status status = schema_own(s, empty);
    if (status == WEFT_OK) status = schema_build_object(s, empty, &f);
    if (status == WEFT_OK) status = nfa_rule_define(&s->b, s->object, &f);
    if (status == WEFT_OK) status = schema_build_array(s, empty, &f);
    return status == WEFT_OK ? nfa_rule_define(&s->b, s->array, &f) : status;
}

/* ---- numbers --------------------------------------------------------------------------------- */

weft_status schema_count(const schema *s, json_t *one, const char *key, int64_t missing,
                         int64_t *out) {
    json_t *value = json_object_get(one, key);
    *out = missing;
    if (!value) return WEFT_OK;
    double number = json_is_number(value) ? json_number_value(value) : -1;
    if (number < 0 || number > 1e9 || floor(number) < number)
        return schema_fail(s, WEFT_FORMAT, "\"%s\" must be a whole number of at most 1e9", key);
    *out = (int64_t)number;
    return WEFT_OK;
}

/* A bound as a decimal without an exponent: the shortest that reads back as the same number. */
static weft_status bound_text(const schema *s, const json_t *value, const char *key, char out[64]) {
    if (!json_is_number(value)) return schema_fail(s, WEFT_FORMAT, "\"%s\" must be a number", key);
    double x = json_number_value(value);
    if (json_is_integer(value)) {
        snprintf(out, 64, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
        return WEFT_OK;
    }
    for (int places = 0; places <= 24 && fabs(x) < 1e24; places++) {
        snprintf(out, 64, "%.*f", places, x);
        double back = strtod(out, NULL);
        if (!(back < x) && !(back > x)) return WEFT_OK;
    }
    return schema_fail(s, WEFT_UNSUPPORTED, "\"%s\": %g is too large or small a bound", key, x);
}

/* The tighter of an inclusive and an exclusive bound, on the low side (sign 1) or the high (-1). */
static weft_status read_bound(const schema *s, json_t *one, const char *closed, const char *open,
                              int sign, bool *is_there, bool *is_open, char out[64]) {
    json_t *a = json_object_get(one, closed), *b = json_object_get(one, open);
    *is_there = a || b;
    *is_open = false;
    if (a) TRY(bound_text(s, a, closed, out));
    if (!b) return WEFT_OK;
    char text[64];
    TRY(bound_text(s, b, open, text));
    if (a && sign * (json_number_value(a) - json_number_value(b)) > 0) return WEFT_OK;
    memcpy(out, text, 64);
    *is_open = true;
    return WEFT_OK;
}

weft_status schema_build_number(schema *s, json_t *one, bool is_whole, nfa_frag *f) {
    number_bounds n = {.is_whole = is_whole};
    TRY(read_bound(s, one, "minimum", "exclusiveMinimum", 1, &n.has_low, &n.is_low_open, n.low));
    TRY(read_bound(s, one, "maximum", "exclusiveMaximum", -1, &n.has_high, &n.is_high_open,
                   n.high));
    if (!n.has_low && !n.has_high) return nfa_call(&s->b, is_whole ? s->integer : s->number, f);
    return schema_number(s, &n, f);
}

/* ---- strings --------------------------------------------------------------------------------- */

static const char *find_format(const char *name) {
    static const struct {
        const char *name, *regex;
    } formats[] = {
#define SCHEMA_FORMAT(name, regex) {name, regex},
#include "grammar/formats.def"
#undef SCHEMA_FORMAT
    };
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        if (!strcmp(formats[i].name, name)) return formats[i].regex;
    return NULL;
}

/* Any characters, `least` to `most` of them. */
static weft_status build_length(schema *s, int64_t least, int64_t most, nfa_frag *f) {
    if (most >= 0 && most < least) return nfa_fail(&s->b, f);
    TRY(nfa_call(&s->b, s->character, f));
    if (nfa_repeat(&s->b, f, least, most) == WEFT_OK) return WEFT_OK;
    return error_prefix(error_status(), "schema, %s: minLength/maxLength", s->path);
}

/* One expression alone: its own graph where it needs no automaton. */
static weft_status build_plain(schema *s, const char *text, bool *is_done, nfa_frag *f) {
    regex x;
    TRY(regex_parse(text, strlen(text), REGEX_SEARCH, &x));
    *is_done = !x.n_anchors;
    weft_status status = *is_done ? spelling_copy(&s->spelling, &s->b, &x.b, &x.f, f) : WEFT_OK;
    regex_free(&x);
    return status;
}

/* The content of all the expressions at once, of `least` to `most` characters. */
static weft_status build_both(schema *s, const char *const *texts, size_t n, int64_t least,
                              int64_t most, nfa_frag *f) {
    regular made[2] = {{0}};
    regular_all all = {.least = least, .most = most};
    weft_status status = WEFT_OK;
    for (size_t i = 0; i < n && status == WEFT_OK; i++) {
        status = regex_make(texts[i], strlen(texts[i]), REGEX_SEARCH, &made[i]);
        if (status == WEFT_OK) status = regular_all_add(&all, &made[i], false);
    }
    if (status == WEFT_OK) status = regular_emit(&all, &s->spelling, &s->b, f);
    for (size_t i = 0; i < n; i++) regular_free(&made[i]);
    return status;
}

static weft_status build_content(schema *s, json_t *one, nfa_frag *f) {
    json_t *pattern = json_object_get(one, "pattern"), *format = json_object_get(one, "format");
    int64_t least, most;
    const char *texts[2];
    size_t n = 0;
    bool is_done = false;
    TRY(schema_count(s, one, "minLength", 0, &least));
    TRY(schema_count(s, one, "maxLength", -1, &most));
    if ((pattern && !json_is_string(pattern)) || (format && !json_is_string(format)))
        return schema_fail(s, WEFT_FORMAT, "\"pattern\" and \"format\" must be texts");
    if (!pattern && !format) return build_length(s, least, most, f);
    if (format) texts[n++] = find_format(json_string_value(format));
    if (n && !texts[0])
        return schema_fail(s, WEFT_UNSUPPORTED, "the format \"%.80s\" is not supported",
                           json_string_value(format));
    if (pattern) texts[n++] = json_string_value(pattern);
    weft_status status = WEFT_OK;
    if (n == 1 && !least && most < 0) status = build_plain(s, texts[0], &is_done, f);
    if (status == WEFT_OK && !is_done) status = build_both(s, texts, n, least, most, f);
    return status == WEFT_OK ? WEFT_OK : error_prefix(status, "schema, %s: pattern", s->path);
}

weft_status schema_build_string(schema *s, json_t *one, nfa_frag *f) {
    static const char *const keys[] = {"pattern", "format", "minLength", "maxLength"};
    bool is_free = true;
    nfa_frag part = {0};
    for (int i = 0; i < 4; i++) is_free &= !json_object_get(one, keys[i]);
    if (is_free) return nfa_call(&s->b, s->string, f);
    TRY(nfa_text(&s->b, "\"", 1, f));
    TRY(build_content(s, one, &part));
    nfa_concat(&s->b, f, &part);
    TRY(nfa_text(&s->b, "\"", 1, &part));
    nfa_concat(&s->b, f, &part);
    return WEFT_OK;
}

#endif
