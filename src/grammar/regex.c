/* ECMA-262 regular expressions: characters, classes, groups, alternatives, quantifiers, anchors,
 * word boundaries and look-around.
 *
 * One pass builds the fragments; open groups are a list, not recursion. A lazy quantifier matches
 * the same texts as a greedy one. ^ and $ around a top alternative need no anchor: nothing else may
 * stand there. A look-around becomes an automaton when its group closes, and its graph is dropped.
 * Back-references need more than an automaton, and flags and scripts data that is not here: these
 * are refused by name.
 * SPDX-License-Identifier: MIT */
#include "grammar/regex.h"

#include <string.h>

#include <utf8proc.h>

#include "base/utf8.h"

enum { MOST_DEPTH = 1000, MOST_REPEAT = 1 << 30, MOST_ANCHORS = 100 };

typedef enum look { LOOK_NONE, LOOK_AHEAD, LOOK_NOT_AHEAD, LOOK_BEHIND, LOOK_NOT_BEHIND } look;

typedef struct level {
    nfa_frag alternatives, sequence;
    bool has_alternatives;
    look look;
    size_t n_anchors; /* those before the group */
} level;

typedef struct parser {
    const char *text;
    size_t n, at;
    regex_mode mode;
    regex *x;
    nfa_builder *b; /* x's */
    level *levels;
    size_t n_levels, levels_capacity;
    code_set set, part;
} parser;

static weft_status refuse(const parser *p, weft_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static weft_status refuse(const parser *p, weft_status status, const char *format, ...) {
    va_list args;
    va_start(args, format);
    error_set_v(status, format, args);
    va_end(args);
    return error_prefix(status, "regular expression, position %zu", p->at);
}

static int peek(const parser *p) { return p->at < p->n ? (uint8_t)p->text[p->at] : -1; }

static bool take(parser *p, const char *word) {
    size_t n = strlen(word);
    if (p->n - p->at < n || memcmp(p->text + p->at, word, n)) return false;
    p->at += n;
    return true;
}

/* ---- characters and classes ------------------------------------------------------------------ */

static weft_status add_ranges(code_set *s, const code_range *ranges, size_t n) {
    for (size_t i = 0; i < n; i++) TRY(code_set_add(s, ranges[i].lo, ranges[i].hi));
    return WEFT_OK;
}

/* \d \w \s into the set (ECMA-262, CharacterClassEscape); upper case is the rest. */
static weft_status add_named(parser *p, int letter, code_set *out) {
    static const code_range digits[] = {{'0', '9'}},
                            words[] = {{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}},
                            spaces[] = {{0x09, 0x0D},     {0x20, 0x20},     {0xA0, 0xA0},
                                        {0x1680, 0x1680}, {0x2000, 0x200A}, {0x2028, 0x2029},
                                        {0x202F, 0x202F}, {0x205F, 0x205F}, {0x3000, 0x3000},
                                        {0xFEFF, 0xFEFF}};
    int kind = letter | 0x20;
    if (kind != 'p') p->part.n = 0;
    if (kind == 'p') code_set_tidy(&p->part);
    else if (kind == 'd') TRY(add_ranges(&p->part, digits, 1));
    else if (kind == 'w') TRY(add_ranges(&p->part, words, 4));
    else TRY(add_ranges(&p->part, spaces, sizeof spaces / sizeof *spaces));
    if (letter != kind) TRY(code_set_invert(&p->part));
    return add_ranges(out, p->part.ranges, p->part.n);
}

static weft_status take_hex(parser *p, int digits, int32_t *code) {
    *code = 0;
    for (int i = 0; i < digits; i++, p->at++) {
        int c = peek(p), d = c >= '0' && c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10;
        if (c < 0 || d < 0 || d > 15 || (d > 9 && (c | 0x20) < 'a'))
            return refuse(p, WEFT_FORMAT, "an escape needs %d hexadecimal digits", digits);
        *code = *code * 16 + d;
    }
    return WEFT_OK;
}

/* After \u: XXXX, a pair of surrogates, or {X...}. */
static weft_status take_unicode(parser *p, int32_t *code) {
    if (take(p, "{")) {
        int digits = 0;
        while (digits < 6 && p->at + (size_t)digits < p->n &&
               p->text[p->at + (size_t)digits] != '}')
            digits++;
        TRY(take_hex(p, digits, code));
        if (!digits || !take(p, "}")) return refuse(p, WEFT_FORMAT, "\\u{...} is not closed");
    } else {
        int32_t low;
        TRY(take_hex(p, 4, code));
        if (*code >= 0xD800 && *code < 0xDC00 && take(p, "\\u")) {
            TRY(take_hex(p, 4, &low));
            if (low < 0xDC00 || low > 0xDFFF)
                return refuse(p, WEFT_FORMAT, "U+%04X is half a character", (unsigned)*code);
            *code = 0x10000 + ((*code - 0xD800) << 10) + (low - 0xDC00);
        }
    }
    if (*code > 0x10FFFF || (*code >= 0xD800 && *code <= 0xDFFF))
        return refuse(p, WEFT_FORMAT, "U+%04X is no character", (unsigned)*code);
    return WEFT_OK;
}

/* The general category (Unicode, UAX #44) of one or two letters, or a long name, as bits of
 * utf8proc's numbers; 0 = unknown. */
static uint32_t find_category(const char *name, size_t n) {
    static const char codes[] = "CnLuLlLtLmLoMnMcMeNdNlNoPcPdPsPePiPfPoSmScSkSoZsZlZpCcCfCsCo";
    static const char *const names[][2] = {{"Letter", "L"},
                                           {"Uppercase_Letter", "Lu"},
                                           {"Lowercase_Letter", "Ll"},
                                           {"Titlecase_Letter", "Lt"},
                                           {"Modifier_Letter", "Lm"},
                                           {"Other_Letter", "Lo"},
                                           {"Mark", "M"},
                                           {"Number", "N"},
                                           {"Decimal_Number", "Nd"},
                                           {"Punctuation", "P"},
                                           {"Symbol", "S"},
                                           {"Separator", "Z"},
                                           {"Space_Separator", "Zs"},
                                           {"Other", "C"},
                                           {"Control", "Cc"},
                                           {"punct", "P"},
                                           {"digit", "Nd"}};
    uint32_t bits = 0;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strlen(names[i][0]) == n && !memcmp(names[i][0], name, n)) {
            name = names[i][1];
            n = strlen(name);
            break;
        }
    for (unsigned i = 0; i < sizeof codes / 2 && n >= 1 && n <= 2; i++)
        if (codes[2 * i] == name[0] && (n == 1 || codes[2 * i + 1] == name[1])) bits |= 1u << i;
    if (n == 2 && !memcmp(name, "LC", 2)) bits = 1u << 1 | 1u << 2 | 1u << 3;
    return bits;
}

