/* A GGUF's description of a tokenizer.json. Only what a GGUF's tokenizer then encodes alike is
 * described; the few differences that every such conversion makes are in docs/tokenizers.md. See
 * tokenizer_json.h.
 * SPDX-License-Identifier: MIT */
#include <string.h>

#include "base/utf8.h"
#include "tokenizer/hub_describe.h"
#include "tokenizer/pretokenizer.h"
#include "tokenizer/vocab.h"

bool hub_text_is(token_text t, const char *text) {
    return t.n == strlen(text) && !memcmp(t.data, text, t.n);
}

static weft_status copy_text(const describer *d, token_text text, token_text *out) {
    char *copy = arena_string(d->arena, text.data, text.n);
    if (!copy) return WEFT_NO_MEMORY;
    *out = (token_text){copy, text.n};
    return WEFT_OK;
}

static weft_status copy_tokens(describer *d) {
    const hub_spec *s = d->s;
    size_t n = s->n_tokens;
    d->tokens = arena_alloc(d->arena, n * sizeof *d->tokens);
    d->kinds = arena_alloc(d->arena, n * sizeof *d->kinds);
    if (!d->tokens || !d->kinds) return WEFT_NO_MEMORY;
    for (size_t i = 0; i < n; i++) {
        TRY(copy_text(d, s->texts[i], &d->tokens[i]));
        d->kinds[i] = s->origin[i] ? TOKEN_NORMAL : TOKEN_UNUSED;
    }
    for (size_t i = 0; i < s->n_added; i++) {
        const hub_added *a = &s->added[i];
        d->kinds[a->id] = a->is_special ? TOKEN_CONTROL : TOKEN_USER;
        REQUIRE(!a->is_single_word, WEFT_UNSUPPORTED,
                "no GGUF can say that the added token \"%.40s\" must be a word of its own",
                a->text.data);
    }
    d->desc->tokens = d->tokens;
    d->desc->kinds = d->kinds;
    d->desc->n_tokens = n;
    return WEFT_OK;
}

static weft_status copy_strips(const describer *d) {
    uint8_t *strips = NULL;
    for (size_t i = 0; i < d->s->n_added; i++) {
        const hub_added *a = &d->s->added[i];
        if (!a->strips_left && !a->strips_right) continue;
        if (!strips) strips = arena_alloc(d->arena, d->s->n_tokens);
        if (!strips) return WEFT_NO_MEMORY;
        strips[a->id] = (uint8_t)((a->strips_left ? TOKEN_STRIPS_LEFT : 0) |
                                  (a->strips_right ? TOKEN_STRIPS_RIGHT : 0));
    }
    d->desc->strips = strips;
    return WEFT_OK;
}

static weft_status copy_merges(const describer *d) {
    const hub_spec *s = d->s;
    token_text *merges = arena_alloc(d->arena, (s->n_merges + 1) * sizeof *merges);
    if (!merges) return WEFT_NO_MEMORY;
    for (size_t i = 0; i < s->n_merges; i++) {
        token_text left = s->texts[s->merges[i].left], right = s->texts[s->merges[i].right];
        char *text = arena_alloc(d->arena, left.n + right.n + 2);
        if (!text) return WEFT_NO_MEMORY;
        memcpy(text, left.data, left.n);
        text[left.n] = ' ';
        memcpy(text + left.n + 1, right.data, right.n);
        merges[i] = (token_text){text, left.n + right.n + 1};
    }
    d->desc->merges = merges;
    d->desc->n_merges = s->n_merges;
    return WEFT_OK;
}

