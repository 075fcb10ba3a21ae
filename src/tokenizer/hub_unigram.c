/* Unigram as a tokenizer.json has it: the best cover (unigram.c), where a row of unknown characters
 * is one text, which is a token, bytes, or the unknown token. Every token of the vocabulary may
 * cover text, control tokens too. Source of the rules: huggingface/tokenizers, models/unigram. See
 * hub_models.h.
 * SPDX-License-Identifier: MIT */
#include <float.h>
#include <string.h>

#include "tokenizer/hub_models.h"

typedef struct unigram_model {
    unigram core;
    bool byte_fallback;
    int32_t byte_ids[256];
} unigram_model;

static void unigram_close(void *model) {
    unigram_model *m = model;
    if (!m) return;
    unigram_free(&m->core);
    mem_free(m);
}

static weft_status fill(unigram_model *m, const hub_spec *s, trie_key *keys) {
    size_t n = 0;
    double lowest = DBL_MAX;
    for (size_t i = 0; i < s->n_tokens; i++) {
        uint32_t id;
        if (!(s->origin[i] & HUB_MODEL)) continue;
        if (s->scores[i] < lowest) lowest = s->scores[i];
        /* Of equal texts the last one counts. */
        if (!s->texts[i].n || !map_get(&s->ids, s->texts[i].data, s->texts[i].n, &id)) continue;
        if (id == i) keys[n++] = (trie_key){s->texts[i].data, s->texts[i].n, (int32_t)i};
        m->core.scores[i] = s->scores[i];
    }
    unigram_set_lowest(&m->core, lowest);
    return trie_build(&m->core.tokens, keys, n);
}

static weft_status unigram_open(const hub_spec *s, bool keeps_bytes, void **out) {
    (void)keeps_bytes;
    unigram_model *m = mem_alloc(sizeof *m);
    if (!m) return WEFT_NO_MEMORY;
    m->core.unknown = s->unknown;
    m->byte_fallback = s->byte_fallback;
    for (int i = 0; i < 256; i++) m->byte_ids[i] = hub_byte_token(s, (uint8_t)i);
    m->core.scores = mem_array(s->n_tokens, sizeof *m->core.scores);
    trie_key *keys = m->core.scores ? mem_array(s->n_tokens, sizeof *keys) : NULL;
    weft_status status = keys ? fill(m, s, keys) : WEFT_NO_MEMORY;
    mem_free(keys);
    if (status == WEFT_OK) *out = m;
    else unigram_close(m);
    return status;
}

/* The ids of a text that covers unknown characters, last first. */
static weft_status put_unknown(const unigram_model *m, const char *text, size_t n,
                               token_list *out) {
    int32_t id = -1;
    if (trie_longest(&m->core.tokens, text, n, &id) == n) return token_list_add(out, id);
    bool has_bytes = m->byte_fallback;
    for (size_t i = 0; i < n; i++) has_bytes &= m->byte_ids[(uint8_t)text[i]] >= 0;
    if (!has_bytes) return hub_add_unknown(m->core.unknown, text, n, out);
    for (size_t i = n; i-- > 0;) TRY(token_list_add(out, m->byte_ids[(uint8_t)text[i]]));
    return WEFT_OK;
}

static weft_status unigram_encode(const void *model, hub_model_work *w, const char *word, size_t n,
                                  token_list *out) {
    const unigram_model *m = model;
    TRY(unigram_cover(&m->core, &w->cover, word, n));
    size_t first = out->n;
    for (size_t at = n; at;) {
        const unigram_step *s = &w->cover.steps[at];
        size_t from = s->from;
        if (s->id != m->core.unknown || s->id < 0) {
            TRY(token_list_add(out, s->id));
        } else {
            while (from && w->cover.steps[from].id == s->id) from = w->cover.steps[from].from;
            TRY(put_unknown(m, word + from, at - from, out));
        }
        at = from;
    }
    for (size_t i = first, k = out->n; i + 1 < k;) {
        int32_t id = out->ids[i];
        out->ids[i++] = out->ids[--k];
        out->ids[k] = id;
    }
    return WEFT_OK;
}

const hub_model hub_unigram = {unigram_open, unigram_close, unigram_encode};
