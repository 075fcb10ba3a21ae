/* Plans of the ops over rows of the last axis: softmax, argmax, rms_norm. A team of threads makes a
 * row; long rows of softmax and all of argmax's are cut into chunks, whose results wait in scratch
 * memory for a second step. SPDX-License-Identifier: MIT */
#include "webgpu/plan_parts.h"

enum { SOFTMAX_CHUNK = 16384, ARGMAX_CHUNK = 2048 };

static void add_sources(const plan_job *job, plan_step *s, const layout *l) {
    step_source(s, "lib/grid.wgsl");
    step_source(s, "lib/view.wgsl");
    step_source(s, "lib/elem.wgsl");
    step_const(s, "RANK", (uint32_t)(l->rank - 1));
    step_const(s, "X_TYPE", job->call->in[0]->dtype);
}

/* Threads for a row: each with some elements. A team with subgroups is at least one. */
static uint32_t team_for(const plan_job *job, int64_t items) {
    bool has_subgroups = (job->row->needs & F_SUBGROUPS) != 0;
    uint32_t least = has_subgroups ? job->caps->subgroup_size : 4;
    return plan_power((items + 3) / 4, least, least > 256 ? least : 256);
}

static uint32_t threads_for(uint32_t lanes) { return lanes > 128 ? lanes : 128; }

/* ---- softmax
 * -----------------------------------------------------------------------------------------------
 * */

bool softmax_applies(const gpu_caps *caps, const weft_call *call) {
    (void)caps;
    return plan_is_float(call->in[0]->dtype) && plan_is_float(call->out->dtype);
}

bool softmax_subgroup_applies(const gpu_caps *caps, const weft_call *call) {
    return plan_has_subgroups(caps) && softmax_applies(caps, call);
}

static weft_status softmax_short(const plan_job *job, const plan_part *part) {
    const weft_tensor *x = job->call->in[0], *out = job->call->out;
    const layout *l = &part->box;
    int64_t k = l->dim[l->rank - 1], n_rows = k > 0 ? plan_elements(l) / k : 0;
    uint32_t lanes = team_for(job, k), threads = threads_for(lanes);
    plan_step *s = plan_add(job->plan, job->row);
    params_softmax p = {.n_rows = (uint32_t)n_rows, .k = (uint32_t)k};
    p.x_stride = (uint32_t)l->stride[1][l->rank - 1];
    p.out_stride = (uint32_t)l->stride[0][l->rank - 1];
    plan_dims(&p.rows, l, l->rank - 1);
    uint32_t at = plan_bind(job, s, 0, false, x->dtype, part->offset[1], plan_span(part, 1));
    uint32_t out_at =
        plan_bind(job, s, BIND_OUT, true, out->dtype, part->offset[0], plan_span(part, 0));
    plan_view(&p.x, l, l->rank - 1, 1, at);
    plan_view(&p.out, l, l->rank - 1, 0, out_at);
    add_sources(job, s, l);
    step_source(s, "lib/math.wgsl");
    step_const(s, "OUT_TYPE", out->dtype);
    plan_scatter(s, out->dtype);
    plan_lanes(job, s, threads, lanes);
    step_params(s, &p, sizeof p);
    if (s) s->n_groups = plan_groups(n_rows, threads / lanes);
    return WEFT_OK;
}

