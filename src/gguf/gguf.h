/* GGUF files, versions 2 and 3: parse, find, typed get. Everything read is bounds-checked against
 * the map; nothing is allocated from a size the file merely claims. Dimensions are turned round
 * once, here: tensors come out with the outermost dimension first. SPDX-License-Identifier: MIT */
#ifndef WEFT_GGUF_GGUF_H
#define WEFT_GGUF_GGUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/file.h"

enum { GGUF_MAX_RANK = 4 };

/* The numbers of the GGUF specification. */
typedef enum gguf_type {
    GGUF_U8,
    GGUF_I8,
    GGUF_U16,
    GGUF_I16,
    GGUF_U32,
    GGUF_I32,
    GGUF_F32,
    GGUF_BOOL,
    GGUF_STRING,
    GGUF_ARRAY,
    GGUF_U64,
    GGUF_I64,
    GGUF_F64
} gguf_type;

typedef struct gguf_string {
    const char *data; /* in the file's map: not 0-terminated */
    size_t n;
} gguf_string;

typedef struct gguf_value {
    gguf_string key;
    gguf_type type;         /* GGUF_ARRAY for arrays */
    gguf_type element_type; /* of arrays */
    uint64_t n;             /* elements of an array, 1 for a scalar */
    /* the raw little-endian bytes: scalars, or an array's first element */
    const uint8_t *data;
} gguf_value;

/* Where the rows of a tensor are that do not lie one after the other, as in files made in memory:
 * equal parts one below the other, each of them perhaps in another order. */
typedef struct gguf_rows {
    const uint8_t *const *part; /* of any alignment */
    size_t n_parts;
    int64_t rows_a_part;
    /* 0: in order. Else a part is heads of so many rows, and row r of a head is the part's
     * r / 2 + (r % 2) * head / 2: what were halves become neighbours. */
    int64_t head;
} gguf_rows;

typedef struct gguf_tensor {
    gguf_string name;
    weft_dtype dtype;
    int rank;
    int64_t dim[GGUF_MAX_RANK]; /* outermost first */
    const void *data;           /* in the map; NULL where `rows` says where it is */
    size_t bytes;
    const gguf_rows *rows;
    bool is_mapped; /* its bytes are in a mapped file, and nowhere else */
} gguf_tensor;

typedef struct gguf_file gguf_file;

/* Opens and checks a file; on failure NULL-s *out and names the field. A part of a split model
 * (NAME-00002-of-00003.gguf) opens all of its parts as one file. `gguf_open_memory` borrows
 * the bytes. */
weft_status gguf_open(const char *path, gguf_file **out);
weft_status gguf_open_memory(const void *data, size_t n, gguf_file **out);
void gguf_close(gguf_file *f);

uint32_t gguf_version(const gguf_file *f);
size_t gguf_bytes(const gguf_file *f); /* of the whole file */
size_t gguf_n_values(const gguf_file *f);
const gguf_value *gguf_value_at(const gguf_file *f, size_t i);
size_t gguf_n_tensors(const gguf_file *f);
const gguf_tensor *gguf_tensor_at(const gguf_file *f, size_t i);
/* NULL when absent */
const gguf_value *gguf_find(const gguf_file *f, const char *key);
/* NULL when absent */
const gguf_tensor *gguf_find_tensor(const gguf_file *f, const char *name);

/* The bytes of rows [first, first + n), rows being what the last dimension counts; `out` has
 * room. */
void gguf_copy_rows(const gguf_tensor *t, int64_t first, int64_t n, void *out);
/* Bytes [at, at + n) of its data (all of its rows, where `data` is NULL) will hardly be read again:
 * those of a mapped file need not stay in memory. */
void gguf_forget(const gguf_tensor *t, size_t at, size_t n);

/* A file made in memory: `metadata` is a GGUF file without tensors, `bytes` what gguf_bytes is to
 * say; tensors are added afterwards. All that these point to must stay until the file is closed,
 * which calls done(owner); when making it fails nothing is called. */
weft_status gguf_make(const void *metadata, size_t n, size_t bytes, void (*done)(void *owner),
                      void *owner, gguf_file **out);
/* Checks the name and the shape, and fills t->bytes. */
weft_status gguf_add_tensor(gguf_file *f, const gguf_tensor *t);

/* Typed get: false when the key is absent; any integer type converts when the value fits; a value
 * of another kind is an error through *status (which is otherwise left alone), naming the key and
 * both types. */
bool gguf_get_u64(const gguf_file *f, const char *key, uint64_t *out, weft_status *status);
bool gguf_get_i64(const gguf_file *f, const char *key, int64_t *out, weft_status *status);
bool gguf_get_f64(const gguf_file *f, const char *key, double *out, weft_status *status);
bool gguf_get_bool(const gguf_file *f, const char *key, bool *out, weft_status *status);
bool gguf_get_string(const gguf_file *f, const char *key, gguf_string *out, weft_status *status);

/* Element i of an array value (or the scalar, i = 0); the caller has checked the element type.
 * String arrays are indexed at open, so this is constant time. */
gguf_string gguf_string_at(const gguf_file *f, const gguf_value *v, uint64_t i);
/* integers up to 2^53, floats, bools (0/1) */
double gguf_number_at(const gguf_value *v, uint64_t i);
int64_t gguf_integer_at(const gguf_value *v, uint64_t i); /* integers and bools; 0 for others */

/* Bytes of an element, 0 for strings, arrays and unknown types; of a value as it stands in the
 * file. */
size_t gguf_type_bytes(gguf_type type);
size_t gguf_value_bytes(const gguf_value *v);

/* A name out of a file made fit for a message: short, and printable ASCII. */
typedef struct gguf_shown {
    char text[72];
} gguf_shown;
gguf_shown gguf_show(gguf_string s);

#endif
