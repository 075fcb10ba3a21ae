/* Plans of the pointwise ops. The row's variant is the function's number in lib/function.wgsl;
 * add_vec4 and so on are for dense f32, the plain rows for everything else.
 * SPDX-License-Identifier: MIT */
#include "webgpu/plan_parts.h"

static void operands(const weft_call *call, const weft_tensor *t[3]) {
    t[0] = call->out;
    t[1] = call->in[0];
    t[2] = call->n_in > 1 ? call->in[1] : call->in[0];
}

/* Which input is bound as `b`: a unary function binds its own twice. */
static int second(const weft_call *call) { return call->n_in > 1 ? 1 : 0; }

bool pointwise_applies(const gpu_caps *caps, const weft_call *call) {
    (void)caps;
    const weft_tensor *t[3];
    operands(call, t);
    if (call->out->dtype == WEFT_I32) {
        bool has_integers = call->op == OP_add || call->op == OP_mul;
        return has_integers && t[1]->dtype == WEFT_I32 && t[2]->dtype == WEFT_I32;
    }
    return plan_is_float(t[0]->dtype) && plan_is_float(t[1]->dtype) && plan_is_float(t[2]->dtype);
}

static weft_status pointwise_part(const plan_job *job, const plan_part *part) {
    const weft_tensor *t[3];
    operands(job->call, t);
    const layout *l = &part->box;
    params_pointwise p = {.n = (uint32_t)plan_elements(l)};
    plan_step *s = plan_add(job->plan, job->row);
    plan_dims(&p.dims, l, l->rank);
    uint32_t a = plan_bind(job, s, 0, false, t[1]->dtype, part->offset[1], plan_span(part, 1));
    uint32_t b = plan_bind(job, s, second(job->call), false, t[2]->dtype, part->offset[2],
                           plan_span(part, 2));
    plan_view(&p.a, l, l->rank, 1, a);
    plan_view(&p.b, l, l->rank, 2, b);
    p.out_at = plan_bind(job, s, BIND_OUT, true, t[0]->dtype, part->offset[0], plan_span(part, 0));
    step_source(s, "lib/grid.wgsl");
    step_source(s, "lib/view.wgsl");
    step_source(s, "lib/elem.wgsl");
    step_source(s, "lib/out_dense.wgsl");
    step_source(s, "lib/math.wgsl");
    step_source(s, "lib/function.wgsl");
    step_const(s, "RANK", (uint32_t)l->rank);
    step_const(s, "FUNC", (uint32_t)job->row->variant);
    step_const(s, "A_TYPE", t[1]->dtype);
    step_const(s, "B_TYPE", t[2]->dtype);
    step_const(s, "OUT_TYPE", t[0]->dtype);
    step_params(s, &p, sizeof p);
    if (s) s->n_groups = plan_groups(plan_words(t[0]->dtype, p.n), 256);
    return WEFT_OK;
}

weft_status pointwise_plan(const gpu_caps *caps, const kernel_row *row, const weft_call *call,
                           gpu_plan *plan) {
    const weft_tensor *t[3];
    operands(call, t);
    layout l = layout_merge(t, 3);
    return plan_split(&(plan_job){caps, row, call, plan}, &l, t, 3, 0, false, pointwise_part);
}

bool pointwise_vec4_applies(const gpu_caps *caps, const weft_call *call) {
    (void)caps;
    const weft_tensor *t[3];
    operands(call, t);
    for (int i = 0; i < 3; i++) {
        if (t[i]->dtype != WEFT_F32 || !tensor_is_dense(t[i]) || t[i]->offset % 4 != 0)
            return false;
    }
    return plan_owns_vectors(t[0]);
}

static weft_status pointwise_vec4_part(const plan_job *job, const plan_part *part) {
    int64_t n = plan_elements(&part->box);
    plan_step *s = plan_add(job->plan, job->row);
    params_pointwise_vec4 p = {.n = (uint32_t)plan_groups(n, 4)};
    p.a_at = plan_bind(job, s, 0, false, WEFT_F32, part->offset[1], n) / 4;
    p.b_at = plan_bind(job, s, second(job->call), false, WEFT_F32, part->offset[2], n) / 4;
    p.out_at = plan_bind(job, s, BIND_OUT, true, WEFT_F32, part->offset[0], n) / 4;
    step_source(s, "lib/grid.wgsl");
    step_source(s, "lib/math.wgsl");
    step_source(s, "lib/function.wgsl");
    step_const(s, "FUNC", (uint32_t)job->row->variant);
    step_params(s, &p, sizeof p);
    if (s) s->n_groups = plan_groups(p.n, 256);
    return WEFT_OK;
}

weft_status pointwise_vec4_plan(const gpu_caps *caps, const kernel_row *row, const weft_call *call,
                                gpu_plan *plan) {
    const weft_tensor *t[3];
    operands(call, t);
    layout l = layout_merge(t, 3);
    return plan_split(&(plan_job){caps, row, call, plan}, &l, t, 3, 0, false, pointwise_vec4_part);
}
