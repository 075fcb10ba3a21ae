/* matmul: (batch, m, k) @ (batch, k, n) of any strides and float dtypes. The columns of b take the
 * part of weight rows in the blocked product; what does not lie as contiguous f32 is gathered block
 * by block. A half-precision result is computed in f32 and rounded once.
 * SPDX-License-Identifier: MIT */
#include "base/mem.h"
#include "base/parallel.h"
#include "cpu/cpu.h"

typedef struct job {
    const cpu_state *cpu;
    const weft_tensor *a, *b;
    layout batches; /* of a and b, with a last dimension to ignore */
    int64_t m, n, k, n_batches;
    int64_t a_row, a_column, b_row, b_column; /* strides */
    float *packed;    /* a as f32 (n_packed, m, k), when it does not lie so */
    int64_t n_packed; /* n_batches, or 1 when all of them share a */
    float *out;       /* (n_batches, m, n) */
} job;

typedef struct batch {
    const job *job;
    const float *a; /* (m, k) with row stride a_stride */
    int64_t a_stride, b_at;
} batch;

static bool accepts(const weft_call *call) {
    return cpu_is_float(call->in[0]) && cpu_is_float(call->in[1]) && cpu_is_float(call->out);
}

static const float *fetch_w(const void *context, int64_t row, int64_t n_rows, int64_t at, int64_t n,
                            float *buffer, int64_t *stride) {
    const batch *b = context;
    const job *j = b->job;
    int64_t first = b->b_at + row * j->b_column + at * j->b_row;
    if (j->b->dtype == WEFT_F32 && j->b_row == 1) {
        *stride = j->b_column;
        return cpu_address(j->b, first);
    }
    for (int64_t r = 0; r < n_rows; r++)
        cpu_copy_row(j->cpu->kernels, j->b, first + r * j->b_column, j->b_row, n,
                     buffer + r * *stride);
    return buffer;
}

static const float *fetch_x(const void *context, int64_t row, int64_t n_rows, int64_t at, int64_t n,
                            float *buffer, int64_t *stride) {
    const batch *b = context;
    (void)n_rows;
    (void)n;
    (void)buffer;
    *stride = b->a_stride;
    return b->a + row * b->a_stride + at;
}

/* Rows [first, last) of all packed matrices. */
static void pack_rows(void *context, int64_t first, int64_t last) {
    const job *j = context;
    for (int64_t i = first; i < last; i++) {
        int64_t from = j->a->offset + cpu_outer_at(&j->batches, 0, i / j->m) + i % j->m * j->a_row;
        for (int64_t at = 0; at < j->k; at += CPU_CHUNK)
            cpu_copy_row(j->cpu->kernels, j->a, from + at * j->a_column, j->a_column,
                         j->k - at < CPU_CHUNK ? j->k - at : CPU_CHUNK, j->packed + i * j->k + at);
    }
}

/* Columns [first, last) of all batches' columns in a row. */
static void run_columns(void *context, int64_t first, int64_t last) {
    const job *j = context;
    while (first < last) {
        int64_t i = first / j->n, c = first % j->n,
                n = j->n - c < last - first ? j->n - c : last - first;
        batch b = {.job = j, .b_at = j->b->offset + cpu_outer_at(&j->batches, 1, i)};
        b.a = j->packed ? j->packed + i % j->n_packed * j->m * j->k
                        : cpu_address(j->a, j->a->offset + cpu_outer_at(&j->batches, 0, i));
        b.a_stride = j->packed ? j->k : j->a_row;
        cpu_product p = {.kernels = j->cpu->kernels,
                         .n_w = j->n,
                         .n_x = j->m,
                         .n_k = j->k,
                         .fetch_w = fetch_w,
                         .fetch_x = fetch_x,
                         .context = &b,
                         .out = j->out + i * j->m * j->n,
                         .out_stride = j->n};
        cpu_product_run(&p, c, c + n);
        first += n;
    }
}

/* The leading dimensions of a batch of matrices, and a last one of 1. */
static weft_tensor batch_view(const weft_tensor *t) {
    weft_tensor view = *t;
    view.rank = t->rank - 1;
    view.dim[view.rank - 1] = 1;
    return view;
}

/* Allocates what is not there as f32: the packed a, and the result before it is rounded. */
static weft_status make_room(job *j, const weft_tensor *out, float **made) {
    bool is_shared = true;
    for (int d = 0; d < j->batches.rank; d++)
        is_shared = is_shared && (j->batches.dim[d] == 1 || j->batches.stride[0][d] == 0);
    j->n_packed = is_shared ? 1 : j->n_batches;
    if (j->a->dtype != WEFT_F32 || (j->a_column != 1 && j->k > 1)) {
        j->packed = mem_array((size_t)(j->n_packed * j->m), (size_t)j->k * sizeof *j->packed);
        if (!j->packed) return WEFT_NO_MEMORY;
    }
    if (out->dtype == WEFT_F32) j->out = cpu_address(out, out->offset);
    else j->out = *made = mem_array((size_t)tensor_elements(out), sizeof **made);
    return j->out ? WEFT_OK : WEFT_NO_MEMORY;
}

static weft_status multiply(job *j, const weft_tensor *out) {
    const cpu_state *cpu = j->cpu;
    float *made = NULL;
    weft_status status = make_room(j, out, &made);
    if (status == WEFT_OK) {
        if (j->packed)
            parallel_for(cpu->n_threads, j->n_packed * j->m, cpu_grain(j->k), pack_rows, j);
        parallel_for(cpu->n_threads, j->n_batches * j->n, cpu_grain(j->m * j->k), run_columns, j);
        for (int64_t i = 0, total = tensor_elements(out); made && i < total; i += CPU_CHUNK)
            cpu_store(cpu->kernels, out, out->offset + i, 1,
                      total - i < CPU_CHUNK ? total - i : CPU_CHUNK, made + i);
    }
    mem_free(j->packed);
    mem_free(made);
    return status;
}

static weft_status run(const cpu_state *cpu, const weft_call *call) {
    const weft_tensor *a = call->in[0], *b = call->in[1], *out = call->out;
    int ar = a->rank, br = b->rank;
    job j = {.cpu = cpu,
             .a = a,
             .b = b,
             .m = a->dim[ar - 2],
             .k = a->dim[ar - 1],
             .n = b->dim[br - 1],
             .a_row = a->stride[ar - 2],
             .a_column = a->stride[ar - 1],
             .b_row = b->stride[br - 2],
             .b_column = b->stride[br - 1]};
    weft_tensor views[] = {batch_view(a), batch_view(b)};
    const weft_tensor *both[] = {&views[0], &views[1]};
    j.batches = layout_merge_rows(both, 2);
    j.n_batches = tensor_elements(out) / (j.m * j.n);
    return multiply(&j, out);
}

const cpu_op cpu_matmul = {run, accepts, true, NULL};
