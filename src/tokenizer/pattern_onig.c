/* Oniguruma's expressions (Ruby syntax, UTF-8) to PCRE2's. Read by descent, written as it is read:
 * what both spell alike goes through, what they spell or mean otherwise is rewritten. Classes with
 * set operations become look-aheads. What PCRE2 has nothing for, or what nobody should need to cut
 * words (back-references, calls, conditions), is refused by name.
 * Sources: Oniguruma's doc/RE, PCRE2's pcre2pattern. Not here: compiling (pattern.c).
 * SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"
#include "tokenizer/pattern.h"

enum { MAX_EXPRESSION = 1 << 15, MAX_DEPTH = 100, MAX_REPEAT = 65535 };

/* The inside of a class of what \w matches in a class, and outside of one, where it has six of
 * Latin-1's fractions and powers more. */
#define LETTERS "\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}"
#define WORD LETTERS "\\xB2\\xB3\\xB9\\xBC-\\xBE"

typedef struct onig {
    const char *p, *end;
    str *out;
    int depth;
    bool dot_is_all, extended, ignores_case;
} onig;

/* POSIX classes: the inside of a class. As \p{...} too, where "punct" is without the symbols.
 * Found out by asking `tokenizers` 0.23 about every character. */
static const struct {
    const char *name, *inside;
} posix[] = {
    {"alnum", "\\p{Alphabetic}\\p{Nd}"},
    {"alpha", "\\p{Alphabetic}"},
    {"ascii", "\\x00-\\x7F"},
    {"blank", "\\t\\p{Zs}"},
    {"cntrl", "\\p{Cc}"},
    {"digit", "\\p{Nd}"},
    {"graph", "\\p{L}\\p{M}\\p{N}\\p{P}\\p{S}\\p{Cf}\\p{Co}"},
    {"lower", "\\p{Lowercase}"},
    {"print", "\\p{L}\\p{M}\\p{N}\\p{P}\\p{S}\\p{Cf}\\p{Co}\\p{Zs}"},
    {"punct", "\\p{P}\\p{S}"},
    {"space", PATTERN_SPACES},
    {"upper", "\\p{Uppercase}"},
    {"word", LETTERS},
    {"xdigit", "0-9A-Fa-f"},
};

/* General categories by their long names. Source: Unicode's PropertyValueAliases.txt. */
static const struct {
    const char *name, *code;
} categories[] = {
    {"any", "Any"},
    {"other", "C"},
    {"control", "Cc"},
    {"format", "Cf"},
    {"unassigned", "Cn"},
    {"privateuse", "Co"},
    {"surrogate", "Cs"},
    {"letter", "L"},
    {"lowercaseletter", "Ll"},
    {"modifierletter", "Lm"},
    {"otherletter", "Lo"},
    {"titlecaseletter", "Lt"},
    {"uppercaseletter", "Lu"},
    {"mark", "M"},
    {"spacingmark", "Mc"},
    {"enclosingmark", "Me"},
    {"nonspacingmark", "Mn"},
    {"number", "N"},
    {"decimalnumber", "Nd"},
    {"letternumber", "Nl"},
    {"othernumber", "No"},
    {"punct", "P"},
    {"punctuation", "P"},
    {"connectorpunctuation", "Pc"},
    {"dashpunctuation", "Pd"},
    {"closepunctuation", "Pe"},
    {"finalpunctuation", "Pf"},
    {"initialpunctuation", "Pi"},
    {"otherpunctuation", "Po"},
    {"openpunctuation", "Ps"},
    {"symbol", "S"},
    {"currencysymbol", "Sc"},
    {"modifiersymbol", "Sk"},
    {"mathsymbol", "Sm"},
    {"othersymbol", "So"},
    {"separator", "Z"},
    {"lineseparator", "Zl"},
    {"paragraphseparator", "Zp"},
    {"spaceseparator", "Zs"},
};

/* Under (?i) a class has the other case of its members too, which PCRE2 does for letters but not
 * for these sets, and not for what is a complement inside of it. */
