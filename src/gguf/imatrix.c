/* See imatrix.h. The binary format is a count, then for each entry the name's length, the name, the
 * number of calls, the number of values and their sums, all i32 and f32; what may follow (chunk
 * count and data set) does not matter here. A matrix of a GGUF file that no token met (an expert
 * that was never chosen) has a count of 0: its values are all 1, so that it is treated evenly.
 * Facts about both formats: llama.cpp's tools/imatrix and common/imatrix-loader.
 * SPDX-License-Identifier: MIT */
#include "gguf/imatrix.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/file.h"
#include "base/map.h"
#include "base/mem.h"
#include "gguf/gguf.h"

enum { MAX_ENTRIES = 1 << 18, MAX_NAME = 4096 };

struct imatrix {
    mem_arena arena; /* names and values */
    imatrix_entry *entries;
    size_t n, capacity;
    map names;
};

/* Adds an entry with room for n values, to be filled by the caller. */
static weft_status add(imatrix *m, const char *name, size_t name_bytes, size_t n, float **values) {
    uint32_t other;
    REQUIRE(!map_get(&m->names, name, name_bytes, &other), WEFT_FORMAT,
            "the entry '%s' appears twice", gguf_show((gguf_string){name, name_bytes}).text);
    TRY(mem_reserve((void **)&m->entries, &m->capacity, m->n + 1, sizeof *m->entries));
    char *copy = arena_string(&m->arena, name, name_bytes);
    *values = copy ? arena_alloc(&m->arena, n * sizeof **values) : NULL;
    if (!*values) return WEFT_NO_MEMORY;
    TRY(map_set(&m->names, copy, name_bytes, (uint32_t)m->n));
    m->entries[m->n++] = (imatrix_entry){copy, *values, n};
    return WEFT_OK;
}

static weft_status check_values(const imatrix *m) {
    REQUIRE(m->n > 0, WEFT_FORMAT, "the file has no entries");
    for (size_t i = 0; i < m->n; i++) {
        const imatrix_entry *e = &m->entries[i];
        for (size_t k = 0; k < e->n; k++)
            REQUIRE(isfinite(e->values[k]) && e->values[k] >= 0, WEFT_FORMAT,
                    "value %zu of entry '%s' is %g, expected a number >= 0", k,
                    gguf_show((gguf_string){e->name, strlen(e->name)}).text, (double)e->values[k]);
    }
    return WEFT_OK;
}

/* ---- the binary format
 * -------------------------------------------------------------------------------- */

typedef struct reader {
    const uint8_t *data;
    size_t n, at;
} reader;

static weft_status take(reader *r, void *out, size_t bytes, const char *field) {
    REQUIRE(bytes <= r->n - r->at, WEFT_FORMAT, "the file ends inside the %s", field);
    memcpy(out, r->data + r->at, bytes);
    r->at += bytes;
    return WEFT_OK;
}

static weft_status take_entry(imatrix *m, reader *r) {
    int32_t name_bytes = 0, n_calls = 0, n = 0;
    TRY(take(r, &name_bytes, sizeof name_bytes, "name's length"));
    REQUIRE(name_bytes >= 0 && name_bytes <= MAX_NAME && (size_t)name_bytes <= r->n - r->at,
            WEFT_FORMAT, "the name's length is %" PRId32, name_bytes);
    const char *name = (const char *)r->data + r->at;
    REQUIRE(!memchr(name, 0, (size_t)name_bytes), WEFT_FORMAT, "the name has a zero byte");
    r->at += (size_t)name_bytes;
    TRY(take(r, &n_calls, sizeof n_calls, "number of calls"));
    TRY(take(r, &n, sizeof n, "number of values"));
    REQUIRE(n > 0 && (size_t)n <= (r->n - r->at) / sizeof(float), WEFT_FORMAT,
            "the number of values is %" PRId32 ", but the file has %zu bytes left", n,
            r->n - r->at);
    float *values;
    TRY(add(m, name, (size_t)name_bytes, (size_t)n, &values));
    TRY(take(r, values, (size_t)n * sizeof *values, "values"));
    for (int32_t i = 0; i < n && n_calls > 0; i++) values[i] /= (float)n_calls;
    return WEFT_OK;
}

static weft_status read_binary(imatrix *m, const void *data, size_t n) {
    reader r = {data, n, 0};
    int32_t n_entries = 0;
    TRY(take(&r, &n_entries, sizeof n_entries, "number of entries"));
    REQUIRE(n_entries > 0 && n_entries <= MAX_ENTRIES, WEFT_FORMAT,
            "the number of entries is %" PRId32 ", expected 1 to %d", n_entries, MAX_ENTRIES);
    for (int32_t i = 0; i < n_entries; i++) {
        weft_status status = take_entry(m, &r);
        if (status != WEFT_OK)
            return error_prefix(status, "entry %" PRId32 " of %" PRId32, i + 1, n_entries);
    }
    return WEFT_OK;
}