/* What stands around a text must be the begin and the end token. */
static weft_status describe_marks(const describer *d) {
    const hub_spec *s = d->s;
    tokenizer_desc *desc = d->desc;
    size_t n = s->n_around, at = 0;
    desc->bos = s->bos;
    desc->eos = s->eos;
    desc->eot = -1;
    desc->unk = s->unk;
    desc->sep = s->sep;
    desc->pad = s->pad;
    desc->cls = s->cls;
    desc->mask = s->mask;
    desc->add_bos = n > 1 && s->bos >= 0 && s->around[0] == s->bos;
    desc->add_eos = n > 1 && s->eos >= 0 && s->around[n - 1] == s->eos;
    at += (size_t)desc->add_bos;
    bool is_plain =
        n == 1 + (size_t)desc->add_bos + (size_t)desc->add_eos && s->around[at] == TEMPLATE_TEXT;
    REQUIRE(is_plain, WEFT_UNSUPPORTED,
            "no GGUF can say that a post-processor puts more than a begin and an end token around "
            "a text");
    desc->add_space_prefix = desc->remove_extra_whitespaces = -1;
    return WEFT_OK;
}

/* ---- byte-level BPE
 * ---------------------------------------------------------------------------------- */

/* The expression that cuts as the part does, NULL when there is none. */
static const char *expression_of(const part *p) {
    switch (p->type) {
    case SPLIT_BYTE_LEVEL: return pretokenizer_gpt2();
    case SPLIT_DIGITS: return p->is_individual ? "\\p{N}" : "\\p{N}+";
    case SPLIT_PUNCTUATION:
        return p->behavior == SPLIT_CONTIGUOUS ? "[\\p{P}$+<=>^~|`]+"
               : p->behavior == SPLIT_ISOLATED ? "[\\p{P}!-/:-@\\[-`{-~]"
                                               : NULL;
    case SPLIT_PATTERN:
        /* Matches that are kept where the rest is dropped: the published ones leave no rest. */
        return (p->behavior == SPLIT_ISOLATED && !p->inverts) ||
                       (p->behavior == SPLIT_REMOVED && p->inverts)
                   ? p->pattern.data
                   : NULL;
    default: return NULL;
    }
}

static weft_status find_pre(const describer *d, bool *has_byte_level, const char **name) {
    const part_list *l = &d->s->stages[SPLITTER];
    enum { MAX_STEPS = 16 };
    const char *steps[MAX_STEPS];
    size_t n = 0;
    for (size_t i = 0; i < l->n; i++) {
        const part *p = &l->items[i];
        bool is_last = p->type == SPLIT_BYTE_LEVEL;
        *has_byte_level |= is_last;
        REQUIRE(!is_last || !p->adds_space, WEFT_UNSUPPORTED,
                "no GGUF can say that byte-level BPE puts a space before a text");
        if (is_last && !p->uses_regex) continue;
        const char *step = expression_of(p);
        REQUIRE(step && n < MAX_STEPS, WEFT_UNSUPPORTED,
                "tokenizer.ggml.pre has no name for the pre_tokenizer %s with these settings",
                p->name);
        steps[n++] = step;
    }
    *name = pretokenizer_match(steps, n, d->s->ignores_merges ? PRE_WHOLE_WORDS : 0);
    return WEFT_OK;
}

static weft_status describe_byte_level(describer *d) {
    const hub_spec *s = d->s;
    bool has_byte_level = false;
    const char *name = NULL;
    TRY(find_pre(d, &has_byte_level, &name));
    for (size_t i = 0; i < s->stages[NORMALIZER].n; i++) {
        const part *p = &s->stages[NORMALIZER].items[i];
        has_byte_level |= p->type == NORM_BYTE_LEVEL;
        REQUIRE(p->type == NORM_NFC || p->type == NORM_BYTE_LEVEL, WEFT_UNSUPPORTED,
                "no GGUF can say that byte-level BPE has the normalizer %s", p->name);
    }
    REQUIRE(has_byte_level, WEFT_UNSUPPORTED,
            "a BPE model that is neither byte-level nor one with byte_fallback has no place in a "
            "GGUF");
    REQUIRE(name, WEFT_UNSUPPORTED,
            "tokenizer.ggml.pre has no name for how this pre_tokenizer cuts words%s",
            s->ignores_merges ? " and ignores merges" : "");
    for (int i = 0; i < 256; i++) {
        char letter[4];
        uint32_t id;
        size_t n = (size_t)utf8_encode(byte_alphabet_code((uint8_t)i), letter);
        REQUIRE(s->unknown < 0 || map_get(&s->ids, letter, n, &id), WEFT_UNSUPPORTED,
                "no GGUF can say that byte-level BPE has an unknown token for the byte %d", i);
    }
    REQUIRE(!s->prefix.n && !s->suffix.n, WEFT_UNSUPPORTED,
            "no GGUF can say that BPE marks the %s of words", s->suffix.n ? "ends" : "insides");
    d->desc->model = "gpt2";
    d->desc->pre = name;
    return copy_merges(d);
}

