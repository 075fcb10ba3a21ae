/* The insides of the CPU backend, shared by its files: the state, the table of ops, and rows of
 * f32.
 *
 * An op is a cpu_op: what it accepts, and a function that computes it in the caller's thread and
 * in parallel_for. ops.def expands to the table, so an op without one does not link. Ops check data
 * (indices) before they write, so a failing op leaves its output untouched.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_CPU_CPU_H
#define WEFT_CPU_CPU_H

#include "cpu/kernels.h"
#include "cpu/pool.h"
#include "tensor/backend.h"
#include "tensor/dtype.h"

enum { CPU_MAX_LEVELS = 4 };

typedef struct cpu_state {
    int n_threads, n_levels;
    cpu_kernels levels[CPU_MAX_LEVELS]; /* slowest first; all of them run on this machine */
    const cpu_kernels *kernels;         /* the one in use */
    pool pool;
} cpu_state;

typedef struct cpu_op {
    weft_status (*run)(const cpu_state *cpu, const weft_call *call);
    bool (*accepts)(const weft_call *call); /* dtypes; layouts are ops.def's promise */
    bool has_levels;                        /* its result depends on the kernels in use */
    bool (*is_fast)(const cpu_state *cpu, const weft_call *call); /* a call that WEFT_FAST computes
                                                                     otherwise; NULL: none */
} cpu_op;

#define WEFT_OP(name, n_in, layouts) extern const cpu_op cpu_##name;
#include "tensor/ops.def"
#undef WEFT_OP

/* ---- dtypes ---------------------------------------------------------------------------------- */

bool cpu_is_float(const weft_tensor *t);    /* f32, f16, bf16 */
bool cpu_is_readable(const weft_tensor *t); /* a float, or a format that can be decoded */

/* ---- rows of f32 ---- */

/* Elements converted at a time: two buffers of them stay in the first cache. */
enum { CPU_CHUNK = 512 };

/* The address of t's element `at`, counted from the storage's start; a multiple of the block. */
void *cpu_address(const weft_tensor *t, int64_t at);

/* n <= CPU_CHUNK elements from element `at` on with `stride`, as f32: in place when they lie so,
 * else in `buffer`. Floats and i32. */
const float *cpu_load(const cpu_kernels *k, const weft_tensor *t, int64_t at, int64_t stride,
                      int64_t n, float *buffer);
/* The same, always written to `out`. */
void cpu_copy_row(const cpu_kernels *k, const weft_tensor *t, int64_t at, int64_t stride, int64_t n,
                  float *out);
/* Where to put n results for the same place: t's own memory when they lie there as f32, else
 * `buffer`. */
float *cpu_target(const weft_tensor *t, int64_t at, int64_t stride, float *buffer);
/* Converts values[0..n) into place; nothing to do when cpu_target gave the place itself. i32:
 * toward zero, clamped, NaN gives 0. */
void cpu_store(const cpu_kernels *k, const weft_tensor *t, int64_t at, int64_t stride, int64_t n,
               const float *values);
/* n elements (whole blocks) of a dense weight row to f32, any readable dtype. */
void cpu_decode(const cpu_kernels *k, weft_dtype dtype, const void *w, float *out, int64_t n);

/* The offset in elements of outer index `i` of a layout whose last dimension is left out. */
int64_t cpu_outer_at(const layout *l, int tensor, int64_t i);
/* The product of all dimensions but the last. */
int64_t cpu_outer_count(const layout *l);

/* Items of `cost` elementary steps each that make a piece worth a thread. */
int64_t cpu_grain(int64_t cost);

/* ---- products -------------------------------------------------------------------------------- */

/* Up to so many rows of x stream the weights through their format's dot product. */
enum { CPU_FEW_ROWS = 2 };
/* w's `n` weights from element `at` on times x, by their format's dot product, which is there. */
float cpu_weights_dot(const cpu_kernels *k, const weft_tensor *w, int64_t at, const float *x,
                      int64_t n);

/* out[j * out_stride + i] = sum over k of w[i][k] * x[j][k], i < n_w, j < n_x, for rows fetched as
 * f32 in pieces of at most CPU_CHUNK. */
typedef struct cpu_product {
    const cpu_kernels *kernels;
    int64_t n_w, n_x, n_k;
    /* w row i, elements [at, at + n): the address of f32 values, in place or written to `buffer`.
     * `n_rows` rows follow each other at *stride (in: the stride to write with). */
    const float *(*fetch_w)(const void *context, int64_t row, int64_t n_rows, int64_t at, int64_t n,
                            float *buffer, int64_t *stride);
    const float *(*fetch_x)(const void *context, int64_t row, int64_t n_rows, int64_t at, int64_t n,
                            float *buffer, int64_t *stride);
    const void *context;
    float *out;
    int64_t out_stride;
} cpu_product;
/* Computes columns i of [first, last). */
void cpu_product_run(const cpu_product *p, int64_t first, int64_t last);

#endif