static weft_status softmax_long(const plan_job *job, const plan_part *part) {
    const weft_tensor *x = job->call->in[0], *out = job->call->out;
    const layout *l = &part->box;
    int64_t k = l->dim[l->rank - 1], n_rows = plan_elements(l) / k;
    int64_t n_chunks = (int64_t)plan_groups(k, SOFTMAX_CHUNK), n_groups = n_rows * n_chunks;
    uint64_t scratch = (uint64_t)n_groups * 8;
    if (job->plan->scratch_bytes < scratch) job->plan->scratch_bytes = scratch;

    plan_step *s = plan_add(job->plan, job->row);
    if (s) s->sources[0] = "softmax_part.wgsl";
    params_softmax_part p = {.k = (uint32_t)k,
                             .x_stride = (uint32_t)l->stride[1][l->rank - 1],
                             .n_chunks = (uint32_t)n_chunks,
                             .n_groups = (uint32_t)n_groups};
    plan_dims(&p.rows, l, l->rank - 1);
    uint32_t at = plan_bind(job, s, 0, false, x->dtype, part->offset[1], plan_span(part, 1));
    plan_view(&p.x, l, l->rank - 1, 1, at);
    step_bind(job->caps, s, job->call, BIND_SCRATCH, true, 0, scratch);
    add_sources(job, s, l);
    step_source(s, "lib/math.wgsl");
    step_const(s, "CHUNK", SOFTMAX_CHUNK);
    plan_lanes(job, s, 256, 256);
    step_params(s, &p, sizeof p);
    if (s) s->n_groups = (uint64_t)n_groups;

    s = plan_add(job->plan, job->row);
    if (s) s->sources[0] = "softmax_write.wgsl";
    params_softmax_write w = {.rows = p.rows,
                              .x = p.x,
                              .k = p.k,
                              .x_stride = p.x_stride,
                              .out_stride = (uint32_t)l->stride[0][l->rank - 1],
                              .n_chunks = p.n_chunks,
                              .n_groups = p.n_groups};
    plan_bind(job, s, 0, false, x->dtype, part->offset[1], plan_span(part, 1));
    uint32_t out_at =
        plan_bind(job, s, BIND_OUT, true, out->dtype, part->offset[0], plan_span(part, 0));
    plan_view(&w.out, l, l->rank - 1, 0, out_at);
    step_bind(job->caps, s, job->call, BIND_SCRATCH, false, 0, scratch);
    add_sources(job, s, l);
    step_source(s, "lib/math.wgsl");
    step_const(s, "CHUNK", SOFTMAX_CHUNK);
    step_const(s, "OUT_TYPE", out->dtype);
    plan_scatter(s, out->dtype);
    plan_lanes(job, s, 256, 256);
    step_params(s, &w, sizeof w);
    if (s) s->n_groups = (uint64_t)n_groups;
    return WEFT_OK;
}

weft_status softmax_plan(const gpu_caps *caps, const kernel_row *row, const weft_call *call,
                         gpu_plan *plan) {
    const weft_tensor *t[] = {call->out, call->in[0]};
    layout l = layout_merge_rows(t, 2);
    bool is_long = l.dim[l.rank - 1] > SOFTMAX_CHUNK;
    return plan_split(&(plan_job){caps, row, call, plan}, &l, t, 2, 1, true,
                      is_long ? softmax_long : softmax_short);
}

/* ---- argmax
 * ------------------------------------------------------------------------------------------------
 * */

bool argmax_applies(const gpu_caps *caps, const weft_call *call) {
    (void)caps;
    return plan_is_plain(call->in[0]->dtype) && call->out->dtype == WEFT_I32;
}

