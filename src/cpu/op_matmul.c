/* matmul: (batch, m, k) @ (batch, k, n) of any strides and float dtypes. The columns of b take the
 * part of weight rows in the blocked product; what does not lie as contiguous f32 is gathered block
 * by block. A half-precision result is computed in f32 and rounded once. SPDX-License-Identifier:
 * MIT */
#include "base/mem.h"
#include "base/parallel.h"
#include "cpu/cpu.h"

typedef struct job {
    const cpu_state *cpu;
    const weft_tensor *a, *b;
    layout batches; /* of a, b, out, with a last dimension to ignore */
    int64_t m, n, k, n_batches;
    int64_t a_row, a_column, b_row, b_column; /* strides */
    float *out;                               /* (n_batches, m, n) */
} job;

typedef struct batch {
    const job *job;
    int64_t a_at, b_at;
} batch;

static bool accepts(const weft_call *call) {
    return cpu_is_float(call->in[0]) && cpu_is_float(call->in[1]) && cpu_is_float(call->out);
}

static const float *fetch(const job *j, const weft_tensor *t, int64_t first, int64_t row_step,
                          int64_t step, int64_t n_rows, int64_t n, float *buffer, int64_t *stride) {
    if (t->dtype == WEFT_F32 && step == 1) {
        *stride = row_step;
        return cpu_address(t, first);
    }
    for (int64_t r = 0; r < n_rows; r++) {
        float *place = buffer + r * *stride;
        const float *from = cpu_load(j->cpu->kernels, t, first + r * row_step, step, n, place);
        for (int64_t i = 0; from != place && i < n; i++) place[i] = from[i];
    }
    return buffer;
}

static const float *fetch_w(const void *context, int64_t row, int64_t n_rows, int64_t at, int64_t n,
                            float *buffer, int64_t *stride) {
    const batch *b = context;
    const job *j = b->job;
    return fetch(j, j->b, b->b_at + row * j->b_column + at * j->b_row, j->b_column, j->b_row,
                 n_rows, n, buffer, stride);
}

static const float *fetch_x(const void *context, int64_t row, int64_t n_rows, int64_t at, int64_t n,
                            float *buffer, int64_t *stride) {
    const batch *b = context;
    const job *j = b->job;
    return fetch(j, j->a, b->a_at + row * j->a_row + at * j->a_column, j->a_row, j->a_column,
                 n_rows, n, buffer, stride);
}

/* Columns [first, last) of all batches' columns in a row. */
static void run_columns(void *context, int64_t first, int64_t last) {
    const job *j = context;
    while (first < last) {
        int64_t i = first / j->n, c = first % j->n,
                n = j->n - c < last - first ? j->n - c : last - first;
        batch b = {.job = j,
                   .a_at = j->a->offset + cpu_outer_at(&j->batches, 0, i),
                   .b_at = j->b->offset + cpu_outer_at(&j->batches, 1, i)};
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

/* The leading dimensions of a matrix batch, broadcast to the output's, and a last one of 1. */
static weft_tensor batch_view(const weft_tensor *t, const weft_tensor *out) {
    weft_tensor lead = *out, view = *t;
    lead.rank = out->rank - 1;
    view.rank = t->rank - 1;
    lead.dim[lead.rank - 1] = view.dim[view.rank - 1] = 1;
    return cpu_expand(&view, &lead);
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
    weft_tensor views[] = {batch_view(a, out), batch_view(b, out)};
    const weft_tensor *both[] = {&views[0], &views[1]};
    j.batches = layout_merge_rows(both, 2);
    j.n_batches = tensor_elements(out) / (j.m * j.n);
    float *made = NULL;
    if (out->dtype == WEFT_F32) j.out = cpu_address(out, out->offset);
    else j.out = made = mem_array((size_t)tensor_elements(out), sizeof *made);
    if (!j.out) return WEFT_NO_MEMORY;
    parallel_for(cpu->n_threads, j.n_batches * j.n, cpu_grain(j.m * j.k), run_columns, &j);
    for (int64_t i = 0, total = tensor_elements(out); made && i < total; i += CPU_CHUNK)
        cpu_store(cpu->kernels, out, out->offset + i, 1,
                  total - i < CPU_CHUNK ? total - i : CPU_CHUNK, made + i);
    mem_free(made);
    return WEFT_OK;
}

const cpu_op cpu_matmul = {run, accepts, true};
