/* Plans of copy: copy_vec4 for equal bytes, copy for dense destinations, copy_blocks to decode
 * weights, copy_scatter for destinations of any strides. Source and destination never share a
 * storage here: the host sees to it. SPDX-License-Identifier: MIT */
#include "tensor/dtype.h"
#include "webgpu/plan_parts.h"

bool copy_vec4_applies(const gpu_caps *caps, const weft_call *call) {
    (void)caps;
    const weft_tensor *src = call->in[0], *dst = call->out;
    if (src->dtype != dst->dtype || !tensor_is_dense(src) || !tensor_is_dense(dst)) return false;
    return plan_byte(src->dtype, src->offset) % 16 == 0 &&
           plan_byte(dst->dtype, dst->offset) % 16 == 0 &&
           tensor_row_bytes(src->dtype, tensor_elements(src)) % 16 == 0;
}

weft_status copy_vec4_plan(const gpu_caps *caps, const kernel_row *row, const weft_call *call,
                           gpu_plan *plan) {
    const weft_tensor *src = call->in[0], *dst = call->out;
    uint64_t bytes = tensor_row_bytes(src->dtype, tensor_elements(src));
    uint64_t src_at = plan_byte(src->dtype, src->offset),
             dst_at = plan_byte(dst->dtype, dst->offset);
    uint64_t most = (caps->max_binding - 512) / 256 * 256;
    if (most > UINT64_C(1) << 34) most = UINT64_C(1) << 34; /* u32 counts of vectors */
    for (uint64_t done = 0; done < bytes; done += most) {
        uint64_t part = bytes - done < most ? bytes - done : most;
        plan_step *s = plan_add(plan, row);
        params_copy_vec4 p = {.n = (uint32_t)(part / 16)};
        p.src_at = step_bind(caps, s, call, 0, false, src_at + done, part) / 16;
        p.out_at = step_bind(caps, s, call, BIND_OUT, true, dst_at + done, part) / 16;
        step_source(s, "lib/grid.wgsl");
        step_params(s, &p, sizeof p);
        if (s) s->n_groups = plan_groups(p.n, 256);
    }
    return WEFT_OK;
}

/* A dense tensor of f32 of t's shape, as if in scratch memory. */
static weft_tensor decoded(const weft_tensor *t) {
    weft_tensor d = *t;
    d.dtype = WEFT_F32;
    d.offset = 0;
    int64_t step = 1;
    for (int i = d.rank - 1; i >= 0; i--) {
        d.stride[i] = step;
        step *= d.dim[i];
    }
    return d;
}

static bool decodes(const weft_call *call) {
    return dtype_find(call->in[0]->dtype)->is_quantized && plan_is_plain(call->out->dtype);
}

/* The destination and the source as the kernels take them. Rows of blocks of one format are moved
 * as what they are made of: units of 32, 16 or 8 bits (a type the same on both sides passes
 * unchanged). When weights are decoded, the source is what copy_blocks left in scratch memory. */
static bool operands(const weft_call *call, weft_tensor t[2]) {
    t[0] = *call->out;
    t[1] = decodes(call) ? decoded(call->in[0]) : *call->in[0];
    if (plan_is_plain(t[0].dtype) && plan_is_plain(t[1].dtype)) return true;
    const dtype_info *info = dtype_find(t[0].dtype);
    if (t[0].dtype != t[1].dtype || t[0].rank == 0) return false;
    int64_t unit = info->bytes % 4 == 0 ? 4 : info->bytes % 2 == 0 ? 2 : 1;
    int64_t units = info->bytes / unit;
    for (int i = 0; i < 2; i++) {
        int last = t[i].rank - 1;
        t[i].dtype = unit == 4 ? WEFT_I32 : unit == 2 ? WEFT_F16 : WEFT_I8;
        t[i].dim[last] = t[i].dim[last] / info->block * units;
        t[i].offset = t[i].offset / info->block * units;
        for (int d = 0; d < last; d++) t[i].stride[d] = t[i].stride[d] / info->block * units;
    }
    return true;
}

