/* The table of filters, and those on numbers and on any value. SPDX-License-Identifier: MIT */
#include "template/filters.h"

#include <math.h>
#include <string.h>

static weft_status filter_abs(trun *R, tvalue v, const tvalue *args, tvalue *out) {
    (void)R;
    (void)args;
    int64_t i;
    if (v.type == T_FLOAT) *out = tpl_float(fabs(v.f));
    else if (!tpl_as_int(v, &i))
        return v.type == T_UNDEFINED ? tpl_undefined_fail(v) : tpl_fail("abs needs a number");
    else return tpl_negate(tpl_int(i), i < 0, out);
    return WEFT_OK;
}

static weft_status filter_attr(trun *R, tvalue v, const tvalue *args, tvalue *out) {
    bool found;
    if (args[0].type != T_STRING) return tpl_fail("attr needs the name of an attribute");
    if (v.type == T_UNDEFINED) return tpl_undefined_fail(v);
    TRY(tpl_find_attribute(R, v, args[0].s, out, &found));
    if (found) return tpl_get_attribute(R, v, args[0].s, out);
    return tpl_undefined_of(&R->mem, v, args[0], out);
}

static weft_status filter_default(trun *R, tvalue v, const tvalue *args, tvalue *out) {
    *out = v;
    if (v.type != T_UNDEFINED && !(tpl_truth(args[1]) && !tpl_truth(v))) return WEFT_OK;
    if (args[0].type == T_MISSING) return tpl_string(&R->mem, "", 0, out);
    *out = args[0];
    return WEFT_OK;
}

/* int(value), then int(float(value)), then the default. */
static weft_status filter_int(trun *R, tvalue v, const tvalue *args, tvalue *out) {
    (void)R;
    int64_t base = 10, i;
    double f;
    bool ok = args[1].type == T_MISSING || tpl_as_int(args[1], &base);
    *out = args[0].type == T_MISSING ? tpl_int(0) : args[0];
    if (tpl_as_int(v, &i)) *out = tpl_int(i);
    else if (v.type == T_UNDEFINED) return tpl_undefined_fail(v);
    else if (v.type == T_FLOAT) {
        if (isnan(v.f)) return WEFT_OK;
        TRY(tpl_float_to_int(v.f, &i));
        *out = tpl_int(i);
    } else if (v.type == T_STRING) {
        if (ok) TRY(tpl_parse_int(v.s, base, &i, &ok));
        if (!ok && tpl_parse_float(v.s, &f) && isfinite(f)) {
            TRY(tpl_float_to_int(f, &i));
            ok = true;
        }
        if (ok) *out = tpl_int(i);
    }
    return WEFT_OK;
}

static weft_status filter_float(trun *R, tvalue v, const tvalue *args, tvalue *out) {
    (void)R;
    double f;
    *out = args[0].type == T_MISSING ? tpl_float(0) : args[0];
    if (v.type == T_UNDEFINED) return tpl_undefined_fail(v);
    if (tpl_as_float(v, &f) || (v.type == T_STRING && tpl_parse_float(v.s, &f)))
        *out = tpl_float(f);
    return WEFT_OK;
}

/* Halves to even, as Python's round() of an integer to tens, hundreds, ... */
static weft_status round_int(int64_t i, int64_t digits, tvalue *out) {
    *out = tpl_int(i);
    if (digits >= 0) return WEFT_OK;
    *out = tpl_int(0);
    if (digits < -19) return WEFT_OK;
    __int128 unit = 1, value = i;
    for (int64_t k = digits; k < 0; k++) unit *= 10;
    __int128 rest = value % unit;
    if (rest < 0) rest += unit;
    __int128 down = value - rest;
    bool odd = (down / unit) % 2 != 0;
    __int128 result = rest * 2 > unit || (rest * 2 == unit && odd) ? down + unit : down;
    if (result > INT64_MAX || result < INT64_MIN)
        return tpl_fail("integer overflow: the result does not fit 64 bits");
    *out = tpl_int((int64_t)result);
    return WEFT_OK;
}

static weft_status round_common(trun *R, tvalue v, tvalue precision, tvalue *out) {
    int64_t digits = 0, i;
    double f;
    bool none = precision.type == T_NONE;
    if (!none && precision.type != T_MISSING && !tpl_as_int(precision, &digits))
        return tpl_fail("round's precision must be an integer");
    if (tpl_as_int(v, &i)) return round_int(i, digits, out);
    if (v.type != T_FLOAT)
        return v.type == T_UNDEFINED ? tpl_undefined_fail(v) : tpl_fail("round needs a number");
    TRY(tpl_round(R, v.f, digits, &f));
    *out = tpl_float(f);
    if (!none) return WEFT_OK;
    TRY(tpl_float_to_int(f, &i));
    *out = tpl_int(i);
    return WEFT_OK;
}

/* ceil(value * 10**precision) / 10**precision */
static weft_status filter_round(trun *R, tvalue v, const tvalue *args, tvalue *out) {
    bool up = false, down = false;
    if (args[1].type == T_STRING) {
        up = tpl_string_is(args[1].s, "ceil");
        down = tpl_string_is(args[1].s, "floor");
    }
    if (args[1].type != T_MISSING && !up && !down &&
        !(args[1].type == T_STRING && tpl_string_is(args[1].s, "common")))
        return tpl_fail("round's method must be common, ceil or floor");
    if (!up && !down) return round_common(R, v, args[0], out);
    tvalue scale, scaled;
    TRY(tpl_binary(R, OP_POW, tpl_int(10), args[0].type == T_MISSING ? tpl_int(0) : args[0],
                   &scale));
    TRY(tpl_binary(R, OP_MUL, v, scale, &scaled));
    int64_t i;
    if (scaled.type == T_FLOAT) {
        TRY(tpl_float_to_int(up ? ceil(scaled.f) : floor(scaled.f), &i));
        scaled = tpl_int(i);
    } else if (!tpl_as_int(scaled, &i)) return tpl_fail("round needs a number");
    return tpl_binary(R, OP_DIV, scaled, scale, out);
}

