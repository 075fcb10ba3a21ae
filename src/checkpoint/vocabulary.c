/* The tokenizer's files and the chat templates as metadata. SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "checkpoint/parts.h"
#include "tokenizer/tokenizer_json.h"

enum { MAX_FILE = 1 << 28, MAX_ENDS = 64 };

/* ---- files
 * ------------------------------------------------------------------------------------ */

/* A file's text, to be freed; NULL where there is no such file. */
static weft_status read_text(const char *folder, const char *name, char **text, size_t *n) {
    str path = {0};
    *text = NULL;
    *n = 0;
    weft_status status = checkpoint_path(folder, name, &path);
    if (status == WEFT_OK && file_exists(str_text(&path)))
        status = file_read(str_text(&path), MAX_FILE, text, n);
    str_free(&path);
    return status;
}

weft_status checkpoint_read_json(const char *folder, const char *name, conf_value **out) {
    str path = {0};
    *out = NULL;
    weft_status status = checkpoint_path(folder, name, &path);
    if (status == WEFT_OK && file_exists(str_text(&path))) status = conf_open(str_text(&path), out);
    str_free(&path);
    return status;
}

typedef struct texts {
    tokenizer_json_text given;
    char *json, *config;
} texts;

static void free_texts(texts *t) {
    mem_free(t->json);
    mem_free(t->config);
}

static weft_status read_texts(const char *folder, size_t n_vocab, texts *t) {
    *t = (texts){.given = {.n_vocab = n_vocab}};
    weft_status status = read_text(folder, "tokenizer.json", &t->json, &t->given.n);
    if (status == WEFT_OK && !t->json)
        status = error_set(WEFT_UNSUPPORTED, "there is no tokenizer.json, which weft needs");
    if (status == WEFT_OK)
        status = read_text(folder, "tokenizer_config.json", &t->config, &t->given.n_config);
    t->given.json = t->json;
    t->given.config = t->config;
    return status;
}

/* ---- where a text ends
 * ------------------------------------------------------------------------ */

static bool is_token(const conf_value *value, size_t n_vocab, int64_t *id) {
    return conf_int(value, id) && *id >= 0 && (uint64_t)*id < n_vocab;
}

static weft_status take_ends(const conf_value *root, size_t n_vocab, int32_t *ids, size_t *n) {
    const conf_value *value = conf_find(root, "eos_token_id"), *list;
    size_t count;
    int64_t id;
    if (conf_int(value, &id)) {
        REQUIRE(is_token(value, n_vocab, &id), WEFT_FORMAT, "key 'eos_token_id' is no token");
        ids[(*n)++] = (int32_t)id;
        return WEFT_OK;
    }
    TRY(conf_get_array(root, "eos_token_id", &list, &count));
    REQUIRE(count <= MAX_ENDS, WEFT_LIMIT, "key 'eos_token_id' has %zu elements, the limit is %d",
            count, MAX_ENDS);
    for (size_t i = 0; i < count; i++) {
        REQUIRE(is_token(conf_at(list, i), n_vocab, &id), WEFT_FORMAT,
                "key 'eos_token_id' has an element that is no token");
        ids[(*n)++] = (int32_t)id;
    }
    return WEFT_OK;
}

/* eos_token_id of a file: a number, a list of at most MAX_ENDS, or absent. */
static weft_status read_ends(const char *folder, const char *file, size_t n_vocab, int32_t *ids,
                             size_t *n) {
    conf_value *root;
    *n = 0;
    TRY(checkpoint_read_json(folder, file, &root));
    weft_status status = take_ends(root, n_vocab, ids, n);
    conf_close(root);
    return status == WEFT_OK ? status : error_prefix(status, "%s", file);
}

/* The ids that generation_config.json names, else config.json. */
static weft_status find_ends(const char *folder, size_t n_vocab, int32_t *ids, size_t *n) {
    TRY(read_ends(folder, "generation_config.json", n_vocab, ids, n));
    return *n ? WEFT_OK : read_ends(folder, "config.json", n_vocab, ids, n);
}

