/* 'format' % values, as Python's str.__mod__; and the laying out of numbers and texts in a width.
 * SPDX-License-Identifier: MIT */
#include <string.h>

#include "base/utf8.h"
#include "template/format_spec.h"

static weft_status fill(const tpl_spec *spec, int64_t n, str *out) {
    for (int64_t i = 0; i < n; i++) TRY(str_append(out, spec->fill, (size_t)spec->fill_bytes));
    return WEFT_OK;
}

weft_status tpl_int_digits(int64_t value, int base, bool upper, str *out) {
    char text[72];
    size_t at = sizeof text;
    uint64_t rest = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    do {
        text[--at] = (upper ? "0123456789ABCDEF" : "0123456789abcdef")[rest % (unsigned)base];
        rest /= (unsigned)base;
    } while (rest);
    if (value < 0) text[--at] = '-';
    return str_append(out, text + at, sizeof text - at);
}

/* Digits with a separator every `step` places of their whole part, `n_whole` long, widened by
 * zeros to `width`. */
static weft_status group(const char *digits, size_t n, char separator, size_t step, int64_t width,
                         str *out) {
    size_t whole = strspn(digits, "0123456789abcdefABCDEF");
    if (separator == ',' || step == 3) whole = strspn(digits, "0123456789");
    if (whole > n) whole = n;
    int64_t rest = (int64_t)(n - whole);
    size_t places = whole;
    while (width > 0 && (int64_t)(places + (places - 1) / step) + rest < width) places++;
    for (size_t i = 0; i < places; i++) {
        size_t left = places - i;
        if (i && left % step == 0) TRY(str_char(out, separator));
        TRY(str_char(out, left > whole ? '0' : digits[whole - left]));
    }
    return str_append(out, digits + whole, (size_t)rest);
}

weft_status tpl_lay_out_number(const tpl_spec *spec, const char *digits, size_t n,
                               const char *prefix, str *out) {
    char sign[2] = {0};
    if (n && digits[0] == '-') {
        sign[0] = '-';
        digits++;
        n--;
    } else if (spec->sign == '+' || spec->sign == ' ') sign[0] = spec->sign;
    char align = spec->align ? spec->align : '>';
    int64_t head = (int64_t)(strlen(sign) + strlen(prefix));
    str body = {0};
    bool zeros = align == '=' && spec->fill_bytes == 1 && spec->fill[0] == '0';
    weft_status status;
    if (spec->grouping) {
        size_t step =
            spec->type == 'x' || spec->type == 'X' || spec->type == 'o' || spec->type == 'b' ? 4
                                                                                             : 3;
        status = group(digits, n, spec->grouping, step, zeros ? spec->width - head : 0, &body);
    } else status = str_append(&body, digits, n);
    int64_t pad = spec->width - head - (int64_t)body.n;
    if (pad < 0) pad = 0;
    int64_t left = align == '>' ? pad : align == '^' ? pad / 2 : 0;
    if (status == WEFT_OK) status = fill(spec, left, out);
    if (status == WEFT_OK) status = str_text_append(out, sign);
    if (status == WEFT_OK) status = str_text_append(out, prefix);
    if (status == WEFT_OK && align == '=') status = fill(spec, pad, out);
    if (status == WEFT_OK) status = str_append(out, str_text(&body), body.n);
    if (status == WEFT_OK && align != '=') status = fill(spec, pad - left, out);
    str_free(&body);
    return status;
}

weft_status tpl_lay_out_text(const tpl_spec *spec, const char *text, size_t n, char align,
                             str *out) {
    tstring s = {text, n, tpl_count_chars(text, n), false};
    if (spec->precision >= 0 && spec->precision < (int64_t)s.chars) {
        s.n = tpl_char_offset(&s, (size_t)spec->precision);
        s.chars = (size_t)spec->precision;
    }
    if (spec->align) align = spec->align;
    int64_t pad = spec->width > (int64_t)s.chars ? spec->width - (int64_t)s.chars : 0;
    int64_t left = align == '>' ? pad : align == '^' ? pad / 2 : 0;
    TRY(fill(spec, left, out));
    TRY(str_append(out, s.data, s.n));
    return fill(spec, pad - left, out);
}

/* ---- % ---- */

typedef struct percent {
    trun *R;
    const tstring *format;
    size_t at;
    tvalue values;
    size_t used;
    str *out;
} percent;

static bool has_items(tvalue v) {
    return v.type == T_DICT || v.type == T_LIST || v.type == T_RANGE || v.type == T_UNDEFINED;
}

