/* Which safetensors files hold a folder's weights. model.safetensors, where it is there, is all of
 * them; else model.safetensors.index.json names for each tensor the file it is in. Index and files
 * must agree to the last tensor: a tensor that one of them does not know would be left out, or
 * taken from a file that somebody has replaced. File names are plain: an index cannot reach out of
 * its folder. SPDX-License-Identifier: MIT */
#include <string.h>

#include "base/map.h"
#include "checkpoint/parts.h"

enum { MAX_FILES = 4096 };

#define INDEX_NAME "model.safetensors.index.json"

typedef struct file_list {
    str *paths;
    const char **names; /* the index's */
    size_t n, capacity, names_capacity;
    map numbers; /* of names */
} file_list;

static void free_list(file_list *l) {
    for (size_t i = 0; i < l->n; i++) str_free(&l->paths[i]);
    mem_free(l->paths);
    mem_free(l->names);
    map_free(&l->numbers);
}

/* A name in the folder itself. */
static weft_status check_name(const char *name) {
    REQUIRE(name[0] && name[0] != '.' && !strpbrk(name, "/\\"), WEFT_FORMAT,
            "'%.100s' is no plain file name", name);
    return WEFT_OK;
}

static weft_status add_file(file_list *l, const char *folder, const char *name) {
    uint32_t number;
    if (map_get(&l->numbers, name, strlen(name), &number)) return WEFT_OK;
    TRY(check_name(name));
    REQUIRE(l->n < MAX_FILES, WEFT_LIMIT, "there are more than %d files", MAX_FILES);
    TRY(mem_reserve((void **)&l->paths, &l->capacity, l->n + 1, sizeof *l->paths));
    TRY(mem_reserve((void **)&l->names, &l->names_capacity, l->n + 1, sizeof *l->names));
    TRY(map_set(&l->numbers, name, strlen(name), (uint32_t)l->n));
    l->paths[l->n] = (str){0};
    l->names[l->n] = name;
    return checkpoint_path(folder, name, &l->paths[l->n++]);
}

/* Every tensor of the index is in the file it says, and no file has others. */
static weft_status compare(const conf_value *index, const file_list *l, const safetensors *s) {
    size_t n = 0;
    for (void *at = conf_next(index, NULL); at; at = conf_next(index, at), n++) {
        const char *name = conf_key(at), *file = conf_text(conf_value_at(at));
        const safetensors_tensor *t = safetensors_find(s, name);
        REQUIRE(t && !strcmp(l->names[t->file], file), WEFT_FORMAT,
                "tensor '%.100s' is not in %.100s, where the index says", name, file);
    }
    for (size_t i = 0; i < safetensors_count(s) && n < safetensors_count(s); i++) {
        const safetensors_tensor *t = safetensors_at(s, i);
        REQUIRE(conf_find(index, t->name), WEFT_FORMAT,
                "tensor '%.100s' of %.100s is not in the index", t->name, l->names[t->file]);
    }
    return WEFT_OK;
}

static weft_status open_listed(const conf_value *index, const char *folder, file_list *l,
                               safetensors **out) {
    for (void *at = conf_next(index, NULL); at; at = conf_next(index, at)) {
        const char *file = conf_text(conf_value_at(at));
        REQUIRE(file, WEFT_FORMAT, "'weight_map': the file of '%.100s' is no string", conf_key(at));
        TRY(add_file(l, folder, file));
    }
    REQUIRE(l->n, WEFT_FORMAT, "'weight_map' is empty");
    const char **paths = mem_array(l->n, sizeof *paths);
    if (!paths) return WEFT_NO_MEMORY;
    for (size_t i = 0; i < l->n; i++) paths[i] = str_text(&l->paths[i]);
    weft_status status = safetensors_open_files(paths, l->n, out);
    mem_free(paths);
    return status == WEFT_OK ? compare(index, l, *out) : status;
}

static weft_status open_index(const char *folder, const char *path, safetensors **out) {
    conf_value *root;
    const conf_value *index;
    file_list list = {0};
    TRY(conf_open(path, &root));
    weft_status status = conf_get_object(root, "weight_map", &index);
    if (status == WEFT_OK && !index) status = error_set(WEFT_FORMAT, "key 'weight_map' is missing");
    if (status == WEFT_OK) status = open_listed(index, folder, &list, out);
    if (status != WEFT_OK) error_prefix(status, "%s", INDEX_NAME);
    free_list(&list);
    conf_close(root);
    return status;
}

weft_status checkpoint_open_weights(const char *folder, safetensors **out) {
    str one = {0}, index = {0};
    weft_status status = checkpoint_path(folder, "model.safetensors", &one);
    if (status == WEFT_OK) status = checkpoint_path(folder, INDEX_NAME, &index);
    if (status == WEFT_OK) {
        const char *path = str_text(&one);
        if (file_exists(path)) status = safetensors_open_files(&path, 1, out);
        else if (file_exists(str_text(&index))) status = open_index(folder, str_text(&index), out);
        else
            status = error_set(WEFT_IO, "%s has neither model.safetensors nor " INDEX_NAME, folder);
    }
    str_free(&one);
    str_free(&index);
    return status;
}