bool copy_scatter_applies(const gpu_caps *caps, const weft_call *call) {
    (void)caps;
    weft_tensor t[2];
    return !decodes(call) && operands(call, t);
}

bool copy_applies(const gpu_caps *caps, const weft_call *call) {
    if (!copy_scatter_applies(caps, call) || !tensor_is_dense(call->out)) return false;
    /* A source too large to be bound is left to copy_scatter, which can cut it crosswise. */
    weft_tensor t[2];
    operands(call, t);
    if (t[0].dtype == WEFT_I8) return false;
    int64_t last = 0;
    for (int d = 0; d < t[1].rank; d++) last += (t[1].dim[d] - 1) * t[1].stride[d];
    return tensor_is_dense(call->in[0]) ||
           plan_can_bind(caps, (last + 1) * dtype_find(t[1].dtype)->bytes);
}

static uint32_t bind_source(const plan_job *job, plan_step *s, const plan_part *part,
                            const weft_tensor *src) {
    int tensor = decodes(job->call) ? BIND_SCRATCH : 0;
    return plan_bind(job, s, tensor, false, src->dtype, part->offset[1], plan_span(part, 1));
}

static uint32_t bind_destination(const plan_job *job, plan_step *s, const plan_part *part,
                                 const weft_tensor *dst) {
    return plan_bind(job, s, BIND_OUT, true, dst->dtype, part->offset[0], plan_span(part, 0));
}

static void add_sources(plan_step *s, const weft_tensor t[2], int rank) {
    step_source(s, "lib/grid.wgsl");
    step_source(s, "lib/view.wgsl");
    step_source(s, "lib/elem.wgsl");
    step_const(s, "RANK", (uint32_t)rank);
    step_const(s, "SRC_TYPE", t[1].dtype);
    step_const(s, "OUT_TYPE", t[0].dtype);
}

static weft_status scatter_part(const plan_job *job, const plan_part *part) {
    weft_tensor t[2];
    operands(job->call, t);
    const layout *l = &part->box;
    plan_step *s = plan_add(job->plan, job->row);
    params_copy_scatter p = {.n = (uint32_t)plan_elements(l)};
    plan_dims(&p.dims, l, l->rank);
    plan_view(&p.src, l, l->rank, 1, bind_source(job, s, part, &t[1]));
    plan_view(&p.out, l, l->rank, 0, bind_destination(job, s, part, &t[0]));
    add_sources(s, t, l->rank);
    plan_scatter(s, t[0].dtype);
    step_params(s, &p, sizeof p);
    if (s) s->n_groups = plan_groups(p.n, 256);
    return WEFT_OK;
}

static weft_status dense_part(const plan_job *job, const plan_part *part) {
    weft_tensor t[2];
    operands(job->call, t);
    const layout *l = &part->box;
    plan_step *s = plan_add(job->plan, job->row);
    params_copy p = {.n = (uint32_t)plan_elements(l)};
    plan_dims(&p.dims, l, l->rank);
    plan_view(&p.src, l, l->rank, 1, bind_source(job, s, part, &t[1]));
    p.out_at = bind_destination(job, s, part, &t[0]);
    add_sources(s, t, l->rank);
    step_source(s, "lib/out_dense.wgsl");
    step_params(s, &p, sizeof p);
    if (s) s->n_groups = plan_groups(plan_words(t[0].dtype, p.n), 256);
    return WEFT_OK;
}

static weft_status split(const gpu_caps *caps, const kernel_row *row, const weft_call *call,
                         gpu_plan *plan, plan_part_fn each) {
    weft_tensor t[2];
    operands(call, t);
    const weft_tensor *both[] = {&t[0], &t[1]};
    layout l = layout_merge(both, 2);
    bool any_axis = each != dense_part;
    return plan_split(&(plan_job){caps, row, call, plan}, &l, both, 2, 0, any_axis, each);
}

weft_status copy_plan(const gpu_caps *caps, const kernel_row *row, const weft_call *call,
                      gpu_plan *plan) {
    return split(caps, row, call, plan, dense_part);
}

