/* Plans of kv_write and attention over the paged cache. Lengths are data, so a plan is made for the
 * longest context the page table allows; workgroups past a row's length end at once. Decoding
 * splits long contexts over workgroups (two steps); prompts have rows enough.
 * SPDX-License-Identifier: MIT */
#include "tensor/fused.h"
#include "webgpu/plan_parts.h"

/* ---- kv_write -------------------------------------------------------------------------------- */

bool kv_write_applies(const gpu_caps *caps, const weft_call *call) {
    (void)caps;
    const weft_tensor *pages = call->out, *x = call->in[1];
    return (pages->dtype == WEFT_F32 || pages->dtype == WEFT_F16) && x->dtype == WEFT_F32;
}

bool kv_write_pairs_applies(const gpu_caps *caps, const weft_call *call) {
    const weft_tensor *pages = call->out;
    return kv_write_applies(caps, call) && pages->dtype == WEFT_F16 && pages->dim[3] % 2 == 0 &&
           pages->offset % 2 == 0;
}

/* Either kernel: `per` elements a thread. Their parameters have the same layout. */
static weft_status kv_write_step(const plan_job *job, int per) {
    const weft_tensor *pages = job->call->out, *x = job->call->in[1];
    int64_t n = tensor_elements(x) / per;
    REQUIRE(n <= INT64_C(0x7fffffff), WEFT_LIMIT, "kv_write: %lld elements at once", (long long)n);
    plan_step *s = plan_add(job->plan, job->row);
    params_kv_write p = {.n = (uint32_t)n,
                         .n_heads = (uint32_t)x->dim[1],
                         .head_dim = (uint32_t)(x->dim[2] / per),
                         .n_slots = (uint32_t)(pages->dim[0] * KV_PAGE),
                         .x_row = (uint32_t)x->stride[0],
                         .x_head = (uint32_t)x->stride[1]};
    int64_t span = (x->dim[0] - 1) * x->stride[0] + (x->dim[1] - 1) * x->stride[1] + x->dim[2];
    p.x_at = plan_bind(job, s, 1, false, WEFT_F32, x->offset, span);
    p.out_at =
        plan_bind(job, s, BIND_OUT, true, pages->dtype, pages->offset, tensor_elements(pages)) /
        (uint32_t)per;
    p.slots_at = plan_bind_input(job, s, 2);
    step_source(s, "lib/grid.wgsl");
    step_source(s, "lib/elem.wgsl");
    step_source(s, "lib/flag.wgsl");
    step_const(s, "OUT_TYPE", pages->dtype);
    step_const(s, "PAGE", KV_PAGE);
    if (per == 1) plan_scatter(s, pages->dtype);
    _Static_assert(sizeof(params_kv_write) == sizeof(params_kv_write_pairs), "one layout for both");
    step_params(s, &p, sizeof p);
    if (s) s->n_groups = plan_groups(n, 128);
    return WEFT_OK;
}

weft_status kv_write_plan(const gpu_caps *caps, const kernel_row *row, const weft_call *call,
                          gpu_plan *plan) {
    return kv_write_step(&(plan_job){caps, row, call, plan}, 1);
}

weft_status kv_write_pairs_plan(const gpu_caps *caps, const kernel_row *row, const weft_call *call,
                                gpu_plan *plan) {
    return kv_write_step(&(plan_job){caps, row, call, plan}, 2);
}

/* ---- attention ------------------------------------------------------------------------------- */

typedef struct attention_shape {
    int64_t n_rows, n_heads, head_dim, n_kv_heads, group, max_pages;
    bool is_paged_f16;
} attention_shape;

static attention_shape shape_of(const weft_call *call) {
    const weft_tensor *q = call->in[0], *k = call->in[1], *table = call->in[3];
    attention_shape s = {.n_rows = q->dim[0],
                         .n_heads = q->dim[1],
                         .head_dim = q->dim[2],
                         .n_kv_heads = k->dim[1],
                         .max_pages = table->dim[1]};
    s.group = s.n_heads / s.n_kv_heads;
    return s;
}

