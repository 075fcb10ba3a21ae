/* What every template can call: range, dict, namespace, cycler, joiner, raise_exception,
 * strftime_now. SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "template/run.h"

static weft_status make_range(trun *R, tvalue self, const tvalue *args, tvalue *out) {
    (void)self;
    int64_t v[3] = {0, 0, 1};
    int n = 0;
    for (; n < 3 && args[n].type != T_MISSING; n++)
        if (!tpl_as_int(args[n], &v[n]))
            return tpl_fail("range() needs integers, not '%s'", tpl_type_name(args[n]));
    if (n == 1) {
        v[1] = v[0];
        v[0] = 0;
    }
    if (v[2] == 0) return tpl_fail("range()'s step cannot be zero");
    uint64_t count = 0;
    if (v[2] > 0 && v[0] < v[1]) count = ((uint64_t)v[1] - (uint64_t)v[0] - 1) / (uint64_t)v[2] + 1;
    if (v[2] < 0 && v[0] > v[1])
        count = ((uint64_t)v[0] - (uint64_t)v[1] - 1) / (0 - (uint64_t)v[2]) + 1;
    REQUIRE(count <= TPL_MAX_RANGE, WEFT_LIMIT,
            "a range of %llu items is longer than the limit of %d", (unsigned long long)count,
            (int)TPL_MAX_RANGE);
    trange *r = tpl_alloc(&R->mem, sizeof *r);
    if (!r) return error_status();
    *r = (trange){v[0], v[1], v[2], (int64_t)count};
    *out = (tvalue){.type = T_RANGE, .range = r};
    return WEFT_OK;
}

/* dict(mapping or pairs, name=value, ...) */
static weft_status fill_dict(trun *R, const targs *args, tdict **out) {
    TRY(tpl_dict_new(&R->mem, out));
    if (args->n > 1) return tpl_fail("at most 1 argument is expected, %zu were given", args->n);
    tvalue from = args->n ? args->items[0] : tpl_none();
    if (from.type == T_UNDEFINED) return tpl_undefined_fail(from);
    if (from.type == T_DICT) {
        for (size_t i = 0; i < from.d->n; i++)
            TRY(tpl_dict_set(&R->mem, *out, from.d->entries[i].key, from.d->entries[i].value));
    } else if (args->n) {
        tbuilder items = {0};
        TRY(tpl_items(R, from, &items));
        for (size_t i = 0; i < items.n; i++) {
            tbuilder pair = {0};
            TRY(tpl_items(R, items.items[i], &pair));
            if (pair.n != 2)
                return tpl_fail("dict() needs pairs, item %zu has length %zu", i, pair.n);
            TRY(tpl_dict_set(&R->mem, *out, pair.items[0], pair.items[1]));
        }
    }
    for (size_t i = 0; i < args->n_keywords; i++)
        TRY(tpl_dict_set(&R->mem, *out, tpl_of_string(args->keywords[i].name),
                         args->keywords[i].value));
    return WEFT_OK;
}

static weft_status make_dict(trun *R, tvalue self, const targs *args, tvalue *out) {
    (void)self;
    tdict *d;
    TRY(fill_dict(R, args, &d));
    *out = tpl_of_dict(d);
    return WEFT_OK;
}

static weft_status make_namespace(trun *R, tvalue self, const targs *args, tvalue *out) {
    (void)self;
    tdict *d;
    TRY(fill_dict(R, args, &d));
    *out = (tvalue){.type = T_NAMESPACE, .d = d};
    return WEFT_OK;
}

static weft_status make_cycler(trun *R, tvalue self, const targs *args, tvalue *out) {
    (void)self;
    if (!args->n) return tpl_fail("cycler() needs at least one item");
    if (args->n_keywords) return tpl_fail("cycler() takes no named arguments");
    tbuilder b = {0};
    tvalue items;
    for (size_t i = 0; i < args->n; i++) TRY(tpl_push(&R->mem, &b, args->items[i]));
    TRY(tpl_build(&R->mem, &b, T_TUPLE, &items));
    tcycler *c = tpl_alloc(&R->mem, sizeof *c);
    if (!c) return error_status();
    c->items = items.l;
    *out = (tvalue){.type = T_CYCLER, .cycler = c};
    return WEFT_OK;
}

