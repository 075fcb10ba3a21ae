/* Recording: ops append to one compute pass, which is submitted when somebody must see its
 * results, when a host write would overtake it, or when it holds so many dispatches that the GPU
 * had better start (WEFT_BATCH, default 64).
 *
 * Parameters go to a ring: one uniform buffer, a slot a dispatch, bound once with dynamic
 * offsets, and written by one queue write before the submit. Finish is checked by an error
 * scope; what fails there is not submitted (wgpu-native would abort the process), and what the
 * batch was to write is poisoned. Not here: what a call means (webgpu.c).
 * SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "tensor/device.h"
#include "webgpu/gpu.h"

enum { RING_SLOTS = 1024, BATCH_DEFAULT = 64 };

static WGPUBuffer make_buffer(gpu *g, const char *label, WGPUBufferUsage usage, uint64_t bytes) {
    WGPUBufferDescriptor desc = {.label = gpu_text(label), .usage = usage, .size = bytes};
    return g->api.DeviceCreateBuffer(g->device, &desc);
}

weft_status batch_open(gpu *g) {
    gpu_batch *b = &g->batch;
    const char *text = getenv("WEFT_BATCH");
    int limit = text ? atoi(text) : 0;
    b->limit = limit >= 1 && limit <= RING_SLOTS ? limit : BATCH_DEFAULT;
    b->number = 1;
    b->ring_stride =
        g->uniform_alignment > PLAN_PARAM_BYTES ? g->uniform_alignment : PLAN_PARAM_BYTES;
    b->ring_slots = RING_SLOTS;
    uint64_t ring_bytes = (uint64_t)b->ring_stride * b->ring_slots;
    b->ring_shadow = mem_alloc((size_t)ring_bytes);
    if (!b->ring_shadow) return WEFT_NO_MEMORY;
    TRY(groups_open(g));
    gpu_scope_push(g);
    b->ring =
        make_buffer(g, "parameters", WGPUBufferUsage_Uniform | WGPUBufferUsage_CopyDst, ring_bytes);
    b->flags = make_buffer(
        g, "flags", WGPUBufferUsage_Storage | WGPUBufferUsage_CopySrc | WGPUBufferUsage_CopyDst,
        GPU_FLAG_SLOTS * GPU_FLAG_STRIDE);
    for (size_t k = 0; k < 2; k++) {
        WGPUBindGroupEntry entries[2] = {
            {.binding = 0, .buffer = b->ring, .size = PLAN_PARAM_BYTES},
            {.binding = 1, .buffer = b->flags, .size = 16}};
        WGPUBindGroupDescriptor desc = {
            .layout = g->pipelines.common[k], .entryCount = k + 1, .entries = entries};
        b->common[k] = g->api.DeviceCreateBindGroup(g->device, &desc);
    }
    return gpu_scope_pop(g);
}

void batch_grid(uint64_t n, uint32_t limit, uint32_t grid[3]) {
    uint64_t x = n ? n : 1, y = 1, z = 1;
    if (x > limit) {
        y = (n + limit - 1) / limit;
        if (y > limit) {
            z = (y + limit - 1) / limit;
            y = (y + z - 1) / z;
        }
        x = (n + y * z - 1) / (y * z);
    }
    grid[0] = (uint32_t)x;
    grid[1] = (uint32_t)y;
    grid[2] = (uint32_t)z;
}

/* ---- recording ------------------------------------------------------------------------------- */

static void end_pass(gpu *g) {
    gpu_batch *b = &g->batch;
    if (!b->pass) return;
    g->api.ComputePassEncoderEnd(b->pass);
    g->api.ComputePassEncoderRelease(b->pass);
    b->pass = NULL;
    b->bound_pipeline = NULL;
}

static weft_status open_encoder(gpu *g) {
    gpu_batch *b = &g->batch;
    if (!b->encoder) b->encoder = g->api.DeviceCreateCommandEncoder(g->device, NULL);
    REQUIRE(b->encoder, WEFT_DEVICE, "%s gives no command encoder", g->dialect->name);
    return WEFT_OK;
}