/* After \p: {name}, into p->part. */
static weft_status take_property(parser *p) {
    if (!take(p, "{")) return refuse(p, WEFT_FORMAT, "\\p needs a name in braces");
    const char *name = p->text + p->at;
    const char *close = memchr(name, '}', p->n - p->at);
    if (!close) return refuse(p, WEFT_FORMAT, "\\p{...} is not closed");
    size_t n = (size_t)(close - name), skip = 0;
    static const char *const keys[] = {"General_Category=", "gc="};
    for (int i = 0; i < 2; i++)
        if (n > strlen(keys[i]) && !memcmp(name, keys[i], strlen(keys[i]))) skip = strlen(keys[i]);
    uint32_t bits = find_category(name + skip, n - skip);
    p->part.n = 0;
    if (n == 3 && !memcmp(name, "Any", 3)) TRY(code_set_add(&p->part, 0, 0x10FFFF));
    else if (n == 5 && !memcmp(name, "ASCII", 5)) TRY(code_set_add(&p->part, 0, 0x7F));
    else if (!bits)
        return refuse(p, WEFT_UNSUPPORTED,
                      "the Unicode property \\p{%.*s} is not supported: general categories are",
                      n > 40 ? 40 : (int)n, name);
    for (int32_t code = 0, from = -1; bits && code <= 0x110000; code++) {
        bool is_in = code <= 0x10FFFF && bits >> utf8proc_category(code) & 1;
        if (is_in && from < 0) from = code;
        if (!is_in && from >= 0) {
            TRY(code_set_add(&p->part, from, code - 1));
            from = -1;
        }
    }
    p->at += n + 1;
    return WEFT_OK;
}