/* ---- SentencePiece's BPE
 * ----------------------------------------------------------------------------- */

/* Reads how spaces become U+2581: Replace in the normalizer or Metaspace, with or without one in
 * front. */
static weft_status read_spaces(const describer *d, bool *marks, bool *adds) {
    const part_list *norms = &d->s->stages[NORMALIZER], *splits = &d->s->stages[SPLITTER];
    for (size_t i = 0; i < norms->n; i++) {
        const part *p = &norms->items[i];
        bool is_mark = p->type == NORM_REPLACE && !p->is_regex && hub_text_is(p->pattern, " ") &&
                       hub_text_is(p->content, VOCAB_SPACE);
        bool is_front = p->type == NORM_PREPEND && hub_text_is(p->content, VOCAB_SPACE);
        REQUIRE(is_mark || is_front, WEFT_UNSUPPORTED,
                "no GGUF can say that a SentencePiece vocabulary has the normalizer %s", p->name);
        *marks |= is_mark;
        *adds |= is_front;
    }
    for (size_t i = 0; i < splits->n; i++) {
        const part *p = &splits->items[i];
        bool is_mark = p->type == SPLIT_METASPACE && hub_text_is(p->content, VOCAB_SPACE);
        bool is_idle =
            p->type == SPLIT_PATTERN && !p->is_regex && hub_text_is(p->pattern, " ") && *marks;
        REQUIRE(is_mark || is_idle, WEFT_UNSUPPORTED,
                "no GGUF can say that a SentencePiece vocabulary has the pre_tokenizer %s",
                p->name);
        *marks |= is_mark;
        *adds |= is_mark && p->scheme != PREPEND_NEVER;
    }
    return WEFT_OK;
}

static bool have_pair(const map *pairs, int32_t left, int32_t right) {
    int32_t key[2] = {left, right};
    uint32_t rank;
    return map_get(pairs, (const char *)key, sizeof key, &rank);
}

/* SentencePiece merges whatever makes a token; so every way to make one must be a merge. */
static weft_status check_splits(const describer *d, const map *pairs, int32_t id) {
    token_text text = d->s->texts[id];
    int32_t code;
    size_t at = (size_t)utf8_decode(text.data, text.n, &code);
    for (; at < text.n; at += (size_t)utf8_decode(text.data + at, text.n - at, &code)) {
        uint32_t left, right;
        if (!map_get(&d->s->ids, text.data, at, &left) || d->kinds[left] != TOKEN_NORMAL) continue;
        if (!map_get(&d->s->ids, text.data + at, text.n - at, &right) ||
            d->kinds[right] != TOKEN_NORMAL)
            continue;
        REQUIRE(have_pair(pairs, (int32_t)left, (int32_t)right), WEFT_UNSUPPORTED,
                "no scores give these merges: \"%.40s\" is not merged from all its parts",
                text.data);
    }
    return WEFT_OK;
}

/* Scores that make the same order. Merges that make one token share a score, and so do all merges
 * that stand between them: scores were equal where such a list was made from them. */
static void score_merges(const hub_spec *s, float *scores, size_t *last) {
    for (size_t i = 0; i < s->n_tokens; i++) scores[i] = -(float)s->n_merges - 1;
    for (size_t i = 0; i < s->n_merges; i++) last[s->merges[i].merged] = i;
    for (size_t i = 0; i < s->n_merges;) {
        size_t first = i, end = last[s->merges[i].merged];
        for (; i <= end; i++) {
            int32_t merged = s->merges[i].merged;
            if (last[merged] > end) end = last[merged];
            scores[merged] = -(float)first;
        }
    }
}

