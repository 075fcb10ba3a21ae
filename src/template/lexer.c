/* Template text to tokens, with the whitespace rules of trim_blocks and lstrip_blocks: a block
 * or comment tag swallows the newline behind it and the spaces before it on its line; `-` in a
 * tag swallows all whitespace on its side, `+` none. Newlines are \n whatever the source has;
 * one newline at the end of the source is dropped. The source is a copy with newlines made
 * equal, so lines are counted in it. SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "template/ast.h"
#include "template/run.h"

typedef struct lexer {
    template_program *program;
    ttokens *tokens;
    const char *text;
    size_t n, at;
    size_t counted; /* lines are counted up to here */
    int line;
    bool line_start; /* the last match ended with a newline */
    char open[TPL_MAX_PARSE_DEPTH];
    int n_open;
} lexer;

static int line_at(lexer *x, size_t at) {
    for (; x->counted < at; x->counted++) x->line += x->text[x->counted] == '\n';
    return x->line;
}

static weft_status add(lexer *x, ttoken_kind kind, size_t at, tvalue value) {
    void *items = x->tokens->items;
    TRY(mem_reserve(&items, &x->tokens->capacity, x->tokens->n + 1, sizeof(ttoken)));
    x->tokens->items = items;
    x->tokens->items[x->tokens->n++] = (ttoken){kind, line_at(x, at), value};
    return WEFT_OK;
}

static weft_status add_plain(lexer *x, ttoken_kind kind, size_t at) {
    return add(x, kind, at, tpl_none());
}

static bool is(const lexer *x, size_t at, const char *what) {
    size_t n = strlen(what);
    return x->n - at >= n && memcmp(x->text + at, what, n) == 0;
}

/* The offset behind the whitespace at `at`. */
static size_t skip_space(const lexer *x, size_t at) {
    while (at < x->n) {
        int32_t code;
        int n = utf8_decode(x->text + at, x->n - at, &code);
        if (!tpl_is_space(code)) break;
        at += (size_t)n;
    }
    return at;
}

static size_t strip_end(const char *text, size_t from, size_t to) {
    while (to > from) {
        size_t start = to - 1;
        while (start > from && ((unsigned char)text[start] & 0xC0) == 0x80) start--;
        int32_t code;
        utf8_decode(text + start, to - start, &code);
        if (!tpl_is_space(code)) break;
        to = start;
    }
    return to;
}

static weft_status fail(lexer *x, size_t at, const char *what) {
    return error_set(WEFT_FORMAT, "line %d of the template: %s", line_at(x, at), what);
}

/* Data before a tag at `tag`; sign is '-', '+' or 0. */
static weft_status add_data(lexer *x, size_t from, size_t tag, char sign, bool variable) {
    size_t to = tag;
    if (sign == '-') to = strip_end(x->text, from, tag);
    else if (sign != '+' && !variable) {
        size_t line = tag;
        while (line > from && x->text[line - 1] != '\n') line--;
        if ((line > from || x->line_start) && strip_end(x->text, line, tag) == line) to = line;
    }
    if (to == from) return WEFT_OK;
    tvalue text;
    TRY(tpl_string(&x->program->mem, x->text + from, to - from, &text));
    return add(x, K_DATA, from, text);
}

/* The end of a tag at `at`: "-%}" and what it strips, "+%}", "%}" and the newline it trims. 0
 * when there is none. */
static size_t tag_end(const lexer *x, size_t at, const char *end, bool plus, bool trim) {
    if (x->text[at] == '-' && is(x, at + 1, end)) return skip_space(x, at + 1 + strlen(end));
    if (plus && x->text[at] == '+' && is(x, at + 1, end)) return at + 1 + strlen(end);
    if (!is(x, at, end)) return 0;
    at += strlen(end);
    if (trim && at < x->n && x->text[at] == '\n') at++;
    return at;
}

static void move(lexer *x, size_t to) {
    x->line_start = to > x->at && x->text[to - 1] == '\n';
    x->at = to;
}

static weft_status lex_comment(lexer *x, size_t tag) {
    for (size_t at = x->at; at < x->n; at++) {
        size_t end = tag_end(x, at, "#}", true, true);
        if (end) {
            move(x, end);
            return WEFT_OK;
        }
    }
    return fail(x, tag, "a comment has no end");
}

/* Behind "{% raw": the text up to endraw. */
static weft_status lex_raw(lexer *x, size_t tag) {
    size_t from = x->at;
    for (size_t at = from; at + 2 <= x->n; at++) {
        if (!is(x, at, "{%")) continue;
        size_t p = at + 2;
        char sign = p < x->n && (x->text[p] == '-' || x->text[p] == '+') ? x->text[p++] : 0;
        p = skip_space(x, p);
        if (!is(x, p, "endraw")) continue;
        p = skip_space(x, p + 6);
        size_t end = p < x->n ? tag_end(x, p, "%}", true, true) : 0;
        if (!end) continue;
        TRY(add_data(x, from, at, sign, false));
        move(x, end);
        return WEFT_OK;
    }
    return fail(x, tag, "a raw block has no endraw");
}

