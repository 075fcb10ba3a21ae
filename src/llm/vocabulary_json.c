/* A tokenizer.json with its tokenizer_config.json, without a model. See vocabulary.h.
 * SPDX-License-Identifier: MIT */
#include <string.h>

#include "base/file.h"
#include "base/mem.h"
#include "llm/vocabulary.h"
#include "tokenizer/tokenizer_json.h"

enum { MAX_FILE = 1 << 28 };

static bool ends_in_json(const char *path) {
    size_t n = strlen(path);
    return n > 5 && !strcmp(path + n - 5, ".json");
}

/* A name in a folder, or beside a file. */
static weft_status beside(const char *path, bool is_folder, const char *name, str *out) {
    const char *slash = strrchr(path, '/');
    size_t n = is_folder ? strlen(path) : slash ? (size_t)(slash - path) + 1 : 0;
    str_clear(out);
    TRY(str_append(out, path, n));
    if (is_folder) TRY(str_char(out, '/'));
    return str_text_append(out, name);
}

static bool has_file(const char *folder, const char *name) {
    str path = {0};
    bool is_there = beside(folder, true, name, &path) == WEFT_OK && file_exists(str_text(&path));
    str_free(&path);
    return is_there;
}

bool vocabulary_is_json(const char *path) {
    if (!file_is_folder(path)) return ends_in_json(path);
    return has_file(path, "tokenizer.json") && !has_file(path, "config.json");
}

static weft_status read_texts(const char *path, str *name, char **json, char **config,
                              tokenizer_json_text *text) {
    bool is_folder = file_is_folder(path);
    if (is_folder) TRY(beside(path, is_folder, "tokenizer.json", name));
    TRY(file_read(is_folder ? str_text(name) : path, MAX_FILE, json, &text->n));
    text->json = *json;
    TRY(beside(path, is_folder, "tokenizer_config.json", name));
    if (!file_exists(str_text(name))) return WEFT_OK;
    TRY(file_read(str_text(name), MAX_FILE, config, &text->n_config));
    text->config = *config;
    return WEFT_OK;
}

weft_status vocabulary_open_json(const char *path, tokenizer **out) {
    *out = NULL;
    tokenizer_json_text text = {0};
    char *json = NULL, *config = NULL;
    str name = {0};
    weft_status status = read_texts(path, &name, &json, &config, &text);
    if (status == WEFT_OK) status = tokenizer_open_json(&text, out);
    mem_free(json);
    mem_free(config);
    str_free(&name);
    return status;
}
