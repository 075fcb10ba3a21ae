/* The seam between the WebGPU host code and the kernels: what a kernel row is, what a plan says.
 *
 * A plan is made from a call's signature alone (op, dtypes, shapes, strides, offsets, precision;
 * never data), so it is kept and replayed. plan_<op>() fills it for one kernel row: sources,
 * constants, bindings, parameters, workgroups, as one step a dispatch. Big tensors are split here:
 * a binding larger than caps->max_binding is cut into rows at 256-byte boundaries and a step made
 * for each part.
 *
 * The shader side is in docs/conventions/wgsl.md: storage buffers are @group(0) @binding(0..7);
 * `@group(1) @binding(0) var<uniform> P: Params` holds the parameters (dynamic offset); kernels
 * with F_FLAG also get the flag buffer of lib/flag.wgsl. A binding starts at the wanted byte
 * rounded down to caps->offset_alignment; the rest of the offset goes in the parameters.
 *
 * Not here: what a plan means on the device (batch.c) and how long it is kept (webgpu.c).
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_WEBGPU_PLAN_H
#define WEFT_WEBGPU_PLAN_H

#include "tensor/tensor.h"

/* What the opened device can do; all optional features may be absent. */
typedef struct gpu_caps {
    bool has_f16, has_subgroups, has_timestamps, has_immediates, has_int_dot, has_matrix,
        is_software;
    uint32_t subgroup_size; /* 0 = not uniform or unknown */
    uint64_t max_binding, max_buffer;
    uint32_t max_groups; /* per dimension */
    uint32_t max_invocations, max_workgroup_bytes;
    uint32_t offset_alignment; /* of storage bindings */
} gpu_caps;

enum { F_F16 = 1, F_SUBGROUPS = 2, F_FLAG = 4, F_INT_DOT = 8, F_MATRIX = 16 }; /* needed by a row */

enum { PLAN_MAX_BINDINGS = 8, PLAN_MAX_CONSTS = 24, PLAN_PARAM_BYTES = 256, PLAN_MAX_SOURCES = 10 };
enum { BIND_OUT = -1, BIND_SCRATCH = -2, BIND_CODEBOOK = -3 }; /* else 0.. = call input */

typedef struct plan_const { /* `const NAME: u32 = VALUEu;`, or f32 / i32 / bool by `kind` */
    const char *name;       /* static */
    char kind;              /* 'u' 'i' 'f' 'b'; 'a' = alias: `alias NAME = TEXT;` */
    union {
        uint32_t u;
        int32_t i;
        float f;
        const char *text; /* static */
    } value;
} plan_const;

typedef struct plan_binding {
    int tensor; /* BIND_OUT, BIND_SCRATCH, BIND_CODEBOOK or an input's number */
    bool is_written;
    uint64_t at, bytes; /* of the storage; `at` a multiple of caps->offset_alignment */
} plan_binding;

typedef struct plan_step {
    const struct kernel_row *row;
    const char *sources[PLAN_MAX_SOURCES]; /* the row's own first: "silu.wgsl", "lib/view.wgsl" */
    int n_sources, n_consts, n_bindings;
    plan_const consts[PLAN_MAX_CONSTS];
    plan_binding bindings[PLAN_MAX_BINDINGS];
    uint8_t params[PLAN_PARAM_BYTES]; /* a generated struct params_<kernel>, copied in */
    uint32_t params_bytes;
    uint64_t n_groups;  /* < 2^32, 0 = skipped; the host splits them over x, y, z: lib/grid.wgsl */
    weft_status status; /* set by the step_* helpers when a limit was met */
} plan_step;

typedef struct gpu_plan {
    plan_step *steps; /* grown with plan_add */
    int n_steps, capacity;
    uint64_t
        scratch_bytes;  /* of memory private to the call (BIND_SCRATCH), undefined at its start */
    weft_status status; /* set by plan_add when out of memory */
} gpu_plan;

typedef struct kernel_row {
    const char *name; /* unique: "linear_q4_1_vec" */
    weft_op op;
    /* True when this row can do the call: a pure function of signature, caps and precision. */
    bool (*applies)(const gpu_caps *caps, const weft_call *call);
    weft_status (*plan)(const gpu_caps *caps, const struct kernel_row *row, const weft_call *call,
                        gpu_plan *plan);
    uint32_t needs; /* F_* */
    bool is_exact;  /* f32 activations; other rows only when the call's precision is WEFT_FAST */
    const char *source; /* main shader file */
    int variant;        /* the row's own use: a tile size, a format */
} kernel_row;

/* All rows, generated from kernels.def in its order: the first that applies runs. */
extern const kernel_row kernel_rows[];
extern const int n_kernel_rows;

/* The functions kernels.def names, each in some plan_<op>.c. */
#define KERNEL(name, op, applies, plan, needs, is_exact, source, variant)                          \
    bool applies(const gpu_caps *caps, const weft_call *call);                                     \
    weft_status plan(const gpu_caps *caps, const kernel_row *row, const weft_call *call,           \
                     gpu_plan *plan);
#include "webgpu/kernels.def"
#undef KERNEL

/* For plan functions: adds a zeroed step with the row's source, adds things to it. plan_add
 * gives NULL when out of memory, which the step_* functions accept; what overflows marks the
 * step as failed, so a plan function need not look: the host asks plan_status() when it
 * returned. A step pointer is valid until the next plan_add. */
plan_step *plan_add(gpu_plan *plan, const kernel_row *row);
void step_source(plan_step *s, const char *file);
void step_const(plan_step *s, const char *name, uint32_t value);
void step_const_f(plan_step *s, const char *name, float value);
void step_flag(plan_step *s, const char *name, bool value);
void step_alias(plan_step *s, const char *name, const char *text);
/* Binds `bytes` from byte `at` of a tensor's storage; returns how many bytes lie between the
 * (aligned down) binding start and `at`, for the parameters. */
uint32_t step_bind(const gpu_caps *caps, plan_step *s, const weft_call *call, int tensor,
                   bool is_written, uint64_t at, uint64_t bytes);
void step_params(plan_step *s, const void *params, uint32_t bytes);

/* The codebook of a weight format (codebooks.def): its first word in the buffer of all, which has
 * codebook_bytes(). False when it has none. */
bool codebook_find(weft_dtype dtype, uint32_t *at);
uint64_t codebook_bytes(void);

/* For the host. */
weft_status plan_status(const gpu_plan *plan);
void plan_free(gpu_plan *plan);

#endif