static weft_status open_pass(gpu *g, const kernel_row *row) {
    gpu_batch *b = &g->batch;
    TRY(open_encoder(g));
    WGPUPassTimestampWrites times = {0};
    WGPUComputePassDescriptor desc = {0};
    if (profile_next(g, row, &times)) { /* a pass for each dispatch, to time it */
        end_pass(g);
        desc.timestampWrites = &times;
    }
    if (!b->pass) b->pass = g->api.CommandEncoderBeginComputePass(b->encoder, &desc);
    REQUIRE(b->pass, WEFT_DEVICE, "%s gives no compute pass", g->dialect->name);
    return WEFT_OK;
}

/* Remembers what the batch touches. Room is made before anything is recorded. */
static weft_status reserve_notes(gpu_batch *b) {
    size_t n = b->n_written + PLAN_MAX_BINDINGS;
    TRY(mem_reserve((void **)&b->written, &b->written_capacity, n, sizeof *b->written));
    return mem_reserve((void **)&b->recorded, &b->recorded_capacity, b->n_recorded + 1,
                       sizeof *b->recorded);
}

static void note_use(gpu_batch *b, gpu_buffer *buffer, bool is_written) {
    buffer->used_in = b->number;
    if (!is_written) return;
    if (b->n_written > 0 && b->written[b->n_written - 1] == buffer) return;
    b->written[b->n_written++] = buffer;
}

/* Both libraries refuse a buffer that is read and written in one dispatch. */
static weft_status check_hazards(const plan_step *step, const gpu_bound *bound) {
    for (int i = 0; i < step->n_bindings; i++) {
        for (int k = 0; k < step->n_bindings && bound[i].is_written; k++) {
            REQUIRE(bound[k].is_written || bound[k].buffer != bound[i].buffer, WEFT_INVALID,
                    "kernel %s reads and writes one buffer (bindings %d and %d)", step->row->name,
                    k, i);
        }
    }
    return WEFT_OK;
}

static void encode(gpu *g, WGPUComputePassEncoder pass, const gpu_recorded *r) {
    bool has_flag = r->pipeline->has_flag;
    g->api.ComputePassEncoderSetBindGroup(pass, 0, r->group, 0, NULL);
    g->api.ComputePassEncoderSetBindGroup(pass, 1, g->batch.common[has_flag], has_flag ? 2 : 1,
                                          r->offsets);
    g->api.ComputePassEncoderDispatchWorkgroups(pass, r->grid[0], r->grid[1], r->grid[2]);
}

weft_status batch_dispatch(gpu *g, const gpu_pipeline *pipeline, const plan_step *step,
                           const gpu_bound *bound) {
    gpu_batch *b = &g->batch;
    if (step->n_groups == 0) return WEFT_OK;
    REQUIRE(step->n_groups <= UINT32_MAX, WEFT_LIMIT,
            "kernel %s needs %llu workgroups, more than 2^32", step->row->name,
            (unsigned long long)step->n_groups);
    TRY(gpu_check(g));
    TRY(check_hazards(step, bound));
    if (b->ring_next == b->ring_slots) {
        TRY(batch_submit(g));
        b->ring_next = b->ring_first = 0;
    }
    gpu_recorded r = {.pipeline = pipeline};
    TRY(group_find(g, pipeline, bound, step->n_bindings, &r.group));
    TRY(reserve_notes(b));
    TRY(open_pass(g, step->row));

    uint32_t slot = b->ring_next++;
    memcpy(b->ring_shadow + (size_t)slot * b->ring_stride, step->params, step->params_bytes);
    r.offsets[0] = slot * b->ring_stride;
    r.offsets[1] = (uint32_t)pipeline->flag_slot * GPU_FLAG_STRIDE;
    batch_grid(step->n_groups, g->caps.max_groups, r.grid);
    if (b->bound_pipeline != pipeline->handle) {
        g->api.ComputePassEncoderSetPipeline(b->pass, pipeline->handle);
        b->bound_pipeline = pipeline->handle;
    }
    encode(g, b->pass, &r);
    b->recorded[b->n_recorded++] = r;
    for (int i = 0; i < step->n_bindings; i++) note_use(b, bound[i].buffer, bound[i].is_written);
    if (pipeline->has_flag && !b->flag_rows[pipeline->flag_slot]) {
        b->flag_rows[pipeline->flag_slot] = step->row;
        b->n_flags++;
    }
    b->has_commands = true;
    b->n_dispatched++;
    if (++b->n_dispatches >= b->limit) return batch_submit(g);
    return WEFT_OK;
}

