/* BERT's WordPiece: text is cleaned, lower-cased and stripped of accents, cut at white space,
 * punctuation and Chinese characters; each word is covered greedily by the longest tokens from its
 * left, or becomes the unknown token. The vocabulary spells a token that begins a word with U+2581
 * in front, one inside a word without (GGUF's way). Source of the rules: google-research/bert,
 * tokenization.py, and huggingface/tokenizers, normalizers/bert.rs, which the published models were
 * checked with. Not here: decoding without the spaces around punctuation.
 * SPDX-License-Identifier: MIT */
#include <string.h>
#include <utf8proc.h>

#include "base/utf8.h"
#include "tokenizer/letters.h"
#include "tokenizer/merge.h"
#include "tokenizer/vocab.h"

enum { MAX_WORD = 100 }; /* characters; longer words are unknown (bert: max_input_chars_per_word) */

typedef struct wpm_state {
    trie words, parts; /* tokens that begin a word (without the mark), and those inside one */
    bool keeps_case, keeps_accents;
} wpm_state;

typedef struct wpm_work {
    str word;
    size_t n_characters;
} wpm_work;

weft_status wpm_configure(tokenizer *t, const tokenizer_desc *desc) {
    (void)desc;
    t->marks_spaces = true;
    if (t->cls < 0) t->cls = t->bos >= 0 ? t->bos : tokenizer_find(t, "[CLS]", 5);
    if (t->sep < 0) t->sep = tokenizer_find(t, "[SEP]", 5);
    if (t->unk < 0) t->unk = tokenizer_find(t, "[UNK]", 5);
    REQUIRE(t->unk >= 0, WEFT_FORMAT, "a WordPiece vocabulary needs an unknown token");
    t->bos = t->cls; /* what stands around a text */
    t->eos = t->sep;
    return WEFT_OK;
}

static weft_status fill_tries(const tokenizer *t, wpm_state *s, trie_key *words, trie_key *parts) {
    size_t n_words = 0, n_parts = 0;
    for (size_t id = 0; id < t->n_tokens; id++) {
        token_text text = t->texts[id];
        if (!vocab_is_text(t, id)) continue;
        bool begins = text.n >= 3 && !memcmp(text.data, VOCAB_SPACE, 3);
        if (begins && text.n > 3)
            words[n_words++] = (trie_key){text.data + 3, text.n - 3, (int32_t)id};
        if (!begins && text.n) parts[n_parts++] = (trie_key){text.data, text.n, (int32_t)id};
    }
    TRY(trie_build(&s->words, words, n_words));
    return trie_build(&s->parts, parts, n_parts);
}

weft_status wpm_open(tokenizer *t, const tokenizer_desc *desc) {
    wpm_state *s = mem_alloc(sizeof *s);
    if (!s) return WEFT_NO_MEMORY;
    t->state = s;
    s->keeps_case = desc->keeps_case;
    s->keeps_accents = desc->keeps_accents;
    trie_key *words = mem_array(t->n_tokens, sizeof *words),
             *parts = mem_array(t->n_tokens, sizeof *parts);
    weft_status status = words && parts ? fill_tries(t, s, words, parts) : WEFT_NO_MEMORY;
    mem_free(words);
    mem_free(parts);
    return status;
}

void wpm_close(tokenizer *t) {
    wpm_state *s = t->state;
    if (!s) return;
    trie_free(&s->words);
    trie_free(&s->parts);
    mem_free(s);
}

weft_status wpm_begin(const tokenizer *t, size_t n, void **work) {
    (void)t;
    (void)n;
    *work = mem_alloc(sizeof(wpm_work));
    return *work ? WEFT_OK : WEFT_NO_MEMORY;
}

void wpm_end(void *work) {
    wpm_work *w = work;
    if (!w) return;
    str_free(&w->word);
    mem_free(w);
}

/* Turns the collected word into tokens and begins the next. */
static weft_status end_word(const tokenizer *t, wpm_work *w, token_list *out) {
    const wpm_state *s = t->state;
    size_t n = w->word.n, first = out->n;
    if (!n) return WEFT_OK;
    bool is_known = w->n_characters <= MAX_WORD;
    for (size_t at = 0; at < n && is_known;) {
        int32_t id = -1;
        size_t length = trie_longest(at ? &s->parts : &s->words, w->word.data + at, n - at, &id);
        is_known = length > 0;
        if (is_known) TRY(token_list_add(out, id));
        at += length;
    }
    if (!is_known) {
        out->n = first;
        TRY(token_list_add(out, t->unk));
    }
    str_clear(&w->word);
    w->n_characters = 0;
    return WEFT_OK;
}

static bool is_space(int32_t c) {
    return c == '\t' || c == '\n' || c == '\r' || utf8proc_category(c) == UTF8PROC_CATEGORY_ZS ||
           c == 0x2028 || c == 0x2029;
}

static weft_status add_character(const tokenizer *t, wpm_work *w, int32_t c, token_list *out) {
    const wpm_state *s = t->state;
    if (!s->keeps_accents && c >= 0x80 && utf8proc_category(c) == UTF8PROC_CATEGORY_MN)
        return WEFT_OK;
    bool is_mark = letter_is_punctuation(c);
    if (is_mark) TRY(end_word(t, w, out));
    int32_t small[2] = {c};
    int n = s->keeps_case ? 1 : letter_lower(c, small);
    for (int i = 0; i < n; i++) {
        char bytes[4];
        TRY(str_append(&w->word, bytes, (size_t)utf8_encode(small[i], bytes)));
    }
    w->n_characters += (size_t)n;
    return is_mark ? end_word(t, w, out) : WEFT_OK;
}

weft_status wpm_encode(const tokenizer *t, void *work, const char *text, size_t n,
                       bool follows_text, token_list *out) {
    (void)follows_text;
    const wpm_state *s = t->state;
    wpm_work *w = work;
    for (size_t at = 0; at < n;) {
        int32_t c, parts[16];
        at += (size_t)utf8_decode(text + at, n - at, &c);
        if (is_space(c)) {
            TRY(end_word(t, w, out));
            continue;
        }
        if (letter_is_dropped(c)) continue;
        bool chinese = letter_is_chinese(c);
        if (chinese) TRY(end_word(t, w, out));
        utf8proc_ssize_t n_parts = 1;
        parts[0] = c;
        if (c >= 0x80 && !s->keeps_accents)
            n_parts = utf8proc_decompose_char(c, parts, 16, UTF8PROC_DECOMPOSE, NULL);
        for (int i = 0; i < n_parts && i < 16; i++) TRY(add_character(t, w, parts[i], out));
        if (chinese) TRY(end_word(t, w, out));
    }
    return end_word(t, w, out);
}
