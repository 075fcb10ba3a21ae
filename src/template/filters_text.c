/* Filters over text. SPDX-License-Identifier: MIT */
#include <string.h>

#include "base/utf8.h"
#include "template/filters.h"
#include "template/strings.h"

/* `fn` on str(v). */
static weft_status on_text(trun *R, tvalue v, tpl_fn *fn, const tvalue *args, tvalue *out) {
    TRY(tpl_to_string(&R->mem, v, &v));
    return fn(R, v, args, out);
}

static const tvalue nothing[3];

weft_status filter_capitalize(trun *R, tvalue v, const tvalue *args, tvalue *out) {
    return on_text(R, v, string_capitalize, args, out);
}
weft_status filter_lower(trun *R, tvalue v, const tvalue *args, tvalue *out) {
    return on_text(R, v, string_lower, args, out);
}
weft_status filter_upper(trun *R, tvalue v, const tvalue *args, tvalue *out) {
    return on_text(R, v, string_upper, args, out);
}
weft_status filter_trim(trun *R, tvalue v, const tvalue *args, tvalue *out) {
    return on_text(R, v, string_strip, args, out);
}
weft_status filter_string(trun *R, tvalue v, const tvalue *args, tvalue *out) {
    (void)args;
    return tpl_to_string(&R->mem, v, out);
}
weft_status filter_center(trun *R, tvalue v, const tvalue *args, tvalue *out) {
    tvalue a[2] = {args[0].type == T_MISSING ? tpl_int(80) : args[0], {.type = T_MISSING}};
    return on_text(R, v, string_center, a, out);
}

static weft_status with_safety(trun *R, tvalue v, bool safe, tvalue *out) {
    TRY(tpl_to_string(&R->mem, v, &v));
    return tpl_string_take(&R->mem, v.s->data, v.s->n, safe, out);
}

weft_status filter_safe(trun *R, tvalue v, const tvalue *args, tvalue *out) {
    (void)args;
    return with_safety(R, v, true, out);
}
weft_status filter_escape(trun *R, tvalue v, const tvalue *args, tvalue *out) {
    (void)args;
    return tpl_escape(R, v, out);
}
weft_status filter_forceescape(trun *R, tvalue v, const tvalue *args, tvalue *out) {
    (void)args;
    TRY(with_safety(R, v, false, &v));
    return tpl_escape(R, v, out);
}

weft_status filter_replace(trun *R, tvalue v, const tvalue *args, tvalue *out) {
    tvalue a[3] = {args[0], args[1], args[2]};
    TRY(with_safety(R, v, false, &v));
    for (int i = 0; i < 2; i++) TRY(with_safety(R, a[i], false, &a[i]));
    return string_replace(R, v, a, out);
}

weft_status filter_format(trun *R, tvalue v, const targs *args, tvalue *out) {
    tvalue values;
    if (args->n && args->n_keywords) return tpl_fail("format takes either positions or names");
    TRY(tpl_to_string(&R->mem, v, &v));
    if (args->n_keywords) {
        tdict *d;
        TRY(tpl_dict_new(&R->mem, &d));
        for (size_t i = 0; i < args->n_keywords; i++)
            TRY(tpl_dict_set(&R->mem, d, tpl_of_string(args->keywords[i].name),
                             args->keywords[i].value));
        values = tpl_of_dict(d);
    } else {
        tbuilder b = {0};
        for (size_t i = 0; i < args->n; i++) TRY(tpl_push(&R->mem, &b, args->items[i]));
        TRY(tpl_build(&R->mem, &b, T_TUPLE, &values));
    }
    return tpl_percent(R, v.s, values, out);
}

/* ---- title, indent, truncate, wordcount ---- */

static bool is_word_break(int32_t c) {
    return c == '-' || c == '(' || c == '{' || c == '[' || c == '<' || tpl_is_space(c);
}