static weft_status argmax_part(const plan_job *job, const plan_part *part) {
    const weft_tensor *x = job->call->in[0], *out = job->call->out;
    const layout *l = &part->box;
    int64_t k = l->dim[l->rank - 1], n_rows = plan_elements(l) / k;
    int64_t n_chunks = (int64_t)plan_groups(k, ARGMAX_CHUNK), n_groups = n_rows * n_chunks;
    uint64_t scratch = (uint64_t)n_groups * 8;
    if (job->plan->scratch_bytes < scratch) job->plan->scratch_bytes = scratch;

    plan_step *s = plan_add(job->plan, job->row);
    params_argmax p = {.k = (uint32_t)k,
                       .x_stride = (uint32_t)l->stride[0][l->rank - 1],
                       .n_chunks = (uint32_t)n_chunks,
                       .n_groups = (uint32_t)n_groups};
    plan_dims(&p.rows, l, l->rank - 1);
    uint32_t at = plan_bind(job, s, 0, false, x->dtype, part->offset[0], plan_span(part, 0));
    plan_view(&p.x, l, l->rank - 1, 0, at);
    step_bind(job->caps, s, job->call, BIND_SCRATCH, true, 0, scratch);
    add_sources(job, s, l);
    step_source(s, "lib/key.wgsl");
    step_source(s, "lib/best.wgsl");
    step_const(s, "CHUNK", ARGMAX_CHUNK);
    step_params(s, &p, sizeof p);
    if (s) s->n_groups = (uint64_t)n_groups;

    s = plan_add(job->plan, job->row);
    if (s) s->sources[0] = "argmax_join.wgsl";
    params_argmax_join j = {.n_chunks = p.n_chunks, .n_rows = (uint32_t)n_rows};
    step_bind(job->caps, s, job->call, BIND_SCRATCH, false, 0, scratch);
    j.out_at = plan_bind(job, s, BIND_OUT, true, WEFT_I32, out->offset + part->offset[1], n_rows);
    step_source(s, "lib/grid.wgsl");
    step_source(s, "lib/best.wgsl");
    step_params(s, &j, sizeof j);
    if (s) s->n_groups = (uint64_t)n_rows;
    return WEFT_OK;
}

weft_status argmax_plan(const gpu_caps *caps, const kernel_row *row, const weft_call *call,
                        gpu_plan *plan) {
    /* The second tensor stands for the output: dense over the rows, nothing along the axis. */
    const weft_tensor *x = call->in[0];
    weft_tensor rows = {.dtype = WEFT_I32, .rank = x->rank};
    int64_t step = 1;
    for (int d = x->rank - 1; d >= 0; d--) {
        rows.dim[d] = x->dim[d];
        if (d == x->rank - 1) continue;
        rows.stride[d] = step;
        step *= x->dim[d];
    }
    const weft_tensor *t[] = {x, &rows};
    layout l = layout_merge_rows(t, 2);
    return plan_split(&(plan_job){caps, row, call, plan}, &l, t, 2, 1, false, argmax_part);
}

/* ---- rms_norm -------------------------------------------------------------------------------- */

bool rms_norm_applies(const gpu_caps *caps, const weft_call *call) {
    (void)caps;
    const weft_tensor *weight = call->in[1];
    return plan_is_float(call->in[0]->dtype) && plan_is_float(call->out->dtype) &&
           call->in[0]->rank > 0 && (!weight || weight->dtype == WEFT_F32);
}

bool rms_norm_subgroup_applies(const gpu_caps *caps, const weft_call *call) {
    return plan_has_subgroups(caps) && rms_norm_applies(caps, call);
}

static weft_status rms_norm_part(const plan_job *job, const plan_part *part) {
    const weft_tensor *x = job->call->in[0], *weight = job->call->in[1], *out = job->call->out;
    const layout *l = &part->box;
    int64_t k = l->dim[l->rank - 1], n_rows = plan_elements(l) / k;
    uint32_t lanes = team_for(job, k), threads = threads_for(lanes);
    plan_step *s = plan_add(job->plan, job->row);
    params_rms_norm p = {
        .n_rows = (uint32_t)n_rows, .k = (uint32_t)k, .eps = job->call->attrs.rms_norm.eps};
    p.x_stride = (uint32_t)l->stride[1][l->rank - 1];
    plan_dims(&p.rows, l, l->rank - 1);
    uint32_t at = plan_bind(job, s, 0, false, x->dtype, part->offset[1], plan_span(part, 1));
    plan_view(&p.x, l, l->rank - 1, 1, at);
    p.out_at = plan_bind(job, s, BIND_OUT, true, out->dtype, part->offset[0], plan_span(part, 0));
    if (weight) p.weight_at = plan_bind_input(job, s, 1);
    else plan_bind(job, s, 0, false, x->dtype, x->offset, 1); /* something to stand there */
    add_sources(job, s, l);
    step_const(s, "OUT_TYPE", out->dtype);
    step_flag(s, "HAS_WEIGHT", weight != NULL);
    step_flag(s, "IS_LONG", k > 64 * (int64_t)lanes);
    plan_scatter(s, out->dtype);
    plan_lanes(job, s, threads, lanes);
    step_params(s, &p, sizeof p);
    if (s) s->n_groups = plan_groups(n_rows, threads / lanes);
    return WEFT_OK;
}

