/* WordPiece and WordLevel as a tokenizer.json has them: a word is covered greedily by the longest
 * tokens from its left, or is one token. Source of the rules: huggingface/tokenizers,
 * models/wordpiece and models/wordlevel. See hub_models.h.
 * SPDX-License-Identifier: MIT */
#include <string.h>

#include "tokenizer/hub_models.h"

weft_status hub_add_unknown(int32_t unknown, const char *text, size_t n, token_list *out) {
    REQUIRE(unknown >= 0, WEFT_FORMAT,
            "the vocabulary has neither a token for \"%.*s\" nor an unknown token",
            (int)(n < 40 ? n : 40), text);
    return token_list_add(out, unknown);
}

typedef struct words {
    trie words, parts; /* tokens that begin a word, and those inside one, without the prefix */
    int32_t unknown;
    size_t max_characters;
} words;

static void words_close(void *model) {
    words *m = model;
    if (!m) return;
    trie_free(&m->words);
    trie_free(&m->parts);
    mem_free(m);
}

static weft_status fill(words *m, const hub_spec *s, trie_key *keys) {
    size_t n = 0;
    for (size_t i = 0; i < s->n_tokens; i++)
        if (s->origin[i] & HUB_MODEL && s->texts[i].n)
            keys[n++] = (trie_key){s->texts[i].data, s->texts[i].n, (int32_t)i};
    TRY(trie_build(&m->words, keys, n));
    if (s->model != MODEL_WORDPIECE) return WEFT_OK;
    n = 0;
    for (size_t i = 0; i < s->n_tokens; i++) {
        token_text text = s->texts[i], prefix = s->prefix;
        bool is_part = s->origin[i] & HUB_MODEL && text.n > prefix.n &&
                       (!prefix.n || !memcmp(text.data, prefix.data, prefix.n));
        if (is_part) keys[n++] = (trie_key){text.data + prefix.n, text.n - prefix.n, (int32_t)i};
    }
    return trie_build(&m->parts, keys, n);
}

static weft_status words_open(const hub_spec *s, bool keeps_bytes, void **out) {
    (void)keeps_bytes;
    words *m = mem_alloc(sizeof *m);
    trie_key *keys = m ? mem_array(s->n_tokens, sizeof *keys) : NULL;
    weft_status status = keys ? fill(m, s, keys) : WEFT_NO_MEMORY;
    mem_free(keys);
    if (status != WEFT_OK) {
        words_close(m);
        return status;
    }
    m->unknown = s->unknown;
    m->max_characters = s->max_characters;
    *out = m;
    return WEFT_OK;
}

static size_t count_characters(const char *text, size_t n) {
    size_t count = 0;
    for (size_t i = 0; i < n; i++) count += ((uint8_t)text[i] & 0xC0) != 0x80;
    return count;
}

static weft_status wordpiece_encode(const void *model, hub_model_work *w, const char *word,
                                    size_t n, token_list *out) {
    (void)w;
    const words *m = model;
    size_t first = out->n;
    bool is_known = count_characters(word, n) <= m->max_characters;
    for (size_t at = 0; at < n && is_known;) {
        int32_t id = -1;
        size_t length = trie_longest(at ? &m->parts : &m->words, word + at, n - at, &id);
        is_known = length > 0;
        if (is_known) TRY(token_list_add(out, id));
        at += length;
    }
    if (is_known) return WEFT_OK;
    out->n = first;
    return hub_add_unknown(m->unknown, word, n, out);
}

static weft_status wordlevel_encode(const void *model, hub_model_work *w, const char *word,
                                    size_t n, token_list *out) {
    (void)w;
    const words *m = model;
    int32_t id = -1;
    if (trie_longest(&m->words, word, n, &id) == n) return token_list_add(out, id);
    return hub_add_unknown(m->unknown, word, n, out);
}

const hub_model hub_wordpiece = {words_open, words_close, wordpiece_encode};
const hub_model hub_wordlevel = {words_open, words_close, wordlevel_encode};
