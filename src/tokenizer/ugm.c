/* SentencePiece's Unigram model ("t5"): the text is normalised by the file's own character map
 * (charsmap.c), then covered by the tokens whose scores sum highest (unigram.c). Bytes that are no
 * UTF-8 become U+FFFD after the map, as there. Source: google/sentencepiece, src/normalizer.cc. Not
 * here: sampling of segmentations.
 * SPDX-License-Identifier: MIT */
#include <float.h>
#include <string.h>

#include "base/utf8.h"
#include "tokenizer/charsmap.h"
#include "tokenizer/merge.h"
#include "tokenizer/unigram.h"
#include "tokenizer/vocab.h"

typedef struct ugm_state {
    unigram model;
    bool has_bytes; /* all 256 byte tokens: what is unknown is spelled in bytes */
    charsmap map;
} ugm_state;

typedef struct ugm_work {
    str text;
    unigram_work cover;
} ugm_work;

weft_status ugm_configure(tokenizer *t, const tokenizer_desc *desc) {
    (void)desc;
    REQUIRE(t->scores, WEFT_FORMAT, "a Unigram vocabulary needs scores");
    REQUIRE(t->unk >= 0, WEFT_FORMAT, "a Unigram vocabulary needs an unknown token");
    t->marks_spaces = true;
    return WEFT_OK;
}

weft_status ugm_open(tokenizer *t, const tokenizer_desc *desc) {
    ugm_state *s = mem_alloc(sizeof *s);
    if (!s) return WEFT_NO_MEMORY;
    t->state = s;
    TRY(charsmap_open(&s->map, desc->precompiled_charsmap));
    unigram *u = &s->model;
    u->unknown = t->unk;
    u->scores = mem_array(t->n_tokens, sizeof *u->scores);
    trie_key *keys = u->scores ? mem_array(t->n_tokens, sizeof *keys) : NULL;
    if (!keys) return WEFT_NO_MEMORY;
    size_t n = 0;
    float lowest = FLT_MAX;
    for (size_t id = 0; id < t->n_tokens; id++) {
        u->scores[id] = t->kinds[id] == TOKEN_USER ? 0.0 : (double)t->scores[id];
        if (!vocab_is_text(t, id) || !t->texts[id].n) continue;
        keys[n++] = (trie_key){t->texts[id].data, t->texts[id].n, (int32_t)id};
        if (t->kinds[id] == TOKEN_NORMAL && t->scores[id] < lowest) lowest = t->scores[id];
    }
    unigram_set_lowest(u, (double)lowest);
    s->has_bytes = true;
    for (int i = 0; i < 256; i++)
        s->has_bytes &= t->byte_ids[i] >= 0 && t->kinds[t->byte_ids[i]] == TOKEN_BYTE;
    weft_status status = trie_build(&u->tokens, keys, n);
    mem_free(keys);
    return status;
}

void ugm_close(tokenizer *t) {
    ugm_state *s = t->state;
    if (!s) return;
    unigram_free(&s->model);
    charsmap_close(&s->map);
    mem_free(s);
}

weft_status ugm_begin(const tokenizer *t, size_t n, void **work) {
    (void)t;
    (void)n;
    *work = mem_alloc(sizeof(ugm_work));
    return *work ? WEFT_OK : WEFT_NO_MEMORY;
}

void ugm_end(void *work) {
    ugm_work *w = work;
    if (!w) return;
    str_free(&w->text);
    unigram_work_free(&w->cover);
    mem_free(w);
}

typedef struct spaces {
    bool adds, merges;      /* a space in front; runs of spaces become one, none at the ends */
    bool in_word, has_word; /* where we are */
} spaces;

static weft_status put_normalised(ugm_work *w, spaces *s, const char *text, size_t n) {
    for (size_t i = 0; i < n; i++) {
        if (text[i] == ' ') {
            s->in_word = false;
            if (!s->merges) TRY(str_append(&w->text, VOCAB_SPACE, 3));
            continue;
        }
        bool begins = !s->in_word && (s->merges ? s->adds || s->has_word : s->adds && !s->has_word);
        if (begins) TRY(str_append(&w->text, VOCAB_SPACE, 3));
        s->in_word = s->has_word = true;
        TRY(str_char(&w->text, text[i]));
    }
    return WEFT_OK;
}

static weft_status normalise(const tokenizer *t, ugm_work *w, const char *text, size_t n) {
    const charsmap *map = &((const ugm_state *)t->state)->map;
    str_clear(&w->text);
    spaces s = {.adds = t->adds_space, .merges = t->removes_extra_spaces};
    for (size_t at = 0; at < n;) {
        const char *replacement = text + at;
        size_t length = charsmap_find(map, text + at, n - at, false, &replacement);
        size_t n_replacement = length ? strlen(replacement) : 0;
        if (!length) {
            int32_t code;
            length = n_replacement = (size_t)utf8_decode(text + at, n - at, &code);
            if (code == UTF8_BAD) { /* not looked up in the map: it may turn U+FFFD into a space */
                replacement = "\xEF\xBF\xBD";
                n_replacement = 3;
            }
        }
        TRY(put_normalised(w, &s, replacement, n_replacement));
        at += length;
    }
    return WEFT_OK;
}

/* Appends a piece's ids, last first: unknown ones as bytes, or a run of them as one unknown token.
 */
static weft_status put_backwards(const tokenizer *t, const ugm_work *w, const unigram_step *s,
                                 size_t to, bool after_unknown, token_list *out) {
    const ugm_state *state = t->state;
    if (s->id != t->unk) return token_list_add(out, s->id);
    if (!state->has_bytes) return after_unknown ? WEFT_OK : token_list_add(out, t->unk);
    for (size_t i = to; i-- > s->from;)
        TRY(token_list_add(out, t->byte_ids[(uint8_t)w->text.data[i]]));
    return WEFT_OK;
}

weft_status ugm_encode(const tokenizer *t, void *work, const char *text, size_t n,
                       bool follows_text, token_list *out) {
    (void)follows_text;
    ugm_work *w = work;
    TRY(normalise(t, w, text, n));
    if (!w->text.n) return WEFT_OK;
    const ugm_state *state = t->state;
    TRY(unigram_cover(&state->model, &w->cover, w->text.data, w->text.n));
    size_t first = out->n;
    bool after_unknown = false;
    for (size_t at = w->text.n; at;) {
        const unigram_step *s = &w->cover.steps[at];
        TRY(put_backwards(t, w, s, at, after_unknown, out));
        after_unknown = s->id == t->unk;
        at = s->from;
    }
    for (size_t i = first, k = out->n; i + 1 < k;) {
        int32_t id = out->ids[i];
        out->ids[i++] = out->ids[--k];
        out->ids[k] = id;
    }
    return WEFT_OK;
}