weft_status rms_norm_plan(const gpu_caps *caps, const kernel_row *row, const weft_call *call,
                          gpu_plan *plan) {
    const weft_tensor *t[] = {call->out, call->in[0]};
    layout l = layout_merge_rows(t, 2);
    return plan_split(&(plan_job){caps, row, call, plan}, &l, t, 2, 1, false, rms_norm_part);
}

/* Rows of whole vectors of f32, one stride from row to row, not so long that straight sums lose too
 * much. */
bool rms_norm_vec4_applies(const gpu_caps *caps, const weft_call *call) {
    if (!rms_norm_applies(caps, call)) return false;
    const weft_tensor *x = call->in[0], *weight = call->in[1], *out = call->out;
    if (x->dtype != WEFT_F32 || out->dtype != WEFT_F32 || x->offset % 4 != 0 ||
        out->offset % 4 != 0)
        return false;
    if (weight && weight->offset % 4 != 0) return false;
    const weft_tensor *t[] = {out, x};
    layout l = layout_merge_rows(t, 2);
    int64_t k = l.dim[l.rank - 1];
    bool is_dense = k == 1 || l.stride[1][l.rank - 1] == 1;
    return l.rank == 2 && is_dense && k % 4 == 0 && l.stride[1][0] % 4 == 0 && k <= 64 * 1024;
}

bool rms_norm_vec4_subgroup_applies(const gpu_caps *caps, const weft_call *call) {
    return plan_has_subgroups(caps) && rms_norm_vec4_applies(caps, call);
}

static weft_status rms_norm_vec4_part(const plan_job *job, const plan_part *part) {
    const weft_tensor *weight = job->call->in[1];
    const layout *l = &part->box;
    int64_t k = l->dim[1], n_rows = l->dim[0];
    uint32_t lanes = team_for(job, k / 2), threads = threads_for(lanes);
    plan_step *s = plan_add(job->plan, job->row);
    params_rms_norm_vec4 p = {.n_rows = (uint32_t)n_rows,
                              .k = (uint32_t)(k / 4),
                              .x_stride = (uint32_t)(l->stride[1][0] / 4),
                              .eps = job->call->attrs.rms_norm.eps};
    p.x_at = plan_bind(job, s, 0, false, WEFT_F32, part->offset[1], plan_span(part, 1)) / 4;
    if (weight) p.weight_at = plan_bind_input(job, s, 1) / 4;
    else plan_bind(job, s, 0, false, WEFT_F32, part->offset[1], 4); /* something to stand there */
    p.out_at = plan_bind(job, s, BIND_OUT, true, WEFT_F32, part->offset[0], plan_span(part, 0)) / 4;
    step_source(s, "lib/grid.wgsl");
    step_flag(s, "HAS_WEIGHT", weight != NULL);
    plan_lanes(job, s, threads, lanes);
    step_params(s, &p, sizeof p);
    if (s) s->n_groups = plan_groups(n_rows, threads / lanes);
    return WEFT_OK;
}

weft_status rms_norm_vec4_plan(const gpu_caps *caps, const kernel_row *row, const weft_call *call,
                               gpu_plan *plan) {
    const weft_tensor *t[] = {call->out, call->in[0]};
    layout l = layout_merge_rows(t, 2);
    return plan_split(&(plan_job){caps, row, call, plan}, &l, t, 2, 1, false, rms_norm_vec4_part);
}