/* After \c: a letter, which stands for a control character. */
static weft_status take_control(parser *p, int32_t *code) {
    int c = peek(p) | 0x20;
    if (c < 'a' || c > 'z') return refuse(p, WEFT_FORMAT, "\\c needs a letter");
    p->at++;
    *code = c & 31;
    return WEFT_OK;
}

/* After a backslash: one character, or (in *named) the letter of a class, whose set is in p->part
 * for \p and \P. */
static weft_status take_escape(parser *p, bool in_class, int32_t *code, int *named) {
    int c = peek(p);
    *named = 0;
    if (c < 0) return refuse(p, WEFT_FORMAT, "the expression ends after a backslash");
    if (c && strchr("dDwWsS", c)) {
        p->at++;
        *named = c;
        return WEFT_OK;
    }
    if (c == 'b' && in_class) c = '\b';
    else if ((c >= '1' && c <= '9') || c == 'k')
        return refuse(p, WEFT_UNSUPPORTED, "the back-reference \\%c is not supported", c);
    p->at++;
    switch (c) {
    case 'p':
    case 'P': *named = c; return take_property(p);
    case 'c': return take_control(p, code);
    case 'x': return take_hex(p, 2, code);
    case 'u': return take_unicode(p, code);
    case 't': *code = '\t'; return WEFT_OK;
    case 'n': *code = '\n'; return WEFT_OK;
    case 'r': *code = '\r'; return WEFT_OK;
    case 'v': *code = '\v'; return WEFT_OK;
    case 'f': *code = '\f'; return WEFT_OK;
    case '0': *code = 0; return WEFT_OK;
    default: break;
    }
    bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c >= 0x80;
    if (is_letter) p->at--;
    *code = c;
    return is_letter
               ? refuse(p, WEFT_UNSUPPORTED, "the escape \\%.1s is not supported", p->text + p->at)
               : WEFT_OK;
}

static weft_status take_char(parser *p, int32_t *code) {
    p->at += (size_t)utf8_decode(p->text + p->at, p->n - p->at, code);
    return *code == UTF8_BAD ? refuse(p, WEFT_FORMAT, "the expression is not UTF-8") : WEFT_OK;
}

static weft_status class_atom(parser *p, int32_t *code, int *named) {
    *named = 0;
    return take(p, "\\") ? take_escape(p, true, code, named) : take_char(p, code);
}

/* After [: up to and with ]. */
static weft_status take_class(parser *p) {
    bool is_negated = take(p, "^");
    p->set.n = 0;
    while (!take(p, "]")) {
        int32_t lo, hi;
        int named;
        if (peek(p) < 0) return refuse(p, WEFT_FORMAT, "a character class is not closed");
        TRY(class_atom(p, &lo, &named));
        if (named) {
            TRY(add_named(p, named, &p->set));
            continue;
        }
        hi = lo;
        if (peek(p) == '-' && p->at + 1 < p->n && p->text[p->at + 1] != ']') {
            p->at++;
            TRY(class_atom(p, &hi, &named));
            if (named || hi < lo) return refuse(p, WEFT_FORMAT, "a range of characters is wrong");
        }
        TRY(code_set_add(&p->set, lo, hi));
    }
    if (is_negated) return code_set_invert(&p->set);
    code_set_tidy(&p->set);
    return WEFT_OK;
}

/* ---- structure ------------------------------------------------------------------------------- */

/* Any text, at an end without an anchor. */
static weft_status put_anything(parser *p) {
    nfa_frag any = {0};
    p->set.n = 0;
    TRY(code_set_add(&p->set, 0, 0x10FFFF));
    TRY(nfa_class(p->b, &p->set, &any));
    TRY(nfa_repeat(p->b, &any, 0, -1));
    nfa_concat(p->b, &p->levels[p->n_levels - 1].sequence, &any);
    return WEFT_OK;
}

static weft_status begin_alternative(parser *p) {
    level *l = &p->levels[p->n_levels - 1];
    bool is_behind = l->look == LOOK_BEHIND || l->look == LOOK_NOT_BEHIND;
    TRY(nfa_empty(p->b, &l->sequence));
    if (is_behind) return put_anything(p);
    if (p->n_levels > 1 || take(p, "^") || p->mode == REGEX_WHOLE) return WEFT_OK;
    return put_anything(p);
}

