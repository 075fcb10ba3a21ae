/* Reads the vocabulary's arrays and switches, checks their types and lengths, and gives them to the
 * tokenizer, which checks what they mean. See vocabulary.h.
 * SPDX-License-Identifier: MIT */
#include "llm/vocabulary.h"

#include <ctype.h>
#include <string.h>

#include "base/mem.h"

typedef struct parts {
    tokenizer_desc desc;
    char *model, *pre;
    token_text *tokens, *merges;
    float *scores;
    int32_t *kinds;
    uint8_t *strips;
} parts;

/* Finds an array of strings, numbers or integers; *v is NULL when the key is absent. */
static weft_status find_array(const gguf_file *f, const char *key, bool strings,
                              const gguf_value **v) {
    *v = gguf_find(f, key);
    if (!*v) return WEFT_OK;
    REQUIRE((*v)->type == GGUF_ARRAY, WEFT_FORMAT, "%s is no array", key);
    gguf_type e = (*v)->element_type;
    bool fits = strings ? e == GGUF_STRING : e != GGUF_STRING && e != GGUF_ARRAY;
    REQUIRE(fits, WEFT_FORMAT, "%s is no array of %s", key, strings ? "strings" : "numbers");
    return WEFT_OK;
}

static weft_status read_string(const gguf_file *f, const char *key, char **out) {
    weft_status status = WEFT_OK;
    gguf_string text;
    if (!gguf_get_string(f, key, &text, &status)) return status;
    *out = mem_array(text.n + 1, 1);
    if (!*out) return WEFT_NO_MEMORY;
    memcpy(*out, text.data, text.n);
    return WEFT_OK;
}

static weft_status read_texts(const gguf_file *f, const gguf_value *v, token_text **out) {
    *out = mem_array((size_t)v->n, sizeof **out);
    if (!*out) return WEFT_NO_MEMORY;
    for (uint64_t i = 0; i < v->n; i++) {
        gguf_string s = gguf_string_at(f, v, i);
        (*out)[i] = (token_text){s.data, s.n};
    }
    return WEFT_OK;
}

static weft_status check_length(const gguf_value *v, const char *key, size_t n) {
    REQUIRE(v->n == n, WEFT_FORMAT, "%s has %llu entries for %zu tokens", key,
            (unsigned long long)v->n, n);
    return WEFT_OK;
}

static weft_status read_scores(const gguf_file *f, parts *p) {
    const char *key = "tokenizer.ggml.scores";
    const gguf_value *v;
    TRY(find_array(f, key, false, &v));
    if (!v) return WEFT_OK;
    TRY(check_length(v, key, p->desc.n_tokens));
    p->scores = mem_array(p->desc.n_tokens, sizeof *p->scores);
    if (!p->scores) return WEFT_NO_MEMORY;
    for (size_t i = 0; i < p->desc.n_tokens; i++) p->scores[i] = (float)gguf_number_at(v, i);
    p->desc.scores = p->scores;
    return WEFT_OK;
}

static weft_status read_kinds(const gguf_file *f, parts *p) {
    const char *key = "tokenizer.ggml.token_type";
    const gguf_value *v;
    TRY(find_array(f, key, false, &v));
    if (!v) return WEFT_OK;
    TRY(check_length(v, key, p->desc.n_tokens));
    REQUIRE(v->element_type != GGUF_F32 && v->element_type != GGUF_F64, WEFT_FORMAT,
            "%s is no array of integers", key);
    p->kinds = mem_array(p->desc.n_tokens, sizeof *p->kinds);
    if (!p->kinds) return WEFT_NO_MEMORY;
    for (size_t i = 0; i < p->desc.n_tokens; i++) p->kinds[i] = (int32_t)gguf_integer_at(v, i);
    p->desc.kinds = p->kinds;
    return WEFT_OK;
}

static weft_status read_arrays(const gguf_file *f, parts *p) {
    const gguf_value *v;
    TRY(find_array(f, "tokenizer.ggml.tokens", true, &v));
    REQUIRE(v, WEFT_FORMAT, "the file has no tokenizer.ggml.tokens");
    TRY(read_texts(f, v, &p->tokens));
    p->desc.tokens = p->tokens;
    p->desc.n_tokens = (size_t)v->n;
    TRY(read_scores(f, p));
    TRY(read_kinds(f, p));
    TRY(find_array(f, "tokenizer.ggml.merges", true, &v));
    bool needs_merges = !strcmp(p->model, "gpt2") || !strcmp(p->model, "gemma4");
    REQUIRE(v || !needs_merges, WEFT_FORMAT,
            "the file has no tokenizer.ggml.merges, which a \"%s\" tokenizer needs", p->model);
    if (v) {
        TRY(read_texts(f, v, &p->merges));
        p->desc.merges = p->merges;
        p->desc.n_merges = (size_t)v->n;
    }
    TRY(find_array(f, "tokenizer.ggml.precompiled_charsmap", false, &v));
    if (v) {
        bool bytes = v->element_type == GGUF_U8 || v->element_type == GGUF_I8;
        REQUIRE(bytes, WEFT_FORMAT, "tokenizer.ggml.precompiled_charsmap is no array of bytes");
        p->desc.precompiled_charsmap = (token_text){(const char *)v->data, (size_t)v->n};
    }
    return WEFT_OK;
}

static weft_status read_id(const gguf_file *f, const char *key, int32_t *id) {
    weft_status status = WEFT_OK;
    int64_t value;
    *id = -1;
    if (!gguf_get_i64(f, key, &value, &status)) return status;
    if (value < 0 || value == UINT32_MAX) return WEFT_OK; /* some writers spell "none" so */
    REQUIRE(value <= INT32_MAX, WEFT_FORMAT, "%s is %lld, which is no token", key,
            (long long)value);
    *id = (int32_t)value;
    return WEFT_OK;
}

