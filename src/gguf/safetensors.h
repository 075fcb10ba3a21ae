/* Reads safetensors files (format: github.com/huggingface/safetensors, README): a u64 length, a
 * JSON header of that length, the tensors' bytes. SPDX-License-Identifier: MIT */
#ifndef WEFT_GGUF_SAFETENSORS_H
#define WEFT_GGUF_SAFETENSORS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

enum { SAFETENSORS_MAX_RANK = 8 };

typedef struct safetensors_tensor {
    const char *name; /* UTF-8, 0-terminated */
    const char *type; /* the file's word: "F32", "BF16", "U8" */
    bool is_known;    /* dtype says it too; else the type is one that weft does not have */
    weft_dtype dtype;
    int rank;
    int64_t dim[SAFETENSORS_MAX_RANK]; /* outermost first */
    const uint8_t *data;               /* in the map; not aligned */
    size_t bytes;
    uint32_t file; /* number of the file it is in */
} safetensors_tensor;

typedef struct safetensors safetensors;

/* Opens and checks a file; a part named NAME-00002-of-00003.safetensors opens all of its parts as
 * one, `_files` opens just those given. On failure *out is NULL and the message names file, tensor
 * and field. `_memory` borrows the bytes. */
weft_status safetensors_open(const char *path, safetensors **out);
weft_status safetensors_open_files(const char *const *paths, size_t n, safetensors **out);
weft_status safetensors_open_memory(const void *data, size_t n, safetensors **out);
void safetensors_close(safetensors *s);

size_t safetensors_bytes(const safetensors *s); /* of all files */
size_t safetensors_count(const safetensors *s);
const safetensors_tensor *safetensors_at(const safetensors *s, size_t i);
const safetensors_tensor *safetensors_find(const safetensors *s, const char *name); /* or NULL */

/* The string that "__metadata__" has for a key, NULL when there is none. */
const char *safetensors_metadata(const safetensors *s, const char *key);
/* All of them, in order: false past the end. */
bool safetensors_metadata_at(const safetensors *s, size_t i, const char **key, const char **text);

#endif