static weft_status check_case(const onig *o, bool is_cased, const char *what) {
    REQUIRE(!o->ignores_case || !is_cased, WEFT_UNSUPPORTED, "%s under (?i) is not supported",
            what);
    return WEFT_OK;
}

static bool is_cased(const char *inside) {
    static const char *const sets[] = {"\\p{Lu}", "\\p{Ll}", "\\p{Lt}", "\\p{Uppercase}",
                                       "\\p{Lowercase}"};
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++)
        if (!strcmp(inside, sets[i])) return true;
    return false;
}

static bool at(const onig *o, const char *text) {
    size_t n = strlen(text);
    return (size_t)(o->end - o->p) >= n && !memcmp(o->p, text, n);
}

static bool take(onig *o, const char *text) {
    bool found = at(o, text);
    if (found) o->p += strlen(text);
    return found;
}

static weft_status put(onig *o, const char *text) { return str_text_append(o->out, text); }

/* A character as a literal, inside a class or outside. */
static weft_status put_code(str *out, int32_t code) {
    char bytes[4];
    bool is_plain = (code >= '0' && code <= '9') || (code >= 'A' && code <= 'Z') ||
                    (code >= 'a' && code <= 'z') || code >= 0x80;
    if (code < ' ' || code == 127 || (code >= 0xD800 && code < 0xE000))
        return str_format(out, "\\x{%x}", (unsigned)code);
    if (!is_plain) TRY(str_char(out, '\\'));
    return str_append(out, bytes, (size_t)utf8_encode(code, bytes));
}

weft_status pattern_quote(const char *text, size_t n, str *out) {
    for (size_t i = 0; i < n;) {
        int32_t code;
        i += (size_t)utf8_decode(text + i, n - i, &code);
        TRY(put_code(out, code));
    }
    return WEFT_OK;
}

/* ---- escapes
 * ------------------------------------------------------------------------------------------- */

static weft_status take_hex(onig *o, size_t least, size_t most, int32_t *code) {
    *code = 0;
    size_t n = 0;
    for (; n < most && o->p < o->end; n++, o->p++) {
        char c = *o->p;
        int digit = c >= '0' && c <= '9'   ? c - '0'
                    : c >= 'a' && c <= 'f' ? c - 'a' + 10
                    : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                           : -1;
        if (digit < 0) break;
        *code = *code * 16 + digit;
    }
    REQUIRE(n >= least && *code <= 0x10FFFF && (*code < 0xD800 || *code > 0xDFFF), WEFT_UNSUPPORTED,
            "a hexadecimal escape is no character");
    return WEFT_OK;
}

