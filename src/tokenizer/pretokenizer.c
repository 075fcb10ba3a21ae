/* Each rule's expressions are compiled once; a piece goes through them one after the other, as
 * Hugging Face's sequences of "isolated" splits do. PCRE2's own \s knows U+180E, which is no white
 * space since Unicode 6.3, so \s is spelled out. The subject is always valid UTF-8, so PCRE2 need
 * not check it.
 * SPDX-License-Identifier: MIT */
#define PCRE2_CODE_UNIT_WIDTH 8
#include "tokenizer/pretokenizer.h"

#include <pcre2.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"

/* White_Space of Unicode's PropList.txt, as the inside of a character class. */
#define WHITE_SPACE                                                                                \
    "\\t-\\r\\x20\\x85\\xA0\\x{1680}\\x{2000}-\\x{200A}\\x{2028}\\x{2029}\\x{202F}\\x{205F}\\x{"   \
    "3000}"

enum { MAX_STEPS = 6, MATCH_LIMIT = 50000000 };

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
    pcre2_code *code;
    bool is_jit;
    bool cuts_threes, keeps_neighbours; /* expressions that begin with '@', with '@' and '+' */
} step;

struct pretokenizer {
    pcre2_general_context *memory;
    step steps[MAX_STEPS];
    int n_steps;
};

struct pre_work {
    pcre2_match_data *match;
    pcre2_match_context *limits;
};

static void *allocate(size_t n, void *context) {
    (void)context;
    return mem_alloc(n);
}

static void release(void *block, void *context) {
    (void)context;
    mem_free(block);
}

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
            TRY(str_format(out, "%s%s%s", before, WHITE_SPACE, in_class ? "" : "]"));
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
    step *s = &p->steps[p->n_steps];
    s->cuts_threes = expression[0] == '@';
    s->keeps_neighbours = s->cuts_threes && expression[1] == '+';
    str text = {0};
    weft_status status = spell_out(expression + s->cuts_threes + s->keeps_neighbours, &text);
    if (status == WEFT_OK) {
        pcre2_compile_context *context = pcre2_compile_context_create(p->memory);
        int error = 0;
        PCRE2_SIZE at = 0;
        if (context) {
            s->code =
                pcre2_compile((PCRE2_SPTR)text.data, text.n,
                              PCRE2_UTF | PCRE2_UCP | PCRE2_DOLLAR_ENDONLY | PCRE2_NO_AUTO_CAPTURE,
                              &error, &at, context);
            pcre2_compile_context_free(context);
        }
        if (!s->code && (!context || error == PCRE2_ERROR_HEAP_FAILED))
            status = error_set(WEFT_NO_MEMORY, "no memory for a pre-tokenizer's expression");
        else if (!s->code)
            status = error_set(WEFT_UNSUPPORTED,
                               "PCRE2 refuses a pre-tokenizer's expression (error %d at %zu)",
                               error, at);
    }
    str_free(&text);
    TRY(status);
    p->n_steps++;
    s->is_jit = jit && pcre2_jit_compile(s->code, PCRE2_JIT_COMPLETE) == 0;
    return WEFT_OK;
}

weft_status pretokenizer_open(const char *name, bool jit, pretokenizer **out) {
    *out = NULL;
    const char *wish = getenv("WEFT_JIT");
    jit = jit && !(wish && !strcmp(wish, "off"));
    int i = find_name(name);
    REQUIRE(i >= 0, WEFT_UNSUPPORTED, "unknown pre-tokenizer \"%s\"", name);
    pretokenizer *p = mem_alloc(sizeof *p);
    if (!p) return WEFT_NO_MEMORY;
    weft_status status = WEFT_OK;
    p->memory = pcre2_general_context_create(allocate, release, NULL);
    if (!p->memory) status = WEFT_NO_MEMORY;
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
    for (int i = 0; i < p->n_steps; i++) pcre2_code_free(p->steps[i].code);
    pcre2_general_context_free(p->memory);
    mem_free(p);
}

weft_status pre_work_open(const pretokenizer *p, pre_work **out) {
    *out = NULL;
    pre_work *w = mem_alloc(sizeof *w);
    if (!w) return WEFT_NO_MEMORY;
    w->match = pcre2_match_data_create(1, p->memory);
    w->limits = pcre2_match_context_create(p->memory);
    if (!w->match || !w->limits) {
        pre_work_close(w);
        return WEFT_NO_MEMORY;
    }
    pcre2_set_match_limit(w->limits, MATCH_LIMIT);
    *out = w;
    return WEFT_OK;
}

void pre_work_close(pre_work *w) {
    if (!w) return;
    pcre2_match_data_free(w->match);
    pcre2_match_context_free(w->limits);
    mem_free(w);
}

/* Finds the first match at or after `at`: 1 found, 0 none, else PCRE2's error. */
static int find_match(const step *s, const pre_work *w, const char *text, size_t n, size_t at) {
    int result = PCRE2_ERROR_JIT_STACKLIMIT;
    if (s->is_jit)
        result = pcre2_jit_match(s->code, (PCRE2_SPTR)text, n, at, 0, w->match, w->limits);
    /* The interpreter keeps its stack on the heap, so it can do what the machine code's stack
     * cannot. */
    if (result == PCRE2_ERROR_JIT_STACKLIMIT)
        result = pcre2_match(s->code, (PCRE2_SPTR)text, n, at, PCRE2_NO_UTF_CHECK | PCRE2_NO_JIT,
                             w->match, w->limits);
    return result == PCRE2_ERROR_NOMATCH ? 0 : result >= 0 ? 1 : result;
}

typedef struct split {
    const pretokenizer *p;
    const pre_work *w;
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
    const PCRE2_SIZE *range = pcre2_get_ovector_pointer(s->w->match);
    size_t begin = 0, at = 0;
    while (at < n) {
        int found = find_match(step, s->w, text, n, at);
        REQUIRE(found != PCRE2_ERROR_NOMEMORY, WEFT_NO_MEMORY, "no memory to split a text");
        REQUIRE(found >= 0, WEFT_LIMIT,
                "the pre-tokenizer gave up on a piece of %zu bytes (PCRE2 error %d)", n, found);
        if (!found) break;
        size_t from = range[0], to = range[1];
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

weft_status pretokenizer_split(const pretokenizer *p, pre_work *w, const char *text, size_t n,
                               pre_word word, void *context) {
    split s = {p, w, word, context};
    return split_from(&s, 0, text, n);
}
