/* softmax, argmax, rms_norm: ops over rows, the last dimension. Rows of any length pass in pieces
 * of CPU_CHUNK, read again for each pass, so that no row needs memory of its own.
 * SPDX-License-Identifier: MIT */
#include <math.h>

#include "base/parallel.h"
#include "cpu/cpu.h"

typedef struct job {
    const cpu_state *cpu;
    const weft_call *call;
    layout l; /* x, out; rows */
    int64_t n;
} job;

static const float *load(const job *j, int64_t row, int64_t at, int64_t *n, float *buffer) {
    const weft_tensor *x = j->call->in[0];
    int64_t step = j->l.stride[0][j->l.rank - 1];
    *n = j->n - at < CPU_CHUNK ? j->n - at : CPU_CHUNK;
    return cpu_load(j->cpu->kernels, x, x->offset + cpu_outer_at(&j->l, 0, row) + at * step, step,
                    *n, buffer);
}

/* Where results of a piece go (out has x's shape), and the store after they are made. */
static int64_t out_at(const job *j, int64_t row, int64_t at) {
    return j->call->out->offset + cpu_outer_at(&j->l, 1, row) + at * j->l.stride[1][j->l.rank - 1];
}

static weft_status run_rows(const cpu_state *cpu, const weft_call *call, const weft_tensor *like,
                            void (*rows)(void *context, int64_t first, int64_t last)) {
    const weft_tensor *both[] = {call->in[0], like};
    job j = {.cpu = cpu, .call = call, .l = layout_merge_rows(both, 2)};
    j.n = j.l.dim[j.l.rank - 1];
    parallel_for(cpu->n_threads, cpu_outer_count(&j.l), cpu_grain(j.n), rows, &j);
    return WEFT_OK;
}

/* ---- softmax --------------------------------------------------------------------------------- */

static void softmax_row(const job *j, int64_t row) {
    const cpu_kernels *k = j->cpu->kernels;
    const weft_tensor *out = j->call->out;
    int64_t n, step = j->l.stride[1][j->l.rank - 1];
    float x_buffer[CPU_CHUNK], y_buffer[CPU_CHUNK], top = -INFINITY, sum = 0;
    for (int64_t at = 0; at < j->n; at += n) {
        const float *x = load(j, row, at, &n, x_buffer);
        for (int64_t i = 0; i < n; i++) top = x[i] > top ? x[i] : top;
    }
    for (int64_t at = 0; at < j->n; at += n) {
        const float *x = load(j, row, at, &n, x_buffer);
        sum += k->exp_sum(x, top, y_buffer, n);
    }
    for (int64_t at = 0; at < j->n; at += n) {
        const float *x = load(j, row, at, &n, x_buffer);
        float *y = cpu_target(out, out_at(j, row, at), step, y_buffer);
        k->exp_sum(x, top, y, n);
        for (int64_t i = 0; i < n; i++) y[i] /= sum;
        cpu_store(k, out, out_at(j, row, at), step, n, y);
    }
}

static void softmax_rows(void *context, int64_t first, int64_t last) {
    for (int64_t r = first; r < last; r++) softmax_row(context, r);
}

static weft_status softmax_run(const cpu_state *cpu, const weft_call *call) {
    return run_rows(cpu, call, call->out, softmax_rows);
}

static bool softmax_accepts(const weft_call *call) {
    return cpu_is_float(call->in[0]) && cpu_is_float(call->out);
}

/* ---- argmax ---------------------------------------------------------------------------------- */

static int32_t argmax_row(const job *j, int64_t row) {
    float buffer[CPU_CHUNK], top = 0;
    int64_t n, best = -1;
    for (int64_t at = 0; at < j->n; at += n) {
        const float *x = load(j, row, at, &n, buffer);
        for (int64_t i = 0; i < n; i++) {
            if (x[i] != x[i]) return (int32_t)(at + i);
            if (best >= 0 && !(x[i] > top)) continue;
            top = x[i];
            best = at + i;
        }
    }
    return (int32_t)best;
}

static void argmax_rows(void *context, int64_t first, int64_t last) {
    const job *j = context;
    int32_t *out = cpu_address(j->call->out, j->call->out->offset);
    for (int64_t r = first; r < last; r++) out[r] = argmax_row(j, r);
}

static weft_status argmax_run(const cpu_state *cpu, const weft_call *call) {
    return run_rows(cpu, call, call->in[0], argmax_rows);
}

static bool argmax_accepts(const weft_call *call) {
    return cpu_is_float(call->in[0]) && call->out->dtype == WEFT_I32;
}

/* ---- rms_norm -------------------------------------------------------------------------------- */

static void rms_norm_row(const job *j, int64_t row) {
    const cpu_kernels *k = j->cpu->kernels;
    const weft_tensor *out = j->call->out, *weight = j->call->in[1];
    float x_buffer[CPU_CHUNK], w_buffer[CPU_CHUNK], y_buffer[CPU_CHUNK], squares = 0;
    int64_t n, step = j->l.stride[1][j->l.rank - 1];
    for (int64_t at = 0; at < j->n; at += n) {
        const float *x = load(j, row, at, &n, x_buffer);
        squares += k->dot[WEFT_F32](x, x, n);
    }
    float scale = 1 / sqrtf(squares / (float)j->n + j->call->attrs.rms_norm.eps);
    for (int64_t at = 0; at < j->n; at += n) {
        const float *x = load(j, row, at, &n, x_buffer);
        float *y = cpu_target(out, out_at(j, row, at), step, y_buffer);
        for (int64_t i = 0; i < n; i++) y[i] = x[i] * scale;
        if (weight) {
            const float *w = cpu_load(k, weight, weight->offset + at, 1, n, w_buffer);
            for (int64_t i = 0; i < n; i++) y[i] *= w[i];
        }
        cpu_store(k, out, out_at(j, row, at), step, n, y);
    }
}

static void rms_norm_rows(void *context, int64_t first, int64_t last) {
    for (int64_t r = first; r < last; r++) rms_norm_row(context, r);
}

static weft_status rms_norm_run(const cpu_state *cpu, const weft_call *call) {
    return run_rows(cpu, call, call->out, rms_norm_rows);
}

static bool rms_norm_accepts(const weft_call *call) {
    return cpu_is_float(call->in[0]) && (!call->in[1] || cpu_is_float(call->in[1])) &&
           cpu_is_float(call->out);
}

const cpu_op cpu_softmax = {softmax_run, softmax_accepts, true, NULL};
const cpu_op cpu_argmax = {argmax_run, argmax_accepts, false, NULL};
const cpu_op cpu_rms_norm = {rms_norm_run, rms_norm_accepts, true, NULL};
