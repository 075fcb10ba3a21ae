/* The pre-tokenizers of a tokenizer.json. A piece goes through the steps depth first: a step hands
 * each of its pieces to the next one as it finds it, so that no list of pieces is kept. Most steps
 * find matches (of an expression, of a literal, of a kind of character) and differ in what becomes
 * of them. Source of the rules: huggingface/tokenizers, src/pre_tokenizers and
 * src/tokenizer/normalizer.rs. See hub_steps.h.
 * SPDX-License-Identifier: MIT */
#include <string.h>

#include "base/utf8.h"
#include "tokenizer/hub_steps.h"
#include "tokenizer/letters.h"
#include "tokenizer/pretokenizer.h"
#include "tokenizer/vocab.h"

typedef struct step {
    part_type type;
    split_behavior behavior;
    prepend_scheme scheme;
    bool inverts, splits, adds_space, keeps_bytes;
    size_t length;               /* FixedLength */
    bool (*is_match)(int32_t c); /* characters that match, each for itself, or */
    pattern *pattern;            /* what matches, or */
    token_text text;             /* a text that does; Metaspace: its mark */
} step;

struct hub_splitter {
    step *steps;
    size_t n, capacity;
    mem_arena arena;
};

typedef struct run {
    const hub_splitter *s;
    hub_split_work *w;
    hub_word word;
    void *context;
} run;

static weft_status run_from(const run *r, size_t k, hub_piece piece);

static size_t character_bytes(const char *text, size_t n) {
    int32_t code;
    return (size_t)utf8_decode(text, n, &code);
}

static weft_status pass_on(const run *r, size_t k, hub_piece whole, size_t from, size_t to) {
    if (from == to) return WEFT_OK;
    size_t first = whole.first > from ? whole.first - from : 0;
    return run_from(
        r, k + 1, (hub_piece){whole.text + from, to - from, first < to - from ? first : to - from});
}

/* ---- what becomes of matches
 * --------------------------------------------------------------------------- */

/* The ranges of a text that match and the ones between, in order; `pending` is a piece that the
 * next range may yet join. */
typedef struct cutter {
    const run *r;
    size_t k;
    hub_piece whole;
    bool has_pending, pending_is_match;
    size_t from, to;
} cutter;

static weft_status flush(cutter *c) {
    if (!c->has_pending) return WEFT_OK;
    c->has_pending = false;
    return pass_on(c->r, c->k, c->whole, c->from, c->to);
}

static weft_status hold(cutter *c, size_t from, size_t to, bool is_match) {
    TRY(flush(c));
    c->has_pending = true;
    c->pending_is_match = is_match;
    c->from = from;
    c->to = to;
    return WEFT_OK;
}

static weft_status add_range(cutter *c, size_t from, size_t to, bool is_match) {
    const step *s = &c->r->s->steps[c->k];
    is_match ^= s->inverts;
    bool joins;
    switch (s->behavior) {
    case SPLIT_REMOVED: return is_match ? WEFT_OK : pass_on(c->r, c->k, c->whole, from, to);
    case SPLIT_ISOLATED: return pass_on(c->r, c->k, c->whole, from, to);
    case SPLIT_CONTIGUOUS: joins = is_match == c->pending_is_match; break;
    case SPLIT_WITH_PREVIOUS: joins = is_match && !c->pending_is_match; break;
    default: joins = !is_match && c->pending_is_match; break;
    }
    if (!joins || !c->has_pending) return hold(c, from, to, is_match);
    c->to = to;
    c->pending_is_match = is_match;
    return WEFT_OK;
}

static weft_status cut_at_characters(cutter *c) {
    const step *s = &c->r->s->steps[c->k];
    const char *text = c->whole.text;
    size_t done = 0, n = c->whole.n;
    for (size_t at = 0, bytes; at < n; at += bytes) {
        int32_t code = (uint8_t)text[at];
        bytes = code < 0x80 ? 1 : (size_t)utf8_decode(text + at, n - at, &code);
        bool is_match = s->is_match ? s->is_match(code)
                                    : s->text.n == bytes && !memcmp(s->text.data, text + at, bytes);
        if (!is_match) continue;
        if (done < at) TRY(add_range(c, done, at, false));
        done = at + bytes;
        TRY(add_range(c, at, done, true));
    }
    if (done < n) TRY(add_range(c, done, n, false));
    return flush(c);
}

