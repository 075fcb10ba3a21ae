/* The op conformance suite: every op, against a reference in double, over dtypes, layouts and all
 * variants of a backend. One op is one file: tests/ops/<op>.c defines `const op_test test_<op>`,
 * and ops.def expands to the table, so an op without a reference does not link.
 * docs/conventions/tests.md says how to write one.
 *
 * The bound, per element: |got - ref| <= atol + rtol |ref| + err. atol and rtol are one rounding
 * to the result's dtype; err is what f32 arithmetic may lose on the way, given by the reference for
 * each element (a number of roundings times the sum of absolute terms). It depends on dtype,
 * precision class and length, never on the backend. SPDX-License-Identifier: MIT */
#ifndef WEFT_TESTS_RUNNER_H
#define WEFT_TESTS_RUNNER_H

#include <math.h>

#include "harness.h"
#include "tensor/tensor.h"

/* One f32 rounding, any rounding mode. */
#define EPS 0x1p-23

/* Values of a tensor on the host, contiguous; what the dtype can hold exactly. */
typedef struct array {
    weft_dtype dtype;
    weft_shape shape;
    int64_t n;
    double *v;
    double *block_top; /* quantised: per element, the largest |v| of its block; else NULL */
} array;

typedef struct ref_call {
    const array *in[CALL_MAX_INPUTS]; /* NULL = absent */
    op_attrs attrs;
    bool is_fast; /* precision class: activations may have been rounded to 8 bits in blocks of 32 */
    array out;
    double *err;
} ref_call;

/* Makes c->out with zeros and c->err with zeros. */
void ref_out(ref_call *c, weft_dtype dtype, weft_shape shape);
/* Roundings of an f32 sum of n terms in chunks of 64. */
double ref_sum_cost(int64_t n);

/* The element of `a` at flat index i of a tensor of `shape`, broadcast as NumPy does. */
double ref_broadcast(const array *a, weft_shape shape, int64_t i);
/* NumPy's shape of a op b, and its float dtype. */
weft_shape ref_broadcast_shape(weft_shape a, weft_shape b);
weft_dtype ref_promote(weft_dtype a, weft_dtype b);

/* How the values of an input are made. */
typedef enum fill_kind {
    FILL_NORMAL, /* a * normal + b */
    FILL_RANGE,  /* integers a <= v < b */
    FILL_LIST,   /* list[i % n] */
    FILL_BITS,   /* quantised: random blocks with finite values of moderate size */
} fill_kind;

typedef struct op_input {
    weft_dtype dtype;
    weft_shape shape;
    fill_kind fill;
    double a, b;
    const double *list;
    int n;
    bool is_index; /* never broadcast, never permuted: its values mean something */
    bool is_absent;
} op_input;

typedef struct op_case {
    const char *name; /* shown when it fails, beside dtypes and shapes */
    op_input in[CALL_MAX_INPUTS];
    op_attrs attrs;
    weft_dtype out; /* copy alone: the dtype to convert to */
} op_case;

typedef struct op_test {
    /* Fills out and err from inputs and attributes; naive, in double. */
    void (*ref)(ref_call *c);
    /* Calls run_case for each case; run_is_full() asks for more of them. */
    void (*cases)(void);
    /* The public function. */
    weft_tensor *(*api)(weft_tensor *const *in, const op_attrs *attrs, const op_case *c);
    bool has_any_output; /* the output may have any strides (copy, softmax) */
    bool writes_first;   /* the result is input 0, written in place (kv_write) */
} op_test;

#define WEFT_OP(name, n_in, layouts) extern const op_test test_##name;
#include "tensor/ops.def"
#undef WEFT_OP

/* Runs a case in every layout (or some, when not full) and every variant; failures are printed and
 * counted. */
void run_case(const op_case *c);
bool run_is_full(void);
/* The device under test, and whether it is the CPU backend. */
weft_device *run_device(void);
bool run_is_cpu(void);

/* ---- for cases ------------------------------------------------------------------------------- */

/* A few dtypes to loop over: f32, f16, bf16. */
extern const weft_dtype float_dtypes[3];
/* Sizes around a tile: 1, t-1, t, t+1, 2t, 3t+5. */
enum { N_TILE_SIZES = 6 };
int64_t tile_size(int64_t t, int i);

/* An input of normal values. */
op_input normal(weft_dtype dtype, weft_shape shape);
/* Random blocks when quantised, else normal values. */
op_input weights(weft_dtype dtype, int64_t rows, int64_t columns);
/* f32, all equal, with n (a power of two) of them in a sum: in the upper half of a straight f32 sum
 * each addition rounds down by almost half a unit, which is more than the bound allows. */
op_input biased(weft_shape shape, int64_t n);
/* i32 integers in [low, high). */
op_input integers(weft_shape shape, int64_t low, int64_t high);
/* i32 values given one by one. */
op_input listed(weft_shape shape, const double *list, int n);

/* Values of one dtype: the nearest (ties to even) that the dtype holds; encode and decode of whole
 * arrays. */
double round_to(weft_dtype dtype, double v);
void encode(weft_dtype dtype, const double *v, int64_t n, void *out);
void decode(weft_dtype dtype, const void *data, int64_t n, double *v);

/* tests/ops/cases.c: the cases of public bug reports. */
extern const struct CMUnitTest bug_cases[];
extern const size_t n_bug_cases;

#endif
