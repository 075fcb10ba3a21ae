/* SentencePiece's BPE ("llama"): neighbours merge when their concatenation is a token, the best
 * score first. Turned into pairs at open, so that merge.c does the rest; what has no token falls
 * back to bytes. A text gets a space in front of it, and so does text after a special token, as the
 * models were trained. Source of the rules: google/sentencepiece, src/bpe_model.cc. Not here:
 * SentencePiece's character normalisation (these models have none).
 * SPDX-License-Identifier: MIT */
#include <string.h>

#include "base/utf8.h"
#include "tokenizer/merge.h"
#include "tokenizer/vocab.h"

typedef struct spm_work {
    merge_work merge;
    str text; /* a fragment with its space */
} spm_work;

weft_status spm_configure(tokenizer *t, const tokenizer_desc *desc) {
    (void)desc;
    REQUIRE(t->scores, WEFT_FORMAT, "a SentencePiece vocabulary needs scores");
    t->marks_spaces = true;
    return WEFT_OK;
}

/* Numbers in the order of falling scores. */
static uint32_t order_of(float score) {
    uint32_t bits;
    score += 0.0f; /* -0 counts as 0 */
    memcpy(&bits, &score, sizeof bits);
    return bits & 0x80000000u ? bits : ~(bits | 0x80000000u);
}

static bool is_space_mark(const char *text) { return !memcmp(text, VOCAB_SPACE, 3); }

/* Makes a symbol for every character of a token. */
static weft_status add_characters(tokenizer *t, merger *m, token_text text) {
    int32_t code;
    for (size_t at = 0, bytes; at < text.n; at += bytes) {
        bytes = (size_t)utf8_decode(text.data + at, text.n - at, &code);
        uint32_t symbol;
        if (code >= 0 && code < 0x80) {
            if (m->byte_symbols[code] == MERGE_NONE)
                TRY(merge_symbol(m, &t->ids, text.data + at, bytes, &m->byte_symbols[code]));
        } else if (!map_get(&m->char_symbols, text.data + at, bytes, &symbol)) {
            TRY(merge_symbol(m, &t->ids, text.data + at, bytes, &symbol));
            TRY(map_set(&m->char_symbols, text.data + at, bytes, symbol));
            if (bytes == 3 && is_space_mark(text.data + at)) m->byte_symbols[' '] = symbol;
        }
    }
    return WEFT_OK;
}

/* Finds the symbol of a part: a token that text may become, or a single character. */
static bool find_part(const tokenizer *t, const merger *m, const char *text, size_t n,
                      bool is_character, uint32_t *symbol) {
    if (map_get(&t->ids, text, n, symbol) && vocab_is_text(t, *symbol)) return true;
    if (!is_character) return false;
    if (n == 1) {
        *symbol = m->byte_symbols[(uint8_t)*text];
        return *symbol != MERGE_NONE;
    }
    return map_get(&m->char_symbols, text, n, symbol);
}

/* Adds a pair for every way to put the token together out of two parts. */
static weft_status add_splits(const tokenizer *t, merger *m, size_t id) {
    token_text text = t->texts[id];
    size_t last = text.n; /* where the last character begins */
    while (last > 0 && ((uint8_t)text.data[--last] & 0xC0) == 0x80) continue;
    int32_t code;
    size_t first = text.n ? (size_t)utf8_decode(text.data, text.n, &code) : 0;
    for (size_t at = first; at < text.n;
         at += (size_t)utf8_decode(text.data + at, text.n - at, &code)) {
        uint32_t left, right;
        if (!find_part(t, m, text.data, at, at == first, &left)) continue;
        if (!find_part(t, m, text.data + at, text.n - at, at == last, &right)) continue;
        TRY(merge_add(m, left, right, order_of(t->scores[id]), (uint32_t)id));
        bool space_left = at >= 3 && is_space_mark(text.data + at - 3);
        bool space_right = text.n - at >= 3 && is_space_mark(text.data + at);
        if (space_right && !space_left) m->joins_spaces = true;
    }
    return WEFT_OK;
}

weft_status spm_open(tokenizer *t, const tokenizer_desc *desc) {
    (void)desc;
    merger *m = mem_alloc(sizeof *m);
    if (!m) return WEFT_NO_MEMORY;
    t->state = m;
    m->n_tokens = (uint32_t)t->n_tokens;
    m->unknown = t->unk;
    memcpy(m->byte_ids, t->byte_ids, sizeof m->byte_ids);
    for (int i = 0; i < 256; i++) m->byte_symbols[i] = MERGE_NONE;
    for (size_t id = 0; id < t->n_tokens; id++)
        if (vocab_is_text(t, id)) TRY(add_characters(t, m, t->texts[id]));
    for (size_t id = 0; id < t->n_tokens; id++)
        if (vocab_is_text(t, id)) TRY(add_splits(t, m, id));
    return WEFT_OK;
}

void spm_close(tokenizer *t) {
    if (t->state) merger_free(t->state);
    mem_free(t->state);
}

weft_status spm_begin(const tokenizer *t, size_t n, void **work) {
    (void)t;
    spm_work *w = mem_alloc(sizeof *w);
    *work = w;
    if (!w) return WEFT_NO_MEMORY;
    return merge_work_open(&w->merge, n);
}

weft_status spm_encode(const tokenizer *t, void *work, const char *text, size_t n,
                       bool follows_text, token_list *out) {
    spm_work *w = work;
    if (!t->adds_space || follows_text) return merge_encode(t->state, &w->merge, text, n, out);
    str_clear(&w->text);
    TRY(str_char(&w->text, ' '));
    TRY(str_append(&w->text, text, n));
    return merge_encode(t->state, &w->merge, w->text.data, w->text.n, out);
}

void spm_end(void *work) {
    spm_work *w = work;
    if (!w) return;
    merge_work_close(&w->merge);
    str_free(&w->text);
    mem_free(w);
}
