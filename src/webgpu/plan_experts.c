/* Plans of top_k, gather and linear_ids. All inputs are dense. The experts' weights are cut into as
 * many experts as can be bound, rows of x and of the output by tokens; a part writes the pairs
 * whose expert it holds. SPDX-License-Identifier: MIT */
#include "tensor/dtype.h"
#include "webgpu/plan_parts.h"

/* How many rows of the largest size fit into a binding, at least one: a row that does not is
 * refused by plan_bind. */
static int64_t rows_at_once(const plan_job *job, int64_t row_bytes) {
    int64_t rows = plan_room(job->caps) / (row_bytes > 0 ? row_bytes : 1);
    return rows > 0 ? rows : 1;
}

/* ---- top_k, gather --------------------------------------------------------------------------- */

bool top_k_applies(const gpu_caps *caps, const weft_call *call) {
    (void)caps;
    return plan_is_float(call->in[0]->dtype) && call->out->dtype == WEFT_I32;
}

weft_status top_k_plan(const gpu_caps *caps, const kernel_row *row, const weft_call *call,
                       gpu_plan *plan) {
    plan_job job = {caps, row, call, plan};
    const weft_tensor *x = call->in[0], *out = call->out;
    int64_t n = x->dim[1], k = out->dim[1], most = rows_at_once(&job, 4 * n);
    for (int64_t at = 0; at < x->dim[0]; at += most) {
        int64_t rows = x->dim[0] - at < most ? x->dim[0] - at : most;
        plan_step *s = plan_add(plan, row);
        params_top_k p = {.n_rows = (uint32_t)rows, .n = (uint32_t)n, .k = (uint32_t)k};
        p.x_at = plan_bind(&job, s, 0, false, x->dtype, x->offset + at * n, rows * n);
        p.out_at = plan_bind(&job, s, BIND_OUT, true, WEFT_I32, out->offset + at * k, rows * k);
        step_source(s, "lib/grid.wgsl");
        step_source(s, "lib/elem.wgsl");
        step_source(s, "lib/key.wgsl");
        step_source(s, "lib/best.wgsl");
        step_const(s, "X_TYPE", x->dtype);
        step_params(s, &p, sizeof p);
        if (s) s->n_groups = (uint64_t)rows;
    }
    return WEFT_OK;
}

bool gather_applies(const gpu_caps *caps, const weft_call *call) {
    (void)caps;
    return plan_is_float(call->in[0]->dtype) && call->out->dtype == WEFT_F32;
}

weft_status gather_plan(const gpu_caps *caps, const kernel_row *row, const weft_call *call,
                        gpu_plan *plan) {
    plan_job job = {caps, row, call, plan};
    const weft_tensor *x = call->in[0], *ids = call->in[1], *out = call->out;
    int64_t n = x->dim[1], k = ids->dim[1], most = rows_at_once(&job, 4 * (n > k ? n : k));
    for (int64_t at = 0; at < x->dim[0]; at += most) {
        int64_t rows = x->dim[0] - at < most ? x->dim[0] - at : most;
        plan_step *s = plan_add(plan, row);
        params_gather p = {.count = (uint32_t)(rows * k), .n = (uint32_t)n, .k = (uint32_t)k};
        p.x_at = plan_bind(&job, s, 0, false, x->dtype, x->offset + at * n, rows * n);
        p.ids_at = plan_bind(&job, s, 1, false, WEFT_I32, ids->offset + at * k, rows * k);
        p.out_at = plan_bind(&job, s, BIND_OUT, true, WEFT_F32, out->offset + at * k, rows * k);
        step_source(s, "lib/grid.wgsl");
        step_source(s, "lib/elem.wgsl");
        step_source(s, "lib/flag.wgsl");
        step_const(s, "X_TYPE", x->dtype);
        step_params(s, &p, sizeof p);
        if (s) s->n_groups = plan_groups(p.count, 64);
    }
    return WEFT_OK;
}

/* ---- linear_ids ------------------------------------------------------------------------------ */

/* One dispatch: tokens [token, token + n_tokens), experts [expert, expert + n_experts). */
typedef struct experts_part {
    int64_t token, n_tokens, expert, n_experts;
} experts_part;

typedef void (*experts_fn)(const plan_job *job, const experts_part *part);

static uint64_t row_bytes_of(const weft_tensor *w) {
    const dtype_info *info = dtype_find(w->dtype);
    return (uint64_t)(w->dim[2] / info->block * info->bytes);
}