bool attention_any_applies(const gpu_caps *caps, const weft_call *call) {
    const weft_tensor *q = call->in[0], *k = call->in[1], *v = call->in[2];
    bool has_types = q->dtype == WEFT_F32 && k->dtype == v->dtype &&
                     (k->dtype == WEFT_F32 || k->dtype == WEFT_F16);
    return has_types && q->dim[2] * 4 + 4096 <= caps->max_workgroup_bytes;
}

bool attention_applies(const gpu_caps *caps, const weft_call *call) {
    const weft_tensor *q = call->in[0], *k = call->in[1], *v = call->in[2];
    int64_t per_vector = k->dtype == WEFT_F16 ? 8 : 4;
    return attention_any_applies(caps, call) && q->dim[2] % 8 == 0 && q->dim[2] <= 512 &&
           q->dim[2] > 0 && k->offset % per_vector == 0 && v->offset % per_vector == 0 &&
           k->offset % 8 == 0 && v->offset % 8 == 0;
}

bool attention_subgroup_applies(const gpu_caps *caps, const weft_call *call) {
    return plan_has_subgroups(caps) && caps->subgroup_size <= 64 && attention_applies(caps, call);
}

/* Binds q, the pages, the table and the rows as both kernels have them. */
static void bind_inputs(const plan_job *job, plan_step *s, wgsl_pages *pages, uint32_t *q_at) {
    const weft_tensor *q = job->call->in[0], *k = job->call->in[1], *table = job->call->in[3];
    int64_t span = (q->dim[0] - 1) * q->stride[0] + (q->dim[1] - 1) * q->stride[1] + q->dim[2];
    *q_at = plan_bind(job, s, 0, false, WEFT_F32, q->offset, span);
    pages->k_at = plan_bind_input(job, s, 1);
    pages->v_at = plan_bind_input(job, s, 2);
    pages->table_at = plan_bind_input(job, s, 3);
    pages->rows_at = plan_bind_input(job, s, 4);
    pages->n_pages = (uint32_t)k->dim[0];
    pages->n_kv_heads = (uint32_t)k->dim[1];
    pages->n_sequences = (uint32_t)table->dim[0];
    pages->max_pages = (uint32_t)table->dim[1];
}

static void add_sources(const plan_job *job, plan_step *s, const attention_shape *shape,
                        uint32_t threads) {
    step_source(s, "lib/grid.wgsl");
    step_source(s, "lib/flag.wgsl");
    step_source(s, "lib/pages.wgsl");
    step_source(s, "lib/elem.wgsl");
    step_source(s, "lib/math.wgsl");
    plan_lanes(job, s, threads, threads);
    step_const(s, "GROUP", (uint32_t)shape->group);
    step_const(s, "HEAD_DIM", (uint32_t)shape->head_dim);
    step_const(s, "KV_TYPE", job->call->in[1]->dtype);
    step_const(s, "PAGE", KV_PAGE);
}

weft_status attention_any_plan(const gpu_caps *caps, const kernel_row *row, const weft_call *call,
                               gpu_plan *plan) {
    plan_job job = {caps, row, call, plan};
    attention_shape shape = shape_of(call);
    const weft_tensor *q = call->in[0], *out = call->out;
    int64_t n = shape.n_rows * shape.n_heads;
    plan_step *s = plan_add(plan, row);
    params_attention_any p = {.n_queries = (uint32_t)n,
                              .q_row = (uint32_t)q->stride[0],
                              .q_head = (uint32_t)q->stride[1],
                              .scale = call->attrs.attention.scale};
    bind_inputs(&job, s, &p.pages, &p.q_at);
    p.out_at = plan_bind(&job, s, BIND_OUT, true, WEFT_F32, out->offset, tensor_elements(out));
    add_sources(&job, s, &shape, 64);
    step_params(s, &p, sizeof p);
    if (s) s->n_groups = (uint64_t)n;
    return WEFT_OK;
}

