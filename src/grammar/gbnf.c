/* GBNF, llama.cpp's notation: rules `name ::= alternatives`, of literals, character classes, `.`,
 * rule names, groups and * + ? {m,n}. The rule `root` is where a text begins.
 *
 * One pass over the text builds the automaton's fragments; open groups are a list, not recursion.
 * Inside a group, and before a line that begins with `|`, a newline counts as a space.
 * Not here: the token references <...> of newer llama.cpp, which are refused by name.
 * SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "base/map.h"
#include "base/utf8.h"
#include "grammar/nfa.h"

enum { MOST_DEPTH = 1000, MOST_REPEAT = 1 << 30 };

typedef struct level { /* a group that is open, and the rule's body at the bottom */
    nfa_frag alternatives, sequence;
    bool has_alternatives;
} level;

typedef struct parser {
    const char *text;
    size_t n, at;
    int line;
    nfa_builder b;
    map names;
    int *used_at; /* of rules: the line of the first use */
    size_t used_capacity;
    level *levels;
    size_t n_levels, levels_capacity;
    code_set set;
} parser;

static weft_status fail(const parser *p, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static weft_status fail(const parser *p, const char *format, ...) {
    va_list args;
    va_start(args, format);
    error_set_v(WEFT_FORMAT, format, args);
    va_end(args);
    return error_prefix(WEFT_FORMAT, "grammar, line %d", p->line);
}

static int peek(const parser *p) { return p->at < p->n ? (uint8_t)p->text[p->at] : -1; }

static bool looking_at(const parser *p, const char *word) {
    size_t n = strlen(word);
    return p->n - p->at >= n && !memcmp(p->text + p->at, word, n);
}

/* The character that is looked at, for messages. */
typedef struct shown {
    char text[8];
} shown;
static shown here(const parser *p) {
    shown out = {"\\n"};
    int32_t code = '\n';
    int n = p->at < p->n ? utf8_decode(p->text + p->at, p->n - p->at, &code) : 0;
    if (code != '\n') snprintf(out.text, sizeof out.text, "%.*s", n, p->text + p->at);
    return out;
}

static void skip_spaces(parser *p, bool newlines_too) {
    for (;; p->at++) {
        int c = peek(p);
        if (c == '#') {
            while (peek(p) >= 0 && peek(p) != '\n') p->at++;
            c = peek(p);
        }
        if (c == '\n' && newlines_too) p->line++;
        else if (c != ' ' && c != '\t' && c != '\r') return;
    }
}

static bool is_name_char(int c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_';
}

/* Reads a name and gives its rule, a new one when it is not known yet. */
static weft_status take_name(parser *p, int32_t *rule) {
    size_t from = p->at;
    while (is_name_char(peek(p))) p->at++;
    if (p->at == from && peek(p) < 0) return fail(p, "a rule's name is missing at the end");
    if (p->at == from) return fail(p, "a rule's name is expected, not \"%s\"", here(p).text);
    uint32_t known;
    if (map_get(&p->names, p->text + from, p->at - from, &known)) {
        *rule = (int32_t)known;
        return WEFT_OK;
    }
    TRY(mem_reserve((void **)&p->used_at, &p->used_capacity, p->b.n_rules + 1, sizeof *p->used_at));
    *rule = nfa_rule_add(&p->b, p->text + from, p->at - from);
    if (*rule < 0) return WEFT_NO_MEMORY;
    p->used_at[*rule] = p->line;
    return map_set(&p->names, p->text + from, p->at - from, (uint32_t)*rule);
}

static int hex_digit(int c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

static weft_status take_hex(parser *p, int digits, int32_t *code) {
    uint32_t value = 0;
    for (int i = 0; i < digits; i++, p->at++) {
        int digit = hex_digit(peek(p));
        if (digit < 0) return fail(p, "an escape needs %d hexadecimal digits", digits);
        value = value << 4 | (uint32_t)digit;
    }
    if (value > 0x10FFFF || (value >= 0xD800 && value <= 0xDFFF))
        return fail(p, "U+%04X is no character", value);
    *code = (int32_t)value;
    return WEFT_OK;
}

/* A character of a literal or a class, escapes undone. */
static weft_status take_char(parser *p, int32_t *code) {
    if (peek(p) != '\\') {
        p->at += (size_t)utf8_decode(p->text + p->at, p->n - p->at, code);
        return *code == UTF8_BAD ? fail(p, "the text is not UTF-8") : WEFT_OK;
    }
    p->at++;
    int c = peek(p);
    if (c < 0) return fail(p, "the text ends after a backslash");
    p->at++;
    switch (c) {
    case 'x': return take_hex(p, 2, code);
    case 'u': return take_hex(p, 4, code);
    case 'U': return take_hex(p, 8, code);
    case 'n': *code = '\n'; return WEFT_OK;
    case 'r': *code = '\r'; return WEFT_OK;
    case 't': *code = '\t'; return WEFT_OK;
    case '\\':
    case '"':
    case '[':
    case ']': *code = c; return WEFT_OK;
    default: p->at--; return fail(p, "\\%s is no escape", here(p).text);
    }
}

static weft_status take_literal(parser *p, nfa_frag *f) {
    p->at++;
    TRY(nfa_empty(&p->b, f));
    while (peek(p) != '"') {
        if (peek(p) < 0 || peek(p) == '\n') return fail(p, "a literal is not closed");
        int32_t code;
        TRY(take_char(p, &code));
        char bytes[4];
        nfa_frag one = {0};
        TRY(nfa_text(&p->b, bytes, (size_t)utf8_encode(code, bytes), &one));
        nfa_concat(&p->b, f, &one);
    }
    p->at++;
    return WEFT_OK;
}

static weft_status take_class(parser *p, nfa_frag *f) {
    p->at++;
    p->set.n = 0;
    bool is_negated = peek(p) == '^';
    if (is_negated) p->at++;
    while (peek(p) != ']') {
        if (peek(p) < 0 || peek(p) == '\n') return fail(p, "a character class is not closed");
        int32_t lo = 0, hi = 0;
        TRY(take_char(p, &lo));
        hi = lo;
        if (peek(p) == '-' && p->at + 1 < p->n && p->text[p->at + 1] != ']') {
            p->at++;
            TRY(take_char(p, &hi));
            if (hi < lo) return fail(p, "a range of characters is backwards");
        }
        TRY(code_set_add(&p->set, lo, hi));
    }
    p->at++;
    if (is_negated) TRY(code_set_invert(&p->set));
    else code_set_tidy(&p->set);
    return nfa_class(&p->b, &p->set, f);
}

static weft_status take_number(parser *p, int64_t *value) {
    int c = peek(p);
    if (c < '0' || c > '9') return fail(p, "a repetition needs a number");
    for (*value = 0; (c = peek(p)) >= '0' && c <= '9'; p->at++) {
        *value = *value * 10 + (c - '0');
        if (*value > MOST_REPEAT) return fail(p, "a repetition of more than %d", MOST_REPEAT);
    }
    return WEFT_OK;
}

/* {m}, {m,}, {m,n} */
static weft_status take_bounds(parser *p, int64_t *least, int64_t *most) {
    p->at++;
    skip_spaces(p, false);
    *least = 0;
    if (peek(p) != ',') TRY(take_number(p, least));
    skip_spaces(p, false);
    *most = *least;
    if (peek(p) == ',') {
        p->at++;
        skip_spaces(p, false);
        *most = -1;
        if (peek(p) != '}') TRY(take_number(p, most));
        skip_spaces(p, false);
    }
    if (peek(p) != '}') return fail(p, "a repetition is not closed with \"}\"");
    p->at++;
    if (*most >= 0 && *most < *least) return fail(p, "a repetition's bounds are backwards");
    return WEFT_OK;
}

/* The operators after an item, then the item goes to the end of the sequence. */
static weft_status take_operators(parser *p, nfa_frag *item) {
    for (bool is_over = false; !is_over;) {
        int64_t least = 0, most = -1;
        skip_spaces(p, p->n_levels > 1);
        switch (peek(p)) {
        case '*': p->at++; break;
        case '+': p->at++, least = 1; break;
        case '?': p->at++, most = 1; break;
        case '{': TRY(take_bounds(p, &least, &most)); break;
        default: is_over = true; continue;
        }
        if (nfa_repeat(&p->b, item, least, most) != WEFT_OK)
            return error_prefix(error_status(), "grammar, line %d", p->line);
    }
    nfa_concat(&p->b, &p->levels[p->n_levels - 1].sequence, item);
    return WEFT_OK;
}

static weft_status open_level(parser *p) {
    if (p->n_levels == MOST_DEPTH)
        return fail(p, "groups are nested more than %d deep", MOST_DEPTH);
    TRY(mem_reserve((void **)&p->levels, &p->levels_capacity, p->n_levels + 1, sizeof *p->levels));
    level *l = &p->levels[p->n_levels++];
    *l = (level){.has_alternatives = false};
    return nfa_empty(&p->b, &l->sequence);
}

/* What was read since the last `|` becomes one more alternative. */
static weft_status end_alternative(parser *p) {
    level *l = &p->levels[p->n_levels - 1];
    if (l->has_alternatives) TRY(nfa_either(&p->b, &l->alternatives, &l->sequence));
    else l->alternatives = l->sequence;
    l->has_alternatives = true;
    return WEFT_OK;
}

static weft_status take_item(parser *p) {
    nfa_frag item = {0};
    int32_t rule;
    int c = peek(p);
    if (c == '"') TRY(take_literal(p, &item));
    else if (c == '[') TRY(take_class(p, &item));
    else if (c == '.') {
        p->at++;
        p->set.n = 0;
        TRY(code_set_add(&p->set, 0, 0x10FFFF));
        TRY(nfa_class(&p->b, &p->set, &item));
    } else if (is_name_char(c)) {
        TRY(take_name(p, &rule));
        TRY(nfa_call(&p->b, rule, &item));
    } else if (c == '<' || c == '!') return fail(p, "token references are not supported");
    else if (c == '*' || c == '+' || c == '?' || c == '{')
        return fail(p, "there is nothing before \"%c\" to repeat", c);
    else return fail(p, "\"%s\" is not expected here", here(p).text);
    return take_operators(p, &item);
}

/* True when the line is over, and with it the rule. A next line that begins with `|` goes on. */
static bool ends_rule(parser *p) {
    if (p->n_levels > 1) return peek(p) < 0;
    if (peek(p) >= 0 && peek(p) != '\n') return false;
    parser ahead = *p;
    skip_spaces(&ahead, true);
    if (peek(&ahead) != '|') return true;
    p->at = ahead.at;
    p->line = ahead.line;
    return false;
}

static weft_status take_body(parser *p, nfa_frag *body) {
    p->n_levels = 0;
    TRY(open_level(p));
    for (;;) {
        skip_spaces(p, p->n_levels > 1);
        if (ends_rule(p)) break;
        int c = peek(p);
        if (c == '|') {
            p->at++;
            skip_spaces(p, true);
            TRY(end_alternative(p));
            TRY(nfa_empty(&p->b, &p->levels[p->n_levels - 1].sequence));
        } else if (c == '(') {
            p->at++;
            TRY(open_level(p));
        } else if (c == ')' && p->n_levels > 1) {
            p->at++;
            TRY(end_alternative(p));
            nfa_frag item = p->levels[--p->n_levels].alternatives;
            TRY(take_operators(p, &item));
        } else TRY(take_item(p));
    }
    if (p->n_levels > 1) return fail(p, "a group is not closed");
    TRY(end_alternative(p));
    *body = p->levels[0].alternatives;
    return WEFT_OK;
}

static weft_status take_rule(parser *p) {
    int32_t rule = 0;
    nfa_frag body = {0};
    TRY(take_name(p, &rule));
    skip_spaces(p, false);
    if (!looking_at(p, "::=")) return fail(p, "\"::=\" is expected after a rule's name");
    p->at += 3;
    skip_spaces(p, true);
    /* take_name has made the rule. NOLINTNEXTLINE(clang-analyzer-core.NullDereference) */
    if (p->b.rules[rule].is_defined)
        return fail(p, "the rule %s is defined twice", p->b.rules[rule].name);
    TRY(take_body(p, &body));
    return nfa_rule_define(&p->b, rule, &body);
}

static weft_status parse(parser *p, grammar **out) {
    uint32_t root = 0;
    skip_spaces(p, true);
    while (peek(p) >= 0) {
        TRY(take_rule(p));
        skip_spaces(p, true);
    }
    bool has_root = p->b.rules && map_get(&p->names, "root", 4, &root);
    REQUIRE(has_root && p->b.rules[root].is_defined, WEFT_FORMAT,
            "the grammar has no rule \"root\"");
    for (size_t r = 0; r < p->b.n_rules; r++) {
        if (p->b.rules[r].is_defined) continue;
        p->line = p->used_at[r];
        return fail(p, "the rule %s is used but not defined", p->b.rules[r].name);
    }
    return nfa_finish(&p->b, (int32_t)root, out);
}

weft_status grammar_open_gbnf(const char *text, size_t n, grammar **out) {
    REQUIRE(text && out, WEFT_INVALID, "the grammar's text is NULL");
    parser p = {.text = text, .n = n, .line = 1};
    weft_status status = parse(&p, out);
    nfa_builder_free(&p.b);
    map_free(&p.names);
    mem_free(p.used_at);
    mem_free(p.levels);
    code_set_free(&p.set);
    return status;
}
