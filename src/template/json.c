/* tojson: json.dumps of Python with its options (ensure_ascii false by default here), without
 * HTML escapes. SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "template/run.h"

typedef struct writer {
    trun *R;
    str *out;
    bool ascii, sort, pretty;
    const tstring *indent, *item, *key;
} writer;

static weft_status put_text(writer *w, const tstring *s) {
    str *out = w->out;
    TRY(str_char(out, '"'));
    for (size_t i = 0; i < s->n;) {
        int32_t c;
        int n = utf8_decode(s->data + i, s->n - i, &c);
        static const char from[] = "\"\\\n\r\t\b\f", to[] = "\"\\nrtbf";
        const char *known = c && c < 0x80 ? strchr(from, c) : NULL;
        if (known) {
            TRY(str_char(out, '\\'));
            TRY(str_char(out, to[known - from]));
        } else if (c < 0x20 || (w->ascii && c >= 0x7F && c < 0x10000)) {
            TRY(str_format(out, "\\u%04x", (unsigned)c));
        } else if (w->ascii && c >= 0x10000) {
            unsigned v = (unsigned)c - 0x10000;
            TRY(str_format(out, "\\u%04x\\u%04x", 0xD800 | v >> 10, 0xDC00 | (v & 0x3FF)));
        } else TRY(str_append(out, s->data + i, (size_t)n));
        i += (size_t)n;
    }
    return str_char(out, '"');
}

static weft_status put_float(writer *w, double f) {
    if (isnan(f)) return str_text_append(w->out, "NaN");
    if (isinf(f)) return str_text_append(w->out, f < 0 ? "-Infinity" : "Infinity");
    return tpl_float_text(f, w->out);
}

static weft_status new_line(writer *w, int depth) {
    if (!w->pretty) return WEFT_OK;
    TRY(str_char(w->out, '\n'));
    for (int i = 0; i < depth; i++) TRY(str_append(w->out, w->indent->data, w->indent->n));
    return WEFT_OK;
}

static weft_status put(writer *w, tvalue v, int depth);

static weft_status put_list(writer *w, const tlist *l, int depth) {
    if (l->n == 0) return str_text_append(w->out, "[]");
    TRY(str_char(w->out, '['));
    for (size_t i = 0; i < l->n; i++) {
        if (i) TRY(str_append(w->out, w->item->data, w->item->n));
        TRY(new_line(w, depth + 1));
        TRY(put(w, l->items[i], depth + 1));
    }
    TRY(new_line(w, depth));
    return str_char(w->out, ']');
}

static weft_status put_key(writer *w, tvalue key) {
    tvalue text;
    switch (key.type) {
    case T_STRING: return put_text(w, key.s);
    case T_NONE: return str_text_append(w->out, "\"null\"");
    case T_BOOL: return str_text_append(w->out, key.b ? "\"true\"" : "\"false\"");
    case T_INT: TRY(tpl_to_string(&w->R->mem, key, &text)); return put_text(w, text.s);
    case T_FLOAT:
        TRY(str_char(w->out, '"'));
        TRY(put_float(w, key.f));
        return str_char(w->out, '"');
    default: return tpl_fail("a key of JSON cannot be a '%s'", tpl_type_name(key));
    }
}

static weft_status merge_sort(const tentry **a, const tentry **scratch, size_t n) {
    if (n < 2) return WEFT_OK;
    size_t half = n / 2, i = 0, j = half, k = 0;
    TRY(merge_sort(a, scratch, half));
    TRY(merge_sort(a + half, scratch, n - half));
    while (i < half && j < n) {
        bool less;
        TRY(tpl_less(a[j]->key, a[i]->key, false, &less));
        scratch[k++] = less ? a[j++] : a[i++];
    }
    while (i < half) scratch[k++] = a[i++];
    while (j < n) scratch[k++] = a[j++];
    memcpy(a, scratch, n * sizeof *a);
    return WEFT_OK;
}

static weft_status put_dict(writer *w, const tdict *d, int depth) {
    if (d->n == 0) return str_text_append(w->out, "{}");
    const tentry **order = tpl_array(&w->R->mem, d->n * 2, sizeof *order);
    if (!order) return error_status();
    for (size_t i = 0; i < d->n; i++) order[i] = &d->entries[i];
    if (w->sort) TRY(merge_sort(order, order + d->n, d->n));
    TRY(str_char(w->out, '{'));
    for (size_t i = 0; i < d->n; i++) {
        if (i) TRY(str_append(w->out, w->item->data, w->item->n));
        TRY(new_line(w, depth + 1));
        TRY(put_key(w, order[i]->key));
        TRY(str_append(w->out, w->key->data, w->key->n));
        TRY(put(w, order[i]->value, depth + 1));
    }
    TRY(new_line(w, depth));
    return str_char(w->out, '}');
}

static weft_status put(writer *w, tvalue v, int depth) {
    TRY(tpl_step(w->R, 1 + tpl_weight(v) / 64));
    REQUIRE(w->out->n <= TPL_MAX_STRING, WEFT_LIMIT, "a text is longer than the limit of %d bytes",
            (int)TPL_MAX_STRING);
    switch (v.type) {
    case T_NONE: return str_text_append(w->out, "null");
    case T_BOOL: return str_text_append(w->out, v.b ? "true" : "false");
    case T_INT: return str_format(w->out, "%" PRId64, v.i);
    case T_FLOAT: return put_float(w, v.f);
    case T_STRING: return put_text(w, v.s);
    case T_LIST:
    case T_TUPLE: return put_list(w, v.l, depth);
    case T_DICT: return put_dict(w, v.d, depth);
    case T_UNDEFINED: return tpl_fail("an undefined value cannot become JSON");
    default: return tpl_fail("a '%s' cannot become JSON", tpl_type_name(v));
    }
}

static weft_status read_indent(writer *w, tvalue indent, tvalue *text) {
    int64_t n;
    if (indent.type == T_STRING) *text = indent;
    else if (tpl_as_int(indent, &n)) {
        TRY(tpl_string(&w->R->mem, " ", 1, text));
        TRY(tpl_repeat(w->R, *text, n, text));
    } else if (indent.type != T_NONE) return tpl_fail("tojson's indent must be a number or a text");
    w->pretty = indent.type != T_NONE;
    return WEFT_OK;
}

weft_status tpl_to_json(trun *R, tvalue v, const tvalue *options, tvalue *out) {
    static const tstring plain_item = {", ", 2, 2, false}, pretty_item = {",", 1, 1, false},
                         key = {": ", 2, 2, false};
    tvalue ascii = options[0], separators = options[2], sort = options[3],
           indent = {.type = T_NONE};
    str text = {0};
    writer w = {
        .R = R, .out = &text, .ascii = tpl_truth(ascii), .sort = tpl_truth(sort), .key = &key};
    TRY(read_indent(&w, options[1].type == T_MISSING ? tpl_none() : options[1], &indent));
    w.item = w.pretty ? &pretty_item : &plain_item;
    if (w.pretty) w.indent = indent.s;
    if (separators.type != T_MISSING && separators.type != T_NONE) {
        tbuilder pair = {0};
        TRY(tpl_items(R, separators, &pair));
        if (pair.n != 2 || pair.items[0].type != T_STRING || pair.items[1].type != T_STRING)
            return tpl_fail("tojson's separators must be two texts");
        w.item = pair.items[0].s;
        w.key = pair.items[1].s;
    }
    weft_status status = put(&w, v, 0);
    if (status == WEFT_OK) return tpl_from_str(&R->mem, &text, false, out);
    str_free(&text);
    return status;
}
