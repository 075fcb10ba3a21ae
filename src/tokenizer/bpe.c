/* Byte-pair encoding by a list of merges, over bytes in GPT-2's alphabet ("gpt2") or over
 * characters ("gemma4" and pre-tokenizers with PRE_CHARACTERS). A pre-tokenizer cuts the text into
 * words; merges do not cross them. Source of the rules: openai/gpt-2, src/encoder.py;
 * huggingface/tokenizers, models/bpe. Not here: splitting (pretokenizer.c) and merging (merge.c).
 * SPDX-License-Identifier: MIT */
#include <string.h>

#include "base/utf8.h"
#include "tokenizer/merge.h"
#include "tokenizer/pretokenizer.h"
#include "tokenizer/vocab.h"

typedef struct bpe_state {
    merger merger;
    pretokenizer *pre;
    int flags;
    map words; /* the pieces of tokens that a whole word may be; only with PRE_WHOLE_WORDS or
                  _NEWLINES */
} bpe_state;

typedef struct bpe_work {
    const tokenizer *t;
    merge_work merge;
    pattern_work *pre;
    token_list *out;
} bpe_work;

static const char *pre_name(const tokenizer *t, const tokenizer_desc *desc) {
    if (!strcmp(t->kind->model, "gemma4")) return "gemma4";
    int flags;
    return desc->pre && pretokenizer_find(desc->pre, &flags) ? desc->pre : "default";
}

weft_status bpe_configure(tokenizer *t, const tokenizer_desc *desc) {
    const char *name = pre_name(t, desc);
    int flags = 0;
    pretokenizer_find(name, &flags);
    if (!strcmp(name, "default") && !desc->pre)
        TRY(str_format(
            &t->warning,
            "the file names no pre-tokenizer (tokenizer.ggml.pre): a default one splits words, "
            "and tokens may differ from the ones this model was trained on"));
    else if (!strcmp(name, "default") && strcmp(desc->pre, name))
        TRY(str_format(
            &t->warning,
            "unknown pre-tokenizer \"%.40s\" (tokenizer.ggml.pre): a default one splits words, "
            "and tokens may differ from the ones this model was trained on",
            desc->pre));
    t->is_byte_level = !(flags & PRE_CHARACTERS);
    t->marks_spaces = !t->is_byte_level;
    if (desc->add_bos < 0 && flags & PRE_ADDS_BOS) t->adds_bos = true;
    return WEFT_OK;
}

static weft_status add_merge(tokenizer *t, merger *m, size_t rank, token_text merge, str *whole) {
    const char *space = merge.n > 1 ? memchr(merge.data + 1, ' ', merge.n - 1) : NULL;
    REQUIRE(space && space + 1 < merge.data + merge.n, WEFT_FORMAT,
            "merge %zu (\"%.*s\") is not two texts and a space", rank,
            (int)(merge.n < 40 ? merge.n : 40), merge.data);
    size_t n_left = (size_t)(space - merge.data), n_right = merge.n - n_left - 1;
    uint32_t left, right, merged;
    TRY(merge_symbol(m, &t->ids, merge.data, n_left, &left));
    TRY(merge_symbol(m, &t->ids, space + 1, n_right, &right));
    str_clear(whole);
    TRY(str_append(whole, merge.data, n_left));
    TRY(str_append(whole, space + 1, n_right));
    TRY(merge_symbol(m, &t->ids, whole->data, whole->n, &merged));
    bool space_left = n_left >= 3 && !memcmp(space - 3, VOCAB_SPACE, 3);
    bool space_right = n_right >= 3 && !memcmp(space + 1, VOCAB_SPACE, 3);
    if (space_right && !space_left) m->joins_spaces = true;
    return merge_add(m, left, right, (uint32_t)rank, merged);
}

static weft_status add_merges(tokenizer *t, merger *m, const tokenizer_desc *desc) {
    str whole = {0};
    weft_status status = WEFT_OK;
    for (size_t i = 0; i < desc->n_merges && status == WEFT_OK; i++)
        status = add_merge(t, m, i, desc->merges[i], &whole);
    str_free(&whole);
    return status;
}

