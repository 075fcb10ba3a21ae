/* weft_quantize: a GGUF file in, the same model in other formats out. Tensors pass through one at a
 * time, a slab of rows after the other: each row is decoded, checked and encoded on its own core,
 * then the slab is written. The input stays mapped, so memory is a few slabs whatever the model's
 * size. SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdatomic.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/parallel.h"
#include "format/format.h"
#include "gguf/gguf_write.h"
#include "gguf/imatrix.h"
#include "llm/mixes.h"
#include "tensor/dtype.h"
#include "weft/llm.h"

enum { SLAB_ELEMENTS = 1 << 22, GRAIN_ELEMENTS = 1 << 15, QUANTIZATION_VERSION = 2 };

typedef struct job {
    weft_quantize_desc desc;
    int mix, n_threads;
    gguf_file *in;
    imatrix *importance;
    weft_dtype *types;
    gguf_writer *out;
    uint64_t done, total;
} job;

/* A slab of one tensor's rows, worked on in parallel. */
typedef struct slab {
    const format_ops *from, *to;
    const uint8_t *in;
    uint8_t *out;
    float *floats;
    const float *importance; /* the tensor's, NULL for none */
    int64_t row, in_bytes, out_bytes;
    int64_t first;         /* this slab's first row in the tensor */
    int64_t rows_a_matrix; /* 0: all rows share one set of importances */
    atomic_bool is_bad;
} slab;

static void convert_rows(void *context, int64_t first, int64_t last) {
    slab *s = context;
    for (int64_t r = first; r < last; r++) {
        float *x = s->floats + r * s->row;
        s->from->decode(s->in + r * s->in_bytes, x, s->row);
        bool is_finite = true;
        for (int64_t i = 0; i < s->row; i++) is_finite &= isfinite(x[i]) != 0;
        if (!is_finite) atomic_store(&s->is_bad, true);
        const float *w = s->importance;
        if (w && s->rows_a_matrix) w += (s->first + r) / s->rows_a_matrix * s->row;
        s->to->encode(x, s->out + r * s->out_bytes, s->row, w);
    }
}

static weft_status report(job *j, size_t bytes) {
    j->done += bytes;
    if (!j->desc.on_progress || j->desc.on_progress(j->desc.user, j->done, j->total))
        return WEFT_OK;
    return error_set(WEFT_CANCELLED, "cancelled");
}

