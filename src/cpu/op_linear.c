/* linear: x @ w^T + bias, w plain or quantised. One or two rows stream the weights once through the
 * dot products of their format; more rows go through the blocked product, which decodes each weight
 * once. WEFT_FAST: one or two rows of x become 16-bit codes first where the weights' format has a
 * product with them; many rows gain nothing by that. SPDX-License-Identifier: MIT */
#include "base/mem.h"
#include "base/parallel.h"
#include "cpu/cpu.h"

typedef struct job {
    const cpu_state *cpu;
    const weft_tensor *w;
    const float *x; /* (n_x, n_k) */
    int64_t x_stride, n_x, n_k, n_w;
    float *out;
    const weft_tensor *bias;
    cpu_product product;
    cpu_codes codes[CPU_FEW_ROWS]; /* the rows of x */
} job;

static bool accepts(const weft_call *call) {
    return call->in[0]->dtype == WEFT_F32 && cpu_is_readable(call->in[1]) &&
           (!call->in[2] || call->in[2]->dtype == WEFT_F32) && call->out->dtype == WEFT_F32;
}

static const float *fetch_w(const void *context, int64_t row, int64_t n_rows, int64_t at, int64_t n,
                            float *buffer, int64_t *stride) {
    const job *j = context;
    int64_t first = j->w->offset + row * j->n_k + at;
    if (j->w->dtype == WEFT_F32) {
        *stride = j->n_k;
        return cpu_address(j->w, first);
    }
    for (int64_t r = 0; r < n_rows; r++)
        cpu_decode(j->cpu->kernels, j->w->dtype, cpu_address(j->w, first + r * j->n_k),
                   buffer + r * *stride, n);
    return buffer;
}

static const float *fetch_x(const void *context, int64_t row, int64_t n_rows, int64_t at, int64_t n,
                            float *buffer, int64_t *stride) {
    const job *j = context;
    (void)n_rows;
    (void)n;
    (void)buffer;
    *stride = j->x_stride;
    return j->x + row * j->x_stride + at;
}

static void add_bias(const job *j, int64_t first, int64_t last) {
    float buffer[CPU_CHUNK];
    for (int64_t i = first; j->bias && i < last; i += CPU_CHUNK) {
        int64_t n = last - i < CPU_CHUNK ? last - i : CPU_CHUNK;
        const float *bias = cpu_load(j->cpu->kernels, j->bias, j->bias->offset + i, 1, n, buffer);
        for (int64_t r = 0; r < j->n_x; r++)
            for (int64_t c = 0; c < n; c++) j->out[r * j->n_w + i + c] += bias[c];
    }
}

static void run_dots(void *context, int64_t first, int64_t last) {
    const job *j = context;
    for (int64_t i = first; i < last; i++)
        for (int64_t r = 0; r < j->n_x; r++)
            j->out[r * j->n_w + i] = cpu_weights_dot(
                j->cpu->kernels, j->w, j->w->offset + i * j->n_k, j->x + r * j->x_stride, j->n_k);
    add_bias(j, first, last);
}

static void run_product(void *context, int64_t first, int64_t last) {
    const job *j = context;
    cpu_product_run(&j->product, first, last);
    add_bias(j, first, last);
}

/* ---- WEFT_FAST ------------------------------------------------------------------------------- */

static bool is_fast(const cpu_state *cpu, const weft_call *call) {
    return call->precision == WEFT_FAST && call->in[0]->dim[0] <= CPU_FEW_ROWS &&
           cpu->kernels->codes_dot[call->in[1]->dtype];
}

static void run_codes(void *context, int64_t first, int64_t last) {
    const job *j = context;
    float (*dot)(const void *w, int64_t n, cpu_codes x) = j->cpu->kernels->codes_dot[j->w->dtype];
    for (int64_t i = first; i < last; i++) {
        const void *w = cpu_address(j->w, j->w->offset + i * j->n_k);
        for (int64_t r = 0; r < j->n_x; r++) j->out[r * j->n_w + i] = dot(w, j->n_k, j->codes[r]);
    }
    add_bias(j, first, last);
}

static weft_status run_fast(job *j) {
    int64_t n_blocks = j->n_k / CODES, row_floats = 2 * n_blocks + j->n_k / 2;
    float *memory = mem_array((size_t)j->n_x, (size_t)row_floats * sizeof *memory);
    if (!memory) return WEFT_NO_MEMORY;
    for (int64_t r = 0; r < j->n_x; r++) {
        float *d = memory + r * row_floats;
        j->codes[r] = (cpu_codes){(int16_t *)(void *)(d + 2 * n_blocks), d, d + n_blocks};
        j->cpu->kernels->codes(j->x + r * j->x_stride, j->n_k, j->codes[r]);
    }
    parallel_for(j->cpu->n_threads, j->n_w, cpu_grain(j->n_k * j->n_x), run_codes, j);
    mem_free(memory);
    return WEFT_OK;
}

static weft_status run(const cpu_state *cpu, const weft_call *call) {
    const weft_tensor *x = call->in[0], *w = call->in[1];
    job j = {.cpu = cpu, .w = w, .n_k = w->dim[1], .n_w = w->dim[0], .bias = call->in[2]};
    j.n_x = x->dim[0];
    j.x = cpu_address(x, x->offset);
    j.x_stride = x->stride[0];
    j.out = cpu_address(call->out, call->out->offset);
    j.product = (cpu_product){.kernels = cpu->kernels,
                              .n_w = j.n_w,
                              .n_x = j.n_x,
                              .n_k = j.n_k,
                              .fetch_w = fetch_w,
                              .fetch_x = fetch_x,
                              .context = &j,
                              .out = j.out,
                              .out_stride = j.n_w};
    if (is_fast(cpu, call)) return run_fast(&j);
    bool is_few = j.n_x <= CPU_FEW_ROWS && cpu->kernels->dot[w->dtype];
    parallel_for(cpu->n_threads, j.n_w, cpu_grain(j.n_k * j.n_x), is_few ? run_dots : run_product,
                 &j);
    return WEFT_OK;
}

const cpu_op cpu_linear = {run, accepts, true, is_fast};
