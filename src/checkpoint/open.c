/* Opening a folder: config.json says what to expect, the weights are mapped, and both become a GGUF
 * file in memory that owns them. SPDX-License-Identifier: MIT */
#include <string.h>

#include "checkpoint/parts.h"

weft_status checkpoint_path(const char *folder, const char *name, str *out) {
    size_t n = strlen(folder);
    while (n > 1 && folder[n - 1] == '/') n--;
    return str_format(out, "%.*s/%s", (int)n, folder, name);
}

static void release(void *owner) {
    checkpoint *c = owner;
    safetensors_close(c->weights);
    arena_free(&c->arena);
    str_free(&c->metadata);
    mem_free(c);
}

static weft_status read_config(checkpoint *c, const char *folder) {
    str path = {0};
    conf_value *root = NULL;
    weft_status status = checkpoint_path(folder, "config.json", &path);
    if (status == WEFT_OK && !file_exists(str_text(&path)))
        status = error_set(WEFT_IO, "%s has no config.json", folder);
    if (status == WEFT_OK) status = conf_open(str_text(&path), &root);
    if (status == WEFT_OK) {
        status = config_read(root, &c->config);
        if (status != WEFT_OK) error_prefix(status, "config.json");
        conf_close(root);
    }
    str_free(&path);
    return status;
}

/* What a folder has beside its weights, as metadata. */
static weft_status put_texts(const char *folder, size_t n_vocab, gguf_writer *w, char *problem) {
    TRY(checkpoint_put_tokenizer(folder, n_vocab, w, problem));
    TRY(checkpoint_put_templates(folder, w));
    return checkpoint_put_sampling(folder, w);
}

static weft_status put_metadata(checkpoint *c, const char *folder, char *problem) {
    gguf_writer *w;
    TRY(gguf_writer_new(0, &w));
    weft_status status = checkpoint_put_sizes(c, folder, w);
    if (status == WEFT_OK) status = put_texts(folder, (size_t)c->config.n_vocab, w, problem);
    if (status == WEFT_OK) status = gguf_writer_header(w, &c->metadata);
    gguf_writer_free(w);
    return status;
}

static weft_status prepare(checkpoint *c, const char *folder, char *problem) {
    TRY(read_config(c, folder));
    TRY(checkpoint_open_weights(folder, &c->weights));
    TRY(checkpoint_check_embedding(c));
    return put_metadata(c, folder, problem);
}

/* No more of config.json than the number of tokens, and that only where it makes sense. */
static weft_status prepare_vocabulary(checkpoint *c, const char *folder, char *problem) {
    conf_value *root;
    int64_t n_vocab;
    gguf_writer *w;
    TRY(checkpoint_read_json(folder, "config.json", &root));
    bool is_known =
        conf_int(conf_find(root, "vocab_size"), &n_vocab) && n_vocab > 0 && n_vocab < CONFIG_MOST;
    conf_close(root);
    TRY(gguf_writer_new(0, &w));
    weft_status status = put_texts(folder, is_known ? (size_t)n_vocab : 0, w, problem);
    if (status == WEFT_OK) status = gguf_writer_header(w, &c->metadata);
    gguf_writer_free(w);
    return status;
}

static weft_status open_folder(const char *folder, bool is_vocabulary, char *problem,
                               gguf_file **out) {
    *out = NULL;
    problem[0] = 0;
    checkpoint *c = mem_alloc(sizeof *c);
    if (!c) return WEFT_NO_MEMORY;
    weft_status status =
        is_vocabulary ? prepare_vocabulary(c, folder, problem) : prepare(c, folder, problem);
    size_t bytes = c->weights ? safetensors_bytes(c->weights) : 0;
    if (status == WEFT_OK)
        status = gguf_make(c->metadata.data, c->metadata.n, bytes, release, c, out);
    if (status != WEFT_OK) {
        release(c);
        return status;
    }
    if (!is_vocabulary) status = checkpoint_add_tensors(c, *out);
    if (status == WEFT_OK) return status;
    gguf_close(*out);
    *out = NULL;
    return status;
}

weft_status checkpoint_open(const char *folder, char *tokenizer_problem, gguf_file **out) {
    return open_folder(folder, false, tokenizer_problem, out);
}

static bool ends_with(const char *text, const char *end) {
    size_t n = strlen(text), k = strlen(end);
    return n >= k && !strcmp(text + n - k, end);
}

/* True when the message begins with the path, or with a file in it. */
static bool names(const char *message, const char *path) {
    size_t n = strlen(path);
    return !strncmp(message, path, n) && (path[n - 1] == '/' || strchr("/: ", message[n]));
}

static weft_status open_path(const char *path, bool is_vocabulary, char *problem, gguf_file **out) {
    *out = NULL;
    problem[0] = 0;
    if (!file_is_folder(path)) {
        REQUIRE(!ends_with(path, ".safetensors"), WEFT_UNSUPPORTED,
                "%s: weights alone are no model: name the folder that has config.json too", path);
        return gguf_open(path, out);
    }
    weft_status status = open_folder(path, is_vocabulary, problem, out);
    if (status == WEFT_OK || names(error_message(), path)) return status;
    return error_prefix(status, "%s", path);
}

weft_status checkpoint_open_path(const char *path, char *tokenizer_problem, gguf_file **out) {
    return open_path(path, false, tokenizer_problem, out);
}

weft_status checkpoint_open_vocabulary(const char *path, char *tokenizer_problem, gguf_file **out) {
    return open_path(path, true, tokenizer_problem, out);
}