static weft_status cut_at_matches(cutter *c) {
    const step *s = &c->r->s->steps[c->k];
    size_t at = 0, last = SIZE_MAX, from, to, done = 0, n = c->whole.n;
    for (;;) {
        bool found;
        TRY(hub_next_match(s->pattern, s->text, c->r->w->patterns, c->whole.text, n, &at, &last,
                           &found, &from, &to));
        if (!found) break;
        if (done < from) TRY(add_range(c, done, from, false));
        TRY(add_range(c, from, to, true));
        done = to;
    }
    if (done < n) TRY(add_range(c, done, n, false));
    return flush(c);
}

/* ---- steps that write the text anew
 * -------------------------------------------------------------------- */

weft_status hub_spell_bytes(const char *text, size_t n, str *out) {
    for (size_t i = 0; i < n; i++) {
        char letter[4];
        int bytes = utf8_encode(byte_alphabet_code((uint8_t)text[i]), letter);
        TRY(str_append(out, letter, (size_t)bytes));
    }
    return WEFT_OK;
}

/* The second half of ByteLevel, for one of its words. */
static weft_status spell(const run *r, size_t k, hub_piece piece) {
    if (r->s->steps[k].keeps_bytes) return r->word(r->context, piece.text, piece.n);
    str *out = &r->w->scratch[2 * k];
    str_clear(out);
    TRY(hub_spell_bytes(piece.text, piece.first, out));
    size_t first = out->n;
    TRY(hub_spell_bytes(piece.text + piece.first, piece.n - piece.first, out));
    return run_from(r, k + 1, (hub_piece){out->data, out->n, first});
}

static weft_status begin_byte_level(const run *r, size_t k, hub_piece *piece) {
    if (!r->s->steps[k].adds_space || piece->text[0] == ' ') return WEFT_OK;
    str *out = &r->w->scratch[2 * k + 1];
    str_clear(out);
    TRY(str_char(out, ' '));
    TRY(str_append(out, piece->text, piece->n));
    *piece = (hub_piece){out->data, out->n, piece->first ? piece->first + 1 : 0};
    return WEFT_OK;
}

static weft_status byte_level(const run *r, size_t k, hub_piece piece) {
    const step *s = &r->s->steps[k];
    TRY(begin_byte_level(r, k, &piece));
    if (!s->pattern) return spell(r, k, piece);
    /* GPT-2's expression leaves nothing between its matches. */
    for (size_t at = 0, from, to; at < piece.n; at = to) {
        bool found;
        TRY(pattern_find(s->pattern, r->w->patterns, piece.text, piece.n, at, &found, &from, &to));
        if (!found || to == from) break;
        size_t first = piece.first > from ? piece.first - from : 0;
        if (first > to - from) first = to - from;
        TRY(spell(r, k, (hub_piece){piece.text + from, to - from, first}));
    }
    return WEFT_OK;
}

static weft_status metaspace(const run *r, size_t k, hub_piece piece) {
    const step *s = &r->s->steps[k];
    str *out = &r->w->scratch[2 * k];
    str_clear(out);
    bool begins = piece.text[0] == ' ' ||
                  (piece.n >= s->text.n && !memcmp(piece.text, s->text.data, s->text.n));
    bool adds = s->scheme == PREPEND_ALWAYS || (s->scheme == PREPEND_FIRST && piece.first);
    if (adds && !begins) TRY(str_append(out, s->text.data, s->text.n));
    size_t first = 0;
    for (size_t at = 0; at < piece.n;) {
        const char *space = memchr(piece.text + at, ' ', piece.n - at);
        size_t end = space ? (size_t)(space - piece.text) : piece.n;
        if (at < piece.first) first = out->n + (piece.first < end ? piece.first - at : end - at);
        TRY(str_append(out, piece.text + at, end - at));
        if (space) TRY(str_append(out, s->text.data, s->text.n));
        if (space && end < piece.first) first = out->n;
        at = end + (space != NULL);
    }
    piece = (hub_piece){out->data, out->n, first};
    cutter c = {.r = r, .k = k, .whole = piece};
    return s->splits ? cut_at_characters(&c) : pass_on(r, k, piece, 0, piece.n);
}