/* The importances for a tensor: one for each column, or for each column of each expert. */
static weft_status find_importance(const job *j, const gguf_tensor *t, slab *s, int64_t n_rows) {
    const imatrix_entry *e =
        j->importance ? imatrix_find(j->importance, t->name.data, t->name.n) : NULL;
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

static weft_status convert_slabs(job *j, const gguf_tensor *t, slab *s, int64_t n_rows,
                                 int64_t rows) {
    for (int64_t first = 0; first < n_rows; first += rows) {
        int64_t n = n_rows - first < rows ? n_rows - first : rows;
        s->first = first;
        s->in = (const uint8_t *)t->data + first * s->in_bytes;
        parallel_for(j->n_threads, n, 1 + GRAIN_ELEMENTS / s->row, convert_rows, s);
        REQUIRE(!atomic_load(&s->is_bad), WEFT_FORMAT,
                "tensor '%s' holds a value that is not finite", gguf_show(t->name).text);
        TRY(gguf_writer_data(j->out, s->out, (size_t)(n * s->out_bytes)));
        TRY(report(j, (size_t)(n * s->in_bytes)));
    }
    return WEFT_OK;
}

static weft_status convert_tensor(job *j, const gguf_tensor *t, weft_dtype to) {
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
    TRY(find_importance(j, t, &s, n_rows));
    s.floats = mem_array((size_t)(rows * s.row), sizeof *s.floats);
    s.out = mem_array((size_t)rows, (size_t)s.out_bytes);
    weft_status status = s.floats && s.out ? convert_slabs(j, t, &s, n_rows, rows) : WEFT_NO_MEMORY;
    mem_free(s.floats);
    mem_free(s.out);
    return status;
}

static weft_status copy_tensor(job *j, const gguf_tensor *t) {
    const size_t step = (size_t)SLAB_ELEMENTS;
    for (size_t at = 0; at < t->bytes; at += step) {
        size_t n = t->bytes - at < step ? t->bytes - at : step;
        TRY(gguf_writer_data(j->out, (const char *)t->data + at, n));
        TRY(report(j, n));
    }
    return WEFT_OK;
}

static weft_status write_metadata(job *j) {
    for (size_t i = 0; i < gguf_n_values(j->in); i++)
        TRY(gguf_writer_copy(j->out, gguf_value_at(j->in, i)));
    gguf_writer_remove(j->out, "split.no");
    gguf_writer_remove(j->out, "split.count");
    gguf_writer_remove(j->out, "split.tensors.count");
    TRY(gguf_writer_set_u32(j->out, "general.quantization_version", QUANTIZATION_VERSION));
    TRY(gguf_writer_set_u32(j->out, "general.file_type", mix_file_type(j->mix)));
    if (!j->importance) return WEFT_OK;
    uint32_t n = (uint32_t)imatrix_count(j->importance);
    TRY(gguf_writer_set_string(j->out, "quantize.imatrix.file", j->desc.imatrix,
                               strlen(j->desc.imatrix)));
    return gguf_writer_set_u32(j->out, "quantize.imatrix.entries_count", n);
}

static weft_status write_file(job *j, const char *path) {
    bool is_requantized = false;
    for (size_t i = 0; i < gguf_n_tensors(j->in); i++) {
        const gguf_tensor *t = gguf_tensor_at(j->in, i);
        TRY(gguf_writer_tensor(j->out, t->name, j->types[i], t->rank, t->dim));
        j->total += t->bytes;
        is_requantized |= j->types[i] != t->dtype && dtype_find(t->dtype)->is_quantized &&
                          dtype_find(j->types[i])->is_quantized;
    }
    if (is_requantized)
        log_line(WEFT_LOG_WARN,
                 "the input is quantised already: quantising again costs quality twice over");
    TRY(gguf_writer_begin(j->out, path));
    for (size_t i = 0; i < gguf_n_tensors(j->in); i++) {
        const gguf_tensor *t = gguf_tensor_at(j->in, i);
        TRY(j->types[i] == t->dtype ? copy_tensor(j, t) : convert_tensor(j, t, j->types[i]));
    }
    return gguf_writer_end(j->out);
}

static weft_status run(job *j, const char *in, const char *out) {
    TRY(gguf_open(in, &j->in));
    if (j->desc.imatrix) TRY(imatrix_open(j->desc.imatrix, &j->importance));
    j->types = mem_array(gguf_n_tensors(j->in), sizeof *j->types);
    if (!j->types) return WEFT_NO_MEMORY;
    mix_request request = {j->mix, j->desc.is_pure, j->importance != NULL, j->desc.output_type};
    TRY(mix_plan(j->in, request, j->types));
    TRY(gguf_writer_new(0, &j->out));
    TRY(write_metadata(j));
    return write_file(j, out);
}

weft_status weft_quantize(const char *in, const char *out, weft_quantize_desc desc) {
    REQUIRE(in && out && desc.type, WEFT_INVALID, "input, output and type must be given");
    job j = {.desc = desc, .mix = mix_find(desc.type)};
    REQUIRE(j.mix >= 0, WEFT_INVALID, "'%s' is no type of quantisation", desc.type);
    j.n_threads = desc.n_threads > 0 ? desc.n_threads : parallel_cores();
    weft_status status = run(&j, in, out);
    gguf_writer_free(j.out);
    imatrix_close(j.importance);
    gguf_close(j.in);
    mem_free(j.types);
    return status;
}

const char *weft_quantize_type(size_t i) { return mix_name(i); }
