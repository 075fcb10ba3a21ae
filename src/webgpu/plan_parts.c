/* Views, parts of big tensors and the libraries of the shaders, for the plan functions. Not here:
 * what a kernel needs. SPDX-License-Identifier: MIT */
#include "webgpu/plan_parts.h"

#include <string.h>

#include "tensor/dtype.h"

int64_t plan_elements(const layout *l) {
    int64_t n = 1;
    for (int d = 0; d < l->rank; d++) n *= l->dim[d];
    return n;
}

int64_t plan_span(const plan_part *part, int i) {
    int64_t last = 0;
    for (int d = 0; d < part->box.rank; d++)
        last += (part->box.dim[d] - 1) * part->box.stride[i][d];
    return last + 1;
}

/* A binding starts up to 255 bytes early and ends on a multiple of 16; a decoded block may stand
 * for its first element. */
bool plan_can_bind(const gpu_caps *caps, int64_t bytes) {
    return (uint64_t)bytes + 2048 <= caps->max_binding && bytes < INT64_C(0xffffff00);
}

int64_t plan_room(const gpu_caps *caps) {
    uint64_t most = UINT64_C(0xffffff00);
    return (int64_t)(caps->max_binding > most ? most : caps->max_binding) - 512;
}

static int first_too_large(const plan_job *job, const plan_part *part,
                           const weft_tensor *const *tensors, int n) {
    for (int i = 0; i < n; i++) {
        if (!plan_can_bind(job->caps, plan_span(part, i) * dtype_find(tensors[i]->dtype)->bytes))
            return i;
    }
    return -1;
}

/* The axis to halve: the outermost that can be, or the one that tensor `large` is widest along. */
static int choose_axis(const plan_part *part, int n_axes, bool any_axis, int large) {
    int best = -1;
    int64_t widest = -1;
    for (int d = 0; d < n_axes; d++) {
        int64_t width = (part->box.dim[d] - 1) * part->box.stride[large][d];
        if (part->box.dim[d] < 2 || width <= widest) continue;
        if (!any_axis) return d;
        best = d;
        widest = width;
    }
    return best;
}

/* Cuts of long dimensions suit vectors and bindings, others leave 16-bit elements on words. */
static int64_t first_half(int64_t size) {
    int64_t half = size / 2, unit = size > 512 ? 256 : size > 3 ? 2 : 1;
    return (half + unit - 1) / unit * unit;
}

weft_status plan_split(const plan_job *job, const layout *l, const weft_tensor *const *tensors,
                       int n, int n_fixed, bool any_axis, plan_part_fn each) {
    /* A stack of boxes: each split pushes the second half and goes on with the first. Depth: the
     * bits of a count. */
    plan_part stack[80];
    int depth = 1;
    stack[0] = (plan_part){.box = *l};
    for (int i = 0; i < n; i++) stack[0].offset[i] = tensors[i]->offset;
    while (depth > 0) {
        plan_part *part = &stack[depth - 1];
        int large = first_too_large(job, part, tensors, n);
        if (large < 0 && plan_elements(&part->box) <= INT64_C(0x7fffffff)) {
            plan_part done = *part;
            depth--;
            TRY(each(job, &done));
            continue;
        }
        if (large < 0) large = 0;
        int axis = choose_axis(part, part->box.rank - n_fixed, any_axis, large);
        REQUIRE(axis >= 0 && depth < (int)(sizeof stack / sizeof *stack), WEFT_LIMIT,
                "%s: a row of tensor %d (0 is the output) spans %lld elements, and the device "
                "binds %llu bytes at once",
                job->row->name, large, (long long)plan_span(part, large),
                (unsigned long long)job->caps->max_binding);
        int64_t half = first_half(part->box.dim[axis]);
        plan_part second = *part;
        second.box.dim[axis] -= half;
        for (int i = 0; i < n; i++) second.offset[i] += half * part->box.stride[i][axis];
        plan_part first = *part;
        first.box.dim[axis] = half;
        *part = second;
        stack[depth++] = first;
    }
    return WEFT_OK;
}

uint64_t plan_byte(weft_dtype dtype, int64_t offset) {
    const dtype_info *info = dtype_find(dtype);
    return (uint64_t)(offset / info->block * info->bytes);
}

uint32_t plan_bind(const plan_job *job, plan_step *s, int tensor, bool is_written, weft_dtype dtype,
                   int64_t offset, int64_t span) {
    uint32_t size = (uint32_t)dtype_find(dtype)->bytes;
    uint32_t before = step_bind(job->caps, s, job->call, tensor, is_written,
                                (uint64_t)offset * size, (uint64_t)span * size);
    return before / size;
}

uint32_t plan_bind_input(const plan_job *job, plan_step *s, int i) {
    const weft_tensor *t = job->call->in[i];
    return plan_bind(job, s, i, false, t->dtype, t->offset, tensor_elements(t));
}