static weft_status fixed_length(const run *r, size_t k, hub_piece piece) {
    size_t begin = 0, count = 0;
    for (size_t at = 0; at < piece.n;) {
        at += character_bytes(piece.text + at, piece.n - at);
        if (++count < r->s->steps[k].length && at < piece.n) continue;
        TRY(pass_on(r, k, piece, begin, at));
        begin = at;
        count = 0;
    }
    return WEFT_OK;
}

/* The depth of the recursion is the number of steps. */
static weft_status run_from(const run *r, size_t k, hub_piece piece) {
    if (!piece.n) return WEFT_OK;
    if (k == r->s->n) return r->word(r->context, piece.text, piece.n);
    const step *s = &r->s->steps[k];
    cutter c = {.r = r, .k = k, .whole = piece};
    switch (s->type) {
    case SPLIT_BYTE_LEVEL: return byte_level(r, k, piece);
    case SPLIT_METASPACE: return metaspace(r, k, piece);
    case SPLIT_LENGTH: return fixed_length(r, k, piece);
    case SPLIT_PATTERN:
    case SPLIT_SCRIPTS:
    case SPLIT_WHITESPACE: return cut_at_matches(&c);
    default: return cut_at_characters(&c);
    }
}

weft_status hub_split(const hub_splitter *s, hub_split_work *w, hub_piece piece, hub_word word,
                      void *context) {
    run r = {s, w, word, context};
    return run_from(&r, 0, piece);
}

/* ---- opening
 * -------------------------------------------------------------------------------------------- */

static weft_status add_step(hub_splitter *s, part_type type, step **out) {
    void *steps = s->steps;
    weft_status status = mem_reserve(&steps, &s->capacity, s->n + 1, sizeof *s->steps);
    s->steps = steps;
    TRY(status);
    *out = &s->steps[s->n++];
    **out = (step){.type = type, .behavior = SPLIT_ISOLATED};
    return WEFT_OK;
}

static weft_status compile(step *s, const char *expression) {
    return pattern_open(expression, strlen(expression), true, &s->pattern);
}

static weft_status copy_text(hub_splitter *s, token_text text, token_text *out) {
    char *copy = arena_string(&s->arena, text.n ? text.data : "", text.n);
    if (!copy) return WEFT_NO_MEMORY;
    *out = (token_text){copy, text.n};
    return WEFT_OK;
}

/* GPT-2's expression with \s spelled out. */
static weft_status compile_gpt2(step *s) {
    const char *expression = pretokenizer_gpt2();
    str text = {0};
    weft_status status = pattern_translate(expression, strlen(expression), &text);
    if (status == WEFT_OK) status = compile(s, str_text(&text));
    str_free(&text);
    return status;
}

/* A step that matches characters. */
static weft_status add_characters(hub_splitter *s, part_type type, bool (*is_match)(int32_t),
                                  split_behavior behavior) {
    step *x;
    TRY(add_step(s, type, &x));
    x->is_match = is_match;
    x->behavior = behavior;
    return WEFT_OK;
}

/* Runs of one script, where Hiragana and Katakana count as Han, and a space and characters without
 * a script go with what is before them. What comes before the first script is dropped, as
 * `tokenizers` drops it. */
static weft_status compile_scripts(step *s) {
    static const char *const scripts[] = {
#define SCRIPT(name) #name,
#include "tokenizer/scripts.def"
#undef SCRIPT
    };
    static const char any[] = " \\p{sc:Unknown}", han[] = "\\p{sc:Han}\\p{sc:Hiragana}"
                                                          "\\p{sc:Katakana}\\x{30FC}";
    str text = {0};
    weft_status status = str_format(&text, "[%s][%s%s]*", han, han, any);
    for (size_t i = 0; i < sizeof scripts / sizeof *scripts && status == WEFT_OK; i++)
        status = str_format(&text, "|(?![ \\x{30FC}])\\p{sc:%s}(?:(?!\\x{30FC})[\\p{sc:%s}%s])*",
                            scripts[i], scripts[i], any);
    if (status == WEFT_OK) status = compile(s, str_text(&text));
    str_free(&text);
    return status;
}

