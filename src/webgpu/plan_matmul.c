/* Plans of matmul, and of linear with plain weights that do not suit plan_linear.c (there b is w
 * transposed): matmul_tile for large products, matmul for the rest. Kernels give f32; a 16-bit
 * result is made in scratch memory and converted. SPDX-License-Identifier: MIT */
#include "tensor/dtype.h"
#include "webgpu/plan_parts.h"

/* a (..., m, k) @ b (..., k, n): the matrices' strides, and where the batch of `out` goes. */
typedef struct product {
    int64_t m, n, k, a_m, a_k, b_k, b_n;
    const weft_tensor *bias;
    bool has_scratch; /* the output goes there first */
} product;

/* One dispatch within a part of the batch. */
typedef struct product_part {
    const plan_part *batch;
    int64_t m0, m, n0, n, k0, k;
} product_part;

static int64_t stride_of(const weft_tensor *t, int axis) {
    return t->dim[axis] > 1 ? t->stride[axis] : 1;
}

static product product_of(const weft_call *call) {
    const weft_tensor *a = call->in[0], *b = call->in[1];
    product p = {.m = a->dim[a->rank - 2], .k = a->dim[a->rank - 1]};
    p.a_m = stride_of(a, a->rank - 2);
    p.a_k = stride_of(a, a->rank - 1);
    p.has_scratch = call->out->dtype != WEFT_F32;
    bool is_linear = call->op == OP_linear;
    p.n = b->dim[is_linear ? 0 : b->rank - 1];
    p.b_n = stride_of(b, is_linear ? 0 : b->rank - 1);
    p.b_k = stride_of(b, is_linear ? 1 : b->rank - 2);
    p.bias = is_linear ? call->in[2] : NULL;
    return p;
}

static bool can_multiply(const weft_call *call) {
    const weft_tensor *a = call->in[0], *b = call->in[1];
    return plan_is_float(a->dtype) && plan_is_float(b->dtype) && plan_is_float(call->out->dtype) &&
           a->rank >= 2 && b->rank >= 2;
}

bool matmul_applies(const gpu_caps *caps, const weft_call *call) {
    (void)caps;
    return can_multiply(call);
}

bool matmul_tile_applies(const gpu_caps *caps, const weft_call *call) {
    (void)caps;
    if (!can_multiply(call)) return false;
    product p = product_of(call);
    return p.m >= 8 && p.n >= 8 && p.k >= 8;
}

/* Elements between the first and last of a, b and the output in a part, both included. */
static void spans_of(const product *p, const product_part *part, int64_t span[3]) {
    int64_t last_k = part->k > 0 ? part->k - 1 : 0;
    span[0] = plan_span(part->batch, 1) + (part->m - 1) * p->a_m + last_k * p->a_k;
    span[1] = plan_span(part->batch, 2) + last_k * p->b_k + (part->n - 1) * p->b_n;
    span[2] = (plan_elements(&part->batch->box) - 1) * p->m * p->n + (part->m - 1) * p->n + part->n;
}

typedef struct product_at { /* indices from the bindings' starts */
    uint32_t a, b, bias, out;
} product_at;

static product_at bind_part(const plan_job *job, plan_step *s, const product *p,
                            const product_part *part) {
    const weft_tensor *a = job->call->in[0], *b = job->call->in[1], *out = job->call->out;
    const plan_part *batch = part->batch;
    int64_t span[3];
    spans_of(p, part, span);
    product_at at = {0};
    at.a = plan_bind(job, s, 0, false, a->dtype,
                     batch->offset[1] + part->m0 * p->a_m + part->k0 * p->a_k, span[0]);
    at.b = plan_bind(job, s, 1, false, b->dtype,
                     batch->offset[2] + part->n0 * p->b_n + part->k0 * p->b_k, span[1]);
    if (p->bias)
        at.bias = plan_bind(job, s, 2, false, WEFT_F32, p->bias->offset + part->n0, part->n);
    else plan_bind(job, s, 0, false, a->dtype, a->offset, 1); /* something to stand there */
    int64_t to = batch->offset[0] - (p->has_scratch ? out->offset : 0) + part->m0 * p->n + part->n0;
    at.out =
        plan_bind(job, s, p->has_scratch ? BIND_SCRATCH : BIND_OUT, true, WEFT_F32, to, span[2]);
    step_source(s, "lib/grid.wgsl");
    step_source(s, "lib/view.wgsl");
    step_source(s, "lib/elem.wgsl");
    step_const(s, "RANK", (uint32_t)batch->box.rank);
    step_const(s, "A_TYPE", a->dtype);
    step_const(s, "B_TYPE", b->dtype);
    step_flag(s, "HAS_BIAS", p->bias && part->k0 == 0);
    step_flag(s, "IS_ADDED", part->k0 > 0); /* to the parts of k before */
    return at;
}

