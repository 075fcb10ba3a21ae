/* A tokenizer made of a tokenizer.json: added tokens are cut out of the text, the rest is
 * normalised, added tokens are cut out of that, the rest goes through the pre-tokenizer to the
 * model; the post-processor's tokens stand around the whole. Byte-level BPE, where nearly all
 * models are, keeps its words as bytes and runs on the code that a GGUF's does (hub_bpe.c). See
 * tokenizer_json.h.
 * SPDX-License-Identifier: MIT */
#include <string.h>

#include "base/utf8.h"

#include "tokenizer/hub_added.h"
#include "tokenizer/hub_models.h"
#include "tokenizer/hub_steps.h"
#include "tokenizer/vocab.h"

typedef struct hub {
    hub_normalizer *normalizer;
    hub_splitter *splitter;
    hub_decoder *decoder;
    const hub_model *kind;
    void *model;
    hub_added_tokens added;
    token_text *spoken; /* the texts of tokens as the decoder gets them */
    int32_t *around;
    size_t n_around;
    mem_arena arena;
} hub;

/* ---- encoding
 * ------------------------------------------------------------------------------------------ */

typedef struct encoding {
    const hub *h;
    int flags;
    pattern_work *patterns;
    hub_normalize_work normal;
    hub_split_work split;
    hub_model_work model;
    token_list *out;
} encoding;

static weft_status put_token(void *context, int32_t id) {
    const encoding *e = context;
    return token_list_add(e->out, id);
}

static weft_status put_word(void *context, const char *word, size_t n) {
    encoding *e = context;
    return e->h->kind->encode(e->h->model, &e->model, word, n, e->out);
}

static weft_status put_normal(void *context, hub_piece piece) {
    encoding *e = context;
    return hub_split(e->h->splitter, &e->split, piece, put_word, e);
}

static weft_status put_raw(void *context, hub_piece piece) {
    encoding *e = context;
    TRY(hub_normalize(e->h->normalizer, &e->normal, &piece));
    hub_added_sink sink = {put_normal, put_token, e};
    return hub_added_cut(&e->h->added, &e->h->added.normal, e->flags & ENCODE_PARSE_SPECIAL, piece,
                         &sink);
}

static weft_status encode_text(const hub *h, const char *text, size_t n, int flags,
                               token_list *out) {
    encoding e = {.h = h, .flags = flags, .out = out};
    int32_t code;
    size_t first = (size_t)utf8_decode(text, n, &code);
    weft_status status = pattern_work_open(&e.patterns);
    e.normal.patterns = e.split.patterns = e.patterns;
    if (status == WEFT_OK) status = hub_split_work_open(h->splitter, &e.split);
    if (status == WEFT_OK) status = merge_work_open(&e.model.merge, n);
    hub_added_sink sink = {put_raw, put_token, &e};
    if (status == WEFT_OK)
        status = hub_added_cut(&h->added, &h->added.raw, flags & ENCODE_PARSE_SPECIAL,
                               (hub_piece){text, n, first}, &sink);
    hub_model_work_free(&e.model);
    hub_split_work_close(h->splitter, &e.split);
    hub_normalize_work_free(&e.normal);
    pattern_work_close(e.patterns);
    return status;
}

/* Puts the post-processor's tokens around the text's own, out->ids[first..]. */
static weft_status put_around(const tokenizer *t, size_t first, token_list *out) {
    const hub *h = t->state;
    size_t n = out->n - first;
    int32_t *ids = mem_array(n + 1, sizeof *ids);
    if (!ids) return WEFT_NO_MEMORY;
    if (n) memcpy(ids, out->ids + first, n * sizeof *ids);
    out->n = first;
    weft_status status = WEFT_OK;
    for (size_t i = 0; i < h->n_around && status == WEFT_OK; i++) {
        if (h->around[i] != TEMPLATE_TEXT) status = token_list_add(out, h->around[i]);
        /* A text that brings its own begin token gets no second one. */
        bool is_second = i == 1 && n && t->bos >= 0 && h->around[0] == t->bos && ids[0] == t->bos;
        for (size_t k = is_second; k < n && h->around[i] == TEMPLATE_TEXT && status == WEFT_OK; k++)
            status = token_list_add(out, ids[k]);
    }
    mem_free(ids);
    return status;
}