static weft_status filter_filesizeformat(trun *R, tvalue v, const tvalue *args, tvalue *out) {
    static const char *const decimal[] = {"kB", "MB", "GB", "TB", "PB", "EB", "ZB", "YB"};
    static const char *const binary[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB", "ZiB", "YiB"};
    double bytes;
    bool is_binary = tpl_truth(args[0]);
    if (v.type == T_UNDEFINED) return tpl_undefined_fail(v);
    if (!tpl_as_float(v, &bytes) && !(v.type == T_STRING && tpl_parse_float(v.s, &bytes)))
        return tpl_fail("filesizeformat needs a number");
    double base = is_binary ? 1024 : 1000, unit = base * base;
    str text = {0};
    weft_status status;
    if (bytes == 1) status = str_text_append(&text, "1 Byte");
    else if (bytes < base) {
        int64_t whole;
        TRY(tpl_float_to_int(bytes, &whole));
        status = str_format(&text, "%lld Bytes", (long long)whole);
    } else {
        size_t i = 0;
        while (i < 7 && !(bytes < unit)) {
            unit *= base;
            i++;
        }
        status =
            str_format(&text, "%.1f %s", base * bytes / unit, (is_binary ? binary : decimal)[i]);
    }
    if (status == WEFT_OK) return tpl_from_str(&R->mem, &text, false, out);
    str_free(&text);
    return status;
}

static const tpl_row rows[] = {
    {"abs", "/", filter_abs, NULL, false},
    {"attr", "name", filter_attr, NULL, false},
    {"batch", "linecount,fill_with?", filter_batch, NULL, false},
    {"capitalize", "", filter_capitalize, NULL, false},
    {"center", "width?", filter_center, NULL, false},
    {"count", "/", filter_length, NULL, false},
    {"d", "default_value?,boolean?", filter_default, NULL, false},
    {"default", "default_value?,boolean?", filter_default, NULL, false},
    {"dictsort", "case_sensitive?,by?,reverse?", filter_dictsort, NULL, false},
    {"e", "/", filter_escape, NULL, false},
    {"escape", "/", filter_escape, NULL, false},
    {"filesizeformat", "binary?", filter_filesizeformat, NULL, false},
    {"first", "", filter_first, NULL, false},
    {"float", "default?", filter_float, NULL, false},
    {"forceescape", "", filter_forceescape, NULL, false},
    {"format", "", NULL, filter_format, false},
    {"groupby", "attribute,default?,case_sensitive?", filter_groupby, NULL, false},
    {"indent", "width?,first?,blank?", filter_indent, NULL, false},
    {"int", "default?,base?", filter_int, NULL, false},
    {"items", "", filter_items, NULL, false},
    {"join", "d?,attribute?", filter_join, NULL, false},
    {"last", "", filter_last, NULL, false},
    {"length", "/", filter_length, NULL, false},
    {"list", "", filter_list, NULL, false},
    {"lower", "", filter_lower, NULL, false},
    {"map", "", NULL, filter_map, true},
    {"max", "case_sensitive?,attribute?", filter_max, NULL, false},
    {"min", "case_sensitive?,attribute?", filter_min, NULL, false},
    {"pprint", "", NULL, NULL, false},
    {"random", "", NULL, NULL, true},
    {"reject", "", NULL, filter_reject, true},
    {"rejectattr", "", NULL, filter_rejectattr, true},
    {"replace", "old,new,count?", filter_replace, NULL, false},
    {"reverse", "", filter_reverse, NULL, false},
    {"round", "precision?,method?", filter_round, NULL, false},
    {"safe", "", filter_safe, NULL, false},
    {"select", "", NULL, filter_select, true},
    {"selectattr", "", NULL, filter_selectattr, true},
    {"slice", "slices,fill_with?", filter_slice, NULL, false},
    {"sort", "reverse?,case_sensitive?,attribute?", filter_sort, NULL, false},
    {"string", "/", filter_string, NULL, false},
    {"striptags", "", filter_striptags, NULL, false},
    {"sum", "attribute?,start?", filter_sum, NULL, false},
    {"title", "", filter_title, NULL, false},
    {"tojson", "ensure_ascii?,indent?,separators?,sort_keys?", tpl_to_json, NULL, false},
    {"trim", "chars?", filter_trim, NULL, false},
    {"truncate", "length?,killwords?,end?,leeway?", filter_truncate, NULL, false},
    {"unique", "case_sensitive?,attribute?", filter_unique, NULL, false},
    {"upper", "", filter_upper, NULL, false},
    {"urlencode", "", filter_urlencode, NULL, false},
    {"urlize", "", NULL, NULL, true},
    {"wordcount", "", filter_wordcount, NULL, false},
    {"wordwrap", "width?,break_long_words?,wrapstring?,break_on_hyphens?", filter_wordwrap, NULL,
     false},
    {"xmlattr", "autospace?", filter_xmlattr, NULL, false}};

const tpl_row *tpl_find_filter(const char *name, size_t n) {
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strlen(rows[i].name) == n && memcmp(rows[i].name, name, n) == 0) return &rows[i];
    return NULL;
}
