/* Models: a GGUF file with its weights on a device, its tokenizer, and what there is to know about
 * it.
 * SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "checkpoint/checkpoint.h"
#include "llm/llm.h"
#include "llm/vocabulary.h"
#include "template/template.h"

weft_status model_enter(weft_model *m) {
    if (!m) {
        if (error_status() == WEFT_OK) return error_set(WEFT_INVALID, "there is no model");
        return error_prefix(WEFT_INVALID, "there is no model");
    }
    bool was_busy = atomic_exchange(&m->is_busy, true);
    REQUIRE(!was_busy, WEFT_BUSY,
            "the model is in use by another thread or by the caller of this callback");
    return WEFT_OK;
}

void model_leave(weft_model *m) { atomic_store(&m->is_busy, false); }

/* A tokenizer.json without a model: beside it stands a GGUF file that says nothing. */
static weft_status load_json(weft_model *m, const char *path) {
    static const uint8_t nothing[24] = {'G', 'G', 'U', 'F', 3};
    TRY(gguf_open_memory(nothing, sizeof nothing, &m->file));
    TRY(vocabulary_open_json(path, &m->tok));
    return chat_open(m);
}

/* The rows of the embedding, else the tokens that are listed; 0 where neither is there. */
static size_t count_tokens(const gguf_file *file) {
    const gguf_tensor *embd = gguf_find_tensor(file, "token_embd.weight");
    const gguf_value *tokens = gguf_find(file, "tokenizer.ggml.tokens");
    return embd ? (size_t)embd->dim[0] : tokens ? (size_t)tokens->n : 0;
}

static weft_status load(weft_model *m, const char *path, weft_model_desc desc) {
    if (desc.vocabulary_only && vocabulary_is_json(path)) return load_json(m, path);
    char problem[CHECKPOINT_PROBLEM];
    TRY(desc.vocabulary_only ? checkpoint_open_vocabulary(path, problem, &m->file)
                             : checkpoint_open_path(path, problem, &m->file));
    m->file_bytes = gguf_bytes(m->file);
    /* A folder's own tokenizer: a GGUF cannot say all that it does (docs/tokenizers.md). */
    if (file_is_folder(path)) TRY(checkpoint_open_tokenizer(path, count_tokens(m->file), &m->tok));
    else TRY(vocabulary_open(m->file, &m->tok));
    TRY(chat_open(m));
    if (desc.vocabulary_only) return WEFT_OK;
    TRY(model_load(m->dev, m->file, desc.on_progress, desc.user, &m->net));
    REQUIRE(tokenizer_n_tokens(m->tok) == (size_t)m->net->p.n_vocab, WEFT_FORMAT,
            "the tokenizer has %zu tokens, but the model %d", tokenizer_n_tokens(m->tok),
            m->net->p.n_vocab);
    return WEFT_OK;
}

weft_model *weft_model_load(weft_device *dev, const char *path, weft_model_desc desc) {
    if (!dev && !desc.vocabulary_only) {
        if (error_status() == WEFT_OK) error_set(WEFT_INVALID, "there is no device");
        else error_prefix(WEFT_INVALID, "there is no device");
        return NULL;
    }
    if (!path) {
        error_set(WEFT_INVALID, "weft_model_load: the path is NULL");
        return NULL;
    }
    double start = clock_seconds();
    weft_model *m = mem_alloc(sizeof *m);
    if (!m) return NULL;
    m->dev = dev;
    weft_status status = load(m, path, desc);
    if (status != WEFT_OK) {
        if (!strstr(error_message(), path)) error_prefix(status, "%s", path);
        weft_model_free(m);
        return NULL;
    }
    m->load_seconds = clock_seconds() - start;
    return m;
}

int model_n_sessions(const weft_model *m) { return m->kv[0].n_sessions + m->kv[1].n_sessions; }

void weft_model_free(weft_model *m) {
    if (!m) return;
    m->is_given_up = true;
    if (model_n_sessions(m)) return; /* they borrow it: the last one to close frees it */
    for (int i = 0; i < 2; i++) kv_close(m->kv[i].cache);
    model_free(m->net);
    grammar_vocab_close(m->grammar_vocab);
    tokenizer_close(m->tok);
    gguf_close(m->file);
    trie_free(&m->controls);
    str_free(&m->text_bytes);
    mem_free(m->text_first);
    str_free(&m->hints);
    str_free(&m->hint_order);
    template_free(m->chat_template);
    mem_free(m);
}

/* "q4_1 + q8_0 + f32", by bytes. */
static void list_formats(const gguf_file *file, char *out, size_t cap) {
    uint64_t bytes[WEFT_DTYPE_NUMBERS] = {0};
    for (size_t i = 0; i < gguf_n_tensors(file); i++)
        bytes[gguf_tensor_at(file, i)->dtype] += gguf_tensor_at(file, i)->bytes;
    size_t n = 0;
    out[0] = 0;
    for (;;) {
        int most = 0;
        for (int d = 1; d < WEFT_DTYPE_NUMBERS; d++)
            if (bytes[d] > bytes[most]) most = d;
        if (!bytes[most] || n >= cap - 1) return;
        n += (size_t)snprintf(out + n, cap - n, "%s%s", n ? " + " : "",
                              weft_dtype_name((weft_dtype)most));
        bytes[most] = 0;
    }
}