static weft_status read_switch(const gguf_file *f, const char *key, int *out) {
    weft_status status = WEFT_OK;
    bool value;
    *out = gguf_get_bool(f, key, &value, &status) ? value : -1;
    return status;
}

static weft_status read_settings(const gguf_file *f, tokenizer_desc *d) {
    TRY(read_id(f, "tokenizer.ggml.bos_token_id", &d->bos));
    TRY(read_id(f, "tokenizer.ggml.eos_token_id", &d->eos));
    TRY(read_id(f, "tokenizer.ggml.eot_token_id", &d->eot));
    TRY(read_id(f, "tokenizer.ggml.unknown_token_id", &d->unk));
    TRY(read_id(f, "tokenizer.ggml.seperator_token_id",
                &d->sep)); /* the specification's own spelling */
    TRY(read_id(f, "tokenizer.ggml.padding_token_id", &d->pad));
    TRY(read_id(f, "tokenizer.ggml.cls_token_id", &d->cls));
    TRY(read_id(f, "tokenizer.ggml.mask_token_id", &d->mask));
    TRY(read_switch(f, "tokenizer.ggml.add_bos_token", &d->add_bos));
    TRY(read_switch(f, "tokenizer.ggml.add_eos_token", &d->add_eos));
    TRY(read_switch(f, "tokenizer.ggml.add_space_prefix", &d->add_space_prefix));
    TRY(read_switch(f, "tokenizer.ggml.remove_extra_whitespaces", &d->remove_extra_whitespaces));
    int lowercase, strips_accents;
    TRY(read_switch(f, "tokenizer.ggml.normalizer.lowercase", &lowercase));
    TRY(read_switch(f, "tokenizer.ggml.normalizer.strip_accents", &strips_accents));
    d->keeps_case = lowercase == 0;
    d->keeps_accents = strips_accents < 0 ? d->keeps_case : strips_accents == 0;
    return WEFT_OK;
}

/* A name contains another, letters' case ignored. */
static bool contains(gguf_string name, const char *part) {
    size_t n = strlen(part);
    for (size_t i = 0; i + n <= name.n; i++) {
        size_t k = 0;
        while (k < n && tolower((unsigned char)name.data[i + k]) == part[k]) k++;
        if (k == n) return true;
    }
    return false;
}

/* GGUF does not say which added tokens swallow the white space beside them; the published
 * tokenizers of these models do (llama.cpp, src/llama-vocab.cpp, keeps the same list). */
static weft_status find_strips(const gguf_file *f, parts *p) {
    weft_status ignored = WEFT_OK;
    gguf_string name = {"", 0}, architecture = {"", 0};
    gguf_get_string(f, "general.name", &name, &ignored);
    gguf_get_string(f, "general.architecture", &architecture, &ignored);
    bool is_phi3 = contains(name, "phi-3") || contains(name, "phi3");
    bool has_mask = contains(architecture, "nomic-bert-moe") ||
                    contains(architecture, "jina-bert-v3") || contains(name, "modern-bert") ||
                    (p->pre && !strncmp(p->pre, "jina-v2-", 8));
    if (!p->desc.kinds || (!is_phi3 && !has_mask)) return WEFT_OK;
    p->strips = mem_array(p->desc.n_tokens, 1);
    if (!p->strips) return WEFT_NO_MEMORY;
    p->desc.strips = p->strips;
    for (size_t i = 0; i < p->desc.n_tokens; i++) {
        gguf_string text = {p->tokens[i].data, p->tokens[i].n};
        int kind = p->kinds[i];
        bool is_added = kind == TOKEN_CONTROL || kind == TOKEN_USER || kind == TOKEN_UNKNOWN;
        bool is_mask = (text.n == 6 && !memcmp(text.data, "<mask>", 6)) ||
                       (text.n == 6 && !memcmp(text.data, "[MASK]", 6));
        if (has_mask && is_mask) p->strips[i] = TOKEN_STRIPS_LEFT;
        bool is_core =
            contains(text, "<unk>") || contains(text, "<s>") || contains(text, "<|endoftext|>");
        if (is_phi3 && is_added && !is_core) p->strips[i] = TOKEN_STRIPS_RIGHT;
    }
    return WEFT_OK;
}

static weft_status read_parts(const gguf_file *f, parts *p) {
    TRY(read_string(f, "tokenizer.ggml.model", &p->model));
    REQUIRE(p->model, WEFT_FORMAT, "the file has no tokenizer.ggml.model");
    TRY(read_string(f, "tokenizer.ggml.pre", &p->pre));
    p->desc.model = p->model;
    p->desc.pre = p->pre;
    TRY(read_arrays(f, p));
    TRY(read_settings(f, &p->desc));
    return find_strips(f, p);
}

weft_status vocabulary_open(const gguf_file *f, tokenizer **out) {
    *out = NULL;
    parts p = {0};
    weft_status status = read_parts(f, &p);
    if (status == WEFT_OK) {
        status = tokenizer_open(&p.desc, out);
        if (status == WEFT_FORMAT || status == WEFT_UNSUPPORTED)
            error_prefix(status, "tokenizer.ggml");
    }
    mem_free(p.model);
    mem_free(p.pre);
    mem_free(p.tokens);
    mem_free(p.merges);
    mem_free(p.scores);
    mem_free(p.kinds);
    mem_free(p.strips);
    return status;
}