weft_status checkpoint_open_tokenizer(const char *folder, size_t n_vocab, tokenizer **out) {
    int32_t ends[MAX_ENDS];
    texts t;
    *out = NULL;
    weft_status status = read_texts(folder, n_vocab, &t);
    t.given.ends = ends;
    if (status == WEFT_OK)
        status = find_ends(folder, n_vocab ? n_vocab : INT32_MAX, ends, &t.given.n_ends);
    if (status == WEFT_OK) status = tokenizer_open_json(&t.given, out);
    free_texts(&t);
    return status;
}

/* GGUF has two keys for tokens that end a text, generation_config.json may name more: the
 * tokenizer's own comes first, another one is the end of a turn, and the rest must be such that
 * their texts say so. */
static weft_status add_ends(const char *folder, size_t n_vocab, tokenizer_desc *d) {
    int32_t ids[MAX_ENDS];
    size_t n;
    TRY(find_ends(folder, n_vocab, ids, &n));
    for (size_t i = 0; i < n; i++) {
        if (d->eos < 0) d->eos = ids[i];
        else if (d->eot < 0 && ids[i] != d->eos) d->eot = ids[i];
    }
    if (n <= 2) return WEFT_OK;
    tokenizer *t;
    TRY(tokenizer_open(d, &t));
    for (size_t i = 0; i < n; i++)
        if (!tokenizer_is_end(t, ids[i]))
            log_line(WEFT_LOG_WARN, "token %d ends a text by 'eos_token_id', which is not kept",
                     (int)ids[i]);
    tokenizer_close(t);
    return WEFT_OK;
}

/* ---- the tokenizer's keys
 * --------------------------------------------------------------------- */

static weft_status put_texts(gguf_writer *w, const char *key, const token_text *texts, size_t n) {
    gguf_string *strings = mem_array(n, sizeof *strings);
    if (!strings) return WEFT_NO_MEMORY;
    for (size_t i = 0; i < n; i++) strings[i] = (gguf_string){texts[i].data, texts[i].n};
    weft_status status = gguf_writer_set_strings(w, key, strings, n);
    mem_free(strings);
    return status;
}

static weft_status put_id(gguf_writer *w, const char *key, int32_t id) {
    return id < 0 ? WEFT_OK : gguf_writer_set_u32(w, key, (uint32_t)id);
}

static weft_status put_switch(gguf_writer *w, const char *key, int value) {
    uint8_t byte = value > 0;
    return value < 0 ? WEFT_OK : gguf_writer_set(w, key, GGUF_BOOL, false, &byte, 1);
}

static weft_status put_lists(gguf_writer *w, const tokenizer_desc *d) {
    TRY(put_texts(w, "tokenizer.ggml.tokens", d->tokens, d->n_tokens));
    if (d->scores)
        TRY(gguf_writer_set(w, "tokenizer.ggml.scores", GGUF_F32, true, d->scores, d->n_tokens));
    if (d->kinds)
        TRY(gguf_writer_set(w, "tokenizer.ggml.token_type", GGUF_I32, true, d->kinds, d->n_tokens));
    if (d->merges) TRY(put_texts(w, "tokenizer.ggml.merges", d->merges, d->n_merges));
    if (!d->precompiled_charsmap.n) return WEFT_OK;
    return gguf_writer_set(w, "tokenizer.ggml.precompiled_charsmap", GGUF_U8, true,
                           d->precompiled_charsmap.data, d->precompiled_charsmap.n);
}

