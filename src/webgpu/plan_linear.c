/* Plans of linear: teams of threads per row of w for few rows of x, tiles for more. Formats are
 * files (see lib/weights.wgsl). x has to be aligned vectors of f32; if it is not, a copy of it is
 * made in scratch memory first. Plain weights whose rows are no multiple of 8 are matmul's
 * (plan_matmul.c). SPDX-License-Identifier: MIT */
#include "tensor/dtype.h"
#include "webgpu/plan_parts.h"

typedef struct linear_shape {
    int64_t m, n, k, block; /* rows of x, rows of w, their length; elements of a block */
    uint64_t row_bytes;     /* of w */
} linear_shape;

static linear_shape shape_of(const weft_call *call) {
    const weft_tensor *x = call->in[0], *w = call->in[1];
    const dtype_info *info = dtype_find(w->dtype);
    linear_shape s = {.n = w->dim[0], .k = w->dim[1], .block = info->block};
    s.m = s.k > 0 ? tensor_elements(x) / s.k : 0;
    s.row_bytes = (uint64_t)(s.k / info->block * info->bytes);
    return s;
}

/* What every row here needs: a format, rows of whole pieces, weights that begin on a word (or
 * half-word blocks). */
static bool has_pieces(const weft_call *call) {
    const weft_tensor *x = call->in[0], *w = call->in[1];
    if (!plan_format(w->dtype) || x->dtype != WEFT_F32 || x->rank != 2) return false;
    linear_shape s = shape_of(call);
    if (s.k == 0 || s.k % 8 != 0) return false;
    bool is_quantized = dtype_find(w->dtype)->is_quantized;
    return is_quantized || (plan_byte(w->dtype, w->offset) % 4 == 0 && s.row_bytes % 4 == 0);
}

bool linear_vec_applies(const gpu_caps *caps, const weft_call *call) {
    (void)caps;
    if (!has_pieces(call)) return false;
    /* Tiles take about 50 ns for each of k however few they are, teams a third of a picosecond for
     * each product (H200); on software adapters teams win longer. */
    linear_shape s = shape_of(call);
    return s.m <= 8 || s.m * s.n <= 131072;
}

bool linear_vec_subgroup_applies(const gpu_caps *caps, const weft_call *call) {
    return plan_has_subgroups(caps) && linear_vec_applies(caps, call);
}

bool linear_tile_applies(const gpu_caps *caps, const weft_call *call) {
    (void)caps;
    return has_pieces(call);
}

/* Where x lies: in its own storage, or as a dense copy in scratch. */
typedef struct linear_x {
    int tensor;
    int64_t offset, stride;
} linear_x;

static linear_x prepare_x(const plan_job *job) {
    const weft_tensor *x = job->call->in[0];
    linear_shape shape = shape_of(job->call);
    int64_t stride = shape.m > 1 ? x->stride[0] : shape.k;
    if (x->offset % 4 == 0 && stride % 4 == 0 && (shape.k == 1 || x->stride[1] == 1))
        return (linear_x){0, x->offset, stride};
    job->plan->scratch_bytes = (uint64_t)(shape.m * shape.k) * 4;
    int64_t most = plan_room(job->caps) / 4 / (stride > shape.k ? stride : shape.k);
    if (most < 1) most = 1; /* a row that cannot be bound is refused by plan_bind */
    for (int64_t m0 = 0; m0 < shape.m; m0 += most)
        plan_copy_rows(job, x->offset + m0 * stride, stride, x->stride[1],
                       shape.m - m0 < most ? shape.m - m0 : most, shape.k, m0 * shape.k);
    return (linear_x){BIND_SCRATCH, 0, shape.k};
}

/* One dispatch: rows m0 .. m0 + m of x, n0 .. n0 + n of w. */
typedef struct linear_part {
    int64_t m0, m, n0, n;
} linear_part;

