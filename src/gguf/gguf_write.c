/* See gguf_write.h. Each metadata value is kept encoded, ready to be written; the header's size is
 * then known, and with it every offset, before the first byte of data. SPDX-License-Identifier: MIT
 */
#include "gguf/gguf_write.h"

#include <inttypes.h>
#include <string.h>

#include "base/map.h"
#include "base/mem.h"
#include "tensor/dtype.h"

enum { DEFAULT_ALIGNMENT = 32, MIN_ALIGNMENT = 8, MAX_KEY_BYTES = 65535 };

typedef struct pair {
    char *key;
    size_t key_bytes;
    str bytes; /* type and value as in the file; empty where it was removed */
} pair;

typedef struct record {
    char *name;
    weft_dtype dtype;
    int rank;
    int64_t dim[GGUF_MAX_RANK];
    uint64_t bytes, offset;
} record;

struct gguf_writer {
    uint32_t alignment;
    pair *pairs;
    record *tensors;
    size_t n_pairs, pairs_capacity, n_tensors, tensors_capacity;
    map keys, names;
    uint64_t end; /* of the tensors declared so far */
    file_writer file;
    size_t at;       /* the tensor being written */
    uint64_t filled; /* bytes of it */
};

weft_status gguf_writer_new(uint32_t alignment, gguf_writer **out) {
    *out = NULL;
    if (!alignment) alignment = DEFAULT_ALIGNMENT;
    REQUIRE(alignment >= MIN_ALIGNMENT && !(alignment & (alignment - 1)), WEFT_INVALID,
            "alignment %" PRIu32 " is not a power of two from %d on", alignment, MIN_ALIGNMENT);
    gguf_writer *w = mem_alloc(sizeof *w);
    if (!w) return WEFT_NO_MEMORY;
    w->alignment = alignment;
    weft_status status = alignment == DEFAULT_ALIGNMENT
                             ? WEFT_OK
                             : gguf_writer_set_u32(w, "general.alignment", alignment);
    if (status != WEFT_OK) {
        gguf_writer_free(w);
        return status;
    }
    *out = w;
    return WEFT_OK;
}

void gguf_writer_free(gguf_writer *w) {
    if (!w) return;
    file_writer_cancel(&w->file);
    for (size_t i = 0; i < w->n_pairs; i++) {
        mem_free(w->pairs[i].key);
        str_free(&w->pairs[i].bytes);
    }
    for (size_t i = 0; i < w->n_tensors; i++) mem_free(w->tensors[i].name);
    mem_free(w->pairs);
    mem_free(w->tensors);
    map_free(&w->keys);
    map_free(&w->names);
    mem_free(w);
}

/* ---- metadata
 * ----------------------------------------------------------------------------------------- */

static weft_status put_u32(str *s, uint32_t v) { return str_append(s, (const char *)&v, sizeof v); }
static weft_status put_u64(str *s, uint64_t v) { return str_append(s, (const char *)&v, sizeof v); }

static weft_status put_string(str *s, const char *text, size_t n) {
    TRY(put_u64(s, n));
    return str_append(s, text, n);
}

/* The pair of a key, new or the older one. */
static weft_status find_pair(gguf_writer *w, const char *key, size_t n, pair **out) {
    uint32_t i;
    REQUIRE(!w->file.stream, WEFT_INVALID, "metadata comes before gguf_writer_begin");
    REQUIRE(n <= MAX_KEY_BYTES, WEFT_INVALID, "a key of %zu bytes is too long", n);
    if (map_get(&w->keys, key, n, &i)) {
        *out = &w->pairs[i];
        return WEFT_OK;
    }
    TRY(mem_reserve((void **)&w->pairs, &w->pairs_capacity, w->n_pairs + 1, sizeof *w->pairs));
    char *copy = mem_alloc(n + 1);
    if (!copy) return WEFT_NO_MEMORY;
    memcpy(copy, key, n);
    weft_status status = map_set(&w->keys, copy, n, (uint32_t)w->n_pairs);
    if (status != WEFT_OK) {
        mem_free(copy);
        return status;
    }
    w->pairs[w->n_pairs] = (pair){copy, n, {0}};
    *out = &w->pairs[w->n_pairs++];
    return WEFT_OK;
}

/* Takes over `bytes` as the value of a key, or frees it. */
static weft_status store(gguf_writer *w, const char *key, size_t n, weft_status status,
                         str *bytes) {
    pair *p = NULL;
    if (status == WEFT_OK) status = find_pair(w, key, n, &p);
    if (status != WEFT_OK) {
        str_free(bytes);
        return status;
    }
    str_free(&p->bytes);
    p->bytes = *bytes;
    return WEFT_OK;
}

