/* add, mul, silu, silu_mul: one walk over the merged dimensions of inputs and output, CPU_CHUNK
 * elements at a time as f32. i32 add and mul wrap, in a walk of their own.
 * SPDX-License-Identifier: MIT */
#include "base/parallel.h"
#include "cpu/cpu.h"

typedef struct job {
    const cpu_state *cpu;
    const weft_call *call;
    const weft_tensor *a, *b; /* as wide as the output; b is a where the op has one input */
    layout l;                 /* a, b, out */
    void (*chunk)(const cpu_kernels *k, const float *a, const float *b, float *y, int64_t n);
    uint32_t (*integer)(uint32_t a, uint32_t b);
} job;

/* Where element `first` is: the three positions, and how many elements follow it in its row, at
 * most `most`. */
static int64_t place(const job *j, int64_t first, int64_t most, int64_t at[3]) {
    int d = j->l.rank - 1;
    int64_t row = j->l.dim[d], r = first / row, c = first % row;
    const int64_t offset[3] = {j->a->offset, j->b->offset, j->call->out->offset};
    for (int i = 0; i < 3; i++)
        at[i] = offset[i] + cpu_outer_at(&j->l, i, r) + c * j->l.stride[i][d];
    return row - c < most ? row - c : most;
}

static void run_floats(void *context, int64_t first, int64_t last) {
    const job *j = context;
    const cpu_kernels *k = j->cpu->kernels;
    int d = j->l.rank - 1;
    float a_buffer[CPU_CHUNK], b_buffer[CPU_CHUNK], y_buffer[CPU_CHUNK];
    while (first < last) {
        int64_t at[3], n = place(j, first, last - first < CPU_CHUNK ? last - first : CPU_CHUNK, at);
        const float *a = cpu_load(k, j->a, at[0], j->l.stride[0][d], n, a_buffer);
        const float *b =
            j->call->n_in > 1 ? cpu_load(k, j->b, at[1], j->l.stride[1][d], n, b_buffer) : a;
        float *y = cpu_target(j->call->out, at[2], j->l.stride[2][d], y_buffer);
        j->chunk(k, a, b, y, n);
        cpu_store(k, j->call->out, at[2], j->l.stride[2][d], n, y);
        first += n;
    }
}

static void run_integers(void *context, int64_t first, int64_t last) {
    const job *j = context;
    int d = j->l.rank - 1;
    while (first < last) {
        int64_t at[3], n = place(j, first, last - first, at);
        const uint32_t *a = cpu_address(j->a, at[0]), *b = cpu_address(j->b, at[1]);
        uint32_t *y = cpu_address(j->call->out, at[2]);
        for (int64_t i = 0; i < n; i++)
            y[i * j->l.stride[2][d]] =
                j->integer(a[i * j->l.stride[0][d]], b[i * j->l.stride[1][d]]);
        first += n;
    }
}

static weft_status run(const cpu_state *cpu, const weft_call *call, job j) {
    j.cpu = cpu;
    j.call = call;
    j.a = call->in[0];
    j.b = call->n_in > 1 ? call->in[1] : j.a;
    const weft_tensor *all[] = {j.a, j.b, call->out};
    j.l = layout_merge(all, 3);
    parallel_for(cpu->n_threads, tensor_elements(call->out), cpu_grain(1),
                 call->out->dtype == WEFT_I32 ? run_integers : run_floats, &j);
    return WEFT_OK;
}

static bool accepts_floats(const weft_call *call) {
    for (int i = 0; i < call->n_in; i++)
        if (!cpu_is_float(call->in[i])) return false;
    return cpu_is_float(call->out);
}

static bool accepts_numbers(const weft_call *call) {
    bool is_integer = call->in[0]->dtype == WEFT_I32 && call->in[1]->dtype == WEFT_I32 &&
                      call->out->dtype == WEFT_I32;
    return is_integer || accepts_floats(call);
}

static void add_chunk(const cpu_kernels *k, const float *a, const float *b, float *y, int64_t n) {
    (void)k;
    for (int64_t i = 0; i < n; i++) y[i] = a[i] + b[i];
}

static void mul_chunk(const cpu_kernels *k, const float *a, const float *b, float *y, int64_t n) {
    (void)k;
    for (int64_t i = 0; i < n; i++) y[i] = a[i] * b[i];
}

static void silu_chunk(const cpu_kernels *k, const float *a, const float *b, float *y, int64_t n) {
    (void)b;
    k->silu(a, y, n);
}

static void silu_mul_chunk(const cpu_kernels *k, const float *a, const float *b, float *y,
                           int64_t n) {
    float s[CPU_CHUNK];
    k->silu(a, s, n);
    for (int64_t i = 0; i < n; i++) y[i] = s[i] * b[i];
}

static uint32_t add_integer(uint32_t a, uint32_t b) { return a + b; }

static uint32_t mul_integer(uint32_t a, uint32_t b) { return a * b; }

static weft_status add_run(const cpu_state *cpu, const weft_call *call) {
    return run(cpu, call, (job){.chunk = add_chunk, .integer = add_integer});
}

static weft_status mul_run(const cpu_state *cpu, const weft_call *call) {
    return run(cpu, call, (job){.chunk = mul_chunk, .integer = mul_integer});
}

static weft_status silu_run(const cpu_state *cpu, const weft_call *call) {
    return run(cpu, call, (job){.chunk = silu_chunk});
}

static weft_status silu_mul_run(const cpu_state *cpu, const weft_call *call) {
    return run(cpu, call, (job){.chunk = silu_mul_chunk});
}

const cpu_op cpu_add = {add_run, accepts_numbers, true, NULL};
const cpu_op cpu_mul = {mul_run, accepts_numbers, true, NULL};
const cpu_op cpu_silu = {silu_run, accepts_floats, true, NULL};
const cpu_op cpu_silu_mul = {silu_mul_run, accepts_floats, true, NULL};