static weft_status encode_whole(const tokenizer *t, const char *text, size_t n, int flags,
                                token_list *out) {
    size_t first = out->n;
    if (n) TRY(encode_text(t->state, text, n, flags, out));
    return flags & ENCODE_ADD_SPECIAL ? put_around(t, first, out) : WEFT_OK;
}

/* ---- decoding
 * ------------------------------------------------------------------------------------------ */

static weft_status decode_whole(const tokenizer *t, const int32_t *ids, size_t n, bool with_special,
                                str *out) {
    const hub *h = t->state;
    token_text *texts = mem_array(n, sizeof *texts);
    if (!texts) return WEFT_NO_MEMORY;
    size_t count = 0;
    weft_status status = WEFT_OK;
    for (size_t i = 0; i < n && status == WEFT_OK; i++) {
        if (ids[i] < 0 || (size_t)ids[i] >= t->n_tokens)
            status =
                error_set(WEFT_INDEX, "token %d is not among the %zu tokens", ids[i], t->n_tokens);
        else if (with_special ||
                 (t->kinds[ids[i]] != TOKEN_CONTROL && t->kinds[ids[i]] != TOKEN_UNKNOWN))
            texts[count++] = h->spoken[ids[i]];
    }
    if (status == WEFT_OK) status = hub_decode(h->decoder, texts, count, true, true, out);
    mem_free(texts);
    return status;
}

static weft_status make_piece(tokenizer *t, size_t id, bool begins, str *scratch,
                              token_text *piece) {
    const hub *h = t->state;
    str_clear(scratch);
    TRY(hub_decode(h->decoder, &h->spoken[id], 1, begins, false, scratch));
    char *copy = arena_string(&t->arena, str_text(scratch), scratch->n);
    if (!copy) return WEFT_NO_MEMORY;
    *piece = (token_text){copy, scratch->n};
    return WEFT_OK;
}

/* A token that is found in normal forms is spoken in its own, as `tokenizers` 0.23 has it; but not
 * a special one, which then would not be known as such. */
static weft_status find_spoken(const tokenizer *t) {
    hub *h = t->state;
    h->spoken = arena_alloc(&h->arena, t->n_tokens * sizeof *h->spoken);
    if (!h->spoken) return WEFT_NO_MEMORY;
    memcpy(h->spoken, t->texts, t->n_tokens * sizeof *h->spoken);
    for (size_t i = 0; i < h->added.n; i++) {
        const hub_added *a = &h->added.items[i];
        if (a->is_normalized && !a->is_special) h->spoken[a->id] = h->added.normal_texts[i];
    }
    return WEFT_OK;
}

/* What each token stands for, at the beginning of a text and inside it. */
static weft_status hub_open_pieces(tokenizer *t, const tokenizer_desc *desc) {
    (void)desc;
    TRY(find_spoken(t));
    t->firsts = mem_array(t->n_tokens, sizeof *t->firsts);
    if (!t->firsts) return WEFT_NO_MEMORY;
    str scratch = {0};
    weft_status status = WEFT_OK;
    for (size_t i = 0; i < t->n_tokens && status == WEFT_OK; i++) {
        status = make_piece(t, i, true, &scratch, &t->firsts[i]);
        if (status == WEFT_OK) status = make_piece(t, i, false, &scratch, &t->pieces[i]);
    }
    str_free(&scratch);
    return status;
}

/* ---- opening
 * ------------------------------------------------------------------------------------------- */

static void hub_free(hub *h) {
    if (!h) return;
    hub_normalizer_close(h->normalizer);
    hub_splitter_close(h->splitter);
    hub_decoder_close(h->decoder);
    if (h->kind) h->kind->close(h->model);
    hub_added_close(&h->added);
    arena_free(&h->arena);
    mem_free(h);
}

static void hub_close(tokenizer *t) { hub_free(t->state); }

static const vocab_kind hub_kind = {
    .model = "tokenizer.json",
    .open = hub_open_pieces,
    .close = hub_close,
    .encode_whole = encode_whole,
    .decode_whole = decode_whole,
};

static weft_status open_model(hub *h, const hub_spec *s, bool keeps_bytes) {
    static const hub_model *const models[] = {[MODEL_BPE] = &hub_bpe,
                                              [MODEL_WORDPIECE] = &hub_wordpiece,
                                              [MODEL_WORDLEVEL] = &hub_wordlevel,
                                              [MODEL_UNIGRAM] = &hub_unigram};
    h->kind = models[s->model];
    weft_status status = h->kind->open(s, keeps_bytes, &h->model);
    return status == WEFT_OK ? WEFT_OK : error_prefix(status, "model");
}