static weft_status title_into(const tstring *s, str *text) {
    for (size_t at = 0; at < s->n;) {
        int32_t code;
        size_t end = at, read;
        utf8_decode(s->data + at, s->n - at, &code);
        bool breaks = is_word_break(code);
        while (end < s->n) {
            int n = utf8_decode(s->data + end, s->n - end, &code);
            if (is_word_break(code) != breaks) break;
            end += (size_t)n;
        }
        tstring word = {s->data + at, end - at, 0, false};
        TRY(tpl_map_case(&word, 0, CASE_UPPER, text, &read));
        tstring rest = {word.data + read, word.n - read, 0, false};
        for (size_t i = 0; i < rest.n; i += read)
            TRY(tpl_map_case(&rest, i, CASE_LOWER, text, &read));
        at = end;
    }
    return WEFT_OK;
}

weft_status filter_title(trun *R, tvalue v, const tvalue *args, tvalue *out) {
    (void)args;
    TRY(tpl_to_string(&R->mem, v, &v));
    TRY(tpl_work(R, v.s->n * 8));
    str text = {0};
    weft_status status = title_into(v.s, &text);
    if (status == WEFT_OK) return tpl_from_str(&R->mem, &text, false, out);
    str_free(&text);
    return status;
}

weft_status filter_indent(trun *R, tvalue v, const tvalue *args, tvalue *out) {
    bool first = tpl_truth(args[1]), blank = tpl_truth(args[2]);
    int64_t width = 4;
    tvalue by = args[0], lines;
    if (v.type != T_STRING)
        return v.type == T_UNDEFINED ? tpl_undefined_fail(v) : tpl_fail("indent needs a text");
    if (by.type != T_STRING) {
        if (by.type != T_MISSING && !tpl_as_int(by, &width))
            return tpl_fail("indent's width must be a number or a text");
        TRY(tpl_string(&R->mem, " ", 1, &by));
        TRY(tpl_repeat(R, by, width, &by));
    }
    static const tstring newline = {"\n", 1, 1, false};
    tvalue with_end;
    TRY(tpl_concat(&R->mem, v.s, &newline, &with_end));
    TRY(string_splitlines(R, with_end, nothing, &lines));
    str text = {0};
    weft_status status = first ? str_append(&text, by.s->data, by.s->n) : WEFT_OK;
    for (size_t i = 0; i < lines.l->n && status == WEFT_OK; i++) {
        const tstring *line = lines.l->items[i].s;
        if (i) status = str_char(&text, '\n');
        if (status == WEFT_OK && i && (blank || line->n))
            status = str_append(&text, by.s->data, by.s->n);
        if (status == WEFT_OK) status = str_append(&text, line->data, line->n);
        if (status == WEFT_OK) status = tpl_work(R, by.s->n + line->n + 64);
        if (status == WEFT_OK && text.n > TPL_MAX_STRING)
            status = error_set(WEFT_LIMIT, "a text is longer than the limit of %d bytes",
                               (int)TPL_MAX_STRING);
    }
    if (status == WEFT_OK) return tpl_from_str(&R->mem, &text, v.s->safe, out);
    str_free(&text);
    return status;
}

weft_status filter_truncate(trun *R, tvalue v, const tvalue *args, tvalue *out) {
    int64_t length = 255, leeway = 5, n;
    tvalue end = args[2], cut, parts[2];
    if (end.type == T_MISSING) TRY(tpl_string(&R->mem, "...", 3, &end));
    if (end.type != T_STRING) return tpl_fail("truncate's end must be a text");
    if (args[0].type != T_MISSING && !tpl_as_int(args[0], &length))
        return tpl_fail("truncate's length must be an integer");
    if (args[3].type != T_MISSING && args[3].type != T_NONE && !tpl_as_int(args[3], &leeway))
        return tpl_fail("truncate's leeway must be an integer");
    if (length < (int64_t)end.s->chars)
        return tpl_fail("truncate's length is less than that of its end");
    if (leeway < 0) return tpl_fail("truncate's leeway is negative");
    *out = v;
    if (!tpl_length(v, &n)) return tpl_fail("truncate needs a text, not '%s'", tpl_type_name(v));
    if (length > INT64_MAX - leeway || n <= length + leeway) return WEFT_OK;
    if (v.type != T_STRING) return tpl_fail("truncate needs a text, not '%s'", tpl_type_name(v));
    tvalue slice[3] = {tpl_none(), tpl_int(length - (int64_t)end.s->chars), tpl_none()};
    TRY(tpl_get_slice(R, v, slice, &cut));
    if (!tpl_truth(args[1])) {
        TRY(tpl_string(&R->mem, " ", 1, &parts[0]));
        parts[1] = tpl_int(1);
        tvalue split;
        TRY(string_rsplit(R, cut, parts, &split));
        cut = split.l->items[0];
    }
    return tpl_binary(R, OP_ADD, cut, end, out);
}