static weft_status end_alternative(parser *p, bool has_anchor) {
    if (p->n_levels == 1 && p->mode == REGEX_SEARCH && !has_anchor) TRY(put_anything(p));
    level *l = &p->levels[p->n_levels - 1];
    if (l->has_alternatives) TRY(nfa_either(p->b, &l->alternatives, &l->sequence));
    else l->alternatives = l->sequence;
    l->has_alternatives = true;
    return WEFT_OK;
}

static weft_status open_level(parser *p, look look) {
    if (p->n_levels == MOST_DEPTH)
        return refuse(p, WEFT_LIMIT, "groups are nested more than %d deep", MOST_DEPTH);
    TRY(mem_reserve((void **)&p->levels, &p->levels_capacity, p->n_levels + 1, sizeof *p->levels));
    p->levels[p->n_levels++] = (level){.look = look, .n_anchors = p->x->n_anchors};
    return begin_alternative(p);
}

/* After "(": the kinds of group. */
static weft_status open_group(parser *p) {
    if (take(p, "?:")) return open_level(p, LOOK_NONE);
    if (take(p, "?=")) return open_level(p, LOOK_AHEAD);
    if (take(p, "?!")) return open_level(p, LOOK_NOT_AHEAD);
    if (take(p, "?<=")) return open_level(p, LOOK_BEHIND);
    if (take(p, "?<!")) return open_level(p, LOOK_NOT_BEHIND);
    if (take(p, "?<")) {
        while (peek(p) >= 0 && peek(p) != '>') p->at++;
        if (!take(p, ">")) return refuse(p, WEFT_FORMAT, "a group's name is not closed");
    } else if (peek(p) == '?')
        return refuse(p, WEFT_UNSUPPORTED, "the group (? is not supported: flags are not");
    return open_level(p, LOOK_NONE);
}

/* ---- items ----------------------------------------------------------------------------------- */

static weft_status take_number(parser *p, int64_t *value) {
    int c = peek(p);
    if (c < '0' || c > '9')
        return refuse(p, WEFT_FORMAT, "a \"{\" that is no repetition must be written \"\\{\"");
    for (*value = 0; (c = peek(p)) >= '0' && c <= '9'; p->at++) {
        *value = *value * 10 + (c - '0');
        if (*value > MOST_REPEAT)
            return refuse(p, WEFT_LIMIT, "a repetition of more than %d", MOST_REPEAT);
    }
    return WEFT_OK;
}

static weft_status take_bounds(parser *p, int64_t *least, int64_t *most) {
    TRY(take_number(p, least));
    *most = *least;
    if (take(p, ",")) {
        *most = -1;
        if (peek(p) != '}') TRY(take_number(p, most));
    }
    if (!take(p, "}")) return refuse(p, WEFT_FORMAT, "a repetition is not closed");
    if (*most >= 0 && *most < *least)
        return refuse(p, WEFT_FORMAT, "a repetition's bounds are backwards");
    return WEFT_OK;
}

/* The quantifier after an item, if any; then the item goes to the end of the sequence. */
static weft_status end_item(parser *p, nfa_frag *item) {
    int64_t least = 1, most = 1;
    if (take(p, "*")) least = 0, most = -1;
    else if (take(p, "+")) most = -1;
    else if (take(p, "?")) least = 0;
    else if (take(p, "{")) TRY(take_bounds(p, &least, &most));
    else {
        nfa_concat(p->b, &p->levels[p->n_levels - 1].sequence, item);
        return WEFT_OK;
    }
    take(p, "?");
    if (peek(p) == '*' || peek(p) == '+' || peek(p) == '?' || peek(p) == '{')
        return refuse(p, WEFT_FORMAT, "there is nothing before \"%c\" to repeat", peek(p));
    if (nfa_repeat(p->b, item, least, most) != WEFT_OK)
        return refuse(p, error_status(), "more than %d states: too many or too large repetitions",
                      NFA_MOST_NODES);
    nfa_concat(p->b, &p->levels[p->n_levels - 1].sequence, item);
    return WEFT_OK;
}

/* ---- anchors --------------------------------------------------------------------------------- */