static uint64_t count_parameters(const gguf_file *file) {
    uint64_t n = 0;
    for (size_t i = 0; i < gguf_n_tensors(file); i++) {
        const gguf_tensor *t = gguf_tensor_at(file, i);
        uint64_t elements = 1;
        for (int d = 0; d < t->rank; d++) elements *= (uint64_t)t->dim[d];
        n += elements;
    }
    return n;
}

/* Copies a string key, cut at a character and fit to be shown; "" when it is absent. */
static void copy_key(const gguf_file *file, const char *key, char *out, size_t cap) {
    gguf_string s = {"", 0};
    weft_status status = WEFT_OK;
    gguf_get_string(file, key, &s, &status);
    size_t n = s.n < cap - 1 ? s.n : utf8_complete(s.data, cap - 1);
    memcpy(out, s.data, n);
    out[n] = 0;
    utf8_tidy(out);
}

static void put_sizes(const model *net, weft_model_info *out) {
    const model_params *p = &net->p;
    out->device_bytes = net->bytes;
    out->kv_bytes = (uint64_t)p->n_layers * 2 * 2 * (uint64_t)model_size_of(p, SIZE_KV_HEADS);
    out->n_layers = p->n_layers;
    out->n_embd = p->n_embd;
    out->n_ff = p->n_ff;
    out->n_heads = p->n_heads;
    out->n_kv_heads = p->n_kv_heads;
    out->head_dim = p->head_dim;
    out->n_vocab = p->n_vocab;
    out->n_ctx_train = p->n_ctx_train;
}

weft_status weft_get_model_info(weft_model *m, weft_model_info *out) {
    REQUIRE(out, WEFT_INVALID, "weft_get_model_info: out is NULL");
    *out = (weft_model_info){0};
    TRY(model_enter(m));
    copy_key(m->file, "general.name", out->name, sizeof out->name);
    copy_key(m->file, "general.architecture", out->arch, sizeof out->arch);
    list_formats(m->file, out->formats, sizeof out->formats);
    char model_name[15], pre[15];
    copy_key(m->file, "tokenizer.ggml.model", model_name, sizeof model_name);
    copy_key(m->file, "tokenizer.ggml.pre", pre, sizeof pre);
    snprintf(out->tokenizer, sizeof out->tokenizer, "%s%s%s", model_name, pre[0] ? "/" : "", pre);
    snprintf(out->chat_format, sizeof out->chat_format, "%s", chat_format(m));
    snprintf(out->warning, sizeof out->warning, "%s", tokenizer_warning(m->tok));
    utf8_tidy(out->warning);
    out->n_parameters = count_parameters(m->file);
    out->file_bytes = m->file_bytes;
    if (m->net) put_sizes(m->net, out);
    out->load_seconds = m->load_seconds;
    model_leave(m);
    return WEFT_OK;
}

int64_t weft_encode(weft_model *m, const char *text, size_t n, int flags, int32_t *ids,
                    size_t cap) {
    if (model_enter(m) != WEFT_OK) return -1;
    int how = (flags & WEFT_ADD_SPECIAL ? ENCODE_ADD_SPECIAL : 0) |
              (flags & WEFT_PARSE_SPECIAL ? ENCODE_PARSE_SPECIAL : 0);
    token_list list = {0};
    weft_status status = text || !n ? tokenizer_encode(m->tok, text ? text : "", n, how, &list)
                                    : error_set(WEFT_INVALID, "weft_encode: the text is NULL");
    for (size_t i = 0; ids && i < list.n && i < cap; i++) ids[i] = list.ids[i];
    int64_t count = status == WEFT_OK ? (int64_t)list.n : -1;
    token_list_free(&list);
    model_leave(m);
    return count;
}

int64_t weft_decode(weft_model *m, const int32_t *ids, size_t n, int flags, char *text,
                    size_t cap) {
    if (model_enter(m) != WEFT_OK) return -1;
    str out = {0};
    weft_status status = ids || !n
                             ? tokenizer_decode(m->tok, ids, n, flags & WEFT_PARSE_SPECIAL, &out)
                             : error_set(WEFT_INVALID, "weft_decode: ids is NULL");
    if (text && cap) {
        size_t kept = out.n < cap ? out.n : cap - 1;
        memcpy(text, str_text(&out), kept);
        text[kept] = 0;
    }
    int64_t count = status == WEFT_OK ? (int64_t)out.n : -1;
    str_free(&out);
    model_leave(m);
    return count;
}

bool weft_is_end(weft_model *m, int32_t id) { return m && tokenizer_is_end(m->tok, id); }