/* Adds the partial results of n_splits workgroups. */
static void add_join(const plan_job *job, const attention_shape *shape, int64_t n_splits,
                     uint64_t scratch) {
    const weft_tensor *out = job->call->out;
    int64_t n = shape->n_rows * shape->n_heads;
    plan_step *s = plan_add(job->plan, job->row);
    if (s) s->sources[0] = "attention_join.wgsl";
    params_attention_join p = {.n_queries = (uint32_t)n, .n_splits = (uint32_t)n_splits};
    step_bind(job->caps, s, job->call, BIND_SCRATCH, false, 0, scratch);
    p.out_at = plan_bind(job, s, BIND_OUT, true, WEFT_F32, out->offset, tensor_elements(out));
    step_source(s, "lib/grid.wgsl");
    step_source(s, "lib/math.wgsl");
    step_const(s, "HEAD_DIM", (uint32_t)shape->head_dim);
    step_params(s, &p, sizeof p);
    if (s) s->n_groups = (uint64_t)n;
}

/* One decoding step has few workgroups, so their threads have to hide the latency; workgroup memory
 * holds the tile's queries and four vectors a thread. */
static uint32_t choose_threads(const gpu_caps *caps, const attention_shape *shape, bool is_prompt,
                               int64_t tile) {
    uint32_t threads = is_prompt || caps->is_software ? 64 : 256;
    while (threads > 64 &&
           (threads > caps->max_invocations ||
            tile * shape->head_dim * 4 + threads * 64 + 64 > (int64_t)caps->max_workgroup_bytes))
        threads /= 2;
    return threads;
}

weft_status attention_plan(const gpu_caps *caps, const kernel_row *row, const weft_call *call,
                           gpu_plan *plan) {
    plan_job job = {caps, row, call, plan};
    attention_shape shape = shape_of(call);
    const weft_tensor *q = call->in[0], *out = call->out;
    /* A prompt's tiles take neighbouring rows; a few rows, maybe of as many sequences, stay apart.
     * */
    bool is_prompt = shape.n_rows >= 8 && shape.n_rows > 2 * call->in[3]->dim[0];
    int64_t per_unit = is_prompt ? shape.n_rows * shape.group : shape.group;
    int64_t n_units = is_prompt ? 1 : shape.n_rows;
    int64_t tile = per_unit < 4 ? per_unit : 4, n_tiles = (int64_t)plan_groups(per_unit, tile);
    int64_t n_groups = n_units * n_tiles * shape.n_kv_heads;
    /* Two pages or less are quicker in one go than a second step is. */
    int64_t n_splits = 1, pages_each = shape.max_pages;
    while (!is_prompt && n_groups * n_splits < 256 && pages_each > 2) {
        pages_each = (pages_each + 1) / 2;
        n_splits = (int64_t)plan_groups(shape.max_pages, pages_each);
    }
    n_groups *= n_splits;
    uint64_t scratch =
        n_splits > 1
            ? (uint64_t)(shape.n_rows * shape.n_heads * n_splits * (shape.head_dim + 4)) * 4
            : 0;
    plan->scratch_bytes = scratch;

    uint32_t threads = choose_threads(caps, &shape, is_prompt, tile);
    plan_step *s = plan_add(plan, row);
    params_attention p = {.n_units = (uint32_t)n_units,
                          .per_unit = (uint32_t)per_unit,
                          .n_tiles = (uint32_t)n_tiles,
                          .n_splits = (uint32_t)n_splits,
                          .q_row = (uint32_t)q->stride[0],
                          .q_head = (uint32_t)q->stride[1],
                          .n_groups = (uint32_t)n_groups,
                          .scale = call->attrs.attention.scale};
    bind_inputs(&job, s, &p.pages, &p.q_at);
    if (n_splits > 1) step_bind(caps, s, call, BIND_SCRATCH, true, 0, scratch);
    else p.out_at = plan_bind(&job, s, BIND_OUT, true, WEFT_F32, out->offset, tensor_elements(out));
    add_sources(&job, s, &shape, threads);
    step_const(s, "TILE", (uint32_t)tile);
    step_const(s, "SPAN", (uint32_t)(pages_each * KV_PAGE));
    step_flag(s, "IS_SPLIT", n_splits > 1);
    step_params(s, &p, sizeof p);
    if (s) s->n_groups = (uint64_t)n_groups;
    if (n_splits > 1) add_join(&job, &shape, n_splits, scratch);
    return WEFT_OK;
}