weft_status filter_wordcount(trun *R, tvalue v, const tvalue *args, tvalue *out) {
    (void)args;
    TRY(tpl_to_string(&R->mem, v, &v));
    TRY(tpl_work(R, v.s->n * 4));
    int64_t words = 0;
    bool inside = false;
    for (size_t i = 0; i < v.s->n;) {
        int32_t code;
        i += (size_t)utf8_decode(v.s->data + i, v.s->n - i, &code);
        bool word = tpl_is_class(code, CLASS_WORD);
        words += word && !inside;
        inside = word;
    }
    *out = tpl_int(words);
    return WEFT_OK;
}

/* ---- HTML and URLs ---- */

static weft_status quote(const tstring *s, bool query, str *text) {
    for (size_t i = 0; i < s->n; i++) {
        unsigned char c = (unsigned char)s->data[i];
        bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                     (c && strchr("_.-~", c));
        if (plain || (c == '/' && !query)) TRY(str_char(text, (char)c));
        else if (c == ' ' && query) TRY(str_char(text, '+'));
        else TRY(str_format(text, "%%%02X", c));
    }
    return WEFT_OK;
}

static weft_status quote_pair(trun *R, tvalue key, tvalue value, str *text) {
    TRY(tpl_to_string(&R->mem, key, &key));
    TRY(tpl_to_string(&R->mem, value, &value));
    TRY(tpl_work(R, key.s->n + value.s->n));
    if (text->n) TRY(str_char(text, '&'));
    TRY(quote(key.s, true, text));
    TRY(str_char(text, '='));
    return quote(value.s, true, text);
}

static weft_status urlencode(trun *R, tvalue v, str *text) {
    if (v.type == T_STRING || !tpl_is_iterable(v)) {
        TRY(tpl_to_string(&R->mem, v, &v));
        TRY(tpl_work(R, v.s->n));
        return quote(v.s, false, text);
    }
    if (v.type == T_DICT) {
        for (size_t i = 0; i < v.d->n; i++)
            TRY(quote_pair(R, v.d->entries[i].key, v.d->entries[i].value, text));
        return WEFT_OK;
    }
    tbuilder items = {0};
    TRY(tpl_items(R, v, &items));
    for (size_t i = 0; i < items.n; i++) {
        tbuilder pair = {0};
        TRY(tpl_items(R, items.items[i], &pair));
        if (pair.n != 2) return tpl_fail("urlencode needs pairs");
        TRY(quote_pair(R, pair.items[0], pair.items[1], text));
    }
    return WEFT_OK;
}

weft_status filter_urlencode(trun *R, tvalue v, const tvalue *args, tvalue *out) {
    (void)args;
    str text = {0};
    weft_status status = urlencode(R, v, &text);
    if (status == WEFT_OK) return tpl_from_str(&R->mem, &text, false, out);
    str_free(&text);
    return status;
}

static weft_status attribute_text(trun *R, tvalue key, tvalue value, str *text) {
    if (key.type != T_STRING) return tpl_fail("an attribute's name must be a text");
    for (size_t i = 0; i < key.s->n; i++)
        if (memchr(" \t\n\r\f\v/>=", key.s->data[i], 9))
            return tpl_fail("an attribute's name has an invalid character");
    TRY(tpl_escape(R, key, &key));
    TRY(tpl_escape(R, value, &value));
    if (text->n) TRY(str_char(text, ' '));
    TRY(str_append(text, key.s->data, key.s->n));
    TRY(str_text_append(text, "=\""));
    TRY(str_append(text, value.s->data, value.s->n));
    return str_char(text, '"');
}

