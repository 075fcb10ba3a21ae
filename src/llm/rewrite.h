/* Writing a model with its tensors in other formats: what quantising and converting share.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_LLM_REWRITE_H
#define WEFT_LLM_REWRITE_H

#include <stdbool.h>

#include "gguf/gguf_write.h"
#include "gguf/imatrix.h"

typedef struct rewrite {
    const gguf_file *in;
    const weft_dtype *types;   /* of each of its tensors in the output */
    const imatrix *importance; /* NULL: all columns count alike */
    gguf_writer *out;          /* its metadata are set */
    int n_threads;
    bool (*on_progress)(void *user, uint64_t done, uint64_t total);
    void *user;
    uint64_t done, total; /* bytes of the input */
} rewrite;

/* The input's metadata, with general.file_type. */
weft_status rewrite_metadata(rewrite *r, uint32_t file_type);
/* Writes all tensors. The file appears when it is complete. */
weft_status rewrite_run(rewrite *r, const char *path);

#endif