void plan_copy_rows(const plan_job *job, int64_t at, int64_t stride, int64_t step, int64_t m,
                    int64_t k, int64_t to) {
    plan_step *s = plan_add(job->plan, job->row);
    if (s) s->sources[0] = "copy.wgsl";
    params_copy p = {.n = (uint32_t)(m * k)};
    layout l = {.rank = 2, .dim = {m, k}, .stride = {{stride, step}}};
    plan_dims(&p.dims, &l, 2);
    int64_t span = (m - 1) * stride + k;
    plan_view(&p.src, &l, 2, 0, plan_bind(job, s, 0, false, WEFT_F32, at, span));
    p.out_at = plan_bind(job, s, BIND_SCRATCH, true, WEFT_F32, to, m * k);
    step_source(s, "lib/grid.wgsl");
    step_source(s, "lib/view.wgsl");
    step_source(s, "lib/elem.wgsl");
    step_source(s, "lib/out_dense.wgsl");
    step_const(s, "RANK", 2);
    step_const(s, "SRC_TYPE", WEFT_F32);
    step_const(s, "OUT_TYPE", WEFT_F32);
    step_params(s, &p, sizeof p);
    if (s) s->n_groups = plan_groups(m * k, 256);
}

void plan_dims(wgsl_dims *dims, const layout *l, int n_dims) {
    memset(dims, 0, sizeof *dims);
    for (int i = 0; i < n_dims; i++) {
        uint32_t size = (uint32_t)l->dim[n_dims - 1 - i];
        if (i < 4) dims->near[i] = size;
        else dims->far[i - 4] = size;
    }
}

void plan_view(wgsl_view *view, const layout *l, int n_dims, int tensor, uint32_t offset) {
    memset(view, 0, sizeof *view);
    view->offset = offset;
    for (int i = 0; i < n_dims; i++) {
        uint32_t stride = (uint32_t)l->stride[tensor][n_dims - 1 - i];
        if (i < 4) view->near[i] = stride;
        else view->far[i - 4] = stride;
    }
}

bool plan_is_float(weft_dtype dtype) { return dtype == WEFT_F32 || plan_is_small(dtype); }

bool plan_is_plain(weft_dtype dtype) { return plan_is_float(dtype) || dtype == WEFT_I32; }

bool plan_is_small(weft_dtype dtype) { return dtype == WEFT_F16 || dtype == WEFT_BF16; }

const char *plan_format(weft_dtype dtype) {
    static const char *const files[] = {SHADER_FORMATS};
    const dtype_info *info = dtype_find(dtype);
    if (!info) return NULL;
    size_t n = strlen(info->name);
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        const char *name = files[i] + strlen("format/");
        if (strncmp(name, info->name, n) == 0 && strcmp(name + n, ".wgsl") == 0) return files[i];
    }
    return NULL;
}

void plan_weights(const plan_job *job, plan_step *s, weft_dtype dtype, uint64_t row_bytes,
                  uint64_t at) {
    /* Plain types are read as vectors where they lie so; blocks of odd sizes as words. */
    bool is_vec4 = !dtype_find(dtype)->is_quantized && row_bytes % 16 == 0 && at % 16 == 0;
    step_source(s, "lib/weights.wgsl");
    step_source(s, is_vec4 ? "lib/words_vec4.wgsl" : "lib/words.wgsl");
    step_source(s, plan_format(dtype));
    uint32_t codebook_at;
    if (!s || !codebook_find(dtype, &codebook_at)) return;
    step_bind(job->caps, s, job->call, BIND_CODEBOOK, false, 0, codebook_bytes());
    step_source(s, "lib/codebook.wgsl");
    step_const(s, "CODEBOOK", (uint32_t)s->n_bindings - 1);
    step_const(s, "CODEBOOK_AT", codebook_at);
}

int64_t plan_words(weft_dtype dtype, int64_t n) { return plan_is_small(dtype) ? n / 2 + 1 : n; }

bool plan_owns_vectors(const weft_tensor *t) {
    uint64_t at = plan_byte(t->dtype, t->offset);
    uint64_t end = at + tensor_row_bytes(t->dtype, tensor_elements(t));
    return at % 16 == 0 && (end % 16 == 0 || end >= t->storage->bytes);
}

void plan_scatter(plan_step *s, weft_dtype dtype) {
    bool is_part = plan_is_small(dtype) || dtype == WEFT_I8;
    step_source(s, is_part ? "lib/out_atomic.wgsl" : "lib/out_plain.wgsl");
}

void plan_lanes(const plan_job *job, plan_step *s, uint32_t threads, uint32_t lanes) {
    uint32_t size = job->caps->subgroup_size;
    bool has_subgroups = (job->row->needs & F_SUBGROUPS) && lanes >= size && lanes % size == 0;
    step_source(s, has_subgroups ? "lib/lanes_subgroup.wgsl" : "lib/lanes.wgsl");
    step_const(s, "WG", threads);
    step_const(s, "LANES", lanes);
    if (has_subgroups) step_const(s, "SUBGROUP", size);
}

uint32_t plan_power(int64_t wanted, uint32_t low, uint32_t high) {
    uint32_t power = low;
    while (power < high && power < wanted) power *= 2;
    return power;
}

uint64_t plan_groups(int64_t items, int64_t per_group) {
    return (uint64_t)((items + per_group - 1) / per_group);
}

bool plan_has_subgroups(const gpu_caps *caps) {
    uint32_t size = caps->subgroup_size;
    return caps->has_subgroups && size >= 4 && size <= 128 && (size & (size - 1)) == 0;
}