/* An anchor as the sequence's next item; takes over `look`. */
static weft_status put_anchor(parser *p, anchor_kind kind, regular *look) {
    regex *x = p->x;
    nfa_frag item = {0};
    size_t i = 0;
    while (!look && i < x->n_anchors && x->anchors[i].kind != kind) i++;
    if (look) i = x->n_anchors;
    if (i == x->n_anchors) {
        if (x->n_anchors == MOST_ANCHORS)
            return refuse(p, WEFT_LIMIT, "more than %d look-arounds", MOST_ANCHORS);
        TRY(mem_reserve((void **)&x->anchors, &x->anchors_capacity, i + 1, sizeof *x->anchors));
        x->anchors[x->n_anchors++] = (anchor){.kind = kind};
        if (look) x->anchors[i].look = *look;
        if (look) *look = (regular){0};
    }
    TRY(nfa_call(p->b, (int32_t)i, &item));
    nfa_concat(p->b, &p->levels[p->n_levels - 1].sequence, &item);
    int c = peek(p);
    if (c > 0 && strchr("*+?{", c))
        return refuse(p, WEFT_FORMAT, "an anchor or look-around before \"%c\" is not repeated", c);
    return WEFT_OK;
}

/* What a look-around's group allows, as an automaton of its own. */
static weft_status make_look(parser *p, const level *l, regular *look) {
    nfa_frag f = l->alternatives, any = {0};
    const regex *x = p->x;
    bool is_behind = l->look == LOOK_BEHIND || l->look == LOOK_NOT_BEHIND;
    for (size_t i = 0; i < x->n_anchors; i++) {
        anchor_kind kind = x->anchors[i].kind;
        bool is_inside = false;
        for (int32_t k = f.begin; k < f.end; k++)
            is_inside |= p->b->nodes[k].kind == NFA_CALL && p->b->nodes[k].arg == (int32_t)i;
        if (is_inside && is_behind && kind != ANCHOR_BEGIN)
            return refuse(p, WEFT_UNSUPPORTED, "only ^ is supported as an anchor in look-behind");
        if (is_inside && (kind == ANCHOR_BEHIND || kind == ANCHOR_NOT_BEHIND))
            return refuse(p, WEFT_UNSUPPORTED, "look-behind in look-ahead is not supported");
    }
    if (!is_behind) {
        TRY(nfa_byte(p->b, 0, 255, &any));
        TRY(nfa_repeat(p->b, &any, 0, -1));
        nfa_concat(p->b, &f, &any);
    }
    weft_status status = regular_make(p->b, &f, x->anchors, x->n_anchors, look);
    if (status == WEFT_OK && l->look == LOOK_NOT_AHEAD) status = regular_invert(look);
    return status == WEFT_OK ? WEFT_OK : refuse(p, status, "look-around: %s", weft_message());
}

/* At ")". */
static weft_status close_group(parser *p) {
    level l = p->levels[--p->n_levels];
    regular look = {0};
    if (l.look == LOOK_NONE) return end_item(p, &l.alternatives);
    weft_status status = make_look(p, &l, &look);
    p->b->n = (size_t)l.alternatives.begin;
    anchor_kind kind = l.look == LOOK_BEHIND       ? ANCHOR_BEHIND
                       : l.look == LOOK_NOT_BEHIND ? ANCHOR_NOT_BEHIND
                                                   : ANCHOR_AHEAD;
    if (status == WEFT_OK) status = put_anchor(p, kind, &look);
    regular_free(&look);
    return status;
}

static weft_status take_item(parser *p) {
    nfa_frag item = {0};
    int32_t code = 0;
    int named = 0, c = peek(p);
    p->set.n = 0;
    if (c > 0 && strchr("*+?{", c))
        return refuse(p, WEFT_FORMAT, "there is nothing before \"%c\" to repeat", c);
    if (take(p, "^")) return put_anchor(p, ANCHOR_BEGIN, NULL);
    if (take(p, "$")) return put_anchor(p, ANCHOR_END, NULL);
    if (take(p, "\\b")) return put_anchor(p, ANCHOR_WORD, NULL);
    if (take(p, "\\B")) return put_anchor(p, ANCHOR_NOT_WORD, NULL);
    if (take(p, "[")) TRY(take_class(p));
    else if (take(p, ".")) {
        static const code_range ends[] = {{'\n', '\n'}, {'\r', '\r'}, {0x2028, 0x2029}};
        TRY(add_ranges(&p->set, ends, 3));
        TRY(code_set_invert(&p->set));
    } else {
        if (take(p, "\\")) TRY(take_escape(p, false, &code, &named));
        else TRY(take_char(p, &code));
        if (named) TRY(add_named(p, named, &p->set));
        else TRY(code_set_add(&p->set, code, code));
        code_set_tidy(&p->set);
    }
    TRY(nfa_class(p->b, &p->set, &item));
    return end_item(p, &item);
}