/* ---- GGUF
 * --------------------------------------------------------------------------------------------- */

static const char sums_suffix[] = ".in_sum2", counts_suffix[] = ".counts";

/* The weight tensor's name when `t` holds its sums, else n = 0. */
static gguf_string sums_of(const gguf_tensor *t) {
    size_t n = sizeof sums_suffix - 1;
    bool ends = t->name.n > n && !memcmp(t->name.data + t->name.n - n, sums_suffix, n);
    return (gguf_string){t->name.data, ends ? t->name.n - n : 0};
}

static size_t elements(const gguf_tensor *t) { return t->bytes / sizeof(float); }

static weft_status add_sums(imatrix *m, const gguf_file *f, const gguf_tensor *sums,
                            gguf_string name) {
    char counts_name[MAX_NAME + sizeof counts_suffix];
    REQUIRE(name.n <= MAX_NAME && !memchr(name.data, 0, name.n), WEFT_FORMAT,
            "a tensor's name is too long or has a zero byte");
    memcpy(counts_name, name.data, name.n);
    memcpy(counts_name + name.n, counts_suffix, sizeof counts_suffix);
    const gguf_tensor *counts = gguf_find_tensor(f, counts_name);
    REQUIRE(counts, WEFT_FORMAT, "the tensor '%s%s' is missing", gguf_show(name).text,
            counts_suffix);
    REQUIRE(sums->dtype == WEFT_F32 && counts->dtype == WEFT_F32, WEFT_FORMAT,
            "sums and counts of '%s' are not f32", gguf_show(name).text);
    size_t n = elements(sums), n_matrices = elements(counts);
    REQUIRE(n && n_matrices && n % n_matrices == 0, WEFT_FORMAT, "'%s' has %zu sums and %zu counts",
            gguf_show(name).text, n, n_matrices);
    float *values;
    TRY(add(m, name.data, name.n, n, &values));
    for (size_t i = 0; i < n; i++) {
        float count = ((const float *)counts->data)[i / (n / n_matrices)];
        values[i] = count > 0 ? ((const float *)sums->data)[i] / count : 1.0F;
    }
    return WEFT_OK;
}

static weft_status read_gguf(imatrix *m, const gguf_file *f) {
    for (size_t i = 0; i < gguf_n_tensors(f); i++) {
        const gguf_tensor *t = gguf_tensor_at(f, i);
        gguf_string name = sums_of(t);
        if (name.n) TRY(add_sums(m, f, t, name));
    }
    REQUIRE(m->n, WEFT_FORMAT, "the GGUF file is no importance matrix: no tensor is named NAME%s",
            sums_suffix);
    return WEFT_OK;
}

/* ---- both
 * --------------------------------------------------------------------------------------------- */

static weft_status read_any(imatrix *m, const void *data, size_t n) {
    if (n < 4 || memcmp(data, "GGUF", 4)) {
        TRY(read_binary(m, data, n));
    } else {
        gguf_file *f;
        TRY(gguf_open_memory(data, n, &f));
        weft_status status = read_gguf(m, f);
        gguf_close(f);
        TRY(status);
    }
    return check_values(m);
}

weft_status imatrix_open_memory(const void *data, size_t n, imatrix **out) {
    *out = NULL;
    imatrix *m = mem_alloc(sizeof *m);
    if (!m) return WEFT_NO_MEMORY;
    weft_status status = read_any(m, data, n);
    if (status != WEFT_OK) {
        imatrix_close(m);
        return status;
    }
    *out = m;
    return WEFT_OK;
}

weft_status imatrix_open(const char *path, imatrix **out) {
    file_map map;
    *out = NULL;
    TRY(file_map_open(path, &map));
    weft_status status = imatrix_open_memory(map.data, map.n, out);
    file_map_close(&map);
    return status == WEFT_OK ? status : error_prefix(status, "%s", path);
}

void imatrix_close(imatrix *m) {
    if (!m) return;
    arena_free(&m->arena);
    mem_free(m->entries);
    map_free(&m->names);
    mem_free(m);
}

size_t imatrix_count(const imatrix *m) { return m->n; }
const imatrix_entry *imatrix_at(const imatrix *m, size_t i) {
    return i < m->n ? &m->entries[i] : NULL;
}

const imatrix_entry *imatrix_find(const imatrix *m, const char *name, size_t n) {
    uint32_t i;
    return map_get(&m->names, name, n, &i) ? &m->entries[i] : NULL;
}
