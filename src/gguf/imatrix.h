/* Importance matrices: for each weight tensor the mean square of the activations that meet its
 * columns. Both kinds that llama.cpp's imatrix tool writes are read: its own binary format, and
 * GGUF (tensors NAME.in_sum2 and NAME.counts). SPDX-License-Identifier: MIT */
#ifndef WEFT_GGUF_IMATRIX_H
#define WEFT_GGUF_IMATRIX_H

#include <stddef.h>

#include "base/error.h"

typedef struct imatrix imatrix;

typedef struct imatrix_entry {
    const char *name;    /* of the weight tensor, "blk.0.ffn_down.weight" */
    const float *values; /* finite and >= 0: a row's columns, for each expert in turn */
    size_t n;
} imatrix_entry;

/* Reads and checks a file; on failure NULL-s *out and names what is wrong. Values are copied. */
weft_status imatrix_open(const char *path, imatrix **out);
weft_status imatrix_open_memory(const void *data, size_t n, imatrix **out);
void imatrix_close(imatrix *m);

size_t imatrix_count(const imatrix *m);
const imatrix_entry *imatrix_at(const imatrix *m, size_t i);
const imatrix_entry *imatrix_find(const imatrix *m, const char *name, size_t n); /* NULL: absent */

#endif