static weft_status open_matches(hub_splitter *s, const part *p) {
    step *x;
    TRY(add_step(s, p->type, &x));
    x->behavior = p->behavior;
    x->inverts = p->inverts;
    if (p->type == SPLIT_PATTERN) {
        TRY(copy_text(s, p->pattern, &x->text));
        return hub_compile(p, &x->pattern);
    }
    x->behavior = SPLIT_REMOVED;
    x->inverts = true;
    if (p->type == SPLIT_SCRIPTS) return compile_scripts(x);
    return compile(x,
                   "[\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}\\x{200C}\\x{200D}]+|"
                   "[^\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}\\x{200C}\\x{200D}" PATTERN_SPACES "]+");
}

static weft_status open_rewriting(hub_splitter *s, const part *p, bool keeps_bytes) {
    step *x;
    TRY(add_step(s, p->type, &x));
    x->adds_space = p->adds_space;
    x->keeps_bytes = keeps_bytes;
    x->scheme = p->scheme;
    x->splits = p->splits;
    x->length = p->start;
    if (p->type == SPLIT_BYTE_LEVEL) return p->uses_regex ? compile_gpt2(x) : WEFT_OK;
    x->behavior = SPLIT_WITH_NEXT; /* Metaspace */
    return copy_text(s, p->content, &x->text);
}

static weft_status open_part(hub_splitter *s, const part *p, bool keeps_bytes) {
    step *x;
    switch (p->type) {
    case SPLIT_SPACES: return add_characters(s, p->type, letter_is_space, SPLIT_REMOVED);
    case SPLIT_DIGITS:
        return add_characters(s, p->type, letter_is_number,
                              p->is_individual ? SPLIT_ISOLATED : SPLIT_CONTIGUOUS);
    case SPLIT_PUNCTUATION: return add_characters(s, p->type, letter_is_punctuation, p->behavior);
    case SPLIT_BERT:
        TRY(add_characters(s, p->type, letter_is_space, SPLIT_REMOVED));
        return add_characters(s, p->type, letter_is_punctuation, SPLIT_ISOLATED);
    case SPLIT_DELIMITER:
        TRY(add_step(s, p->type, &x));
        x->behavior = SPLIT_REMOVED;
        return copy_text(s, p->content, &x->text);
    case SPLIT_PATTERN:
    case SPLIT_SCRIPTS:
    case SPLIT_WHITESPACE: return open_matches(s, p);
    default: return open_rewriting(s, p, keeps_bytes);
    }
}

weft_status hub_splitter_open(const part_list *parts, bool keeps_bytes, hub_splitter **out) {
    *out = NULL;
    hub_splitter *s = mem_alloc(sizeof *s);
    if (!s) return WEFT_NO_MEMORY;
    weft_status status = WEFT_OK;
    for (size_t i = 0; i < parts->n && status == WEFT_OK; i++) {
        status = open_part(s, &parts->items[i], keeps_bytes && i + 1 == parts->n);
        if (status != WEFT_OK) error_prefix(status, "pre_tokenizer: %s", parts->items[i].name);
    }
    if (status != WEFT_OK) {
        hub_splitter_close(s);
        return status;
    }
    *out = s;
    return WEFT_OK;
}

void hub_splitter_close(hub_splitter *s) {
    if (!s) return;
    for (size_t i = 0; i < s->n; i++) pattern_close(s->steps[i].pattern);
    mem_free(s->steps);
    arena_free(&s->arena);
    mem_free(s);
}

weft_status hub_split_work_open(const hub_splitter *s, hub_split_work *w) {
    w->scratch = mem_array(2 * s->n, sizeof *w->scratch);
    return w->scratch ? WEFT_OK : WEFT_NO_MEMORY;
}

void hub_split_work_close(const hub_splitter *s, hub_split_work *w) {
    for (size_t i = 0; w->scratch && i < 2 * s->n; i++) str_free(&w->scratch[i]);
    mem_free(w->scratch);
    w->scratch = NULL;
}