/* Where a raw block's text begins when a raw tag is at `at`, else 0. */
static size_t raw_begin(const lexer *x, size_t at, char *sign) {
    size_t p = at + 2;
    *sign = p < x->n && (x->text[p] == '-' || x->text[p] == '+') ? x->text[p++] : 0;
    p = skip_space(x, p);
    if (!is(x, p, "raw")) return 0;
    p = skip_space(x, p + 3);
    return p < x->n ? tag_end(x, p, "%}", false, false) : 0;
}

/* ---- inside tags ---- */

static bool is_digit(char c, int base) {
    if (base == 16)
        return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
    return c >= '0' && c < '0' + base;
}

/* The end of digits from `at`, "_" allowed between them; `at` itself when there are none. */
static size_t digits_end(const lexer *x, size_t at, int base) {
    if (at >= x->n || !is_digit(x->text[at], base)) return at;
    for (at++; at < x->n; at++) {
        if (is_digit(x->text[at], base)) continue;
        if (x->text[at] == '_' && at + 1 < x->n && is_digit(x->text[at + 1], base)) continue;
        break;
    }
    return at;
}

static size_t float_end(const lexer *x, size_t at) {
    if (at > 0 && x->text[at - 1] == '.') return 0;
    size_t p = digits_end(x, at, 10), end = 0;
    if (p == at) return 0;
    if (p < x->n && x->text[p] == '.') {
        size_t fraction = digits_end(x, p + 1, 10);
        if (fraction > p + 1) end = p = fraction;
    }
    if (p < x->n && (x->text[p] == 'e' || x->text[p] == 'E')) {
        size_t q = p + 1;
        if (q < x->n && (x->text[q] == '+' || x->text[q] == '-')) q++;
        size_t exponent = digits_end(x, q, 10);
        if (exponent > q) end = exponent;
    }
    return end;
}

static size_t integer_end(const lexer *x, size_t at, int *base) {
    static const struct {
        char letter;
        int base;
    } prefix[] = {{'b', 2}, {'o', 8}, {'x', 16}};
    *base = 10;
    if (x->text[at] != '0') return digits_end(x, at, 10);
    for (size_t i = 0; i < sizeof prefix / sizeof *prefix; i++) {
        if (at + 1 >= x->n || (x->text[at + 1] | 0x20) != prefix[i].letter) continue;
        size_t first = at + 2 + (at + 2 < x->n && x->text[at + 2] == '_');
        size_t end = digits_end(x, first, prefix[i].base);
        if (end == first) continue;
        *base = prefix[i].base;
        return end;
    }
    size_t end = at + 1;
    while (end < x->n && (x->text[end] == '0' ||
                          (x->text[end] == '_' && end + 1 < x->n && x->text[end + 1] == '0')))
        end++;
    return end;
}

static weft_status lex_number(lexer *x) {
    size_t at = x->at, end = float_end(x, at);
    int base = 10;
    bool is_float = end != 0;
    if (!is_float) end = integer_end(x, at, &base);
    char digits[400];
    size_t n = 0;
    for (size_t i = at + (base != 10 ? 2 : 0); i < end; i++) {
        if (x->text[i] == '_') continue;
        if (n + 1 == sizeof digits) return fail(x, at, "a number has too many digits");
        digits[n++] = x->text[i];
    }
    digits[n] = 0;
    move(x, end);
    if (is_float) return add(x, K_FLOAT, at, tpl_float(strtod(digits, NULL)));
    int64_t value = 0;
    for (size_t i = 0; i < n; i++) {
        int digit = digits[i] <= '9' ? digits[i] - '0' : (digits[i] | 0x20) - 'a' + 10;
        if (__builtin_mul_overflow(value, base, &value) ||
            __builtin_add_overflow(value, digit, &value))
            return fail(x, at, "an integer does not fit 64 bits");
    }
    return add(x, K_INTEGER, at, tpl_int(value));
}

static int hex_value(const char *p, size_t n, int digits, int32_t *code) {
    if (n < (size_t)digits) return 0;
    *code = 0;
    for (int i = 0; i < digits; i++) {
        if (!is_digit(p[i], 16)) return 0;
        *code = *code * 16 + (p[i] <= '9' ? p[i] - '0' : (p[i] | 0x20) - 'a' + 10);
        if (*code > 0x10FFFF) return 0;
    }
    return digits;
}