weft_status filter_xmlattr(trun *R, tvalue v, const tvalue *args, tvalue *out) {
    if (v.type == T_UNDEFINED) return tpl_undefined_fail(v);
    if (v.type != T_DICT) return tpl_fail("xmlattr needs a dict, not '%s'", tpl_type_name(v));
    str text = {0}, result = {0};
    weft_status status = WEFT_OK;
    for (size_t i = 0; i < v.d->n && status == WEFT_OK; i++) {
        const tentry *e = &v.d->entries[i];
        if (e->value.type == T_NONE || e->value.type == T_UNDEFINED) continue;
        status = attribute_text(R, e->key, e->value, &text);
    }
    bool space = args[0].type == T_MISSING || tpl_truth(args[0]);
    if (status == WEFT_OK && space && text.n) status = str_char(&result, ' ');
    if (status == WEFT_OK) status = str_append(&result, str_text(&text), text.n);
    str_free(&text);
    if (status == WEFT_OK) return tpl_from_str(&R->mem, &result, false, out);
    str_free(&result);
    return status;
}

/* The character references that escaping makes, and numbers; others stay as they are. */
static size_t unescape_one(const char *p, size_t n, str *text, weft_status *status) {
    static const struct {
        const char *name, *text;
    } known[] = {{"&amp;", "&"},   {"&lt;", "<"},   {"&gt;", ">"},
                 {"&quot;", "\""}, {"&apos;", "'"}, {"&nbsp;", "\xC2\xA0"}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        size_t length = strlen(known[i].name);
        if (n < length || memcmp(p, known[i].name, length) != 0) continue;
        *status = str_text_append(text, known[i].text);
        return length;
    }
    int32_t code = 0;
    size_t at = 2;
    if (n > 3 && p[1] == '#') {
        for (; at < n && at < 9 && p[at] >= '0' && p[at] <= '9'; at++)
            code = code * 10 + (p[at] - '0');
        if (at > 2 && at < n && p[at] == ';' && code > 31 && code < 0x110000 &&
            (code < 0xD800 || code > 0xDFFF)) {
            char utf8[4];
            *status = str_append(text, utf8, (size_t)utf8_encode(code, utf8));
            return at + 1;
        }
    }
    *status = str_char(text, '&');
    return 1;
}

static weft_status strip_tags(const tstring *s, str *text) {
    size_t at = 0;
    while (at < s->n) {
        const char *open = memchr(s->data + at, '<', s->n - at);
        if (!open) break;
        size_t start = (size_t)(open - s->data);
        bool comment = s->n - start >= 4 && memcmp(open, "<!--", 4) == 0;
        const char *close = comment ? memmem(open + 4, s->n - start - 4, "-->", 3)
                                    : memchr(open, '>', s->n - start);
        if (!close) break;
        TRY(str_append(text, s->data + at, start - at));
        at = (size_t)(close - s->data) + (comment ? 3 : 1);
    }
    return str_append(text, s->data + at, s->n - at);
}

weft_status filter_striptags(trun *R, tvalue v, const tvalue *args, tvalue *out) {
    (void)args;
    static const tstring space = {" ", 1, 1, false};
    tvalue words, joined;
    str text = {0};
    TRY(tpl_to_string(&R->mem, v, &v));
    TRY(tpl_work(R, v.s->n));
    weft_status status = strip_tags(v.s, &text);
    if (status != WEFT_OK) {
        str_free(&text);
        return status;
    }
    TRY(tpl_from_str(&R->mem, &text, false, &joined));
    TRY(string_split(R, joined, nothing, &words));
    TRY(string_join(R, tpl_of_string(&space), &words, &joined));
    for (size_t i = 0; i < joined.s->n && status == WEFT_OK;) {
        if (joined.s->data[i] == '&')
            i += unescape_one(joined.s->data + i, joined.s->n - i, &text, &status);
        else status = str_char(&text, joined.s->data[i++]);
    }
    if (status == WEFT_OK) return tpl_from_str(&R->mem, &text, false, out);
    str_free(&text);
    return status;
}
