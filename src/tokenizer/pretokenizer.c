/* Each rule's expressions are compiled once; a piece goes through them one after the other, as
 * Hugging Face's sequences of "isolated" splits do. See pattern.h for PCRE2.
 * SPDX-License-Identifier: MIT */
#include "tokenizer/pretokenizer.h"

#include <stdint.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"

enum { MAX_STEPS = 6 };

typedef struct rule {
    const char *source, *steps[MAX_STEPS];
} rule;

enum {
#define PRE_RULE(name, source, ...) RULE_##name,
#define PRE_NAME(name, rule, flags)
#define PRE_PUBLISHED(rule, ...)
#include "tokenizer/pretokenizers.def"
#undef PRE_RULE
#undef PRE_NAME
#undef PRE_PUBLISHED
};

static const rule rules[] = {
#define PRE_RULE(name, source, ...) [RULE_##name] = {source, {__VA_ARGS__}},
#define PRE_NAME(name, rule, flags)
#define PRE_PUBLISHED(rule, ...)
#include "tokenizer/pretokenizers.def"
#undef PRE_RULE
#undef PRE_NAME
#undef PRE_PUBLISHED
};

static const struct {
    const char *name;
    int rule, flags;
} names[] = {
#define PRE_RULE(name, source, ...)
#define PRE_NAME(name, rule, flags) {name, RULE_##rule, flags},
#define PRE_PUBLISHED(rule, ...)
#include "tokenizer/pretokenizers.def"
#undef PRE_RULE
#undef PRE_NAME
#undef PRE_PUBLISHED
};

static const struct {
    int rule;
    const char *steps[MAX_STEPS];
} published[] = {
#define PRE_RULE(name, source, ...)
#define PRE_NAME(name, rule, flags)
#define PRE_PUBLISHED(rule, ...) {RULE_##rule, {__VA_ARGS__}},
#include "tokenizer/pretokenizers.def"
#undef PRE_RULE
#undef PRE_NAME
#undef PRE_PUBLISHED
};

typedef struct step {
    pattern *pattern;
    bool cuts_threes, keeps_neighbours; /* expressions that begin with '@', with '@' and '+' */
} step;

struct pretokenizer {
    step steps[MAX_STEPS];
    int n_steps;
};

static int find_name(const char *name) {
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(names[i].name, name)) return (int)i;
    return -1;
}

bool pretokenizer_find(const char *name, int *flags) {
    int i = find_name(name);
    if (i >= 0) *flags = names[i].flags;
    return i >= 0;
}

const char *pretokenizer_name(size_t i) {
    return i < sizeof names / sizeof *names ? names[i].name : NULL;
}

const char *pretokenizer_gpt2(void) { return rules[RULE_gpt2].steps[0]; }

/* The next place of an expression that is no spelling of ours: a '+' that makes a quantifier
 * possessive, "sc:" in front of a script, a look-behind in front of a run of spaces. */
static const char *skip_spelling(const char *begin, const char *p) {
    if (*p == '+' && p > begin + 1 && strchr("+*?}", p[-1]) && p[-2] != '\\') return p + 1;
    if (p == begin && !strncmp(p, "(?<!\\s)", 7)) return p + 7;
    return p >= begin + 3 && !strncmp(p - 3, "\\p{sc:", 6) ? p + 3 : p;
}

/* One character, "\\n" and the like undone: files have either. */
static char take_letter(const char **p) {
    static const char from[] = "rnt", to[] = "\r\n\t";
    const char *known = **p == '\\' && (*p)[1] ? strchr(from, (*p)[1]) : NULL;
    if (known) *p += 2;
    return known ? to[known - from] : **p ? *(*p)++ : 0;
}

static bool same_expression(const char *row, const char *other) {
    const char *a = row, *b = other;
    for (;;) {
        a = skip_spelling(row, a);
        b = skip_spelling(other, b);
        char letter = take_letter(&a);
        if (letter != take_letter(&b)) return false;
        if (!letter) return true;
    }
}

static bool same_steps(const char *const *steps, const char *const *expressions, size_t n) {
    if (n > MAX_STEPS || (n < MAX_STEPS && steps[n])) return false;
    for (size_t i = 0; i < n; i++)
        if (!steps[i] || !same_expression(steps[i], expressions[i])) return false;
    return true;
}

const char *pretokenizer_match(const char *const *expressions, size_t n, int flags) {
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        int rule = names[i].rule;
        bool fits = same_steps(rules[rule].steps, expressions, n);
        for (size_t k = 0; k < sizeof published / sizeof *published; k++)
            fits |= published[k].rule == rule && same_steps(published[k].steps, expressions, n);
        fits &= !(names[i].flags & PRE_CHARACTERS) && rule != RULE_unnamed;
        if (fits && !((names[i].flags ^ flags) & PRE_WHOLE_WORDS)) return names[i].name;
    }
    return NULL;
}

