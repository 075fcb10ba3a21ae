/* str() and repr(): what Python prints. Objects whose Python text holds an address are printed
 * without it. SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "template/run.h"
#include "template/value.h"

/* The shortest digits that read back as `f`, laid out as float.__repr__ does. */
weft_status tpl_float_text(double f, str *out) {
    if (isnan(f)) return str_text_append(out, "nan");
    if (isinf(f)) return str_text_append(out, f < 0 ? "-inf" : "inf");
    char text[40];
    for (int precision = 0; precision < 17; precision++) {
        snprintf(text, sizeof text, "%.*e", precision, f);
        if (strtod(text, NULL) == f) break;
    }
    char digits[20] = {0};
    int n = 0;
    const char *p = text;
    if (*p == '-') {
        TRY(str_char(out, '-'));
        p++;
    }
    for (; *p != 'e'; p++)
        if (*p != '.') digits[n++] = *p;
    int exponent = atoi(p + 1);
    if (exponent >= 16 || exponent < -4) {
        TRY(str_char(out, digits[0]));
        if (n > 1) {
            TRY(str_char(out, '.'));
            TRY(str_append(out, digits + 1, (size_t)n - 1));
        }
        return str_format(out, "e%c%02d", exponent < 0 ? '-' : '+', abs(exponent));
    }
    if (exponent < 0) {
        TRY(str_text_append(out, "0."));
        for (int i = -1; i > exponent; i--) TRY(str_char(out, '0'));
        return str_append(out, digits, (size_t)n);
    }
    for (int i = 0; i <= exponent; i++) TRY(str_char(out, i < n ? digits[i] : '0'));
    TRY(str_char(out, '.'));
    if (n <= exponent + 1) return str_char(out, '0');
    return str_append(out, digits + exponent + 1, (size_t)(n - exponent - 1));
}

weft_status tpl_string_repr(const tstring *s, str *out) {
    char quote = '\'';
    if (memchr(s->data, '\'', s->n) && !memchr(s->data, '"', s->n)) quote = '"';
    TRY(str_char(out, quote));
    for (size_t i = 0; i < s->n;) {
        int32_t code;
        int n = utf8_decode(s->data + i, s->n - i, &code);
        if (code == quote || code == '\\') {
            TRY(str_char(out, '\\'));
            TRY(str_char(out, (char)code));
        } else if (code == '\n') TRY(str_text_append(out, "\\n"));
        else if (code == '\r') TRY(str_text_append(out, "\\r"));
        else if (code == '\t') TRY(str_text_append(out, "\\t"));
        else if (code >= ' ' && code < 127) TRY(str_char(out, (char)code));
        else if (code > 127 && tpl_is_class(code, CLASS_PRINTABLE))
            TRY(str_append(out, s->data + i, (size_t)n));
        else if (code < 0x100) TRY(str_format(out, "\\x%02x", (unsigned)code));
        else if (code < 0x10000) TRY(str_format(out, "\\u%04x", (unsigned)code));
        else TRY(str_format(out, "\\U%08x", (unsigned)code));
        i += (size_t)n;
    }
    return str_char(out, quote);
}

static weft_status repr(tvalue v, int depth, str *out);

static weft_status repr_items(const tvalue *items, size_t n, int depth, str *out) {
    for (size_t i = 0; i < n; i++) {
        if (i) TRY(str_text_append(out, ", "));
        TRY(repr(items[i], depth, out));
    }
    return WEFT_OK;
}

static weft_status repr_dict(const tdict *d, int depth, str *out) {
    TRY(str_char(out, '{'));
    for (size_t i = 0; i < d->n; i++) {
        if (i) TRY(str_text_append(out, ", "));
        TRY(repr(d->entries[i].key, depth, out));
        TRY(str_text_append(out, ": "));
        TRY(repr(d->entries[i].value, depth, out));
    }
    return str_char(out, '}');
}

