/* Writes GGUF version 3. Metadata and tensors are declared first, then the tensors' bytes are
 * streamed in the order of declaration, in pieces of any size: the writer never holds a tensor. The
 * file appears under its name only when it is complete. SPDX-License-Identifier: MIT */
#ifndef WEFT_GGUF_GGUF_WRITE_H
#define WEFT_GGUF_GGUF_WRITE_H

#include "base/str.h"
#include "gguf/gguf.h"

typedef struct gguf_writer gguf_writer;

/* `alignment` is a power of two from 8 to 2^31, 0 = 32; another than 32 is written as
 * general.alignment. */
weft_status gguf_writer_new(uint32_t alignment, gguf_writer **out);
/* Drops what was written if gguf_writer_end was not called. NULL is fine. */
void gguf_writer_free(gguf_writer *w);

/* Metadata; bytes are copied. A key that was set before is replaced, in its place. gguf_writer_set
 * takes any fixed-size type, `n` elements at `data` (native order); is_array tells an array of one
 * from a scalar. */
weft_status gguf_writer_set(gguf_writer *w, const char *key, gguf_type type, bool is_array,
                            const void *data, uint64_t n);
weft_status gguf_writer_set_u32(gguf_writer *w, const char *key, uint32_t value);
weft_status gguf_writer_set_string(gguf_writer *w, const char *key, const char *text, size_t bytes);
weft_status gguf_writer_set_strings(gguf_writer *w, const char *key, const gguf_string *texts,
                                    uint64_t n);
/* A value of another file, bit for bit. general.alignment is left out: it is the writer's own. */
weft_status gguf_writer_copy(gguf_writer *w, const gguf_value *value);
void gguf_writer_remove(gguf_writer *w, const char *key);
/* The header of a file with what was set and declared so far, appended; for gguf_make. */
weft_status gguf_writer_header(const gguf_writer *w, str *out);

/* Declares the next tensor; dim outermost first, at most GGUF_MAX_RANK. */
weft_status gguf_writer_tensor(gguf_writer *w, gguf_string name, weft_dtype dtype, int rank,
                               const int64_t *dim);

/* Writes the header; after this come the data of all tensors, then the end. */
weft_status gguf_writer_begin(gguf_writer *w, const char *path);
/* The next bytes of the next unfinished tensor; a piece must not cross into the following one. */
weft_status gguf_writer_data(gguf_writer *w, const void *data, size_t bytes);
weft_status gguf_writer_end(gguf_writer *w);

#endif