static weft_status parse(parser *p, nfa_frag *f) {
    TRY(open_level(p, LOOK_NONE));
    bool has_anchor = false;
    while (peek(p) >= 0) {
        bool is_last = p->at + 1 == p->n || p->text[p->at + 1] == '|';
        if (take(p, "|")) {
            TRY(end_alternative(p, has_anchor));
            has_anchor = false;
            TRY(begin_alternative(p));
        } else if (peek(p) == ')' && p->n_levels > 1) {
            p->at++;
            TRY(end_alternative(p, false));
            TRY(close_group(p));
        } else if (take(p, "(")) TRY(open_group(p));
        else if (peek(p) == ')') return refuse(p, WEFT_FORMAT, "\")\" closes no group");
        else if (peek(p) == '$' && p->n_levels == 1 && is_last) {
            p->at++;
            has_anchor = true;
        } else TRY(take_item(p));
    }
    if (p->n_levels > 1) return refuse(p, WEFT_FORMAT, "a group is not closed");
    TRY(end_alternative(p, has_anchor));
    *f = p->levels[0].alternatives;
    return WEFT_OK;
}

weft_status regex_parse(const char *text, size_t n, regex_mode mode, regex *out) {
    *out = (regex){0};
    parser p = {.text = text, .n = n, .mode = mode, .x = out, .b = &out->b};
    weft_status status = parse(&p, &out->f);
    mem_free(p.levels);
    code_set_free(&p.set);
    code_set_free(&p.part);
    if (status != WEFT_OK) regex_free(out);
    return status;
}

void regex_free(regex *x) {
    for (size_t i = 0; i < x->n_anchors; i++) regular_free(&x->anchors[i].look);
    mem_free(x->anchors);
    nfa_builder_free(&x->b);
    *x = (regex){0};
}

weft_status regex_make(const char *text, size_t n, regex_mode mode, regular *out) {
    regex x;
    TRY(regex_parse(text, n, mode, &x));
    weft_status status = regular_make(&x.b, &x.f, x.anchors, x.n_anchors, out);
    regex_free(&x);
    return status == WEFT_OK ? WEFT_OK : error_prefix(status, "regular expression");
}

weft_status regex_build(nfa_builder *b, const char *text, size_t n, nfa_frag *f) {
    spelling plain = {.is_inline = true};
    regex x;
    TRY(regex_parse(text, n, REGEX_WHOLE, &x));
    weft_status status = spelling_copy(&plain, b, &x.b, &x.f, f);
    regex_free(&x);
    return status;
}

/* An expression as a fragment; with anchors by way of an automaton. */
static weft_status build(nfa_builder *b, const regex *x, nfa_frag *f) {
    spelling plain = {.is_inline = true};
    if (!x->n_anchors) return spelling_copy(&plain, b, &x->b, &x->f, f);
    regular r;
    regular_all all = {.least = 0, .most = -1};
    TRY(regular_make(&x->b, &x->f, x->anchors, x->n_anchors, &r));
    weft_status status = regular_all_add(&all, &r, false);
    if (status == WEFT_OK) status = regular_emit(&all, &plain, b, f);
    regular_free(&r);
    return status;
}

weft_status grammar_open_regex(const char *text, size_t n, grammar **out) {
    REQUIRE(text && out, WEFT_INVALID, "the regular expression is NULL");
    nfa_builder b = {0};
    nfa_frag f = {0};
    regex x;
    TRY(regex_parse(text, n, REGEX_WHOLE, &x));
    int32_t root = nfa_rule_add(&b, "expression", 10);
    weft_status status = root < 0 ? WEFT_NO_MEMORY : build(&b, &x, &f);
    if (status == WEFT_LIMIT) error_prefix(status, "regular expression");
    if (status == WEFT_OK) status = nfa_rule_define(&b, root, &f);
    if (status == WEFT_OK) status = nfa_finish(&b, root, out);
    nfa_builder_free(&b);
    regex_free(&x);
    return status;
}
