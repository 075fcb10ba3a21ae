/* Time per kernel row, from timestamps round a pass of its own for each dispatch.
 *
 * On with WEFT_PROFILE=1 where the adapter has timestamps. It waits after every submit and keeps
 * dispatches from overlapping, so the sum is more than the same work takes unwatched. The table
 * is logged when the device is closed. SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "webgpu/gpu.h"

enum { MAX_TIMED = 1024 }; /* dispatches a batch; the parameter ring has no more slots */

weft_status profile_open(gpu *g) {
    gpu_profile *p = &g->profile;
    const char *wanted = getenv("WEFT_PROFILE");
    if (!wanted || !wanted[0] || !strcmp(wanted, "0")) return WEFT_OK;
    if (!g->caps.has_timestamps) {
        log_line(WEFT_LOG_WARN, "webgpu: WEFT_PROFILE is set, but %s has no timestamps",
                 g->info.adapter);
        return WEFT_OK;
    }
    p->rows = mem_array(MAX_TIMED, sizeof(kernel_row *));
    if (!p->rows) return WEFT_NO_MEMORY;
    WGPUQuerySetDescriptor queries = {.type = WGPUQueryType_Timestamp, .count = 2 * MAX_TIMED};
    WGPUBufferDescriptor resolved = {
        .usage = WGPUBufferUsage_QueryResolve | WGPUBufferUsage_CopySrc, .size = 16 * MAX_TIMED};
    gpu_scope_push(g);
    p->queries = g->api.DeviceCreateQuerySet(g->device, &queries);
    p->resolved = g->api.DeviceCreateBuffer(g->device, &resolved);
    TRY(gpu_scope_pop(g));
    p->times = buffer_new(g, 16 * MAX_TIMED, "timestamps");
    if (!p->times) return error_status();
    p->is_on = true;
    return WEFT_OK;
}

bool profile_next(gpu *g, const kernel_row *row, WGPUPassTimestampWrites *out) {
    gpu_profile *p = &g->profile;
    if (!p->is_on || p->n == MAX_TIMED) return false;
    *out = (WGPUPassTimestampWrites){.querySet = p->queries,
                                     .beginningOfPassWriteIndex = 2 * p->n,
                                     .endOfPassWriteIndex = 2 * p->n + 1};
    p->rows[p->n++] = row;
    return true;
}

void profile_resolve(gpu *g) {
    gpu_profile *p = &g->profile;
    if (!p->is_on || p->n == 0) return;
    g->api.CommandEncoderResolveQuerySet(g->batch.encoder, p->queries, 0, 2 * p->n, p->resolved, 0);
    g->api.CommandEncoderCopyBufferToBuffer(g->batch.encoder, p->resolved, 0, p->times->handle, 0,
                                            (uint64_t)16 * p->n);
    p->n_resolved = p->n;
    p->n = 0;
}

static struct profile_sum *sum_of(gpu_profile *p, const kernel_row *row) {
    for (size_t i = 0; i < p->n_sums; i++) {
        if (p->sums[i].row == row) return &p->sums[i];
    }
    if (mem_reserve((void **)&p->sums, &p->sums_capacity, p->n_sums + 1, sizeof *p->sums) !=
        WEFT_OK)
        return NULL;
    p->sums[p->n_sums] = (struct profile_sum){.row = row};
    return &p->sums[p->n_sums++];
}

weft_status profile_collect(gpu *g) {
    gpu_profile *p = &g->profile;
    uint32_t n = p->n_resolved;
    if (n == 0) return WEFT_OK;
    p->n_resolved = 0; /* reading submits, and comes here again */
    uint64_t *times = mem_array(2 * (size_t)n, sizeof *times);
    if (!times) return WEFT_NO_MEMORY;
    /* A reading slot of its own, so that one that waits behind this submit is left alone. */
    gpu_reading *r;
    weft_status status = read_begin(g, p->times, 0, (uint64_t)16 * n, &r);
    if (status == WEFT_OK) status = read_end(g, r, times);
    for (uint32_t i = 0; i < n && status == WEFT_OK; i++) {
        struct profile_sum *sum = sum_of(p, p->rows[i]);
        if (!sum) status = WEFT_NO_MEMORY;
        else if (times[2 * i + 1] >= times[2 * i]) {
            sum->n_calls++;
            sum->seconds += (double)(times[2 * i + 1] - times[2 * i]) * 1e-9;
        }
    }
    mem_free(times);
    return status;
}

bool profile_find(const gpu *g, const char *row, uint64_t *n_calls, double *seconds) {
    for (size_t i = 0; i < g->profile.n_sums; i++) {
        const struct profile_sum *sum = &g->profile.sums[i];
        if (strcmp(sum->row->name, row) != 0) continue;
        *n_calls = sum->n_calls;
        *seconds = sum->seconds;
        return true;
    }
    return false;
}

void profile_log(gpu *g) {
    gpu_profile *p = &g->profile;
    double all = 0;
    for (size_t i = 0; i < p->n_sums; i++) all += p->sums[i].seconds;
    for (size_t i = 0; i < p->n_sums; i++) {
        const struct profile_sum *sum = &p->sums[i];
        log_line(WEFT_LOG_INFO, "webgpu: %-28s %8llu calls %10.3f ms %8.2f us each %5.1f %%",
                 sum->row->name, (unsigned long long)sum->n_calls, sum->seconds * 1e3,
                 sum->n_calls ? sum->seconds * 1e6 / (double)sum->n_calls : 0,
                 all > 0 ? 100 * sum->seconds / all : 0);
    }
}

void profile_close(gpu *g) {
    gpu_profile *p = &g->profile;
    if (p->queries) g->api.QuerySetRelease(p->queries);
    if (p->resolved) g->api.BufferRelease(p->resolved);
    buffer_release(g, p->times);
    mem_free(p->rows);
    mem_free(p->sums);
    memset(p, 0, sizeof *p);
}