static weft_status put_head(str *s, gguf_type type, bool is_array, uint64_t n) {
    if (!is_array) return put_u32(s, type);
    TRY(put_u32(s, GGUF_ARRAY));
    TRY(put_u32(s, type));
    return put_u64(s, n);
}

weft_status gguf_writer_set(gguf_writer *w, const char *key, gguf_type type, bool is_array,
                            const void *data, uint64_t n) {
    size_t size = gguf_type_bytes(type);
    REQUIRE(size, WEFT_INVALID, "key '%s': type %d has no fixed size", key, (int)type);
    REQUIRE(n <= PTRDIFF_MAX / size && (is_array || n == 1), WEFT_INVALID,
            "key '%s': %" PRIu64 " elements cannot be written", key, n);
    str s = {0};
    weft_status status = put_head(&s, type, is_array, n);
    if (status == WEFT_OK) status = str_append(&s, data, size * (size_t)n);
    return store(w, key, strlen(key), status, &s);
}

weft_status gguf_writer_set_u32(gguf_writer *w, const char *key, uint32_t value) {
    return gguf_writer_set(w, key, GGUF_U32, false, &value, 1);
}

weft_status gguf_writer_set_string(gguf_writer *w, const char *key, const char *text,
                                   size_t bytes) {
    str s = {0};
    weft_status status = put_head(&s, GGUF_STRING, false, 1);
    if (status == WEFT_OK) status = put_string(&s, text, bytes);
    return store(w, key, strlen(key), status, &s);
}

weft_status gguf_writer_set_strings(gguf_writer *w, const char *key, const gguf_string *texts,
                                    uint64_t n) {
    str s = {0};
    weft_status status = put_head(&s, GGUF_STRING, true, n);
    for (uint64_t i = 0; i < n && status == WEFT_OK; i++)
        status = put_string(&s, texts[i].data, texts[i].n);
    return store(w, key, strlen(key), status, &s);
}

weft_status gguf_writer_copy(gguf_writer *w, const gguf_value *value) {
    const char *own = "general.alignment";
    if (value->key.n == strlen(own) && !memcmp(value->key.data, own, value->key.n)) return WEFT_OK;
    str s = {0};
    weft_status status = put_head(&s, value->element_type, value->type == GGUF_ARRAY, value->n);
    if (status == WEFT_OK)
        status = str_append(&s, (const char *)value->data, gguf_value_bytes(value));
    return store(w, value->key.data, value->key.n, status, &s);
}

void gguf_writer_remove(gguf_writer *w, const char *key) {
    uint32_t i;
    if (map_get(&w->keys, key, strlen(key), &i)) str_free(&w->pairs[i].bytes);
}

/* ---- tensors
 * ------------------------------------------------------------------------------------------ */

static uint64_t aligned(const gguf_writer *w, uint64_t n) {
    return (n + w->alignment - 1) & ~(uint64_t)(w->alignment - 1);
}

/* Fills the size from the dimensions. */
static weft_status measure(record *t) {
    const dtype_info *info = dtype_find(t->dtype);
    REQUIRE(info, WEFT_INVALID, "tensor '%s': dtype %d is unknown", t->name, (int)t->dtype);
    int64_t n = 1, row = t->rank ? t->dim[t->rank - 1] : 1, bytes = 0;
    for (int i = 0; i < t->rank; i++)
        REQUIRE(t->dim[i] >= 0 && !__builtin_mul_overflow(n, t->dim[i], &n), WEFT_INVALID,
                "tensor '%s': its dimensions do not fit", t->name);
    REQUIRE(row % info->block == 0, WEFT_INVALID,
            "tensor '%s': a row of %" PRId64 " elements is no whole number of %s blocks (%d)",
            t->name, row, info->name, info->block);
    REQUIRE(dtype_bytes(t->dtype, n, &bytes), WEFT_INVALID, "tensor '%s' is too large", t->name);
    t->bytes = (uint64_t)bytes;
    return WEFT_OK;
}

static weft_status declare(gguf_writer *w, record *t) {
    TRY(measure(t));
    size_t n = strlen(t->name);
    uint32_t other;
    REQUIRE(!map_get(&w->names, t->name, n, &other), WEFT_INVALID, "tensor '%s' is declared twice",
            t->name);
    t->offset = aligned(w, w->end);
    REQUIRE(add_u64(t->offset, t->bytes, &w->end) && w->end < INT64_MAX, WEFT_INVALID,
            "tensor '%s': the file would be too large", t->name);
    TRY(mem_reserve((void **)&w->tensors, &w->tensors_capacity, w->n_tensors + 1,
                    sizeof *w->tensors));
    TRY(map_set(&w->names, t->name, n, (uint32_t)w->n_tensors));
    w->tensors[w->n_tensors++] = *t;
    return WEFT_OK;
}

