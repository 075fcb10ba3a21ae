/* copy: a tensor's values into another of the same shape and any strides, converted. Equal dtypes
 * copy bits, so that integers and NaN payloads survive; else values go through f32.
 * SPDX-License-Identifier: MIT */
#include <string.h>

#include "base/parallel.h"
#include "cpu/cpu.h"

static bool is_value(const weft_tensor *t) { return cpu_is_float(t) || t->dtype == WEFT_I32; }

static bool accepts(const weft_call *call) {
    const weft_tensor *from = call->in[0], *to = call->out;
    return from->dtype == to->dtype || (is_value(to) && (is_value(from) || cpu_is_readable(from)));
}

typedef struct job {
    const cpu_state *cpu;
    const weft_tensor *from, *to;
    layout l;     /* from, to */
    int64_t unit; /* elements that are copied as one: the block */
    int64_t unit_bytes;
} job;

static void copy_units(char *to, int64_t to_step, const char *from, int64_t from_step, int64_t n,
                       int64_t bytes) {
    if (to_step == bytes && from_step == bytes) {
        memcpy(to, from, (size_t)(n * bytes));
        return;
    }
    switch (bytes) { /* a constant size makes memcpy a move */
    case 2:
        for (int64_t i = 0; i < n; i++) memcpy(to + i * to_step, from + i * from_step, 2);
        return;
    case 4:
        for (int64_t i = 0; i < n; i++) memcpy(to + i * to_step, from + i * from_step, 4);
        return;
    default:
        for (int64_t i = 0; i < n; i++)
            memcpy(to + i * to_step, from + i * from_step, (size_t)bytes);
    }
}

static void copy_rows(void *context, int64_t first, int64_t last) {
    const job *j = context;
    int d = j->l.rank - 1;
    int64_t row = j->l.dim[d];
    /* Strides of plain types step over units of one element; blocks have stride 1 inside the row, a
     * unit being a block. */
    int64_t from_step = j->l.stride[0][d] * j->unit_bytes,
            to_step = j->l.stride[1][d] * j->unit_bytes;
    while (first < last) {
        int64_t r = first / row, c = first % row,
                n = row - c < last - first ? row - c : last - first;
        const char *from = cpu_address(j->from, j->from->offset + cpu_outer_at(&j->l, 0, r));
        char *to = cpu_address(j->to, j->to->offset + cpu_outer_at(&j->l, 1, r));
        copy_units(to + c / j->unit * to_step, to_step, from + c / j->unit * from_step, from_step,
                   n / j->unit, j->unit_bytes);
        first += n;
    }
}

static void convert_rows(void *context, int64_t first, int64_t last) {
    const job *j = context;
    const cpu_kernels *k = j->cpu->kernels;
    bool is_quantized = dtype_find(j->from->dtype)->is_quantized;
    int d = j->l.rank - 1;
    int64_t row = j->l.dim[d], from_step = j->l.stride[0][d], to_step = j->l.stride[1][d];
    float buffer[CPU_CHUNK];
    while (first < last) {
        int64_t r = first / row, c = first % row,
                n = row - c < last - first ? row - c : last - first;
        if (n > CPU_CHUNK) n = CPU_CHUNK;
        int64_t from_at = j->from->offset + cpu_outer_at(&j->l, 0, r) + c * from_step;
        int64_t to_at = j->to->offset + cpu_outer_at(&j->l, 1, r) + c * to_step;
        const float *values = buffer;
        if (is_quantized) cpu_decode(k, j->from->dtype, cpu_address(j->from, from_at), buffer, n);
        else values = cpu_load(k, j->from, from_at, from_step, n, buffer);
        cpu_store(k, j->to, to_at, to_step, n, values);
        first += n;
    }
}

/* parallel_for over whole blocks. */
typedef struct blocks {
    job *job;
    void (*run)(void *context, int64_t first, int64_t last);
    int64_t block;
} blocks;

static void run_blocks(void *context, int64_t first, int64_t last) {
    const blocks *b = context;
    b->run(b->job, first * b->block, last * b->block);
}

static weft_status run(const cpu_state *cpu, const weft_call *call) {
    const weft_tensor *from = call->in[0], *both[] = {from, call->out};
    const dtype_info *type = dtype_find(from->dtype);
    job j = {
        .cpu = cpu, .from = from, .to = call->out, .unit = type->block, .unit_bytes = type->bytes};
    j.l = type->block > 1 ? layout_merge_rows(both, 2) : layout_merge(both, 2);
    blocks b = {.job = &j,
                .run = from->dtype == call->out->dtype ? copy_rows : convert_rows,
                .block = type->block};
    parallel_for(cpu->n_threads, tensor_elements(call->out) / type->block, cpu_grain(type->block),
                 run_blocks, &b);
    return WEFT_OK;
}

const cpu_op cpu_copy = {run, accepts, true, NULL};
