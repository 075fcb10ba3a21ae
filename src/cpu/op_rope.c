/* rope: pairs of each head turned by position * scale * base^(-2i/n_dims) / factors[i]. Angles are
 * double: at position 100,000 an f32 angle would be off by 0.004. The sines of a token serve all
 * its heads. SPDX-License-Identifier: MIT */
#include <math.h>

#include "base/mem.h"
#include "base/parallel.h"
#include "cpu/cpu.h"

enum { PAIRS = CPU_CHUNK }; /* sines kept at a time */

typedef struct job {
    const cpu_state *cpu;
    const weft_call *call;
    const double *rates; /* of each pair: radians a position */
} job;

static bool accepts(const weft_call *call) {
    return cpu_is_float(call->in[0]) && call->in[1]->dtype == WEFT_I32 &&
           (!call->in[2] || call->in[2]->dtype == WEFT_F32) && cpu_is_float(call->out);
}

/* Pieces of a head as f32: loaded, changed, stored; `at` counts from the head's start. */
static void copy_rest(const job *j, int64_t from, int64_t to, int64_t first, int64_t n) {
    float buffer[CPU_CHUNK];
    const cpu_kernels *k = j->cpu->kernels;
    for (int64_t at = first; at < n; at += CPU_CHUNK) {
        int64_t count = n - at < CPU_CHUNK ? n - at : CPU_CHUNK;
        cpu_store(k, j->call->out, to + at, 1, count,
                  cpu_load(k, j->call->in[0], from + at, 1, count, buffer));
    }
}

/* Pairs [first, first + n) of one head. */
static void turn(const job *j, int64_t from, int64_t to, int64_t first, int64_t n,
                 const float *cosine, const float *sine) {
    const cpu_kernels *k = j->cpu->kernels;
    const attrs_rope *a = &j->call->attrs.rope;
    int64_t step = a->is_halves ? 1 : 2, other = a->is_halves ? a->n_dims / 2 : 1,
            at = first * step;
    float x_buffer[PAIRS], y_buffer[PAIRS], u[PAIRS], v[PAIRS];
    const float *x = cpu_load(k, j->call->in[0], from + at, step, n, x_buffer);
    const float *y = cpu_load(k, j->call->in[0], from + at + other, step, n, y_buffer);
    for (int64_t i = 0; i < n; i++) {
        u[i] = x[i] * cosine[i] - y[i] * sine[i];
        v[i] = x[i] * sine[i] + y[i] * cosine[i];
    }
    cpu_store(k, j->call->out, to + at, step, n, u);
    cpu_store(k, j->call->out, to + at + other, step, n, v);
}

static void run_tokens(void *context, int64_t first, int64_t last) {
    const job *j = context;
    const weft_tensor *x = j->call->in[0], *out = j->call->out;
    const int32_t *positions = cpu_address(j->call->in[1], j->call->in[1]->offset);
    int64_t n_pairs = j->call->attrs.rope.n_dims / 2;
    float cosine[PAIRS], sine[PAIRS];
    for (int64_t t = first; t < last; t++)
        for (int64_t p = 0; p < n_pairs; p += PAIRS) {
            int64_t n = n_pairs - p < PAIRS ? n_pairs - p : PAIRS;
            for (int64_t i = 0; i < n; i++) {
                double angle = positions[t] * j->rates[p + i];
                cosine[i] = (float)cos(angle);
                sine[i] = (float)sin(angle);
            }
            for (int64_t h = 0; h < x->dim[1]; h++) {
                int64_t from = x->offset + t * x->stride[0] + h * x->stride[1];
                int64_t to = out->offset + t * out->stride[0] + h * out->stride[1];
                turn(j, from, to, p, n, cosine, sine);
                if (p == 0) copy_rest(j, from, to, j->call->attrs.rope.n_dims, x->dim[2]);
            }
        }
}

static weft_status run(const cpu_state *cpu, const weft_call *call) {
    const attrs_rope *a = &call->attrs.rope;
    const weft_tensor *x = call->in[0], *factors = call->in[2];
    int64_t n_pairs = a->n_dims / 2;
    double *rates = mem_array((size_t)n_pairs, sizeof *rates);
    if (!rates) return WEFT_NO_MEMORY;
    for (int64_t i = 0; i < n_pairs; i++) {
        rates[i] = a->scale * pow(a->base, -2.0 * (double)i / a->n_dims);
        if (factors) rates[i] /= *(const float *)cpu_address(factors, factors->offset + i);
    }
    job j = {.cpu = cpu, .call = call, .rates = rates};
    parallel_for(cpu->n_threads, x->dim[0], cpu_grain(x->dim[1] * x->dim[2] + 32 * n_pairs),
                 run_tokens, &j);
    mem_free(rates);
    return WEFT_OK;
}

const cpu_op cpu_rope = {run, accepts, true, NULL};
