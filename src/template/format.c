/* str.format: replacement fields, and the format specifications of texts and numbers. Fields
 * read attributes and items through the sandbox, like the template itself.
 * SPDX-License-Identifier: MIT */
#include <math.h>
#include <string.h>

#include "base/utf8.h"
#include "template/format_spec.h"

typedef struct formatter {
    trun *R;
    const targs *args;
    bool safe;
    int64_t automatic; /* next number; -1: fields are numbered by hand */
    int depth;
} formatter;

static weft_status format_into(formatter *f, const char *text, size_t n, str *out);

/* ---- specifications ---- */

static bool is_align(char c) { return c == '<' || c == '>' || c == '^' || c == '='; }

static bool read_number(const char **p, const char *end, int64_t *out) {
    if (*p >= end || **p < '0' || **p > '9') return false;
    *out = 0;
    while (*p < end && **p >= '0' && **p <= '9' && *out <= TPL_MAX_WIDTH)
        *out = *out * 10 + (*(*p)++ - '0');
    return true;
}

static weft_status parse_spec(const char *p, size_t n, tpl_spec *spec) {
    const char *end = p + n;
    *spec = (tpl_spec){.fill = " ", .fill_bytes = 1, .precision = -1};
    int32_t code;
    int bytes = n ? utf8_decode(p, n, &code) : 0;
    if (bytes && p + bytes < end && is_align(p[bytes])) {
        memcpy(spec->fill, p, (size_t)bytes);
        spec->fill_bytes = bytes;
        spec->align = p[bytes];
        p += bytes + 1;
    } else if (n && is_align(*p)) spec->align = *p++;
    if (p < end && (*p == '+' || *p == '-' || *p == ' ')) spec->sign = *p++;
    if (p < end && *p == '#') {
        spec->alternate = true;
        p++;
    }
    if (p < end && *p == '0' && bytes) {
        spec->zero = true;
        if (!spec->align) {
            spec->align = '=';
            spec->fill[0] = '0';
            spec->fill_bytes = 1;
        }
        p++;
    }
    read_number(&p, end, &spec->width);
    if (p < end && (*p == ',' || *p == '_')) spec->grouping = *p++;
    if (p < end && *p == '.') {
        p++;
        if (!read_number(&p, end, &spec->precision))
            return tpl_fail("a format has a point and no precision");
    }
    if (p < end) spec->type = *p++;
    if (p < end) return tpl_fail("'%.*s' is no format", tpl_shown(end - n, n, 60), end - n);
    REQUIRE(spec->width <= TPL_MAX_WIDTH && spec->precision <= TPL_MAX_PRECISION, WEFT_LIMIT,
            "a format's width or precision is larger than the limit");
    return WEFT_OK;
}

static weft_status wrong(const tpl_spec *spec, tvalue v) {
    return tpl_fail("the format '%c' does not suit '%s'", spec->type > 0 ? spec->type : '?',
                    tpl_type_name(v));
}

static weft_status format_text(const tpl_spec *spec, tvalue v, str *out) {
    if (spec->type && spec->type != 's') return wrong(spec, v);
    if (spec->sign || spec->alternate || spec->grouping) return wrong(spec, v);
    tpl_spec own = *spec;
    if (own.align == '=') {
        if (!spec->zero) return wrong(spec, v);
        own.align = '<';
    }
    return tpl_lay_out_text(&own, v.s->data, v.s->n, '<', out);
}

/* A float without a type: repr, or with a precision %g that keeps a digit behind the point. */
static weft_status float_general(double f, const tpl_spec *spec, str *digits) {
    if (spec->precision < 0) return tpl_float_text(f, digits);
    int precision = spec->precision ? (int)spec->precision : 1;
    TRY(tpl_format_float(f, 'g', precision, spec->alternate, digits));
    if (!isfinite(f) || strpbrk(digits->data, ".e")) return WEFT_OK;
    /* a whole number of exactly `precision` digits goes to the form with an exponent */
    size_t n = digits->n - (digits->data[0] == '-');
    if ((int)n < precision || spec->alternate) return str_text_append(digits, ".0");
    str_clear(digits);
    TRY(tpl_format_float(f, 'e', precision - 1, false, digits));
    char *mark = strchr(digits->data, 'e'), *last = mark;
    if (!strchr(digits->data, '.')) return WEFT_OK;
    while (last[-1] == '0') last--;
    if (last[-1] == '.') last--;
    memmove(last, mark, strlen(mark) + 1);
    digits->n = strlen(digits->data);
    return WEFT_OK;
}

