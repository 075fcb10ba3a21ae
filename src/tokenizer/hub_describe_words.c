/* WordPiece and Unigram as a GGUF describes them: BERT's normalizer and pre-tokenizer, and
 * SentencePiece's ways with spaces, are all that it knows. See tokenizer_json.h.
 * SPDX-License-Identifier: MIT */
#include <string.h>

#include "tokenizer/hub_describe.h"
#include "tokenizer/vocab.h"

/* The only part of a stage, NULL when there is none or more than one. */
static const part *only_part(const hub_spec *s, part_stage stage) {
    return s->stages[stage].n == 1 ? &s->stages[stage].items[0] : NULL;
}

/* ---- WordPiece
 * ----------------------------------------------------------------------------------------- */

/* A GGUF marks what begins a word, with U+2581, and not what is inside one. */
static weft_status respell(describer *d, size_t id) {
    token_text text = d->s->texts[id], prefix = d->s->prefix;
    bool is_part = text.n > prefix.n && !memcmp(text.data, prefix.data, prefix.n);
    if (is_part) text = (token_text){text.data + prefix.n, text.n - prefix.n};
    bool is_marked = text.n >= 3 && !memcmp(text.data, VOCAB_SPACE, 3);
    REQUIRE(!is_part || !is_marked, WEFT_UNSUPPORTED,
            "no GGUF can have \"%.40s\" inside a word, as it begins with U+2581", text.data);
    char *copy = arena_alloc(d->arena, text.n + 4);
    if (!copy) return WEFT_NO_MEMORY;
    size_t at = is_part ? 0 : 3;
    memcpy(copy, VOCAB_SPACE, 3);
    memcpy(copy + at, text.data, text.n);
    copy[at + text.n] = 0;
    d->tokens[id] = (token_text){copy, at + text.n};
    return WEFT_OK;
}

weft_status hub_describe_wordpiece(describer *d) {
    const hub_spec *s = d->s;
    const part *norm = only_part(s, NORMALIZER), *split = only_part(s, SPLITTER);
    enum { MAX_WORD = 100 };
    REQUIRE(norm && norm->type == NORM_BERT && norm->cleans && norm->separates_chinese,
            WEFT_UNSUPPORTED, "a GGUF has WordPiece only with BertNormalizer as it is published");
    REQUIRE(split && split->type == SPLIT_BERT, WEFT_UNSUPPORTED,
            "a GGUF has WordPiece only with BertPreTokenizer");
    REQUIRE(hub_text_is(s->prefix, "##") && s->max_characters == MAX_WORD && s->unknown >= 0,
            WEFT_UNSUPPORTED,
            "a GGUF has WordPiece only with the prefix ##, words of up to %d characters and an "
            "unknown token",
            MAX_WORD);
    for (size_t i = 0; i < s->n_tokens; i++) {
        REQUIRE(d->kinds[i] != TOKEN_USER, WEFT_UNSUPPORTED,
                "a GGUF has no added tokens like \"%.40s\" with WordPiece", s->texts[i].data);
        if (s->origin[i] == HUB_MODEL) TRY(respell(d, i));
    }
    d->desc->model = "bert";
    d->desc->unk = s->unknown;
    if (d->desc->cls < 0) d->desc->cls = s->bos;
    if (d->desc->sep < 0) d->desc->sep = s->eos;
    d->desc->keeps_case = !norm->lowercases;
    d->desc->keeps_accents = !norm->strips_accents;
    return WEFT_OK;
}

/* ---- Unigram
 * ------------------------------------------------------------------------------------------- */

/* The normalizer: nothing or a character map, and perhaps runs of spaces that become one. */
static weft_status read_map(const describer *d, bool *merges_spaces) {
    const part_list *l = &d->s->stages[NORMALIZER];
    for (size_t i = 0; i < l->n; i++) {
        const part *p = &l->items[i];
        bool is_map = p->type == NORM_PRECOMPILED && !d->desc->precompiled_charsmap.n;
        bool is_merging = p->type == NORM_REPLACE && p->is_regex &&
                          hub_text_is(p->pattern, " {2,}") && hub_text_is(p->content, " ");
        REQUIRE(is_map || is_merging, WEFT_UNSUPPORTED,
                "no GGUF can say that Unigram has the normalizer %s", p->name);
        *merges_spaces |= is_merging;
        if (!is_map) continue;
        char *copy = arena_string(d->arena, p->content.data, p->content.n);
        if (!copy) return WEFT_NO_MEMORY;
        d->desc->precompiled_charsmap = (token_text){copy, p->content.n};
    }
    return WEFT_OK;
}

weft_status hub_describe_unigram(describer *d) {
    const hub_spec *s = d->s;
    const part_list *splits = &s->stages[SPLITTER];
    bool merges_spaces = false;
    TRY(read_map(d, &merges_spaces));
    /* A GGUF knows no white space but " ": the map must turn the other kinds into it. */
    bool has_words =
        splits->n == 2 && splits->items[0].type == SPLIT_SPACES && d->desc->precompiled_charsmap.n;
    const part *space = splits->n == 1 + (size_t)has_words ? &splits->items[splits->n - 1] : NULL;
    REQUIRE(space && space->type == SPLIT_METASPACE && hub_text_is(space->content, VOCAB_SPACE) &&
                space->scheme != PREPEND_NEVER,
            WEFT_UNSUPPORTED,
            "a GGUF has Unigram only with the pre-tokenizer Metaspace, or Precompiled, "
            "WhitespaceSplit and Metaspace, with U+2581 in front of a text");
    REQUIRE(s->unknown >= 0, WEFT_UNSUPPORTED, "a GGUF has Unigram only with an unknown token");
    float *scores = arena_alloc(d->arena, s->n_tokens * sizeof *scores);
    if (!scores) return WEFT_NO_MEMORY;
    for (size_t i = 0; i < s->n_tokens; i++) scores[i] = (float)s->scores[i];
    if (s->byte_fallback) hub_mark_bytes(d);
    d->kinds[s->unknown] = TOKEN_UNKNOWN;
    d->desc->scores = scores;
    d->desc->model = "t5";
    d->desc->unk = s->unknown;
    d->desc->add_space_prefix = 1;
    d->desc->remove_extra_whitespaces = has_words || merges_spaces;
    return WEFT_OK;
}