static weft_status next_value(percent *p, tvalue *out) {
    size_t n = p->values.type == T_TUPLE ? p->values.l->n : 1;
    if (p->used >= n) return tpl_fail("not enough values for the format");
    *out = p->values.type == T_TUPLE ? p->values.l->items[p->used] : p->values;
    p->used++;
    return WEFT_OK;
}

static char peek(const percent *p) { return p->at < p->format->n ? p->format->data[p->at] : 0; }

static weft_status keyed_value(percent *p, tvalue *out) {
    size_t from = ++p->at, depth = 1;
    for (; p->at < p->format->n; p->at++) {
        depth += peek(p) == '(';
        if (peek(p) == ')' && --depth == 0) break;
    }
    if (p->at >= p->format->n) return tpl_fail("a key in the format has no ')'");
    tstring key = {p->format->data + from, p->at++ - from, 0, false};
    if (p->values.type != T_DICT) return tpl_fail("the format needs a mapping");
    const tvalue *found = tpl_dict_get(p->values.d, tpl_of_string(&key));
    if (!found)
        return tpl_fail("the format's key '%.*s' is not there", tpl_shown(key.data, key.n, 60),
                        key.data);
    *out = *found;
    return WEFT_OK;
}

static weft_status read_number(percent *p, int64_t limit, int64_t *out, bool *negative) {
    *negative = false;
    if (peek(p) == '*') {
        tvalue v;
        p->at++;
        TRY(next_value(p, &v));
        if (!tpl_as_int(v, out)) return tpl_fail("* in a format needs an integer");
        *negative = *out < 0;
        if (*negative) *out = *out < -limit ? limit + 1 : -*out;
    } else {
        *out = 0;
        while (peek(p) >= '0' && peek(p) <= '9' && *out <= limit)
            *out = *out * 10 + (p->format->data[p->at++] - '0');
    }
    REQUIRE(*out <= limit, WEFT_LIMIT,
            "a format's width or precision is larger than the limit of %lld", (long long)limit);
    return WEFT_OK;
}

static weft_status read_spec(percent *p, tpl_spec *spec) {
    bool left = false, negative;
    for (;; p->at++) {
        char c = peek(p);
        if (c == '-') left = true;
        else if (c == '+') spec->sign = '+';
        else if (c == ' ') spec->sign = spec->sign ? spec->sign : ' ';
        else if (c == '#') spec->alternate = true;
        else if (c == '0') spec->zero = true;
        else break;
    }
    TRY(read_number(p, TPL_MAX_WIDTH, &spec->width, &negative));
    if (negative) left = true;
    if (peek(p) == '.') {
        p->at++;
        TRY(read_number(p, TPL_MAX_PRECISION, &spec->precision, &negative));
        if (negative) spec->precision = 0;
    }
    while (peek(p) == 'h' || peek(p) == 'l' || peek(p) == 'L') p->at++;
    spec->align = left ? '<' : '>';
    return WEFT_OK;
}

static weft_status put_text(percent *p, tpl_spec *spec, tvalue v, bool repr) {
    tvalue text;
    TRY(tpl_step(p->R, tpl_weight(v)));
    if (repr) {
        str r = {0};
        weft_status status = tpl_repr(v, &r);
        if (status != WEFT_OK) {
            str_free(&r);
            return status;
        }
        TRY(tpl_from_str(&p->R->mem, &r, false, &text));
    } else TRY(tpl_to_string(&p->R->mem, v, &text));
    if (p->format->safe) TRY(tpl_escape(p->R, text, &text));
    return tpl_lay_out_text(spec, text.s->data, text.s->n, '>', p->out);
}

static weft_status put_char(percent *p, tpl_spec *spec, tvalue v) {
    int64_t code;
    char text[4];
    spec->precision = -1;
    if (v.type == T_STRING && v.s->chars == 1)
        return tpl_lay_out_text(spec, v.s->data, v.s->n, '>', p->out);
    if (!tpl_as_int(v, &code)) return tpl_fail("%%c needs an integer or one character");
    if (code < 0 || code > 0x10FFFF || (code >= 0xD800 && code < 0xE000))
        return tpl_fail("%%c got no character's number");
    return tpl_lay_out_text(spec, text, (size_t)utf8_encode((int32_t)code, text), '>', p->out);
}

static void use_zeros(tpl_spec *spec) {
    if (!spec->zero || spec->align == '<') return;
    spec->fill[0] = '0';
    spec->align = '=';
}

