/* Numbers from and to text as Python reads and writes them. Rounding rests on printf being exact
 * and rounding halves to even, as the C library's is. SPDX-License-Identifier: MIT */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "template/run.h"

static void strip(const tstring *s, const char **from, const char **to) {
    const char *a = s->data, *b = s->data + s->n;
    int32_t code;
    while (a < b) {
        int n = utf8_decode(a, (size_t)(b - a), &code);
        if (!tpl_is_space(code)) break;
        a += n;
    }
    while (b > a) {
        const char *start = b - 1;
        while (start > a && ((unsigned char)*start & 0xC0) == 0x80) start--;
        utf8_decode(start, (size_t)(b - start), &code);
        if (!tpl_is_space(code)) break;
        b = start;
    }
    *from = a;
    *to = b;
}

static int digit_value(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    c = (char)(c | 0x20);
    return c >= 'a' && c <= 'z' ? c - 'a' + 10 : 99;
}

/* "0x" and its like at p: the base, or 0. */
static int64_t prefix_base(const char *p, const char *end) {
    if (end - p < 2 || p[0] != '0') return 0;
    char c = (char)(p[1] | 0x20);
    return c == 'x' ? 16 : c == 'o' ? 8 : c == 'b' ? 2 : 0;
}

weft_status tpl_parse_int(const tstring *s, int64_t base, int64_t *out, bool *ok) {
    const char *p, *end;
    *ok = false;
    if (base != 0 && (base < 2 || base > 36)) return WEFT_OK;
    strip(s, &p, &end);
    bool negative = p < end && *p == '-';
    if (p < end && (*p == '-' || *p == '+')) p++;
    int64_t prefix = prefix_base(p, end);
    bool zero_only = false;
    if (prefix && (base == 0 || base == prefix)) {
        base = prefix;
        p += 2;
        if (p < end && *p == '_') p++;
    } else if (base == 0) {
        base = 10;
        zero_only = p < end && *p == '0';
    }
    int64_t value = 0;
    bool digit = false, overflow = false;
    for (; p < end; p++) {
        if (*p == '_') {
            if (!digit || p + 1 == end || digit_value(p[1]) >= base) return WEFT_OK;
            continue;
        }
        int d = digit_value(*p);
        if (d >= base || (zero_only && d)) return WEFT_OK;
        digit = true;
        overflow = overflow || __builtin_mul_overflow(value, base, &value) ||
                   __builtin_add_overflow(value, negative ? -d : d, &value);
    }
    if (!digit) return WEFT_OK;
    if (overflow)
        return tpl_fail("integer overflow: '%.*s' does not fit 64 bits",
                        tpl_shown(s->data, s->n, 60), s->data);
    *ok = true;
    *out = value;
    return WEFT_OK;
}

/* digits[.digits][e[+-]digits], at least one digit before the exponent. */
static bool is_decimal(const char *p) {
    size_t whole = strspn(p, "0123456789"), fraction = 0;
    p += whole;
    if (*p == '.') {
        fraction = strspn(++p, "0123456789");
        p += fraction;
    }
    if (!whole && !fraction) return false;
    if (*p == 'e' || *p == 'E') {
        p++;
        if (*p == '+' || *p == '-') p++;
        size_t n = strspn(p, "0123456789");
        if (!n) return false;
        p += n;
    }
    return !*p;
}

bool tpl_parse_float(const tstring *s, double *out) {
    const char *p, *end;
    strip(s, &p, &end);
    char text[512];
    size_t n = 0;
    for (; p < end; p++) {
        if (*p == '_') {
            if (n == 0 || !isdigit((unsigned char)text[n - 1]) || p + 1 == end ||
                !isdigit((unsigned char)p[1]))
                return false;
            continue;
        }
        if (n + 1 == sizeof text || !*p) return false;
        text[n++] = *p;
    }
    text[n] = 0;
    const char *body = text + (text[0] == '-' || text[0] == '+');
    static const char *const words[] = {"inf", "infinity", "nan"};
    bool ok = is_decimal(body);
    for (size_t i = 0; i < 3 && !ok; i++) {
        size_t k = 0;
        while (body[k] && (body[k] | 0x20) == words[i][k]) k++;
        ok = !body[k] && !words[i][k];
    }
    if (ok) *out = strtod(text, NULL);
    return ok;
}

weft_status tpl_float_to_int(double f, int64_t *out) {
    if (isnan(f)) return tpl_fail("nan cannot become an integer");
    if (isinf(f)) return tpl_fail("infinity cannot become an integer");
    if (f >= 0x1p63 || f < -0x1p63)
        return tpl_fail("integer overflow: the number does not fit 64 bits");
    *out = (int64_t)f;
    return WEFT_OK;
}

/* Rounds the exact decimal digits of a whole part at a position left of the point, halves to
 * even. */
static weft_status round_left(double f, int64_t digits, double *out) {
    str text = {0};
    weft_status status = str_format(&text, "%.1080f", fabs(f));
    if (status != WEFT_OK) {
        str_free(&text);
        return status;
    }
    char *d = text.data;
    int64_t whole = strchr(d, '.') - d, cut = whole + digits;
    if (cut < 0) {
        str_free(&text);
        *out = copysign(0, f);
        return WEFT_OK;
    }
    bool above = false, half = d[cut] == '5';
    for (const char *p = d + cut + 1; *p && !above; p++) above = *p != '.' && *p != '0';
    bool odd = cut > 0 && (d[cut - 1] - '0') % 2;
    bool up = d[cut] > '5' || (half && (above || odd));
    memset(d + cut, '0', (size_t)(whole - cut));
    d[whole] = 0;
    int64_t at = cut - 1;
    for (; up && at >= 0; at--) {
        if (d[at] == '9') {
            d[at] = '0';
            continue;
        }
        d[at]++;
        up = false;
    }
    double value = strtod(d, NULL);
    if (up) value = strtod("1", NULL) * pow(10, (double)whole);
    str_free(&text);
    *out = copysign(value, f);
    return WEFT_OK;
}

weft_status tpl_round(trun *R, double f, int64_t digits, double *out) {
    (void)R;
    *out = f;
    if (!isfinite(f) || digits > 323) return WEFT_OK;
    if (digits < -308) {
        *out = copysign(0, f);
        return WEFT_OK;
    }
    if (digits < 0) return round_left(f, digits, out);
    char text[800];
    snprintf(text, sizeof text, "%.*f", (int)digits, f);
    *out = strtod(text, NULL);
    if (isinf(*out)) return tpl_fail("the rounded value is too large");
    return WEFT_OK;
}

weft_status tpl_format_float(double f, char letter, int precision, bool alternate, str *out) {
    bool upper = letter == 'E' || letter == 'F' || letter == 'G';
    if (isnan(f)) return str_text_append(out, upper ? "NAN" : "nan");
    if (isinf(f))
        return str_text_append(out, f < 0 ? (upper ? "-INF" : "-inf") : upper ? "INF" : "inf");
    char spec[8] = {'%'};
    size_t n = 1;
    if (alternate) spec[n++] = '#';
    memcpy(spec + n, ".*", 2);
    spec[n + 2] = letter;
    char small[64];
    int length = snprintf(small, sizeof small, spec, precision, f);
    if (length < 0) return tpl_fail("a number could not be formatted");
    if ((size_t)length < sizeof small) return str_append(out, small, (size_t)length);
    char *large = mem_alloc((size_t)length + 1);
    if (!large) return error_status();
    snprintf(large, (size_t)length + 1, spec, precision, f);
    weft_status status = str_append(out, large, (size_t)length);
    mem_free(large);
    return status;
}