static weft_status make_joiner(trun *R, tvalue self, const tvalue *args, tvalue *out) {
    (void)self;
    tjoiner *j = tpl_alloc(&R->mem, sizeof *j);
    if (!j) return error_status();
    j->separator = args[0];
    if (args[0].type == T_MISSING) TRY(tpl_string(&R->mem, ", ", 2, &j->separator));
    *out = (tvalue){.type = T_JOINER, .joiner = j};
    return WEFT_OK;
}

/* The text stands in the message as it is: no format, no quotes. */
static weft_status raise_exception(trun *R, tvalue self, const tvalue *args, tvalue *out) {
    (void)self;
    (void)out;
    tvalue text;
    TRY(tpl_to_string(&R->mem, args[0], &text));
    return tpl_fail("%.*s", tpl_shown(text.s->data, text.s->n, 480), text.s->data);
}

static weft_status strftime_now(trun *R, tvalue self, const tvalue *args, tvalue *out) {
    (void)self;
    if (args[0].type != T_STRING) return tpl_fail("strftime_now() needs a text");
    struct tm clock = {0};
    if (R->clock) {
        clock = *R->clock;
        clock.tm_isdst = -1;
        timegm(&clock); /* computes the weekday and the day of the year */
    } else {
        time_t now = time(NULL);
        if (!localtime_r(&now, &clock)) return tpl_fail("the time of day is not known");
    }
    REQUIRE(args[0].s->n <= 1000, WEFT_LIMIT,
            "strftime_now()'s format is longer than the limit of 1000 bytes");
    /* Python's own: %f are microseconds (0 here), %z and %Z are empty for a time without a zone. */
    char format[7000];
    size_t n = 0;
    for (size_t i = 0; i < args[0].s->n; i++) {
        char c = args[0].s->data[i], next = i + 1 < args[0].s->n ? args[0].s->data[i + 1] : 0;
        if (c == '%' && (next == 'f' || next == 'z' || next == 'Z')) {
            if (next == 'f') {
                memcpy(format + n, "000000", 6);
                n += 6;
            }
            i++;
            continue;
        }
        format[n++] = c;
        if (c == '%' && next) {
            format[n++] = next;
            i++;
        }
    }
    format[n++] = '|'; /* so that an empty result is not a failure */
    format[n] = 0;
    char text[20000];
    size_t length = strftime(text, sizeof text, format, &clock);
    REQUIRE(length, WEFT_LIMIT, "strftime_now()'s result is longer than the limit of 20000 bytes");
    return tpl_string(&R->mem, text, length - 1, out);
}

static const tfunction functions[] = {
    {{"range", "start,stop?,step?", make_range, NULL, true}, "<function safe_range>"},
    {{"dict", "", NULL, make_dict, true}, "<class 'dict'>"},
    {{"namespace", "", NULL, make_namespace, true}, "<class 'jinja2.utils.Namespace'>"},
    {{"cycler", "", NULL, make_cycler, true}, "<class 'jinja2.utils.Cycler'>"},
    {{"joiner", "sep?", make_joiner, NULL, true}, "<class 'jinja2.utils.Joiner'>"},
    {{"lipsum", "", NULL, NULL, true}, "<function generate_lorem_ipsum>"},
    {{"raise_exception", "message", raise_exception, NULL, true}, "<function raise_exception>"},
    {{"strftime_now", "f", strftime_now, NULL, true}, "<function strftime_now>"}};

const tfunction *tpl_find_global(const char *name, size_t n) {
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        if (strlen(functions[i].call.name) == n && memcmp(functions[i].call.name, name, n) == 0)
            return &functions[i];
    return NULL;
}