/* The symbols that texts begin with. */
static weft_status add_letters(tokenizer *t, merger *m) {
    for (int i = 0; i < 256; i++) {
        char letter[4];
        size_t n = 1;
        letter[0] = (char)i;
        if (m->is_byte_level) n = (size_t)utf8_encode(byte_alphabet_code((uint8_t)i), letter);
        uint32_t id;
        if (m->is_byte_level) TRY(merge_symbol(m, &t->ids, letter, n, &m->byte_symbols[i]));
        else m->byte_symbols[i] = map_get(&t->ids, letter, n, &id) ? id : MERGE_NONE;
    }
    if (m->is_byte_level) return WEFT_OK;
    uint32_t space;
    m->byte_symbols[' '] = map_get(&t->ids, VOCAB_SPACE, 3, &space) ? space : MERGE_NONE;
    for (size_t id = 0; id < t->n_tokens; id++) {
        token_text text = t->texts[id];
        int32_t code;
        if (text.n < 2 || !vocab_is_text(t, id)) continue;
        if ((size_t)utf8_decode(text.data, text.n, &code) == text.n)
            TRY(map_set(&m->char_symbols, text.data, text.n, (uint32_t)id));
    }
    return WEFT_OK;
}

static weft_status add_words(tokenizer *t, bpe_state *s) {
    if (!(s->flags & (PRE_WHOLE_WORDS | PRE_WHOLE_NEWLINES))) return WEFT_OK;
    TRY(map_reserve(&s->words, s->flags & PRE_WHOLE_WORDS ? t->n_tokens : 64));
    for (size_t id = 0; id < t->n_tokens; id++) {
        token_text piece = t->pieces[id];
        uint32_t known;
        if (!piece.n || !vocab_is_text(t, id) || map_get(&s->words, piece.data, piece.n, &known))
            continue;
        if (s->flags & PRE_WHOLE_WORDS || piece.data[0] == '\n')
            TRY(map_set(&s->words, piece.data, piece.n, (uint32_t)id));
    }
    return WEFT_OK;
}

weft_status bpe_open(tokenizer *t, const tokenizer_desc *desc) {
    bpe_state *s = mem_alloc(sizeof *s);
    if (!s) return WEFT_NO_MEMORY;
    t->state = s;
    const char *name = pre_name(t, desc);
    pretokenizer_find(name, &s->flags);
    TRY(pretokenizer_open(name, true, &s->pre));
    merger *m = &s->merger;
    m->n_tokens = (uint32_t)t->n_tokens;
    m->is_byte_level = t->is_byte_level;
    m->unknown = t->unk;
    memcpy(m->byte_ids, t->byte_ids, sizeof m->byte_ids);
    TRY(add_letters(t, m));
    TRY(add_merges(t, m, desc));
    return add_words(t, s);
}

void bpe_close(tokenizer *t) {
    bpe_state *s = t->state;
    if (!s) return;
    pretokenizer_close(s->pre);
    merger_free(&s->merger);
    map_free(&s->words);
    mem_free(s);
}

weft_status bpe_begin(const tokenizer *t, size_t n, void **work) {
    bpe_work *w = mem_alloc(sizeof *w);
    *work = w;
    if (!w) return WEFT_NO_MEMORY;
    w->t = t;
    TRY(merge_work_open(&w->merge, n));
    return pattern_work_open(&w->pre);
}

static weft_status encode_word(void *context, const char *word, size_t n) {
    bpe_work *w = context;
    const bpe_state *s = w->t->state;
    uint32_t id;
    if (s->words.n && map_get(&s->words, word, n, &id)) return token_list_add(w->out, (int32_t)id);
    return merge_encode(&s->merger, &w->merge, word, n, w->out);
}

weft_status bpe_encode(const tokenizer *t, void *work, const char *text, size_t n,
                       bool follows_text, token_list *out) {
    (void)follows_text;
    const bpe_state *s = t->state;
    bpe_work *w = work;
    w->out = out;
    return pretokenizer_split(s->pre, w->pre, text, n, encode_word, w);
}

void bpe_end(void *work) {
    bpe_work *w = work;
    if (!w) return;
    merge_work_close(&w->merge);
    pattern_work_close(w->pre);
    mem_free(w);
}
