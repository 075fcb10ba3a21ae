/* See rewrite.h. A slab of rows passes through at a time: each row is decoded, checked and encoded
 * on its own core, then the slab is written. The input stays mapped, and what was read of it is
 * given back, so memory is a few slabs whatever the model's size. SPDX-License-Identifier: MIT */
#include "llm/rewrite.h"

#include <math.h>
#include <stdatomic.h>
#include <string.h>
#include <strings.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/parallel.h"
#include "format/format.h"
#include "tensor/dtype.h"

enum { SLAB_ELEMENTS = 1 << 22, GRAIN_ELEMENTS = 1 << 15, QUANTIZATION_VERSION = 2 };

static const float largest_f16 = 65504;

/* A slab of one tensor's rows, worked on in parallel. */
typedef struct slab {
    const format_ops *from, *to;
    const uint8_t *in;
    uint8_t *out, *gathered; /* rows that do not lie together; NULL where they do */
    float *floats;
    const float *importance; /* the tensor's, NULL for none */
    int64_t row, in_bytes, out_bytes;
    int64_t first;         /* this slab's first row in the tensor */
    int64_t rows_a_matrix; /* 0: all rows share one set of importances */
    atomic_bool is_bad, is_too_large;
} slab;

static void convert_rows(void *context, int64_t first, int64_t last) {
    slab *s = context;
    for (int64_t r = first; r < last; r++) {
        float *x = s->floats + r * s->row;
        s->from->decode(s->in + r * s->in_bytes, x, s->row);
        bool is_finite = true, fits = true;
        for (int64_t i = 0; i < s->row; i++) {
            is_finite &= isfinite(x[i]) != 0;
            fits &= fabsf(x[i]) <= largest_f16;
        }
        if (!is_finite) atomic_store(&s->is_bad, true);
        if (!fits && s->to->dtype == WEFT_F16) atomic_store(&s->is_too_large, true);
        const float *w = s->importance;
        if (w && s->rows_a_matrix) w += (s->first + r) / s->rows_a_matrix * s->row;
        s->to->encode(x, s->out + r * s->out_bytes, s->row, w);
    }
}

static weft_status report(rewrite *r, size_t bytes) {
    r->done += bytes;
    if (!r->on_progress || r->on_progress(r->user, r->done, r->total)) return WEFT_OK;
    return error_set(WEFT_CANCELLED, "cancelled");
}

/* The importances for a tensor: one for each column, or for each column of each expert. */
static weft_status find_importance(const rewrite *r, const gguf_tensor *t, slab *s,
                                   int64_t n_rows) {
    const imatrix_entry *e =
        r->importance ? imatrix_find(r->importance, t->name.data, t->name.n) : NULL;
    if (!e) return WEFT_OK;
    int64_t n_matrices = 1;
    for (int i = 0; i < t->rank - 2; i++) n_matrices *= t->dim[i];
    bool is_shared = (int64_t)e->n == s->row;
    REQUIRE(is_shared || (int64_t)e->n == s->row * n_matrices, WEFT_FORMAT,
            "the importance matrix has %zu values for '%s', whose rows have %lld", e->n,
            gguf_show(t->name).text, (long long)s->row);
    s->importance = e->values;
    s->rows_a_matrix = is_shared ? 0 : n_rows / n_matrices;
    return WEFT_OK;
}

static weft_status convert_slabs(rewrite *r, const gguf_tensor *t, slab *s, int64_t n_rows,
                                 int64_t rows) {
    for (int64_t first = 0; first < n_rows; first += rows) {
        int64_t n = n_rows - first < rows ? n_rows - first : rows;
        s->first = first;
        if (s->gathered) gguf_copy_rows(t, first, n, s->gathered);
        s->in = s->gathered ? s->gathered : (const uint8_t *)t->data + first * s->in_bytes;
        parallel_for(r->n_threads, n, 1 + GRAIN_ELEMENTS / s->row, convert_rows, s);
        REQUIRE(!atomic_load(&s->is_bad), WEFT_FORMAT,
                "tensor '%s' holds a value that is not finite", gguf_show(t->name).text);
        REQUIRE(!atomic_load(&s->is_too_large), WEFT_FORMAT,
                "tensor '%s' holds a value beyond f16's largest, 65504: bf16 or f32 can hold it",
                gguf_show(t->name).text);
        TRY(gguf_writer_data(r->out, s->out, (size_t)(n * s->out_bytes)));
        gguf_forget(t, (size_t)(first * s->in_bytes), (size_t)(n * s->in_bytes));
        TRY(report(r, (size_t)(n * s->in_bytes)));
    }
    return WEFT_OK;
}