static weft_status format_float(const tpl_spec *spec, double f, tvalue v, str *out) {
    str digits = {0};
    int precision = spec->precision < 0 ? 6 : (int)spec->precision;
    weft_status status;
    switch (spec->type) {
    case 0: status = float_general(f, spec, &digits); break;
    case '%':
        status = tpl_format_float(f * 100, 'f', precision, spec->alternate, &digits);
        if (status == WEFT_OK) status = str_char(&digits, '%');
        break;
    case 'n':
        status = tpl_format_float(f, 'g', precision ? precision : 1, spec->alternate, &digits);
        break;
    case 'e':
    case 'E':
    case 'f':
    case 'F':
    case 'g':
    case 'G': status = tpl_format_float(f, spec->type, precision, spec->alternate, &digits); break;
    default: return wrong(spec, v);
    }
    if (status == WEFT_OK) status = tpl_lay_out_number(spec, digits.data, digits.n, "", out);
    str_free(&digits);
    return status;
}

static weft_status format_int(const tpl_spec *spec, int64_t i, tvalue v, str *out) {
    if (spec->type && strchr("eEfFgG%", spec->type)) return format_float(spec, (double)i, v, out);
    if (spec->precision >= 0) return wrong(spec, v);
    char text[4];
    if (spec->type == 'c') {
        if (spec->sign || spec->alternate || i < 0 || i > 0x10FFFF || (i >= 0xD800 && i < 0xE000))
            return wrong(spec, v);
        return tpl_lay_out_number(spec, text, (size_t)utf8_encode((int32_t)i, text), "", out);
    }
    if (spec->type && !strchr("bdnoxX", spec->type)) return wrong(spec, v);
    bool ten = spec->type == 0 || spec->type == 'd' || spec->type == 'n';
    if (spec->grouping == ',' && !ten) return wrong(spec, v);
    int base = ten ? 10 : spec->type == 'b' ? 2 : spec->type == 'o' ? 8 : 16;
    const char *prefix = base == 2 ? "0b" : base == 8 ? "0o" : spec->type == 'X' ? "0X" : "0x";
    str digits = {0};
    weft_status status = tpl_int_digits(i, base, spec->type == 'X', &digits);
    if (status == WEFT_OK)
        status = tpl_lay_out_number(spec, digits.data, digits.n,
                                    spec->alternate && !ten ? prefix : "", out);
    str_free(&digits);
    return status;
}

static weft_status format_value(formatter *f, tvalue v, const char *text, size_t n, str *out) {
    tpl_spec spec;
    int64_t i;
    if (f->safe && v.type == T_STRING && v.s->safe) {
        if (n) return tpl_fail("safe text takes no format");
        return tpl_str(v, out);
    }
    if (n == 0) {
        TRY(tpl_step(f->R, tpl_weight(v)));
        return tpl_str(v, out);
    }
    TRY(parse_spec(text, n, &spec));
    if (v.type == T_STRING) return format_text(&spec, v, out);
    if (v.type == T_FLOAT) return format_float(&spec, v.f, v, out);
    if (tpl_as_int(v, &i)) return format_int(&spec, i, v, out);
    if (v.type == T_UNDEFINED) return tpl_undefined_fail(v);
    return tpl_fail("a '%s' takes no format", tpl_type_name(v));
}

/* ---- fields ---- */

static bool all_digits(const char *p, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (p[i] < '0' || p[i] > '9') return false;
    return n > 0 && n < 10;
}

static int64_t to_number(const char *p, size_t n) {
    int64_t value = 0;
    for (size_t i = 0; i < n; i++) value = value * 10 + (p[i] - '0');
    return value;
}

static weft_status first_value(formatter *f, const char *name, size_t n, tvalue *out) {
    int64_t at = -1;
    if (n == 0) {
        if (f->automatic < 0) return tpl_fail("a format mixes numbered and unnumbered fields");
        at = f->automatic++;
    } else if (all_digits(name, n)) {
        if (f->automatic > 0) return tpl_fail("a format mixes numbered and unnumbered fields");
        f->automatic = -1;
        at = to_number(name, n);
    }
    if (at >= 0) {
        if ((uint64_t)at >= f->args->n) return tpl_fail("a format has more fields than values");
        *out = f->args->items[at];
        return WEFT_OK;
    }
    for (size_t i = 0; i < f->args->n_keywords; i++) {
        const tkeyword *k = &f->args->keywords[i];
        if (k->name->n != n || memcmp(k->name->data, name, n) != 0) continue;
        *out = k->value;
        return WEFT_OK;
    }
    return tpl_fail("the format's field '%.*s' is not there", tpl_shown(name, n, 60), name);
}

