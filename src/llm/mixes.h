/* Which format each tensor of a model gets under a name such as Q4_K_M: the tables of mixes.def
 * applied. SPDX-License-Identifier: MIT */
#ifndef WEFT_LLM_MIXES_H
#define WEFT_LLM_MIXES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gguf/gguf.h"

/* The index of a mix by its name or alias, in any case; -1 for none. */
int mix_find(const char *name);
/* Names and aliases in the order of mixes.def; NULL past the end. */
const char *mix_name(size_t i);
uint32_t mix_file_type(int mix); /* for general.file_type */

typedef struct mix_request {
    int mix;
    bool is_pure;            /* every weight in the mix's own format */
    bool has_imatrix;        /* some choices depend on it */
    const char *output_type; /* a dtype's name for the output matrix, NULL: as the mix says */
} mix_request;

/* Fills types[i] for each of the file's tensors; one that is not to be quantised keeps its own. */
weft_status mix_plan(const gguf_file *f, mix_request request, weft_dtype *types);
/* Where a tensor that is not quantised is a 16-bit float it becomes f32, as GGUF files have it:
 * for models that come from elsewhere. */
void mix_widen_rest(const gguf_file *f, weft_dtype *types);

#endif