typedef struct linear_at { /* what the parameters of both kernels need */
    uint32_t x, w, out, bias;
} linear_at;

static linear_at bind_part(const plan_job *job, plan_step *s, const linear_x *x,
                           const linear_part *part) {
    const weft_tensor *w = job->call->in[1], *bias = job->call->in[2], *out = job->call->out;
    linear_shape shape = shape_of(job->call);
    linear_at at = {0};
    int64_t x_span = (part->m - 1) * x->stride + shape.k;
    at.x =
        plan_bind(job, s, x->tensor, false, WEFT_F32, x->offset + part->m0 * x->stride, x_span) / 4;
    uint64_t w_at = plan_byte(w->dtype, w->offset) + (uint64_t)part->n0 * shape.row_bytes;
    at.w = step_bind(job->caps, s, job->call, 1, false, w_at, (uint64_t)part->n * shape.row_bytes);
    if (bias) {
        at.bias = plan_bind(job, s, 2, false, WEFT_F32, bias->offset + part->n0, part->n);
    } else {
        plan_bind(job, s, x->tensor, false, WEFT_F32, x->offset, 4); /* something to stand there */
    }
    int64_t out_span = (part->m - 1) * shape.n + part->n;
    at.out = plan_bind(job, s, BIND_OUT, true, WEFT_F32,
                       out->offset + part->m0 * shape.n + part->n0, out_span);
    step_source(s, "lib/grid.wgsl");
    plan_weights(job, s, w->dtype, shape.row_bytes, at.w);
    step_flag(s, "HAS_BIAS", bias != NULL);
    return at;
}

typedef void (*linear_fn)(const plan_job *job, const linear_x *x, const linear_part *part);

/* As many rows of w at once as can be bound, and as many rows of x as its and the output's bindings
 * allow. */
static weft_status for_parts(const plan_job *job, linear_fn each) {
    linear_shape s = shape_of(job->call);
    linear_x x = prepare_x(job);
    int64_t room = plan_room(job->caps);
    int64_t most_n = room / (int64_t)s.row_bytes;
    int64_t most_m = room / 4 / (x.stride > s.n ? x.stride : s.n);
    if (most_m == 0 && s.k <= room / 4) { /* one row of x at a time, the output's row in parts */
        most_m = 1;
        if (most_n > room / 4) most_n = room / 4;
    }
    REQUIRE(most_n > 0 && most_m > 0, WEFT_LIMIT,
            "linear: a row of x or w is larger than the device binds at once (%llu bytes)",
            (unsigned long long)job->caps->max_binding);
    if (most_n < s.n && most_n > 256) most_n = most_n / 256 * 256;
    if (most_m < s.m && most_m > 64) most_m = most_m / 64 * 64;
    for (int64_t m0 = 0; m0 < s.m; m0 += most_m) {
        for (int64_t n0 = 0; n0 < s.n; n0 += most_n) {
            linear_part part = {.m0 = m0, .n0 = n0};
            part.m = s.m - m0 < most_m ? s.m - m0 : most_m;
            part.n = s.n - n0 < most_n ? s.n - n0 : most_n;
            each(job, &x, &part);
        }
    }
    return WEFT_OK;
}