weft_status batch_copy(gpu *g, gpu_buffer *from, uint64_t from_at, gpu_buffer *to, uint64_t to_at,
                       uint64_t bytes) {
    gpu_batch *b = &g->batch;
    TRY(gpu_check(g));
    TRY(reserve_notes(b));
    TRY(open_encoder(g));
    end_pass(g);
    g->api.CommandEncoderCopyBufferToBuffer(b->encoder, from->handle, from_at, to->handle, to_at,
                                            bytes);
    note_use(b, from, false);
    note_use(b, to, true);
    b->has_commands = true;
    return WEFT_OK;
}

weft_status batch_copy_out(gpu *g, WGPUBuffer from, uint64_t from_at, WGPUBuffer to, uint64_t to_at,
                           uint64_t bytes) {
    TRY(open_encoder(g));
    end_pass(g);
    g->api.CommandEncoderCopyBufferToBuffer(g->batch.encoder, from, from_at, to, to_at, bytes);
    g->batch.has_commands = true;
    return WEFT_OK;
}

/* ---- submitting ------------------------------------------------------------------------------ */

/* Whether the library refuses this dispatch alone. It is finished and never submitted. */
static bool is_refused(gpu *g, const gpu_recorded *r) {
    gpu_scope_push(g);
    WGPUCommandEncoder encoder = g->api.DeviceCreateCommandEncoder(g->device, NULL);
    WGPUComputePassDescriptor desc = {0};
    WGPUComputePassEncoder pass = g->api.CommandEncoderBeginComputePass(encoder, &desc);
    g->api.ComputePassEncoderSetPipeline(pass, r->pipeline->handle);
    encode(g, pass, r);
    g->api.ComputePassEncoderEnd(pass);
    g->api.ComputePassEncoderRelease(pass);
    WGPUCommandBuffer commands = g->api.CommandEncoderFinish(encoder, NULL);
    if (commands) g->api.CommandBufferRelease(commands);
    g->api.CommandEncoderRelease(encoder);
    return gpu_scope_pop(g) != WEFT_OK;
}

/* Nothing of the batch ran: whoever reads what it should have written must hear of it. The message
 * of the library seldom names a kernel, so each dispatch is tried alone. */
static weft_status fail_batch(gpu *g, weft_status status) {
    gpu_batch *b = &g->batch;
    const kernel_row *guilty = NULL;
    for (size_t i = 0; i < b->n_recorded && !guilty && status == WEFT_DEVICE; i++) {
        if (is_refused(g, &b->recorded[i])) guilty = b->recorded[i].pipeline->row;
    }
    if (g->is_lost) status = gpu_check(g); /* wgpu-native tells of it only now */
    else if (guilty) error_prefix(status, "kernel %s", guilty->name);
    for (size_t i = 0; i < b->n_written; i++) {
        if (b->written[i]->storage) storage_poison(b->written[i]->storage, status);
    }
    return status;
}