/* Copies an expression with every \s and \S spelled out. */
static weft_status spell_out(const char *expression, str *out) {
    bool in_class = false;
    for (const char *p = expression; *p; p++) {
        if (*p == '\\' && (p[1] == 's' || p[1] == 'S')) {
            const char *before = in_class ? "" : p[1] == 's' ? "[" : "[^";
            TRY(str_format(out, "%s%s%s", before, PATTERN_SPACES, in_class ? "" : "]"));
            p++;
        } else if (*p == '\\') {
            TRY(str_append(out, p++, 2));
        } else {
            if (*p == '[') in_class = true;
            if (*p == ']') in_class = false;
            TRY(str_char(out, *p));
        }
    }
    return WEFT_OK;
}

static weft_status compile(pretokenizer *p, const char *expression, bool jit) {
    step *s = &p->steps[p->n_steps++];
    s->cuts_threes = expression[0] == '@';
    s->keeps_neighbours = s->cuts_threes && expression[1] == '+';
    str text = {0};
    weft_status status = spell_out(expression + s->cuts_threes + s->keeps_neighbours, &text);
    if (status == WEFT_OK) status = pattern_open(text.data, text.n, jit, &s->pattern);
    str_free(&text);
    return status;
}

weft_status pretokenizer_open(const char *name, bool jit, pretokenizer **out) {
    *out = NULL;
    int i = find_name(name);
    REQUIRE(i >= 0, WEFT_UNSUPPORTED, "unknown pre-tokenizer \"%s\"", name);
    pretokenizer *p = mem_alloc(sizeof *p);
    if (!p) return WEFT_NO_MEMORY;
    weft_status status = WEFT_OK;
    const rule *r = &rules[names[i].rule];
    for (int k = 0; k < MAX_STEPS && r->steps[k] && status == WEFT_OK; k++)
        status = compile(p, r->steps[k], jit);
    if (status != WEFT_OK) {
        pretokenizer_close(p);
        return status;
    }
    *out = p;
    return WEFT_OK;
}

void pretokenizer_close(pretokenizer *p) {
    if (!p) return;
    for (int i = 0; i < p->n_steps; i++) pattern_close(p->steps[i].pattern);
    mem_free(p);
}

typedef struct split {
    const pretokenizer *p;
    const pattern_work *w;
    pre_word word;
    void *context;
} split;

static weft_status split_from(const split *s, int k, const char *text, size_t n);

/* Length in bytes of the character that begins with this byte of valid UTF-8. */
static size_t character_bytes(char c) {
    uint8_t byte = (uint8_t)c;
    return byte < 0x80 ? 1 : byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4;
}

/* Cuts the run text[from..to) into threes from its right, and the text before it off unless the
 * first digits are to stay with it. *begin: where the piece now open begins. */
static weft_status split_threes(const split *s, int k, const char *text, size_t from, size_t to,
                                size_t *begin) {
    bool is_open = s->p->steps[k].keeps_neighbours;
    size_t n_characters = 0, at = from;
    for (size_t i = from; i < to; i += character_bytes(text[i])) n_characters++;
    if (!is_open) TRY(split_from(s, k + 1, text + *begin, from - *begin));
    if (!is_open) *begin = from;
    for (size_t i = 0; at < to; i++, at += character_bytes(text[at])) {
        if ((n_characters - i) % 3 || at == *begin) continue;
        TRY(split_from(s, k + 1, text + *begin, at - *begin));
        *begin = at;
    }
    if (is_open) return WEFT_OK;
    TRY(split_from(s, k + 1, text + *begin, to - *begin));
    *begin = to;
    return WEFT_OK;
}

/* The depth of the recursion is the number of a rule's expressions. */
static weft_status split_from(const split *s, int k, const char *text, size_t n) {
    if (!n) return WEFT_OK;
    if (k == s->p->n_steps) return s->word(s->context, text, n);
    const step *step = &s->p->steps[k];
    size_t begin = 0, at = 0, from, to;
    while (at < n) {
        bool found;
        TRY(pattern_find(step->pattern, s->w, text, n, at, &found, &from, &to));
        if (!found) break;
        if (step->cuts_threes) {
            TRY(split_threes(s, k, text, from, to, &begin));
        } else {
            TRY(split_from(s, k + 1, text + begin, from - begin));
            TRY(split_from(s, k + 1, text + from, to - from));
            begin = to;
        }
        at = to > from ? to : to + (to < n ? character_bytes(text[to]) : 1);
    }
    return split_from(s, k + 1, text + begin, n - begin);
}

weft_status pretokenizer_split(const pretokenizer *p, pattern_work *w, const char *text, size_t n,
                               pre_word word, void *context) {
    split s = {p, w, word, context};
    return split_from(&s, 0, text, n);
}