static void simple_step(const plan_job *job, const product *p, const product_part *part) {
    const layout *l = &part->batch->box;
    plan_step *s = plan_add(job->plan, job->row);
    product_at at = bind_part(job, s, p, part);
    int64_t total = plan_elements(l) * part->m * part->n;
    params_matmul q = {.m = (uint32_t)part->m,
                       .n = (uint32_t)part->n,
                       .k = (uint32_t)part->k,
                       .total = (uint32_t)total,
                       .a_m = (uint32_t)p->a_m,
                       .a_k = (uint32_t)p->a_k,
                       .b_k = (uint32_t)p->b_k,
                       .b_n = (uint32_t)p->b_n,
                       .out_at = at.out,
                       .out_batch = (uint32_t)(p->m * p->n),
                       .out_m = (uint32_t)p->n,
                       .bias_at = at.bias};
    plan_dims(&q.batch, l, l->rank);
    plan_view(&q.a, l, l->rank, 1, at.a);
    plan_view(&q.b, l, l->rank, 2, at.b);
    step_params(s, &q, sizeof q);
    if (s) s->n_groups = plan_groups(total, 64);
}

static void tile_step(const plan_job *job, const product *p, const product_part *part) {
    const layout *l = &part->batch->box;
    int64_t n_batch = plan_elements(l);
    uint32_t tile = 64;
    if (plan_groups(part->m, 64) * plan_groups(part->n, 64) * (uint64_t)n_batch < 192) tile = 32;
    plan_step *s = plan_add(job->plan, job->row);
    product_at at = bind_part(job, s, p, part);
    uint64_t tiles_m = plan_groups(part->m, tile), tiles_n = plan_groups(part->n, tile);
    params_matmul_tile q = {.m = (uint32_t)part->m,
                            .n = (uint32_t)part->n,
                            .k = (uint32_t)part->k,
                            .n_tiles_m = (uint32_t)tiles_m,
                            .n_tiles_n = (uint32_t)tiles_n,
                            .n_groups = (uint32_t)(tiles_m * tiles_n * (uint64_t)n_batch),
                            .a_m = (uint32_t)p->a_m,
                            .a_k = (uint32_t)p->a_k,
                            .b_k = (uint32_t)p->b_k,
                            .b_n = (uint32_t)p->b_n,
                            .out_at = at.out,
                            .out_batch = (uint32_t)(p->m * p->n),
                            .out_m = (uint32_t)p->n,
                            .bias_at = at.bias};
    plan_dims(&q.batch, l, l->rank);
    plan_view(&q.a, l, l->rank, 1, at.a);
    plan_view(&q.b, l, l->rank, 2, at.b);
    step_const(s, "TILE", tile);
    step_const(s, "WG", tile * tile / 16);
    step_flag(s, "A_K_INNER", p->a_k <= p->a_m);
    step_flag(s, "B_K_INNER", p->b_k <= p->b_n);
    step_params(s, &q, sizeof q);
    if (s) s->n_groups = tiles_m * tiles_n * (uint64_t)n_batch;
}

static int64_t first_half(int64_t size) {
    int64_t half = (size / 2 + 63) / 64 * 64;
    return half < size ? half : size / 2;
}