static weft_status open_steps(hub *h, const hub_spec *s) {
    const part_list *splits = &s->stages[SPLITTER];
    bool keeps_bytes = s->model == MODEL_BPE && !s->prefix.n && !s->suffix.n && splits->n &&
                       splits->items[splits->n - 1].type == SPLIT_BYTE_LEVEL;
    TRY(hub_normalizer_open(&s->stages[NORMALIZER], &h->normalizer));
    TRY(hub_splitter_open(splits, keeps_bytes, &h->splitter));
    TRY(hub_decoder_open(s, &h->decoder));
    TRY(hub_added_open(&h->added, s, h->normalizer));
    h->n_around = s->n_around;
    h->around = arena_alloc(&h->arena, (s->n_around + 1) * sizeof *h->around);
    if (!h->around) return WEFT_NO_MEMORY;
    if (s->n_around) memcpy(h->around, s->around, s->n_around * sizeof *h->around);
    return open_model(h, s, keeps_bytes);
}

static void find_kinds(const hub_spec *s, int32_t *kinds, uint8_t *strips) {
    for (size_t i = 0; i < s->n_tokens; i++) kinds[i] = s->origin[i] ? TOKEN_NORMAL : TOKEN_UNUSED;
    for (int i = 0; i < 256 && s->byte_fallback; i++) {
        int32_t id = hub_byte_token(s, (uint8_t)i);
        if (id >= 0) kinds[id] = TOKEN_BYTE;
    }
    for (size_t i = 0; i < s->n_added; i++) {
        const hub_added *a = &s->added[i];
        bool is_unknown = a->is_special && a->id == s->unknown;
        kinds[a->id] = is_unknown ? TOKEN_UNKNOWN : a->is_special ? TOKEN_CONTROL : TOKEN_USER;
        strips[a->id] = (uint8_t)((a->strips_left ? TOKEN_STRIPS_LEFT : 0) |
                                  (a->strips_right ? TOKEN_STRIPS_RIGHT : 0));
    }
}

static weft_status open_hub(const hub_spec *s, const int32_t *kinds, const uint8_t *strips,
                            tokenizer **out) {
    hub *h = mem_alloc(sizeof *h);
    if (!h) return WEFT_NO_MEMORY;
    weft_status status = open_steps(h, s);
    if (status != WEFT_OK) {
        hub_free(h);
        return status;
    }
    tokenizer_desc desc = {.n_tokens = s->n_tokens,
                           .tokens = s->texts,
                           .kinds = kinds,
                           .strips = strips,
                           .bos = s->bos,
                           .eos = s->eos,
                           .eot = -1,
                           .unk = s->unk,
                           .sep = s->sep,
                           .pad = s->pad,
                           .cls = s->cls,
                           .mask = s->mask,
                           .add_bos = s->n_around && s->around[0] == s->bos,
                           .add_eos = s->n_around && s->around[s->n_around - 1] == s->eos};
    return vocab_open(&hub_kind, h, &desc, out);
}

weft_status tokenizer_open_json(const tokenizer_json_text *text, tokenizer **out) {
    *out = NULL;
    hub_spec s;
    weft_status status = hub_read(text, &s);
    if (status == WEFT_OK) {
        int32_t *kinds = mem_array(s.n_tokens, sizeof *kinds);
        uint8_t *strips = mem_array(s.n_tokens, 1);
        status = WEFT_NO_MEMORY;
        if (kinds && strips) {
            find_kinds(&s, kinds, strips);
            status = open_hub(&s, kinds, strips, out);
        }
        mem_free(kinds);
        mem_free(strips);
        for (size_t i = 0; i < text->n_ends && status == WEFT_OK; i++)
            if (text->ends[i] >= 0 && (size_t)text->ends[i] < s.n_tokens)
                (*out)->ends[text->ends[i]] = 1;
        if (status == WEFT_FORMAT || status == WEFT_UNSUPPORTED || status == WEFT_LIMIT)
            error_prefix(status, "tokenizer.json");
    }
    hub_spec_free(&s);
    return status;
}

void hub_model_work_free(hub_model_work *w) {
    merge_work_close(&w->merge);
    unigram_work_free(&w->cover);
    str_free(&w->text);
    mem_free(w->symbols);
    *w = (hub_model_work){0};
}