static weft_status check_merges(const describer *d, const map *pairs) {
    const hub_spec *s = d->s;
    for (size_t i = 0; i < s->n_tokens; i++)
        if (d->kinds[i] == TOKEN_NORMAL && s->texts[i].n) TRY(check_splits(d, pairs, (int32_t)i));
    return WEFT_OK;
}

static weft_status make_scores(const describer *d) {
    const hub_spec *s = d->s;
    float *scores = arena_alloc(d->arena, s->n_tokens * sizeof *scores);
    size_t *last = mem_array(s->n_tokens, sizeof *last);
    int32_t(*keys)[2] = mem_array(s->n_merges, sizeof *keys);
    map pairs = {0};
    weft_status status = scores && last && keys ? map_reserve(&pairs, s->n_merges) : WEFT_NO_MEMORY;
    for (size_t i = 0; i < s->n_merges && status == WEFT_OK; i++) {
        keys[i][0] = s->merges[i].left;
        keys[i][1] = s->merges[i].right;
        status = map_set(&pairs, (const char *)keys[i], sizeof *keys, (uint32_t)i);
    }
    if (status == WEFT_OK) score_merges(s, scores, last);
    if (status == WEFT_OK) status = check_merges(d, &pairs);
    map_free(&pairs);
    mem_free(keys);
    mem_free(last);
    d->desc->scores = scores;
    return status;
}

bool hub_mark_bytes(const describer *d) {
    for (int i = 0; i < 256; i++)
        if (hub_byte_token(d->s, (uint8_t)i) < 0) return false;
    for (int i = 0; i < 256; i++) d->kinds[hub_byte_token(d->s, (uint8_t)i)] = TOKEN_BYTE;
    return true;
}

static weft_status describe_spm(describer *d) {
    bool marks = false, adds = false;
    TRY(read_spaces(d, &marks, &adds));
    REQUIRE(marks, WEFT_UNSUPPORTED,
            "a BPE model with byte_fallback has a place in a GGUF only where spaces become U+2581");
    REQUIRE(!d->s->prefix.n && !d->s->suffix.n && !d->s->ignores_merges, WEFT_UNSUPPORTED,
            "no GGUF can say that a SentencePiece vocabulary has %s",
            d->s->ignores_merges ? "ignore_merges" : "a prefix or a suffix");
    REQUIRE(hub_mark_bytes(d), WEFT_UNSUPPORTED,
            "a GGUF has a SentencePiece vocabulary only with a token for each of the 256 bytes");
    if (d->s->unknown >= 0) d->kinds[d->s->unknown] = TOKEN_UNKNOWN;
    d->desc->model = "llama";
    d->desc->add_space_prefix = adds;
    return make_scores(d);
}

static bool has_byte_level(const hub_spec *s) {
    const part_list *l = &s->stages[SPLITTER];
    return l->n && l->items[l->n - 1].type == SPLIT_BYTE_LEVEL;
}

static weft_status describe(describer *d) {
    const hub_spec *s = d->s;
    TRY(copy_tokens(d));
    TRY(copy_strips(d));
    TRY(describe_marks(d));
    switch (s->model) {
    case MODEL_BPE:
        return s->byte_fallback && !has_byte_level(s) ? describe_spm(d) : describe_byte_level(d);
    case MODEL_WORDPIECE: return hub_describe_wordpiece(d);
    case MODEL_UNIGRAM: return hub_describe_unigram(d);
    default: return error_set(WEFT_UNSUPPORTED, "a GGUF has no WordLevel models");
    }
}

weft_status tokenizer_describe_json(const tokenizer_json_text *text, tokenizer_description *out) {
    *out = (tokenizer_description){0};
    hub_spec s;
    weft_status status = hub_read(text, &s);
    describer d = {.s = &s, .desc = &out->desc, .arena = &out->arena};
    if (status == WEFT_OK) {
        status = describe(&d);
        if (status != WEFT_OK) error_prefix(status, "tokenizer.json");
    }
    hub_spec_free(&s);
    return status;
}

void tokenizer_description_free(tokenizer_description *d) {
    arena_free(&d->arena);
    *d = (tokenizer_description){0};
}