/* a.b[c] */
static weft_status field_value(formatter *f, const char *name, size_t n, tvalue *out) {
    size_t at = 0;
    while (at < n && name[at] != '.' && name[at] != '[') at++;
    TRY(first_value(f, name, at, out));
    while (at < n) {
        bool item = name[at] == '[';
        size_t from = ++at;
        while (at < n && (item ? name[at] != ']' : name[at] != '.' && name[at] != '[')) at++;
        if (at == from || (item && at == n))
            return tpl_fail("a format's field has an empty or open attribute");
        tvalue key;
        if (item && all_digits(name + from, at - from))
            key = tpl_int(to_number(name + from, at - from));
        else TRY(tpl_string(&f->R->mem, name + from, at - from, &key));
        if (item) TRY(tpl_get_item(f->R, *out, key, out));
        else TRY(tpl_get_attribute(f->R, *out, key.s, out));
        if (!item) continue;
        at++;
        if (at < n && name[at] != '.' && name[at] != '[')
            return tpl_fail("only '.' or '[' may follow ']' in a format");
    }
    return WEFT_OK;
}

static weft_status convert(formatter *f, char how, tvalue v, tvalue *out) {
    if (how == 's') return tpl_to_string(&f->R->mem, v, out);
    if (how != 'r' && how != 'a') return tpl_fail("'!%c' is no conversion", how > 0 ? how : '?');
    TRY(tpl_step(f->R, tpl_weight(v)));
    str text = {0};
    weft_status status = tpl_repr(v, &text);
    if (status == WEFT_OK) return tpl_from_str(&f->R->mem, &text, false, out);
    str_free(&text);
    return status;
}

static weft_status put_field(formatter *f, const char *text, size_t n, str *out) {
    size_t name = 0;
    bool bracket = false;
    for (; name < n && (bracket || (text[name] != '!' && text[name] != ':')); name++) {
        if (text[name] == '{') return tpl_fail("a format's field name has a '{'");
        if (text[name] == '[') bracket = true;
        if (text[name] == ']') bracket = false;
    }
    tvalue v;
    TRY(field_value(f, text, name, &v));
    size_t at = name;
    if (at < n && text[at] == '!') {
        if (at + 1 >= n) return tpl_fail("a format's conversion is missing");
        if (at + 2 < n && text[at + 2] != ':')
            return tpl_fail("a ':' must follow a format's conversion");
        TRY(convert(f, text[at + 1], v, &v));
        at += 2;
    }
    str spec = {0}, piece = {0};
    weft_status status = WEFT_OK;
    if (at < n) status = format_into(f, text + at + 1, n - at - 1, &spec);
    if (status == WEFT_OK) status = format_value(f, v, str_text(&spec), spec.n, &piece);
    tvalue result;
    if (status == WEFT_OK && f->safe && f->depth == 1) {
        bool safe = v.type == T_STRING && v.s->safe;
        status = tpl_from_str(&f->R->mem, &piece, safe, &result);
        if (status == WEFT_OK) status = tpl_escape(f->R, result, &result);
        if (status == WEFT_OK) status = str_append(out, result.s->data, result.s->n);
    } else if (status == WEFT_OK) status = str_append(out, str_text(&piece), piece.n);
    str_free(&spec);
    str_free(&piece);
    return status;
}

/* The end of the field whose '{' is before `at`; nested braces belong to it. */
static size_t field_end(const char *text, size_t n, size_t at) {
    size_t depth = 1;
    bool bracket = false;
    for (; at < n; at++) {
        if (text[at] == '[' && depth == 1) bracket = true;
        if (text[at] == ']') bracket = false;
        if (bracket) continue;
        if (text[at] == '{') depth++;
        if (text[at] == '}' && --depth == 0) break;
    }
    return at;
}

static weft_status format_parts(formatter *f, const char *text, size_t n, str *out) {
    for (size_t at = 0; at < n;) {
        char c = text[at];
        TRY(tpl_step(f->R, 1));
        REQUIRE(out->n <= TPL_MAX_STRING, WEFT_LIMIT, "a text is longer than the limit of %d bytes",
                (int)TPL_MAX_STRING);
        if (c != '{' && c != '}') {
            size_t from = at;
            while (at < n && text[at] != '{' && text[at] != '}') at++;
            TRY(str_append(out, text + from, at - from));
        } else if (at + 1 < n && text[at + 1] == c) {
            TRY(str_char(out, c));
            at += 2;
        } else {
            size_t end = c == '{' ? field_end(text, n, at + 1) : n;
            if (end >= n) return tpl_fail("a format has a single '%c'", c);
            TRY(put_field(f, text + at + 1, end - at - 1, out));
            at = end + 1;
        }
    }
    return WEFT_OK;
}

static weft_status format_into(formatter *f, const char *text, size_t n, str *out) {
    if (f->depth == 2) return tpl_fail("a format's fields are nested too deep");
    f->depth++;
    weft_status status = format_parts(f, text, n, out);
    f->depth--;
    return status;
}

weft_status tpl_str_format(trun *R, const tstring *format, const targs *args, tvalue *out) {
    formatter f = {.R = R, .args = args, .safe = format->safe};
    str text = {0};
    weft_status status = format_into(&f, format->data, format->n, &text);
    if (status == WEFT_OK) return tpl_from_str(&R->mem, &text, format->safe, out);
    str_free(&text);
    return status;
}