static weft_status put_int(percent *p, tpl_spec *spec, tvalue v, char type) {
    int64_t i;
    if (!tpl_as_int(v, &i)) {
        if (v.type == T_UNDEFINED) return tpl_undefined_fail(v);
        if (v.type != T_FLOAT || strchr("xXo", type))
            return tpl_fail("%%%c needs an integer, not '%s'", type, tpl_type_name(v));
        TRY(tpl_float_to_int(v.f, &i));
    }
    int base = type == 'o' ? 8 : type == 'x' || type == 'X' ? 16 : 10;
    str digits = {0}, padded = {0};
    weft_status status = tpl_int_digits(i, base, type == 'X', &digits);
    if (status == WEFT_OK && i < 0) status = str_char(&padded, '-');
    size_t skip = i < 0;
    for (int64_t k = (int64_t)(digits.n - skip); k < spec->precision && status == WEFT_OK; k++)
        status = str_char(&padded, '0');
    if (status == WEFT_OK) status = str_append(&padded, digits.data + skip, digits.n - skip);
    use_zeros(spec);
    const char *prefix = !spec->alternate ? ""
                         : type == 'x'    ? "0x"
                         : type == 'X'    ? "0X"
                         : type == 'o'    ? "0o"
                                          : "";
    if (status == WEFT_OK) status = tpl_lay_out_number(spec, padded.data, padded.n, prefix, p->out);
    str_free(&digits);
    str_free(&padded);
    return status;
}

static weft_status put_float(percent *p, tpl_spec *spec, tvalue v, char type) {
    double f;
    if (v.type == T_UNDEFINED) return tpl_undefined_fail(v);
    if (!tpl_as_float(v, &f))
        return tpl_fail("%%%c needs a number, not '%s'", type, tpl_type_name(v));
    str digits = {0};
    weft_status status = tpl_format_float(f, type, spec->precision < 0 ? 6 : (int)spec->precision,
                                          spec->alternate, &digits);
    use_zeros(spec);
    if (status == WEFT_OK) status = tpl_lay_out_number(spec, digits.data, digits.n, "", p->out);
    str_free(&digits);
    return status;
}

static weft_status put(percent *p) {
    tpl_spec spec = {.fill = " ", .fill_bytes = 1, .precision = -1};
    tvalue v;
    bool keyed = peek(p) == '(';
    if (keyed) TRY(keyed_value(p, &v));
    TRY(read_spec(p, &spec));
    char type = peek(p);
    if (!type) return tpl_fail("the format ends inside a %% item");
    p->at++;
    if (type == '%') return str_char(p->out, '%');
    if (!keyed) TRY(next_value(p, &v));
    switch (type) {
    case 's': return put_text(p, &spec, v, false);
    case 'r':
    case 'a': return put_text(p, &spec, v, true);
    case 'c': return put_char(p, &spec, v);
    case 'd':
    case 'i':
    case 'u':
    case 'x':
    case 'X':
    case 'o': return put_int(p, &spec, v, type);
    case 'e':
    case 'E':
    case 'f':
    case 'F':
    case 'g':
    case 'G': return put_float(p, &spec, v, type);
    default: return tpl_fail("%%%c is no format", type > 0 ? type : '?');
    }
}

static weft_status run(percent *p) {
    while (p->at < p->format->n) {
        const char *from = p->format->data + p->at, *mark = memchr(from, '%', p->format->n - p->at);
        size_t n = mark ? (size_t)(mark - from) : p->format->n - p->at;
        TRY(str_append(p->out, from, n));
        TRY(tpl_work(p->R, n + 64));
        p->at += n + (mark != NULL);
        if (mark) TRY(put(p));
        REQUIRE(p->out->n <= TPL_MAX_STRING, WEFT_LIMIT,
                "a text is longer than the limit of %d bytes", (int)TPL_MAX_STRING);
    }
    size_t n = p->values.type == T_TUPLE ? p->values.l->n : 1;
    if (p->used < n && !has_items(p->values))
        return tpl_fail("not all values were used by the format");
    return WEFT_OK;
}

weft_status tpl_percent(trun *R, const tstring *format, tvalue values, tvalue *out) {
    str text = {0};
    percent p = {.R = R, .format = format, .values = values, .out = &text};
    weft_status status = run(&p);
    if (status == WEFT_OK) return tpl_from_str(&R->mem, &text, format->safe, out);
    str_free(&text);
    return status;
}