static weft_status convert_tensor(rewrite *r, const gguf_tensor *t, weft_dtype to) {
    const dtype_info *in = dtype_find(t->dtype), *out = dtype_find(to);
    slab s = {.from = format_find(t->dtype), .to = format_find(to), .row = t->dim[t->rank - 1]};
    REQUIRE(s.from, WEFT_UNSUPPORTED, "tensor '%s' is %s, which cannot be converted",
            gguf_show(t->name).text, in->name);
    REQUIRE(s.to && s.to->encode, WEFT_UNSUPPORTED, "%s cannot be written", out->name);
    if (t->bytes == 0) return WEFT_OK;
    s.in_bytes = s.row / in->block * in->bytes;
    s.out_bytes = s.row / out->block * out->bytes;
    int64_t n_rows = (int64_t)t->bytes / s.in_bytes, rows = SLAB_ELEMENTS / s.row;
    rows = rows < 1 ? 1 : rows > n_rows ? n_rows : rows;
    TRY(find_importance(r, t, &s, n_rows));
    s.floats = mem_array((size_t)(rows * s.row), sizeof *s.floats);
    s.out = mem_array((size_t)rows, (size_t)s.out_bytes);
    if (!t->data) s.gathered = mem_array((size_t)rows, (size_t)s.in_bytes);
    bool has_memory = s.floats && s.out && (t->data || s.gathered);
    weft_status status = has_memory ? convert_slabs(r, t, &s, n_rows, rows) : WEFT_NO_MEMORY;
    mem_free(s.gathered);
    mem_free(s.floats);
    mem_free(s.out);
    return status;
}

/* Rows that lie apart are brought together first. */
static weft_status copy_scattered(rewrite *r, const gguf_tensor *t) {
    int64_t n_rows = 1, row = t->dim[t->rank - 1];
    for (int i = 0; i + 1 < t->rank; i++) n_rows *= t->dim[i];
    int64_t rows = 1 + SLAB_ELEMENTS / (row ? row : 1);
    size_t row_bytes = n_rows ? t->bytes / (size_t)n_rows : 0;
    if (rows > n_rows) rows = n_rows;
    void *slab = mem_array((size_t)rows, row_bytes);
    if (!slab) return WEFT_NO_MEMORY;
    weft_status status = WEFT_OK;
    for (int64_t first = 0; first < n_rows && status == WEFT_OK; first += rows) {
        int64_t n = n_rows - first < rows ? n_rows - first : rows;
        gguf_copy_rows(t, first, n, slab);
        status = gguf_writer_data(r->out, slab, (size_t)n * row_bytes);
        gguf_forget(t, 0, 0);
        if (status == WEFT_OK) status = report(r, (size_t)n * row_bytes);
    }
    mem_free(slab);
    return status;
}

static weft_status copy_tensor(rewrite *r, const gguf_tensor *t) {
    const size_t step = (size_t)SLAB_ELEMENTS;
    if (!t->data) return copy_scattered(r, t);
    for (size_t at = 0; at < t->bytes; at += step) {
        size_t n = t->bytes - at < step ? t->bytes - at : step;
        TRY(gguf_writer_data(r->out, (const char *)t->data + at, n));
        gguf_forget(t, at, n);
        TRY(report(r, n));
    }
    return WEFT_OK;
}

weft_status rewrite_metadata(rewrite *r, uint32_t file_type) {
    for (size_t i = 0; i < gguf_n_values(r->in); i++)
        TRY(gguf_writer_copy(r->out, gguf_value_at(r->in, i)));
    gguf_writer_remove(r->out, "split.no");
    gguf_writer_remove(r->out, "split.count");
    gguf_writer_remove(r->out, "split.tensors.count");
    TRY(gguf_writer_set_u32(r->out, "general.quantization_version", QUANTIZATION_VERSION));
    return gguf_writer_set_u32(r->out, "general.file_type", file_type);
}

/* A name that a Hugging Face folder's own files have: the output would take the place of one. */
static weft_status check_name(const char *path) {
    static const char *const ends[] = {".safetensors", ".json", ".jinja"};
    size_t n = strlen(path);
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        size_t k = strlen(ends[i]);
        REQUIRE(n < k || strcasecmp(path + n - k, ends[i]) != 0, WEFT_INVALID,
                "%s: the output is a GGUF file: give it another name", path);
    }
    return WEFT_OK;
}

weft_status rewrite_run(rewrite *r, const char *path) {
    TRY(check_name(path));
    bool is_requantized = false;
    for (size_t i = 0; i < gguf_n_tensors(r->in); i++) {
        const gguf_tensor *t = gguf_tensor_at(r->in, i);
        TRY(gguf_writer_tensor(r->out, t->name, r->types[i], t->rank, t->dim));
        r->total += t->bytes;
        is_requantized |= r->types[i] != t->dtype && dtype_find(t->dtype)->is_quantized &&
                          dtype_find(r->types[i])->is_quantized;
    }
    if (is_requantized)
        log_line(WEFT_LOG_WARN,
                 "the input is quantised already: quantising again costs quality twice over");
    TRY(gguf_writer_begin(r->out, path));
    for (size_t i = 0; i < gguf_n_tensors(r->in); i++) {
        const gguf_tensor *t = gguf_tensor_at(r->in, i);
        TRY(r->types[i] == t->dtype ? copy_tensor(r, t) : convert_tensor(r, t, r->types[i]));
    }
    return gguf_writer_end(r->out);
}