/* Threads enough to fill a GPU, but each with pieces enough to be worth its sum. */
static void vec_part(const plan_job *job, const linear_x *x, const linear_part *part) {
    linear_shape shape = shape_of(job->call);
    int64_t n_pieces = shape.k / 8;
    bool has_subgroups = (job->row->needs & F_SUBGROUPS) != 0;
    uint32_t least = has_subgroups ? job->caps->subgroup_size : 16;
    uint32_t rows = 1, lanes = least;
    uint32_t x_rows = part->m < 4 ? (uint32_t)part->m : 4;
    if (part->m == 1) rows = part->n >= 16384 ? 4 : part->n >= 4096 ? 2 : 1;
    if (part->m == 2) rows = part->n >= 4096 ? 2 : 1;
    while (lanes < 256 && n_pieces >= 4 * (int64_t)lanes &&
           (part->n / rows * ((part->m + 3) / 4) * lanes < 65536 || n_pieces > 64 * (int64_t)lanes))
        lanes *= 2;
    uint32_t threads = lanes > 64 ? lanes : 64;
    if (threads % lanes != 0) threads = lanes;
    uint64_t row_groups = plan_groups(part->n, (int64_t)(threads / lanes) * rows);

    plan_step *s = plan_add(job->plan, job->row);
    linear_at at = bind_part(job, s, x, part);
    params_linear_vec p = {.n = (uint32_t)part->n,
                           .n_x = (uint32_t)part->m,
                           .n_row_groups = (uint32_t)row_groups,
                           .n_pieces = (uint32_t)n_pieces,
                           .x_at = at.x,
                           .x_stride = (uint32_t)(x->stride / 4),
                           .w_at = at.w,
                           .w_stride = (uint32_t)shape.row_bytes,
                           .out_at = at.out,
                           .out_stride = (uint32_t)shape.n,
                           .bias_at = at.bias};
    plan_lanes(job, s, threads, lanes);
    step_const(s, "ROWS", rows);
    step_const(s, "X_ROWS", x_rows);
    step_flag(s, "IS_LONG", n_pieces > 32 * (int64_t)lanes);
    step_params(s, &p, sizeof p);
    if (s) s->n_groups = row_groups * plan_groups(part->m, x_rows);
}

weft_status linear_vec_plan(const gpu_caps *caps, const kernel_row *row, const weft_call *call,
                            gpu_plan *plan) {
    return for_parts(&(plan_job){caps, row, call, plan}, vec_part);
}

/* The largest tile that still gives a GPU enough workgroups. */
static void choose_tile(int64_t m, int64_t n, uint32_t *tile_x, uint32_t *tile_w) {
    static const uint32_t tiles[][2] = {{64, 64}, {32, 64}, {32, 32}, {16, 32}};
    for (size_t i = 0; i < sizeof tiles / sizeof *tiles; i++) {
        *tile_x = tiles[i][0];
        *tile_w = tiles[i][1];
        if (m > *tile_x / 2 && plan_groups(m, *tile_x) * plan_groups(n, *tile_w) >= 192) return;
    }
}

static void tile_part(const plan_job *job, const linear_x *x, const linear_part *part) {
    linear_shape shape = shape_of(job->call);
    uint32_t tile_x, tile_w;
    choose_tile(part->m, part->n, &tile_x, &tile_w);
    plan_step *s = plan_add(job->plan, job->row);
    linear_at at = bind_part(job, s, x, part);
    uint64_t tiles_w = plan_groups(part->n, tile_w), tiles_x = plan_groups(part->m, tile_x);
    params_linear_tile p = {.n = (uint32_t)part->n,
                            .n_x = (uint32_t)part->m,
                            .n_pieces = (uint32_t)(shape.k / 8),
                            .n_tiles_w = (uint32_t)tiles_w,
                            .x_at = at.x,
                            .x_stride = (uint32_t)(x->stride / 4),
                            .w_at = at.w,
                            .w_stride = (uint32_t)shape.row_bytes,
                            .out_at = at.out,
                            .out_stride = (uint32_t)shape.n,
                            .bias_at = at.bias,
                            .n_groups = (uint32_t)(tiles_w * tiles_x)};
    step_const(s, "WG", tile_x * tile_w / 16);
    step_const(s, "TILE_X", tile_x);
    step_const(s, "TILE_W", tile_w);
    step_params(s, &p, sizeof p);
    if (s) s->n_groups = tiles_w * tiles_x;
}

weft_status linear_tile_plan(const gpu_caps *caps, const kernel_row *row, const weft_call *call,
                             gpu_plan *plan) {
    return for_parts(&(plan_job){caps, row, call, plan}, tile_part);
}