static weft_status put_desc(gguf_writer *w, const tokenizer_desc *d) {
    TRY(gguf_writer_set_string(w, "tokenizer.ggml.model", d->model, strlen(d->model)));
    if (d->pre) TRY(gguf_writer_set_string(w, "tokenizer.ggml.pre", d->pre, strlen(d->pre)));
    TRY(put_lists(w, d));
    TRY(put_id(w, "tokenizer.ggml.bos_token_id", d->bos));
    TRY(put_id(w, "tokenizer.ggml.eos_token_id", d->eos));
    TRY(put_id(w, "tokenizer.ggml.eot_token_id", d->eot));
    TRY(put_id(w, "tokenizer.ggml.unknown_token_id", d->unk));
    TRY(put_id(w, "tokenizer.ggml.seperator_token_id", d->sep)); /* the specification's spelling */
    TRY(put_id(w, "tokenizer.ggml.padding_token_id", d->pad));
    TRY(put_id(w, "tokenizer.ggml.cls_token_id", d->cls));
    TRY(put_id(w, "tokenizer.ggml.mask_token_id", d->mask));
    TRY(put_switch(w, "tokenizer.ggml.add_bos_token", d->add_bos));
    TRY(put_switch(w, "tokenizer.ggml.add_eos_token", d->add_eos));
    TRY(put_switch(w, "tokenizer.ggml.add_space_prefix", d->add_space_prefix));
    return put_switch(w, "tokenizer.ggml.remove_extra_whitespaces", d->remove_extra_whitespaces);
}

/* A description that fits the model, put under GGUF's keys. */
static weft_status put_described(const char *folder, size_t n_vocab, gguf_writer *w,
                                 tokenizer_desc *d) {
    REQUIRE(!n_vocab || d->n_tokens == n_vocab, WEFT_FORMAT,
            "tokenizer.json has %zu tokens, but 'vocab_size' is %zu", d->n_tokens, n_vocab);
    TRY(add_ends(folder, d->n_tokens, d));
    return put_desc(w, d);
}

weft_status checkpoint_put_tokenizer(const char *folder, size_t n_vocab, gguf_writer *w,
                                     char *problem) {
    texts t;
    tokenizer_description d = {0};
    weft_status status = read_texts(folder, n_vocab, &t);
    if (status == WEFT_OK) status = tokenizer_describe_json(&t.given, &d);
    if (status == WEFT_UNSUPPORTED) {
        snprintf(problem, CHECKPOINT_PROBLEM, "%s", error_message());
        status = WEFT_OK;
    } else if (status == WEFT_OK) {
        status = put_described(folder, n_vocab, w, &d.desc);
    }
    tokenizer_description_free(&d);
    free_texts(&t);
    return status;
}

/* ---- chat templates
 * --------------------------------------------------------------------------- */

static weft_status put_template(gguf_writer *w, const char *name, const char *text) {
    char key[128];
    bool is_default = !strcmp(name, "default");
    REQUIRE(strlen(name) < 64, WEFT_FORMAT, "key 'chat_template': the name '%.60s...' is too long",
            name);
    snprintf(key, sizeof key, "tokenizer.chat_template%s%s", is_default ? "" : ".",
             is_default ? "" : name);
    return gguf_writer_set_string(w, key, text, strlen(text));
}

/* One template, or a list of named ones. */
static weft_status put_configured(gguf_writer *w, const conf_value *value) {
    if (!value) return WEFT_OK;
    const char *text = conf_text(value);
    if (text) return put_template(w, "default", text);
    REQUIRE(conf_is_array(value), WEFT_FORMAT,
            "key 'chat_template' is neither a text nor a list of them");
    for (size_t i = 0; conf_at(value, i); i++) {
        const char *name, *named;
        TRY(conf_get_text(conf_at(value, i), "name", &name));
        TRY(conf_get_text(conf_at(value, i), "template", &named));
        REQUIRE(name && named, WEFT_FORMAT,
                "key 'chat_template': element %zu has no name and template", i);
        TRY(put_template(w, name, named));
    }
    return WEFT_OK;
}

/* A file of its own, where there is one, is the default: newer folders have it. */
weft_status checkpoint_put_templates(const char *folder, gguf_writer *w) {
    conf_value *root;
    char *text;
    size_t n;
    TRY(checkpoint_read_json(folder, "tokenizer_config.json", &root));
    weft_status status = put_configured(w, conf_find(root, "chat_template"));
    if (status != WEFT_OK) error_prefix(status, "tokenizer_config.json");
    conf_close(root);
    TRY(status);
    TRY(read_text(folder, "chat_template.jinja", &text, &n));
    if (text) status = gguf_writer_set_string(w, "tokenizer.chat_template", text, n);
    mem_free(text);
    return status;
}