/* Cuts rows of a, columns of b or their common dimension in half until the part can be bound. */
static weft_status cut(const plan_job *job, const product *p, product_part part, int depth) {
    const weft_tensor *a = job->call->in[0], *b = job->call->in[1];
    int64_t span[3];
    spans_of(p, &part, span);
    bool fits_a = plan_can_bind(job->caps, span[0] * dtype_find(a->dtype)->bytes);
    bool fits_b = plan_can_bind(job->caps, span[1] * dtype_find(b->dtype)->bytes);
    bool fits_out = plan_can_bind(job->caps, span[2] * 4);
    int64_t outputs = plan_elements(&part.batch->box) * part.m * part.n;
    if (fits_a && fits_b && fits_out && outputs <= INT64_C(0x7fffffff)) {
        if (job->row->variant) tile_step(job, p, &part);
        else simple_step(job, p, &part);
        return WEFT_OK;
    }
    product_part second = part;
    bool is_cut_along_k = (!fits_a && p->a_k > p->a_m) || (!fits_b && p->b_k > p->b_n);
    if (is_cut_along_k && part.k > 1) {
        part.k = first_half(part.k);
        second.k0 += part.k;
        second.k -= part.k;
    } else if (fits_a && part.n > 1 && (!fits_b || part.m == 1)) {
        part.n = first_half(part.n);
        second.n0 += part.n;
        second.n -= part.n;
    } else {
        REQUIRE(part.m > 1 && depth < 64, WEFT_LIMIT,
                "%s: a row or column of input %d is larger than the device binds at once (%llu "
                "bytes)",
                op_name(job->call->op), fits_a ? 1 : 0, (unsigned long long)job->caps->max_binding);
        part.m = first_half(part.m);
        second.m0 += part.m;
        second.m -= part.m;
    }
    TRY(cut(job, p, part, depth + 1));
    return cut(job, p, second, depth + 1);
}

static weft_status batch_part(const plan_job *job, const plan_part *batch) {
    product p = product_of(job->call);
    return cut(job, &p, (product_part){.batch = batch, .m = p.m, .n = p.n, .k = p.k}, 0);
}

/* The f32 result in scratch, converted into the output. */
static weft_status convert_part(const plan_job *job, const plan_part *part) {
    const weft_tensor *out = job->call->out;
    plan_step *s = plan_add(job->plan, job->row);
    if (s) s->sources[0] = "copy.wgsl";
    params_copy p = {.n = (uint32_t)plan_elements(&part->box)};
    plan_dims(&p.dims, &part->box, 1);
    uint32_t at =
        plan_bind(job, s, BIND_SCRATCH, false, WEFT_F32, part->offset[1], plan_span(part, 1));
    plan_view(&p.src, &part->box, 1, 1, at);
    p.out_at = plan_bind(job, s, BIND_OUT, true, out->dtype, part->offset[0], plan_span(part, 0));
    step_source(s, "lib/grid.wgsl");
    step_source(s, "lib/view.wgsl");
    step_source(s, "lib/elem.wgsl");
    step_source(s, "lib/out_dense.wgsl");
    step_const(s, "RANK", 1);
    step_const(s, "SRC_TYPE", WEFT_F32);
    step_const(s, "OUT_TYPE", out->dtype);
    step_params(s, &p, sizeof p);
    if (s) s->n_groups = plan_groups(plan_words(out->dtype, p.n), 256);
    return WEFT_OK;
}

/* A tensor's batch dimensions as a tensor of their own: those of the output before its two matrix
 * dimensions. */
static weft_tensor batch_of(const weft_tensor *t, int drop, weft_dtype dtype) {
    weft_tensor b = *t;
    b.rank = t->rank - drop;
    b.dtype = dtype;
    return b;
}

weft_status matmul_plan(const gpu_caps *caps, const kernel_row *row, const weft_call *call,
                        gpu_plan *plan) {
    plan_job job = {caps, row, call, plan};
    product p = product_of(call);
    weft_tensor a = batch_of(call->in[0], 2, WEFT_F32), b = batch_of(call->in[1], 2, WEFT_F32),
                out = a;
    b.offset = call->in[1]->offset;
    out.offset = call->out->offset;
    int64_t step = p.m * p.n;
    for (int d = out.rank - 1; d >= 0; d--) {
        out.stride[d] = step;
        step *= out.dim[d];
    }
    const weft_tensor *t[] = {&out, &a, &b};
    layout l = layout_merge(t, 3);
    if (p.has_scratch) plan->scratch_bytes = (uint64_t)tensor_elements(call->out) * 4;
    TRY(plan_split(&job, &l, t, 3, 0, false, batch_part));
    if (!p.has_scratch) return WEFT_OK;
    weft_tensor whole = *call->out, scratch = {.dtype = WEFT_F32, .rank = 1};
    whole.rank = 1;
    whole.dim[0] = scratch.dim[0] = tensor_elements(call->out);
    whole.stride[0] = scratch.stride[0] = 1;
    const weft_tensor *u[] = {&whole, &scratch};
    layout flat = layout_merge(u, 2);
    return plan_split(&job, &flat, u, 2, 0, false, convert_part);
}