/* One escape behind a backslash: writes its text, gives the bytes read, 0 when it is malformed. */
static int escape(const char *p, size_t n, char out[4], int *written) {
    static const char from[] = "\\'\"abfnrtv", to[] = "\\'\"\a\b\f\n\r\t\v";
    const char *known = p[0] ? strchr(from, p[0]) : NULL;
    int32_t code = 0;
    int read = 0;
    *written = 1;
    if (known) out[0] = to[known - from];
    else if (p[0] == '\n') *written = 0;
    else if (p[0] >= '0' && p[0] <= '7') {
        while (read < 3 && (size_t)read < n && p[read] >= '0' && p[read] <= '7')
            code = code * 8 + (p[read++] - '0');
        *written = utf8_encode(code, out);
        return read;
    } else if (p[0] == 'x' || p[0] == 'u' || p[0] == 'U') {
        read = hex_value(p + 1, n - 1, p[0] == 'x' ? 2 : p[0] == 'u' ? 4 : 8, &code);
        if (!read || (code >= 0xD800 && code < 0xE000)) return 0;
        *written = utf8_encode(code, out);
        return read + 1;
    } else if (p[0] == 'N') return 0;
    else { /* not an escape: the backslash stays, what follows is read as it is */ out[0] = '\\';
        return -1;
    }
    return 1;
}

static weft_status lex_string(lexer *x) {
    size_t at = x->at, end = at + 1;
    char quote = x->text[at];
    while (end < x->n && x->text[end] != quote) end += x->text[end] == '\\' ? 2 : 1;
    if (end >= x->n) return fail(x, at, "a text in quotes has no end");
    char *out;
    TRY(tpl_string_room(&x->program->mem, end - at, &out));
    size_t n = 0;
    for (size_t i = at + 1; i < end;) {
        if (x->text[i] != '\\') {
            out[n++] = x->text[i++];
            continue;
        }
        char piece[4];
        int written, read = escape(x->text + i + 1, end - i - 1, piece, &written);
        if (read == 0)
            return fail(x, i, "a text has a bad escape (\\x, \\u, \\U and \\N need a character)");
        if (read < 0) read = 0;
        memcpy(out + n, piece, (size_t)written);
        n += (size_t)written;
        i += 1 + (size_t)read;
    }
    tvalue value;
    TRY(tpl_string_take(&x->program->mem, out, n, false, &value));
    move(x, end + 1);
    return add(x, K_STRING, at, value);
}

static weft_status lex_name(lexer *x, bool *is_name) {
    size_t at = x->at, end = at;
    while (end < x->n) {
        int32_t code;
        int n = utf8_decode(x->text + end, x->n - end, &code);
        if (!tpl_is_class(code, end == at ? CLASS_ID_START : CLASS_ID_CONTINUE)) break;
        end += (size_t)n;
    }
    *is_name = end > at;
    if (end == at) return WEFT_OK;
    const tstring *name;
    TRY(tpl_intern(x->program, x->text + at, end - at, &name));
    move(x, end);
    return add(x, K_NAME, at, tpl_of_string(name));
}

static const struct {
    const char *text;
    ttoken_kind kind;
} operators[] = {{"//", K_FLOORDIV}, {"**", K_POW},     {"==", K_EQ},    {"!=", K_NE},
                 {">=", K_GE},       {"<=", K_LE},      {"+", K_ADD},    {"-", K_SUB},
                 {"/", K_DIV},       {"*", K_MUL},      {"%", K_MOD},    {"~", K_TILDE},
                 {"[", K_LBRACKET},  {"]", K_RBRACKET}, {"(", K_LPAREN}, {")", K_RPAREN},
                 {"{", K_LBRACE},    {"}", K_RBRACE},   {">", K_GT},     {"<", K_LT},
                 {"=", K_ASSIGN},    {".", K_DOT},      {":", K_COLON},  {"|", K_PIPE},
                 {",", K_COMMA},     {";", K_SEMICOLON}};

const char *tpl_token_text(ttoken_kind kind) {
    for (size_t i = 0; i < sizeof operators / sizeof *operators; i++)
        if (operators[i].kind == kind) return operators[i].text;
    switch (kind) {
    case K_DATA: return "text";
    case K_VARIABLE_BEGIN: return "{{";
    case K_VARIABLE_END: return "}}";
    case K_BLOCK_BEGIN: return "{%";
    case K_BLOCK_END: return "%}";
    case K_NAME: return "a name";
    case K_STRING: return "a text in quotes";
    case K_INTEGER: return "an integer";
    case K_FLOAT: return "a number";
    default: return "the end of the template";
    }
}