weft_status copy_scatter_plan(const gpu_caps *caps, const kernel_row *row, const weft_call *call,
                              gpu_plan *plan) {
    return split(caps, row, call, plan, scatter_part);
}

/* ---- decoding ------------------------------------------------------------------------------- */

bool copy_blocks_applies(const gpu_caps *caps, const weft_call *call) {
    (void)caps;
    return decodes(call) && plan_format(call->in[0]->dtype) && call->in[0]->rank > 0;
}

/* Whole words of the output are written at once: it has to be dense and begin on one. */
static bool decodes_in_place(const weft_tensor *dst) {
    return tensor_is_dense(dst) && plan_is_float(dst->dtype) &&
           plan_byte(dst->dtype, dst->offset) % 4 == 0;
}

/* The source as a tensor of blocks, and the output (or scratch) with a stride to match. */
static void block_operands(const weft_call *call, weft_tensor t[2]) {
    const weft_tensor *src = call->in[0];
    int64_t block = dtype_find(src->dtype)->block;
    bool in_place = decodes_in_place(call->out);
    t[0] = decoded(src);
    t[0].dtype = in_place ? call->out->dtype : WEFT_F32;
    t[0].offset = in_place ? call->out->offset : 0;
    t[1] = *src;
    int last = src->rank - 1;
    t[0].dim[last] = t[1].dim[last] = src->dim[last] / block;
    t[0].stride[last] = block;
    t[1].offset = src->offset / block;
    for (int d = 0; d < last; d++) t[1].stride[d] = src->stride[d] / block;
}

static weft_status blocks_part(const plan_job *job, const plan_part *part) {
    weft_tensor t[2];
    block_operands(job->call, t);
    const weft_tensor *src = job->call->in[0];
    const dtype_info *info = dtype_find(src->dtype);
    const layout *l = &part->box;
    int64_t blocks = plan_elements(l);
    int output = decodes_in_place(job->call->out) ? BIND_OUT : BIND_SCRATCH;
    plan_step *s = plan_add(job->plan, job->row);
    params_copy_blocks p = {.n = (uint32_t)(blocks * info->block / 8)};
    p.out_at = plan_bind(job, s, output, true, t[0].dtype, part->offset[0], blocks * info->block);
    if (plan_is_small(t[0].dtype)) p.out_at /= 2;
    p.w_at = step_bind(job->caps, s, job->call, 0, false, (uint64_t)(part->offset[1] * info->bytes),
                       (uint64_t)(plan_span(part, 1) * info->bytes));
    plan_dims(&p.dims, l, l->rank);
    plan_view(&p.src, l, l->rank, 1, 0);
    step_source(s, "lib/grid.wgsl");
    step_source(s, "lib/view.wgsl");
    step_source(s, "lib/elem.wgsl");
    plan_weights(job, s, src->dtype, (uint64_t)info->bytes, p.w_at);
    step_const(s, "RANK", (uint32_t)l->rank);
    step_const(s, "OUT_TYPE", t[0].dtype);
    step_params(s, &p, sizeof p);
    if (s) s->n_groups = plan_groups(p.n, 64);
    return WEFT_OK;
}

static weft_status scratch_part(const plan_job *job, const plan_part *part) {
    int first = job->plan->n_steps;
    TRY(scatter_part(job, part));
    if (job->plan->n_steps > first) job->plan->steps[first].sources[0] = "copy_scatter.wgsl";
    return WEFT_OK;
}

weft_status copy_blocks_plan(const gpu_caps *caps, const kernel_row *row, const weft_call *call,
                             gpu_plan *plan) {
    weft_tensor t[2];
    block_operands(call, t);
    const weft_tensor *both[] = {&t[0], &t[1]};
    layout l = layout_merge(both, 2);
    TRY(plan_split(&(plan_job){caps, row, call, plan}, &l, both, 2, 0, false, blocks_part));
    if (decodes_in_place(call->out)) return WEFT_OK;
    plan->scratch_bytes = (uint64_t)tensor_elements(call->in[0]) * 4;
    return split(caps, row, call, plan, scratch_part);
}