static weft_status repr_view(const tview *view, int depth, str *out) {
    static const char *const name[] = {"dict_keys([", "dict_values([", "dict_items(["};
    TRY(str_text_append(out, name[view->kind]));
    for (size_t i = 0; i < view->dict->n; i++) {
        const tentry *e = &view->dict->entries[i];
        if (i) TRY(str_text_append(out, ", "));
        if (view->kind == VIEW_ITEMS) {
            TRY(str_char(out, '('));
            TRY(repr(e->key, depth, out));
            TRY(str_text_append(out, ", "));
            TRY(repr(e->value, depth, out));
            TRY(str_char(out, ')'));
        } else TRY(repr(view->kind == VIEW_KEYS ? e->key : e->value, depth, out));
    }
    return str_text_append(out, "])");
}

static weft_status repr_object(tvalue v, int depth, str *out) {
    switch (v.type) {
    case T_RANGE: {
        const trange *r = v.range;
        TRY(str_format(out, "range(%" PRId64 ", %" PRId64, r->start, r->stop));
        if (r->step != 1) TRY(str_format(out, ", %" PRId64, r->step));
        return str_char(out, ')');
    }
    case T_ITERATOR: return str_text_append(out, "<generator object>");
    case T_METHOD: return str_format(out, "<built-in method %s>", v.method->row->call.name);
    case T_FUNCTION: return str_text_append(out, v.fn->repr);
    case T_MACRO:
        if (!v.macro->node->name) return str_text_append(out, "<Macro anonymous>");
        TRY(str_text_append(out, "<Macro "));
        TRY(tpl_string_repr(v.macro->node->name, out));
        return str_char(out, '>');
    case T_LOOP: return str_format(out, "<LoopContext %" PRId64 ">", v.loop->index0 + 1);
    case T_NAMESPACE:
        TRY(str_text_append(out, "<Namespace "));
        TRY(repr_dict(v.d, depth, out));
        return str_char(out, '>');
    case T_CYCLER: return str_text_append(out, "<jinja2.utils.Cycler object>");
    case T_JOINER: return str_text_append(out, "<jinja2.utils.Joiner object>");
    default: return str_text_append(out, "Undefined");
    }
}

static weft_status repr(tvalue v, int depth, str *out) {
    REQUIRE(depth <= TPL_MAX_NESTING, WEFT_LIMIT, "values are nested deeper than the limit of %d",
            (int)TPL_MAX_NESTING);
    REQUIRE(out->n <= TPL_MAX_STRING, WEFT_LIMIT, "a text is longer than the limit of %d bytes",
            (int)TPL_MAX_STRING);
    switch (v.type) {
    case T_NONE: return str_text_append(out, "None");
    case T_BOOL: return str_text_append(out, v.b ? "True" : "False");
    case T_INT: return str_format(out, "%" PRId64, v.i);
    case T_FLOAT: return tpl_float_text(v.f, out);
    case T_STRING:
        if (v.s->safe) TRY(str_text_append(out, "Markup("));
        TRY(tpl_string_repr(v.s, out));
        return v.s->safe ? str_char(out, ')') : WEFT_OK;
    case T_LIST:
        TRY(str_char(out, '['));
        TRY(repr_items(v.l->items, v.l->n, depth + 1, out));
        return str_char(out, ']');
    case T_TUPLE:
        TRY(str_char(out, '('));
        TRY(repr_items(v.l->items, v.l->n, depth + 1, out));
        return str_text_append(out, v.l->n == 1 ? ",)" : ")");
    case T_DICT: return repr_dict(v.d, depth + 1, out);
    case T_VIEW: return repr_view(v.view, depth + 1, out);
    default: return repr_object(v, depth + 1, out);
    }
}

weft_status tpl_repr(tvalue v, str *out) { return repr(v, 0, out); }

weft_status tpl_str(tvalue v, str *out) {
    if (v.type == T_STRING) return str_append(out, v.s->data, v.s->n);
    if (v.type == T_UNDEFINED || v.type == T_MISSING) return WEFT_OK;
    return repr(v, 0, out);
}

weft_status tpl_to_string(tpl_mem *mem, tvalue v, tvalue *out) {
    if (v.type == T_STRING) {
        *out = v;
        return WEFT_OK;
    }
    str text = {0};
    weft_status status = tpl_str(v, &text);
    if (status != WEFT_OK) {
        str_free(&text);
        return status;
    }
    return tpl_from_str(mem, &text, false, out);
}