static weft_status balance(lexer *x, ttoken_kind kind, size_t at) {
    char opened = kind == K_LPAREN ? ')' : kind == K_LBRACKET ? ']' : kind == K_LBRACE ? '}' : 0;
    if (opened) {
        REQUIRE(x->n_open < TPL_MAX_PARSE_DEPTH, WEFT_LIMIT,
                "line %d of the template: brackets are nested deeper than the limit of %d",
                line_at(x, at), (int)TPL_MAX_PARSE_DEPTH);
        x->open[x->n_open++] = opened;
    } else if (kind == K_RPAREN || kind == K_RBRACKET || kind == K_RBRACE) {
        if (!x->n_open || x->open[--x->n_open] != x->text[at])
            return error_set(WEFT_FORMAT, "line %d of the template: unexpected '%c'",
                             line_at(x, at), x->text[at]);
    }
    return WEFT_OK;
}

static weft_status lex_operator(lexer *x) {
    for (size_t i = 0; i < sizeof operators / sizeof *operators; i++) {
        if (!is(x, x->at, operators[i].text)) continue;
        size_t at = x->at;
        TRY(balance(x, operators[i].kind, at));
        move(x, at + strlen(operators[i].text));
        return add_plain(x, operators[i].kind, at);
    }
    int32_t code;
    int n = utf8_decode(x->text + x->at, x->n - x->at, &code);
    return error_set(WEFT_FORMAT, "line %d of the template: unexpected character '%.*s'",
                     line_at(x, x->at), n, x->text + x->at);
}

/* Tokens of one tag, up to its end. */
static weft_status lex_tag(lexer *x, size_t tag, bool variable) {
    x->n_open = 0;
    const char *end_text = variable ? "}}" : "%}";
    while (x->at < x->n) {
        size_t end = x->n_open ? 0 : tag_end(x, x->at, end_text, !variable, !variable);
        if (end) {
            size_t at = x->at;
            move(x, end);
            return add_plain(x, variable ? K_VARIABLE_END : K_BLOCK_END, at);
        }
        size_t space = skip_space(x, x->at);
        char c = x->text[x->at];
        bool is_name = false;
        if (space > x->at) move(x, space);
        else if (c >= '0' && c <= '9') TRY(lex_number(x));
        else if (c == '\'' || c == '"') TRY(lex_string(x));
        else {
            TRY(lex_name(x, &is_name));
            if (!is_name) TRY(lex_operator(x));
        }
    }
    return fail(x, tag, variable ? "a {{ has no }}" : "a {% has no %}");
}

static weft_status lex_all(lexer *x) {
    x->line_start = true;
    while (x->at < x->n) {
        size_t from = x->at, at = from;
        while (at + 1 < x->n &&
               !(x->text[at] == '{' && strchr("{%#", x->text[at + 1]) && x->text[at + 1]))
            at++;
        if (at + 1 >= x->n) {
            TRY(add_data(x, from, x->n, '+', true));
            break;
        }
        char sign = 0, what = x->text[at + 1];
        size_t raw = what == '%' ? raw_begin(x, at, &sign) : 0, begin = at + 2;
        if (!raw) {
            sign = begin < x->n && (x->text[begin] == '-' || x->text[begin] == '+')
                       ? x->text[begin++]
                       : 0;
        }
        TRY(add_data(x, from, at, sign, what == '{'));
        move(x, raw ? raw : begin);
        if (raw) TRY(lex_raw(x, at));
        else if (what == '#') TRY(lex_comment(x, at));
        else {
            TRY(add_plain(x, what == '{' ? K_VARIABLE_BEGIN : K_BLOCK_BEGIN, at));
            TRY(lex_tag(x, at, what == '{'));
        }
    }
    return add_plain(x, K_EOF, x->n);
}

weft_status tpl_lex(template_program *program, const char *source, size_t n, ttokens *out) {
    char *text;
    TRY(tpl_string_room(&program->mem, n + 1, &text));
    size_t length = 0;
    for (size_t i = 0; i < n; i++) {
        if (source[i] == '\r') {
            text[length++] = '\n';
            if (i + 1 < n && source[i + 1] == '\n') i++;
        } else text[length++] = source[i];
    }
    if (length && text[length - 1] == '\n') length--;
    lexer x = {.program = program, .tokens = out, .text = text, .n = length, .line = 1};
    return lex_all(&x);
}

weft_status tpl_intern(template_program *program, const char *data, size_t n, const tstring **out) {
    uint32_t number;
    if (map_get(&program->names, data, n, &number)) {
        *out = program->interned[number];
        return WEFT_OK;
    }
    tvalue name;
    TRY(tpl_string(&program->mem, data, n, &name));
    void *items = program->interned;
    TRY(mem_reserve(&items, &program->interned_capacity, program->n_interned + 1,
                    sizeof(tstring *)));
    program->interned = items;
    TRY(map_set(&program->names, name.s->data, n, (uint32_t)program->n_interned));
    program->interned[program->n_interned++] = name.s;
    *out = name.s;
    return WEFT_OK;
}