/* The character of an escape that stands for one; *code = -1: another kind of escape. */
static weft_status take_character(onig *o, int32_t *code) {
    static const char from[] = "tnrfvae", to[] = "\t\n\r\f\v\a\x1B";
    *code = -1;
    char c = *o->p;
    const char *known = c ? strchr(from, c) : NULL;
    if (known) {
        o->p++;
        *code = (unsigned char)to[known - from];
    } else if (take(o, "x{")) {
        TRY(take_hex(o, 1, 8, code));
        REQUIRE(take(o, "}"), WEFT_UNSUPPORTED, "\\x{...} is more than one character");
    } else if (take(o, "x")) {
        TRY(take_hex(o, 1, 2, code));
        REQUIRE(*code < 0x80, WEFT_UNSUPPORTED, "\\x%X is a byte and no character",
                (unsigned)*code);
    } else if (take(o, "u")) {
        TRY(take_hex(o, 4, 4, code));
    } else if (c == '0') {
        o->p++;
        REQUIRE(o->p == o->end || *o->p < '0' || *o->p > '7', WEFT_UNSUPPORTED,
                "octal escapes are not supported");
        *code = 0;
    } else if (!((c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z'))) {
        o->p += utf8_decode(o->p, (size_t)(o->end - o->p), code);
    }
    return WEFT_OK;
}

static weft_status try_out(const char *expression, bool *compiles) {
    pattern *p;
    weft_status status = pattern_open(expression, strlen(expression), false, &p);
    pattern_close(p);
    *compiles = status == WEFT_OK;
    return status == WEFT_NO_MEMORY ? status : WEFT_OK;
}

/* After "\p": appends the inside of a class. */
static weft_status take_property(onig *o, str *inside, bool *is_negated) {
    REQUIRE(take(o, "{"), WEFT_UNSUPPORTED, "\\p without a name in braces is not supported");
    *is_negated ^= take(o, "^");
    char name[48], plain[48];
    size_t n = 0, n_plain = 0;
    for (; o->p < o->end && *o->p != '}' && n + 1 < sizeof name; o->p++) {
        char c = *o->p;
        name[n++] = c;
        if (c == ' ' || c == '_' || c == '-') continue;
        plain[n_plain++] = (char)(c >= 'A' && c <= 'Z' ? c + 32 : c);
    }
    name[n] = plain[n_plain] = 0;
    bool is_word =
        n && strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
                          "_- ") == n;
    REQUIRE(is_word && take(o, "}"), WEFT_UNSUPPORTED, "\\p{%s is no name of a property", name);
    for (size_t i = 0; i < sizeof categories / sizeof *categories; i++)
        if (!strcmp(categories[i].name, plain))
            return str_format(inside, "\\p{%s}", categories[i].code);
    for (size_t i = 0; i < sizeof posix / sizeof *posix; i++)
        if (!strcmp(posix[i].name, plain)) return str_text_append(inside, posix[i].inside);
    char text[80];
    for (int i = n <= 2; i < 2; i++) { /* one or two letters are a general category */
        if (i == 0) snprintf(text, sizeof text, "\\p{sc:%s}", name);
        else snprintf(text, sizeof text, "\\p{%s}", name);
        bool compiles;
        TRY(try_out(text, &compiles));
        if (compiles) return str_text_append(inside, text);
    }
    return error_set(WEFT_UNSUPPORTED, "the property \\p{%s} is not supported", name);
}

/* An escape that stands for a set of characters: appends the inside of a class of it, or of its
 * complement. *is_set false: it is none. */
static weft_status take_set(onig *o, bool in_class, str *inside, bool *is_negated, bool *is_set) {
    static const char letters[] = "sdwhSDWH";
    const char *const sets[] = {PATTERN_SPACES, "\\p{Nd}", in_class ? LETTERS : WORD, "0-9A-Fa-f"};
    char c = *o->p;
    const char *known = c ? strchr(letters, c) : NULL;
    *is_negated = c == 'P' || (known && known >= letters + 4);
    *is_set = known || c == 'p' || c == 'P';
    if (!*is_set) return WEFT_OK;
    o->p++;
    if (known) return str_text_append(inside, sets[(known - letters) % 4]);
    TRY(take_property(o, inside, is_negated));
    return check_case(o, is_cased(str_text(inside)), str_text(inside));
}

/* ---- classes
 * ------------------------------------------------------------------------------------------- */

static weft_status take_class(onig *o, str *out);

/* One operand of a class: `items` is the inside of a plain class, `others` alternatives that are
 * none. */
typedef struct operand {
    str items, others;
} operand;

static weft_status add_other(operand *x, const char *text, size_t n) {
    if (x->others.n) TRY(str_char(&x->others, '|'));
    return str_append(&x->others, text, n);
}

static weft_status add_set(operand *x, const str *inside, bool is_negated) {
    if (!is_negated) return str_append(&x->items, inside->data, inside->n);
    str text = {0};
    weft_status status = str_format(&text, "[^%s]", str_text(inside));
    if (status == WEFT_OK) status = add_other(x, text.data, text.n);
    str_free(&text);
    return status;
}

/* After "[:". False when it is no POSIX class. */
static weft_status take_posix(onig *o, operand *x, bool *found) {
    const char *close = o->p;
    bool is_negated = close < o->end && *close == '^';
    const char *name = o->p + is_negated;
    while (close < o->end && *close != ':' && *close != ']') close++;
    *found = o->end - close >= 2 && close[0] == ':' && close[1] == ']';
    if (!*found) return WEFT_OK;
    size_t n = (size_t)(close - name);
    for (size_t i = 0; i < sizeof posix / sizeof *posix; i++) {
        if (strlen(posix[i].name) != n || memcmp(posix[i].name, name, n) != 0) continue;
        o->p = close + 2;
        TRY(check_case(o, is_cased(posix[i].inside), posix[i].name));
        str inside = {0};
        weft_status status = str_text_append(&inside, posix[i].inside);
        if (status == WEFT_OK) status = add_set(x, &inside, is_negated);
        str_free(&inside);
        return status;
    }
    return error_set(WEFT_UNSUPPORTED, "the class [:%.*s:] is not supported",
                     (int)(n < 20 ? n : 20), name);
}

/* One end of a range. *code = -1: a set, which was added. */
static weft_status take_item(onig *o, operand *x, int32_t *code) {
    if (!take(o, "\\")) {
        o->p += utf8_decode(o->p, (size_t)(o->end - o->p), code);
        return WEFT_OK;
    }
    REQUIRE(o->p < o->end, WEFT_UNSUPPORTED, "the expression ends after a backslash");
    str inside = {0};
    bool is_negated, is_set;
    weft_status status = take_set(o, true, &inside, &is_negated, &is_set);
    *code = -1;
    if (status == WEFT_OK && is_set) status = add_set(x, &inside, is_negated);
    str_free(&inside);
    TRY(status);
    if (is_set) return WEFT_OK;
    if (take(o, "b")) *code = '\b';
    else TRY(take_character(o, code));
    REQUIRE(*code >= 0, WEFT_UNSUPPORTED, "the escape \\%c in a class is not supported", *o->p);
    return WEFT_OK;
}

static weft_status take_range(onig *o, operand *x) {
    int32_t from, to;
    TRY(take_item(o, x, &from));
    if (from < 0) {
        if (at(o, "-") && !at(o, "-]")) { /* after a set it is a character */
            o->p++;
            return str_text_append(&x->items, "\\-");
        }
        return WEFT_OK;
    }
    TRY(put_code(&x->items, from));
    if (!at(o, "-") || at(o, "-]") || at(o, "-[") || at(o, "-&&")) return WEFT_OK;
    o->p++;
    REQUIRE(o->p < o->end, WEFT_UNSUPPORTED, "a class has no end");
    TRY(take_item(o, x, &to));
    REQUIRE(to >= from, WEFT_UNSUPPORTED, "a range in a class is no range");
    TRY(str_char(&x->items, '-'));
    return put_code(&x->items, to);
}

/* Up to "&&" or the end of the class. */
static weft_status take_operand(onig *o, operand *x, bool is_first) {
    for (bool begins = is_first; o->p < o->end && !at(o, "&&"); begins = false) {
        bool is_posix = false;
        if (at(o, "]") && !begins) return WEFT_OK;
        if (take(o, "[:")) {
            TRY(take_posix(o, x, &is_posix));
            if (!is_posix) o->p -= 2;
        }
        if (is_posix) continue;
        if (take(o, "[")) {
            TRY(check_case(o, at(o, "^"), "a complement inside a class"));
            str inner = {0};
            weft_status status = take_class(o, &inner);
            if (status == WEFT_OK) status = add_other(x, inner.data, inner.n);
            str_free(&inner);
            TRY(status);
        } else {
            TRY(take_range(o, x));
        }
    }
    return WEFT_OK;
}

/* Writes an operand as something that matches one character. */
static weft_status put_operand(const operand *x, bool is_negated, str *out) {
    REQUIRE(x->items.n || x->others.n, WEFT_UNSUPPORTED, "a class is empty");
    if (!x->others.n) return str_format(out, is_negated ? "[^%s]" : "[%s]", str_text(&x->items));
    /* Atomic, as the alternatives may overlap: a second way to match one character is of no use. */
    TRY(str_text_append(out, is_negated ? "(?:(?!(?>" : "(?>"));
    if (x->items.n) TRY(str_format(out, "[%s]|", str_text(&x->items)));
    TRY(str_append(out, x->others.data, x->others.n));
    return str_text_append(out, is_negated ? "))(?s:.))" : ")");
}

static weft_status take_operands(onig *o, bool is_negated, str *out) {
    str all = {0};
    weft_status status = WEFT_OK;
    size_t count = 0;
    do {
        operand x = {0};
        status = take_operand(o, &x, count == 0);
        bool is_last = !at(o, "&&"), is_only = is_last && count == 0;
        if (status == WEFT_OK && is_only) status = put_operand(&x, is_negated, out);
        if (status == WEFT_OK && !is_only) {
            status = str_text_append(&all, is_last ? "" : "(?=");
            if (status == WEFT_OK) status = put_operand(&x, false, &all);
            if (status == WEFT_OK) status = str_text_append(&all, is_last ? "" : ")");
        }
        str_free(&x.items);
        str_free(&x.others);
        count++;
    } while (status == WEFT_OK && take(o, "&&"));
    if (status == WEFT_OK && all.n)
        status = str_format(out, is_negated ? "(?:(?!%s)(?s:.))" : "(?:%s)", str_text(&all));
    str_free(&all);
    return status;
}

/* After "[". The depth of the recursion is bounded. */
static weft_status take_class(onig *o, str *out) {
    REQUIRE(++o->depth < MAX_DEPTH, WEFT_LIMIT, "it is nested deeper than %d", MAX_DEPTH);
    bool is_negated = take(o, "^");
    TRY(take_operands(o, is_negated, out));
    REQUIRE(take(o, "]"), WEFT_UNSUPPORTED, "a class has no end");
    o->depth--;
    return WEFT_OK;
}

/* ---- atoms and groups
 * ---------------------------------------------------------------------------------- */

static weft_status take_alternatives(onig *o);

static weft_status take_escape(onig *o) {
    REQUIRE(o->p < o->end, WEFT_UNSUPPORTED, "the expression ends after a backslash");
    str inside = {0};
    bool is_negated, is_set;
    weft_status status = take_set(o, false, &inside, &is_negated, &is_set);
    if (status == WEFT_OK && is_set)
        status = str_format(o->out, is_negated ? "[^%s]" : "[%s]", str_text(&inside));
    str_free(&inside);
    TRY(status);
    if (is_set) return WEFT_OK;
    int32_t code;
    if (take(o, "b"))
        return put(o, "(?:(?<=[" WORD "])(?![" WORD "])|(?<![" WORD "])(?=[" WORD "]))");
    if (take(o, "B"))
        return put(o, "(?:(?<=[" WORD "])(?=[" WORD "])|(?<![" WORD "])(?![" WORD "]))");
    if (take(o, "A")) return put(o, "\\A");
    if (take(o, "z")) return put(o, "\\z");
    if (take(o, "Z")) return put(o, "\\Z");
    if (take(o, "N")) return put(o, "[^\\n]");
    if (take(o, "O")) return put(o, "(?s:.)");
    if (take(o, "R")) return put(o, "(?>\\r\\n|[\\n-\\r\\x85\\x{2028}\\x{2029}])");
    TRY(take_character(o, &code));
    REQUIRE(code >= 0, WEFT_UNSUPPORTED, "the escape \\%c is not supported", *o->p);
    return put_code(o->out, code);
}

/* "imx-imx" before ')' or ':'. */
static weft_status take_options(onig *o, bool *is_isolated, bool *dot, bool *extended,
                                bool *ignores_case) {
    bool on = true, sets_i = false, clears_i = false;
    for (; o->p < o->end && *o->p != ')' && *o->p != ':'; o->p++) {
        switch (*o->p) {
        case '-': on = false; break;
        case 'i': *(on ? &sets_i : &clears_i) = true; break;
        case 'm': *dot = on; break;
        case 'x': *extended = on; break;
        default: return error_set(WEFT_UNSUPPORTED, "the group (?%c is not supported", *o->p);
        }
    }
    REQUIRE(o->p < o->end, WEFT_UNSUPPORTED, "a group has no end");
    *is_isolated = *o->p++ == ')';
    *ignores_case = (*ignores_case && !clears_i) || sets_i;
    return str_format(o->out, "(?%s%s:", sets_i ? "i" : "", clears_i ? "-i" : "");
}

/* After "(?" with options. An isolated one, "(?i)", reaches to the end of the group it stands in,
 * alternatives included. */
static weft_status take_option_group(onig *o) {
    onig outer = *o, inner = *o;
    bool is_isolated = false;
    TRY(take_options(o, &is_isolated, &inner.dot_is_all, &inner.extended, &inner.ignores_case));
    o->dot_is_all = inner.dot_is_all;
    o->extended = inner.extended;
    o->ignores_case = inner.ignores_case;
    TRY(take_alternatives(o));
    o->dot_is_all = outer.dot_is_all;
    o->extended = outer.extended;
    o->ignores_case = outer.ignores_case;
    if (!is_isolated) REQUIRE(take(o, ")"), WEFT_UNSUPPORTED, "a group has no end");
    return put(o, ")");
}

static weft_status take_group(onig *o) {
    static const char *const same[] = {"?:", "?=", "?!", "?<=", "?<!", "?>"};
    REQUIRE(!at(o, "*"), WEFT_UNSUPPORTED, "callouts are not supported");
    if (take(o, "?#")) {
        while (o->p < o->end && *o->p != ')') o->p++;
        REQUIRE(take(o, ")"), WEFT_UNSUPPORTED, "a comment has no end");
        return WEFT_OK;
    }
    const char *open = NULL;
    for (size_t i = 0; i < sizeof same / sizeof *same && !open; i++)
        if (take(o, same[i])) open = same[i];
    if (!open && take(o, "?<")) { /* a name, which nothing here refers to */
        while (o->p < o->end && *o->p != '>') o->p++;
        REQUIRE(take(o, ">"), WEFT_UNSUPPORTED, "a group's name has no end");
    } else if (!open && take(o, "?")) {
        return take_option_group(o);
    }
    TRY(str_format(o->out, "(%s", open ? open : "?:"));
    TRY(take_alternatives(o));
    REQUIRE(take(o, ")"), WEFT_UNSUPPORTED, "a group has no end");
    return put(o, ")");
}

static weft_status take_atom(onig *o) {
    int32_t code;
    if (take(o, "\\")) return take_escape(o);
    if (take(o, "[")) return take_class(o, o->out);
    if (take(o, "(")) return take_group(o);
    if (take(o, ".")) return put(o, o->dot_is_all ? "(?s:.)" : "[^\\n]");
    if (take(o, "^")) return put(o, "(?m:^)");
    if (take(o, "$")) return put(o, "(?m:$)");
    REQUIRE(!at(o, "?") && !at(o, "*") && !at(o, "+"), WEFT_UNSUPPORTED,
            "'%c' has nothing to repeat", *o->p);
    o->p += utf8_decode(o->p, (size_t)(o->end - o->p), &code);
    return put_code(o->out, code);
}

/* ---- quantifiers
 * --------------------------------------------------------------------------------------- */

/* "{n}", "{n,}", "{,m}" or "{n,m}"; anything else is text. *high = -1: no upper bound. */
static bool take_interval(onig *o, long *low, long *high) {
    const char *p = o->p + 1;
    bool has_low = false, has_high = false;
    *low = 0;
    for (; p < o->end && *p >= '0' && *p <= '9' && *low <= MAX_REPEAT; p++, has_low = true)
        *low = *low * 10 + *p - '0';
    *high = *low;
    if (p < o->end && *p == ',') {
        *high = 0;
        for (p++; p < o->end && *p >= '0' && *p <= '9' && *high <= MAX_REPEAT; p++, has_high = true)
            *high = *high * 10 + *p - '0';
        if (!has_high) *high = -1;
    }
    if (p >= o->end || *p != '}' || (!has_low && !has_high)) return false;
    o->p = p + 1;
    return true;
}

/* Puts "(?:" and ")" around what was written from `start` on. */
static weft_status wrap(onig *o, size_t start) {
    TRY(put(o, "(?:)"));
    char *text = o->out->data + start;
    size_t n = o->out->n - start - 4;
    memmove(text + 3, text, n);
    memcpy(text, "(?:", 3);
    return WEFT_OK;
}

static weft_status put_interval(onig *o, size_t start, long low, long high) {
    REQUIRE(low <= MAX_REPEAT && high <= MAX_REPEAT, WEFT_UNSUPPORTED,
            "more than %d repetitions are not supported", MAX_REPEAT);
    REQUIRE(high < 0 || low <= high, WEFT_UNSUPPORTED, "{%ld,%ld} is not supported", low, high);
    bool is_exact = low == high;
    if (high < 0) TRY(str_format(o->out, "{%ld,}", low));
    else if (is_exact) TRY(str_format(o->out, "{%ld}", low));
    else TRY(str_format(o->out, "{%ld,%ld}", low, high));
    if (at(o, "?") && !is_exact) {
        o->p++;
        return put(o, "?");
    }
    return at(o, "?") || at(o, "+") ? wrap(o, start) : WEFT_OK; /* a quantifier of its own */
}

static weft_status take_quantifiers(onig *o, size_t start) {
    for (bool is_first = true; o->p < o->end; is_first = false) {
        long low, high;
        char c = *o->p;
        bool is_simple = c == '?' || c == '*' || c == '+';
        if (!is_simple && (c != '{' || !take_interval(o, &low, &high))) return WEFT_OK;
        if (!is_first) TRY(wrap(o, start));
        if (is_simple) {
            o->p++;
            TRY(str_char(o->out, c));
            if (take(o, "?")) TRY(put(o, "?"));
            else if (take(o, "+")) TRY(put(o, "+"));
        } else {
            TRY(put_interval(o, start, low, high));
        }
    }
    return WEFT_OK;
}

static bool skip_blank(onig *o) {
    if (!o->extended) return false;
    if (take(o, "#")) {
        while (o->p < o->end && *o->p != '\n') o->p++;
        return true;
    }
    if (!strchr(" \t\n\r\f\v", *o->p) || !*o->p) return false;
    o->p++;
    return true;
}

/* Up to ')' or the end. The depth of the recursion is bounded. */
static weft_status take_alternatives(onig *o) {
    REQUIRE(++o->depth < MAX_DEPTH, WEFT_LIMIT, "it is nested deeper than %d", MAX_DEPTH);
    while (o->p < o->end && *o->p != ')') {
        if (skip_blank(o)) continue;
        if (take(o, "|")) {
            TRY(put(o, "|"));
            continue;
        }
        size_t start = o->out->n;
        TRY(take_atom(o));
        if (o->out->n > start) TRY(take_quantifiers(o, start));
    }
    o->depth--;
    return WEFT_OK;
}

weft_status pattern_translate(const char *expression, size_t n, str *out) {
    REQUIRE(n <= MAX_EXPRESSION, WEFT_LIMIT, "a regular expression of %zu bytes is too long", n);
    onig o = {.p = expression, .end = expression + n, .out = out};
    weft_status status = take_alternatives(&o);
    if (status == WEFT_OK && o.p < o.end) status = error_set(WEFT_UNSUPPORTED, "a ')' has no '('");
    if (status == WEFT_OK || status == WEFT_NO_MEMORY) return status;
    return error_prefix(status, "the regular expression \"%.*s\"", (int)(n < 100 ? n : 100),
                        expression);
}