weft_status gguf_writer_tensor(gguf_writer *w, gguf_string name, weft_dtype dtype, int rank,
                               const int64_t *dim) {
    REQUIRE(!w->file.stream, WEFT_INVALID, "tensors are declared before gguf_writer_begin");
    REQUIRE(rank >= 0 && rank <= GGUF_MAX_RANK, WEFT_INVALID, "rank %d is not 0 to %d", rank,
            GGUF_MAX_RANK);
    REQUIRE(!memchr(name.data, 0, name.n), WEFT_INVALID, "a tensor's name has a zero byte");
    record t = {.dtype = dtype, .rank = rank};
    memcpy(t.dim, dim, (size_t)rank * sizeof *dim);
    t.name = mem_alloc(name.n + 1);
    if (!t.name) return WEFT_NO_MEMORY;
    memcpy(t.name, name.data, name.n);
    weft_status status = declare(w, &t);
    if (status != WEFT_OK) mem_free(t.name);
    return status;
}

/* ---- the file
 * ----------------------------------------------------------------------------------------- */

static weft_status put_record(str *s, const record *t) {
    TRY(put_string(s, t->name, strlen(t->name)));
    TRY(put_u32(s, (uint32_t)t->rank));
    for (int i = t->rank - 1; i >= 0; i--) TRY(put_u64(s, (uint64_t)t->dim[i]));
    TRY(put_u32(s, (uint32_t)t->dtype));
    return put_u64(s, t->offset);
}

weft_status gguf_writer_header(const gguf_writer *w, str *s) {
    uint64_t n_values = 0;
    for (size_t i = 0; i < w->n_pairs; i++) n_values += w->pairs[i].bytes.n > 0;
    TRY(str_append(s, "GGUF", 4));
    TRY(put_u32(s, 3));
    TRY(put_u64(s, w->n_tensors));
    TRY(put_u64(s, n_values));
    for (size_t i = 0; i < w->n_pairs; i++) {
        const pair *p = &w->pairs[i];
        if (!p->bytes.n) continue;
        TRY(put_string(s, p->key, p->key_bytes));
        TRY(str_append(s, p->bytes.data, p->bytes.n));
    }
    for (size_t i = 0; i < w->n_tensors; i++) TRY(put_record(s, &w->tensors[i]));
    return WEFT_OK;
}

static weft_status fill(gguf_writer *w, uint64_t n) {
    static const char zeros[4096];
    for (uint64_t piece; n > 0; n -= piece) {
        piece = n < sizeof zeros ? n : sizeof zeros;
        TRY(file_writer_append(&w->file, zeros, (size_t)piece));
    }
    return WEFT_OK;
}

/* Pads after each tensor, the last one too, as other writers do; steps over empty ones. */
static weft_status next_tensor(gguf_writer *w) {
    while (w->at < w->n_tensors && w->filled == w->tensors[w->at].bytes) {
        TRY(fill(w, aligned(w, w->filled) - w->filled));
        w->at++;
        w->filled = 0;
    }
    return WEFT_OK;
}

weft_status gguf_writer_begin(gguf_writer *w, const char *path) {
    REQUIRE(!w->file.stream, WEFT_INVALID, "gguf_writer_begin was called already");
    str header = {0};
    weft_status status = gguf_writer_header(w, &header);
    if (status == WEFT_OK) status = file_writer_open(&w->file, path);
    if (status == WEFT_OK) status = file_writer_append(&w->file, header.data, header.n);
    if (status == WEFT_OK) status = fill(w, aligned(w, header.n) - header.n);
    str_free(&header);
    TRY(status);
    w->at = 0;
    w->filled = 0;
    return next_tensor(w);
}

weft_status gguf_writer_data(gguf_writer *w, const void *data, size_t bytes) {
    REQUIRE(w->file.stream, WEFT_INVALID, "data come after gguf_writer_begin");
    if (!bytes) return WEFT_OK;
    REQUIRE(w->at < w->n_tensors, WEFT_INVALID, "more data than the declared tensors hold");
    const record *t = &w->tensors[w->at];
    REQUIRE(bytes <= t->bytes - w->filled, WEFT_INVALID,
            "tensor '%s' holds %" PRIu64 " bytes, and more were given", t->name, t->bytes);
    TRY(file_writer_append(&w->file, data, bytes));
    w->filled += bytes;
    return next_tensor(w);
}

weft_status gguf_writer_end(gguf_writer *w) {
    REQUIRE(w->file.stream, WEFT_INVALID, "gguf_writer_begin was not called");
    REQUIRE(w->at == w->n_tensors, WEFT_INVALID, "the data of tensor '%s' are missing",
            w->tensors[w->at].name);
    return file_writer_commit(&w->file);
}
