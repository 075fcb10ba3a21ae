/* Plans of copy: copy_vec4 for equal bytes, copy for dense destinations, copy_blocks to decode
 * weights, copy_scatter for destinations of any strides. Source and destination never share a
 * storage here: the host sees to it. SPDX-License-Identifier: MIT */
#include "tensor/dtype.h"
#include "webgpu/plan_parts.h"

/* Whether whole words may be written: nothing of the destination's storage shares its last word. */
static bool owns_words(const weft_tensor *t) {
    uint64_t at = plan_byte(t->dtype, t->offset);
    uint64_t end = at + tensor_row_bytes(t->dtype, tensor_elements(t));
    return tensor_is_dense(t) && at % 4 == 0 && (end % 4 == 0 || end >= t->storage->bytes);
}

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

bool copy_applies(const gpu_caps *caps, const weft_call *call) {
    (void)caps;
    return plan_is_plain(call->in[0]->dtype) && plan_is_plain(call->out->dtype) &&
           owns_words(call->out);
}

static void add_sources(plan_step *s, const weft_call *call, int rank) {
    step_source(s, "lib/grid.wgsl");
    step_source(s, "lib/view.wgsl");
    step_source(s, "lib/elem.wgsl");
    step_const(s, "RANK", (uint32_t)rank);
    step_const(s, "SRC_TYPE", call->in[0]->dtype);
    step_const(s, "OUT_TYPE", call->out->dtype);
}

static weft_status scatter_part(const plan_job *job, const plan_part *part) {
    const weft_tensor *dst = job->call->out, *src = job->call->in[0];
    const layout *l = &part->box;
    plan_step *s = plan_add(job->plan, job->row);
    params_copy_scatter p = {.n = (uint32_t)plan_elements(l)};
    plan_dims(&p.dims, l, l->rank);
    uint32_t at = plan_bind(job, s, 0, false, src->dtype, part->offset[1], plan_span(part, 1));
    uint32_t out_at =
        plan_bind(job, s, BIND_OUT, true, dst->dtype, part->offset[0], plan_span(part, 0));
    plan_view(&p.src, l, l->rank, 1, at);
    plan_view(&p.out, l, l->rank, 0, out_at);
    add_sources(s, job->call, l->rank);
    plan_scatter(s, dst->dtype);
    step_params(s, &p, sizeof p);
    if (s) s->n_groups = plan_groups(p.n, 256);
    return WEFT_OK;
}

static weft_status dense_part(const plan_job *job, const plan_part *part) {
    const weft_tensor *dst = job->call->out, *src = job->call->in[0];
    const layout *l = &part->box;
    plan_step *s = plan_add(job->plan, job->row);
    params_copy p = {.n = (uint32_t)plan_elements(l)};
    plan_dims(&p.dims, l, l->rank);
    uint32_t at = plan_bind(job, s, 0, false, src->dtype, part->offset[1], plan_span(part, 1));
    plan_view(&p.src, l, l->rank, 1, at);
    int per_word = plan_is_small(dst->dtype) ? 2 : 1;
    p.out_at = plan_bind(job, s, BIND_OUT, true, dst->dtype, part->offset[0], plan_span(part, 0)) /
               (uint32_t)per_word;
    add_sources(s, job->call, l->rank);
    step_params(s, &p, sizeof p);
    if (s) s->n_groups = plan_groups(p.n, 256 * per_word);
    return WEFT_OK;
}

weft_status copy_plan(const gpu_caps *caps, const kernel_row *row, const weft_call *call,
                      gpu_plan *plan) {
    const weft_tensor *t[] = {call->out, call->in[0]};
    layout l = layout_merge(t, 2);
    return plan_split(&(plan_job){caps, row, call, plan}, &l, t, 2, 0, dense_part);
}

bool copy_scatter_applies(const gpu_caps *caps, const weft_call *call) {
    (void)caps;
    return plan_is_plain(call->in[0]->dtype) && plan_is_plain(call->out->dtype);
}

weft_status copy_scatter_plan(const gpu_caps *caps, const kernel_row *row, const weft_call *call,
                              gpu_plan *plan) {
    const weft_tensor *t[] = {call->out, call->in[0]};
    layout l = layout_merge(t, 2);
    return plan_split(&(plan_job){caps, row, call, plan}, &l, t, 2, 0, scatter_part);
}

bool copy_blocks_applies(const gpu_caps *caps, const weft_call *call) {
    (void)caps;
    const weft_tensor *src = call->in[0], *dst = call->out;
    return dtype_find(src->dtype)->is_quantized && plan_format(src->dtype) &&
           tensor_is_dense(src) && plan_is_float(dst->dtype) && tensor_is_dense(dst) &&
           plan_byte(dst->dtype, dst->offset) % 4 == 0;
}

weft_status copy_blocks_plan(const gpu_caps *caps, const kernel_row *row, const weft_call *call,
                             gpu_plan *plan) {
    const weft_tensor *src = call->in[0], *dst = call->out;
    plan_job job = {caps, row, call, plan};
    const dtype_info *info = dtype_find(src->dtype);
    int64_t blocks = tensor_elements(src) / info->block, size = dtype_find(dst->dtype)->bytes;
    int64_t per_block = info->block * size > info->bytes ? info->block * size : info->bytes;
    int64_t most = (int64_t)((caps->max_binding - 512) / (uint64_t)per_block) / 128 * 128;
    REQUIRE(most > 0, WEFT_LIMIT, "%s: the device binds only %llu bytes", row->name,
            (unsigned long long)caps->max_binding);
    for (int64_t done = 0; done < blocks; done += most) {
        int64_t part = blocks - done < most ? blocks - done : most;
        plan_step *s = plan_add(plan, row);
        params_copy_blocks p = {.n = (uint32_t)(part * info->block / 8)};
        uint32_t out_at = plan_bind(&job, s, BIND_OUT, true, dst->dtype,
                                    dst->offset + done * info->block, part * info->block);
        p.out_at = out_at / (size == 2 ? 2 : 1);
        p.w_at = step_bind(caps, s, call, 0, false,
                           plan_byte(src->dtype, src->offset + done * info->block),
                           (uint64_t)(part * info->bytes));
        step_source(s, "lib/grid.wgsl");
        step_source(s, "lib/elem.wgsl");
        plan_weights(s, src->dtype, (uint64_t)info->bytes, p.w_at);
        step_const(s, "OUT_TYPE", dst->dtype);
        step_params(s, &p, sizeof p);
        if (s) s->n_groups = plan_groups(p.n, 64);
    }
    return WEFT_OK;
}