static weft_status finish(gpu *g) {
    gpu_batch *b = &g->batch;
    end_pass(g);
    profile_resolve(g);
    if (b->ring_next > b->ring_first) {
        uint64_t at = (uint64_t)b->ring_first * b->ring_stride;
        size_t bytes = (size_t)(b->ring_next - b->ring_first) * b->ring_stride;
        g->api.QueueWriteBuffer(g->queue, b->ring, at, b->ring_shadow + at, bytes);
    }
    gpu_scope_push(g);
    WGPUCommandBuffer commands = g->api.CommandEncoderFinish(b->encoder, NULL);
    weft_status status = WEFT_OK;
    if (g->dialect->aborts) status = gpu_scope_pop(g);
    if (status == WEFT_OK && commands && !g->is_lost) g->api.QueueSubmit(g->queue, 1, &commands);
    if (!g->dialect->aborts) status = gpu_scope_pop(g);
    if (status == WEFT_OK && !commands)
        status = error_set(WEFT_DEVICE, "%s makes no command buffer", g->dialect->name);
    if (commands) g->api.CommandBufferRelease(commands);
    g->api.CommandEncoderRelease(b->encoder);
    b->encoder = NULL;
    return status;
}

weft_status batch_submit(gpu *g) {
    gpu_batch *b = &g->batch;
    TRY(gpu_check(g));
    if (!b->has_commands) return gpu_take_error(g);
    log_line(WEFT_LOG_TRACE, "webgpu: submit %llu with %d dispatches",
             (unsigned long long)b->number, b->n_dispatches);
    weft_status status = finish(g);
    if (status == WEFT_OK) status = gpu_take_error(g);
    if (status == WEFT_OK || g->is_lost) status = gpu_check(g);
    if (status != WEFT_OK) status = fail_batch(g, status);
    b->n_submits++;
    b->number++;
    b->ring_first = b->ring_next;
    b->n_written = b->n_recorded = 0;
    b->n_dispatches = 0;
    b->has_commands = false;
    g->buffers.pending_bytes = 0;
    buffers_bury(g);
    if (status == WEFT_OK) status = profile_collect(g);
    return status;
}

static void on_work_done(WGPUQueueWorkDoneStatus status, WGPUStringView message, void *user1,
                         void *user2) {
    (void)message;
    (void)user2;
    gpu *g = user1;
    g->batch.work_done = status == WGPUQueueWorkDoneStatus_Success ? 1 : 2;
}

weft_status batch_wait(gpu *g) {
    TRY(batch_submit(g));
    if (g->buffers.pending_bytes) { /* writes alone: a submit of nothing sets them off */
        g->api.QueueSubmit(g->queue, 0, NULL);
        g->buffers.pending_bytes = 0;
    }
    g->batch.work_done = 0;
    WGPUQueueWorkDoneCallbackInfo info = {
        .mode = WGPUCallbackMode_AllowProcessEvents, .callback = on_work_done, .userdata1 = g};
    WGPUFuture future = g->api.QueueOnSubmittedWorkDone(g->queue, info);
    gpu_wait(g, future, &g->batch.work_done);
    TRY(gpu_check(g));
    REQUIRE(g->batch.work_done == 1, WEFT_DEVICE, "%s failed while working", g->info.adapter);
    return gpu_take_error(g);
}

weft_status batch_sync(gpu *g) {
    if (g->batch.n_flags > 0) return read_all(g, NULL, 0, NULL, 0); /* waits as well */
    return batch_wait(g);
}

void batch_close(gpu *g) {
    gpu_batch *b = &g->batch;
    end_pass(g);
    if (b->encoder) g->api.CommandEncoderRelease(b->encoder);
    readings_close(g);
    groups_close(g);
    for (int k = 0; k < 2; k++) {
        if (b->common[k]) g->api.BindGroupRelease(b->common[k]);
    }
    if (b->ring) g->api.BufferRelease(b->ring);
    if (b->flags) g->api.BufferRelease(b->flags);
    log_line(WEFT_LOG_DEBUG, "webgpu: %llu dispatches in %llu submits, %llu reads, %llu writes",
             (unsigned long long)b->n_dispatched, (unsigned long long)b->n_submits,
             (unsigned long long)b->n_reads, (unsigned long long)b->n_writes);
    mem_free(b->ring_shadow);
    mem_free(b->written);
    mem_free(b->recorded);
    memset(b, 0, sizeof *b);
}