static weft_status for_parts(const plan_job *job, experts_fn each) {
    const weft_tensor *x = job->call->in[0], *w = job->call->in[1], *ids = job->call->in[2];
    int64_t expert_bytes = w->dim[1] * (int64_t)row_bytes_of(w);
    int64_t x_bytes = 4 * x->dim[1] * x->dim[2], out_bytes = 4 * ids->dim[1] * w->dim[1];
    int64_t most_tokens = rows_at_once(job, x_bytes > out_bytes ? x_bytes : out_bytes);
    int64_t most_experts = plan_room(job->caps) / (expert_bytes > 0 ? expert_bytes : 1);
    REQUIRE(most_experts > 0, WEFT_LIMIT,
            "linear_ids: an expert's weights are larger than the device binds at once (%llu bytes)",
            (unsigned long long)job->caps->max_binding);
    for (int64_t t = 0; t < x->dim[0]; t += most_tokens) {
        experts_part part = {.token = t};
        part.n_tokens = x->dim[0] - t < most_tokens ? x->dim[0] - t : most_tokens;
        do {
            int64_t rest = w->dim[0] - part.expert;
            part.n_experts = rest < most_experts ? rest : most_experts;
            each(job, &part);
            part.expert += most_experts;
        } while (part.expert < w->dim[0]);
    }
    return WEFT_OK;
}

bool linear_ids_applies(const gpu_caps *caps, const weft_call *call) {
    (void)caps;
    return plan_is_float(call->in[1]->dtype) && call->in[0]->dtype == WEFT_F32;
}

static void any_part(const plan_job *job, const experts_part *part) {
    const weft_tensor *x = job->call->in[0], *w = job->call->in[1], *ids = job->call->in[2],
                      *out = job->call->out;
    int64_t k = w->dim[2], n = w->dim[1], slots = ids->dim[1], x_slots = x->dim[1];
    plan_step *s = plan_add(job->plan, job->row);
    params_linear_ids p = {.n = (uint32_t)n,
                           .n_pairs = (uint32_t)(part->n_tokens * slots),
                           .n_slots = (uint32_t)slots,
                           .k = (uint32_t)k,
                           .x_token = (uint32_t)(x_slots * k),
                           .x_slot = x_slots == 1 ? 0 : (uint32_t)k,
                           .w_stride = (uint32_t)k,
                           .expert_stride = (uint32_t)(n * k),
                           .first_expert = (uint32_t)part->expert,
                           .expert_count = (uint32_t)part->n_experts,
                           .n_experts = (uint32_t)w->dim[0]};
    p.x_at = plan_bind(job, s, 0, false, WEFT_F32, x->offset + part->token * x_slots * k,
                       part->n_tokens * x_slots * k);
    p.w_at = plan_bind(job, s, 1, false, w->dtype, w->offset + part->expert * n * k,
                       part->n_experts * n * k);
    p.ids_at = plan_bind(job, s, 2, false, WEFT_I32, ids->offset + part->token * slots, p.n_pairs);
    p.out_at = plan_bind(job, s, BIND_OUT, true, WEFT_F32, out->offset + part->token * slots * n,
                         p.n_pairs * n);
    step_source(s, "lib/grid.wgsl");
    step_source(s, "lib/elem.wgsl");
    step_source(s, "lib/flag.wgsl");
    step_const(s, "W_TYPE", w->dtype);
    step_flag(s, "IS_FIRST", part->expert == 0);
    step_params(s, &p, sizeof p);
    if (s) s->n_groups = plan_groups((int64_t)p.n_pairs * n, 64);
}

weft_status linear_ids_plan(const gpu_caps *caps, const kernel_row *row, const weft_call *call,
                            gpu_plan *plan) {
    return for_parts(&(plan_job){caps, row, call, plan}, any_part);
}

bool linear_ids_vec_applies(const gpu_caps *caps, const weft_call *call) {
    (void)caps;
    const weft_tensor *x = call->in[0], *w = call->in[1];
    if (!plan_format(w->dtype) || x->dtype != WEFT_F32) return false;
    if (w->dim[2] == 0 || w->dim[2] % 8 != 0) return false;
    bool is_quantized = dtype_find(w->dtype)->is_quantized;
    return is_quantized || (plan_byte(w->dtype, w->offset) % 4 == 0 && row_bytes_of(w) % 4 == 0);
}

