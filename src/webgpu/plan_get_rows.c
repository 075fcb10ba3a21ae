/* Plans of get_rows: get_rows for plain tables, get_rows_blocks for quantised ones. A table larger
 * than a binding is cut into runs of rows; each part writes the rows it owns, the first also those
 * of bad indices. So is an output. SPDX-License-Identifier: MIT */
#include "tensor/dtype.h"
#include "webgpu/plan_parts.h"

bool get_rows_applies(const gpu_caps *caps, const weft_call *call) {
    (void)caps;
    return plan_is_float(call->in[0]->dtype) && call->out->dtype == WEFT_F32;
}

bool get_rows_blocks_applies(const gpu_caps *caps, const weft_call *call) {
    (void)caps;
    const weft_tensor *table = call->in[0];
    return dtype_find(table->dtype)->is_quantized && plan_format(table->dtype) &&
           call->out->dtype == WEFT_F32;
}

/* Rows [row, row + n_rows) of the table for ids [id, id + n_ids). */
static void add_part(const plan_job *job, int64_t row, int64_t n_rows, int64_t id, int64_t n_ids) {
    const weft_tensor *table = job->call->in[0], *ids = job->call->in[1], *out = job->call->out;
    int64_t k = table->dim[1];
    const dtype_info *info = dtype_find(table->dtype);
    uint64_t row_bytes = (uint64_t)(k / info->block * info->bytes);
    plan_step *s = plan_add(job->plan, job->row);
    uint32_t ids_at = plan_bind(job, s, 1, false, WEFT_I32, ids->offset + id, n_ids);
    uint64_t at = plan_byte(table->dtype, table->offset) + (uint64_t)row * row_bytes;
    uint32_t w_at = step_bind(job->caps, s, job->call, 0, false, at, (uint64_t)n_rows * row_bytes);
    uint32_t out_at = plan_bind(job, s, BIND_OUT, true, WEFT_F32, out->offset + id * k, n_ids * k);
    step_source(s, "lib/grid.wgsl");
    step_source(s, "lib/flag.wgsl");
    step_flag(s, "IS_FIRST", row == 0);
    if (info->is_quantized) {
        params_get_rows_blocks p = {.n = (uint32_t)(n_ids * k / 8),
                                    .n_pieces = (uint32_t)(k / 8),
                                    .w_at = w_at,
                                    .w_stride = (uint32_t)row_bytes,
                                    .ids_at = ids_at,
                                    .out_at = out_at,
                                    .first_row = (uint32_t)row,
                                    .row_count = (uint32_t)n_rows,
                                    .n_rows = (uint32_t)table->dim[0]};
        plan_weights(job, s, table->dtype, row_bytes, w_at);
        step_params(s, &p, sizeof p);
        if (s) s->n_groups = plan_groups(p.n, 64);
    } else {
        params_get_rows p = {.n = (uint32_t)(n_ids * k),
                             .k = (uint32_t)k,
                             .w_at = w_at / (uint32_t)info->bytes,
                             .ids_at = ids_at,
                             .out_at = out_at,
                             .first_row = (uint32_t)row,
                             .row_count = (uint32_t)n_rows,
                             .n_rows = (uint32_t)table->dim[0]};
        step_source(s, "lib/elem.wgsl");
        step_const(s, "W_TYPE", table->dtype);
        step_params(s, &p, sizeof p);
        if (s) s->n_groups = plan_groups(p.n, 256);
    }
}

weft_status get_rows_plan(const gpu_caps *caps, const kernel_row *row, const weft_call *call,
                          gpu_plan *plan) {
    plan_job job = {caps, row, call, plan};
    const weft_tensor *table = call->in[0];
    int64_t n_rows = table->dim[0], k = table->dim[1], n_ids = tensor_elements(call->in[1]);
    const dtype_info *info = dtype_find(table->dtype);
    int64_t room = plan_room(caps);
    int64_t most_rows = room / (k / info->block * info->bytes), most_ids = room / 4 / k;
    REQUIRE(n_rows <= INT32_MAX, WEFT_LIMIT, "get_rows: a table of %lld rows", (long long)n_rows);
    REQUIRE(most_rows > 0 && most_ids > 0, WEFT_LIMIT,
            "get_rows: a row is larger than the device binds at once (%llu bytes)",
            (unsigned long long)caps->max_binding);
    if (n_rows == 0) { /* every index is bad */
        most_rows = 1;
    } else if (most_rows < n_rows && most_rows > 256) {
        most_rows = most_rows / 256 * 256;
    }
    for (int64_t id = 0; id < n_ids; id += most_ids) {
        int64_t ids = n_ids - id < most_ids ? n_ids - id : most_ids;
        int64_t at = 0;
        do {
            int64_t count = n_rows - at < most_rows ? n_rows - at : most_rows;
            add_part(&job, at, count, id, ids);
            at += most_rows;
        } while (at < n_rows);
    }
    return WEFT_OK;
}