bool linear_ids_vec_subgroup_applies(const gpu_caps *caps, const weft_call *call) {
    return plan_has_subgroups(caps) && linear_ids_vec_applies(caps, call);
}

/* The kernel reads x as aligned vectors: one that begins elsewhere is copied to scratch first. */
static bool is_aligned(const weft_call *call) { return call->in[0]->offset % 4 == 0; }

static void vec_part(const plan_job *job, const experts_part *part) {
    const weft_tensor *x = job->call->in[0], *w = job->call->in[1], *ids = job->call->in[2],
                      *out = job->call->out;
    int64_t k = w->dim[2], n = w->dim[1], slots = ids->dim[1], x_slots = x->dim[1];
    int64_t n_pieces = k / 8, n_pairs = part->n_tokens * slots;
    uint64_t row_bytes = row_bytes_of(w);
    uint32_t lanes = (job->row->needs & F_SUBGROUPS) ? job->caps->subgroup_size : 16;
    uint32_t rows = n * n_pairs >= 16384 ? 4 : n * n_pairs >= 4096 ? 2 : 1;
    while (lanes < 256 && n_pieces >= 4 * (int64_t)lanes &&
           (n * n_pairs / rows * lanes < 65536 || n_pieces > 64 * (int64_t)lanes))
        lanes *= 2;
    uint32_t threads = lanes > 64 ? lanes : 64;
    if (threads % lanes != 0) threads = lanes;
    uint64_t row_groups = plan_groups(n, (int64_t)(threads / lanes) * rows);

    plan_step *s = plan_add(job->plan, job->row);
    params_linear_ids_vec p = {.n = (uint32_t)n,
                               .n_pairs = (uint32_t)n_pairs,
                               .n_row_groups = (uint32_t)row_groups,
                               .n_slots = (uint32_t)slots,
                               .n_pieces = (uint32_t)n_pieces,
                               .x_token = (uint32_t)(x_slots * k / 4),
                               .x_slot = x_slots == 1 ? 0 : (uint32_t)(k / 4),
                               .w_stride = (uint32_t)row_bytes,
                               .expert_stride = (uint32_t)((uint64_t)n * row_bytes),
                               .first_expert = (uint32_t)part->expert,
                               .expert_count = (uint32_t)part->n_experts,
                               .n_experts = (uint32_t)w->dim[0]};
    int64_t first_x = part->token * x_slots * k, n_x = part->n_tokens * x_slots * k;
    bool is_own = is_aligned(job->call);
    p.x_at = plan_bind(job, s, is_own ? 0 : BIND_SCRATCH, false, WEFT_F32,
                       (is_own ? x->offset : 0) + first_x, n_x) /
             4;
    uint64_t w_at = plan_byte(w->dtype, w->offset) + (uint64_t)(part->expert * n) * row_bytes;
    p.w_at = step_bind(job->caps, s, job->call, 1, false, w_at,
                       (uint64_t)(part->n_experts * n) * row_bytes);
    p.ids_at = plan_bind(job, s, 2, false, WEFT_I32, ids->offset + part->token * slots, n_pairs);
    p.out_at = plan_bind(job, s, BIND_OUT, true, WEFT_F32, out->offset + part->token * slots * n,
                         n_pairs * n);
    step_source(s, "lib/grid.wgsl");
    step_source(s, "lib/flag.wgsl");
    plan_weights(job, s, w->dtype, row_bytes, p.w_at);
    plan_lanes(job, s, threads, lanes);
    step_const(s, "ROWS", rows);
    step_flag(s, "IS_LONG", n_pieces > 32 * (int64_t)lanes);
    step_flag(s, "IS_FIRST", part->expert == 0);
    step_params(s, &p, sizeof p);
    if (s) s->n_groups = row_groups * (uint64_t)n_pairs;
}

weft_status linear_ids_vec_plan(const gpu_caps *caps, const kernel_row *row, const weft_call *call,
                                gpu_plan *plan) {
    plan_job job = {caps, row, call, plan};
    if (!is_aligned(call)) {
        int64_t n = tensor_elements(call->in[0]), most = rows_at_once(&job, 4);
        plan->scratch_bytes = (uint64_t)n * 4;
        for (int64_t at = 0; at < n; at += most)
            plan_copy_rows(&job, call->in[0]->offset + at, n, 1, 1, n - at < most ? n - at : most,
                           at);
    }
    return for_parts(&job, vec_part);
}
