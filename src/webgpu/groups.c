/* Bind groups kept by what they bind: layout, and per binding the buffer's number, offset and
 * size.
 *
 * Buffer numbers are never used twice, so a kept group can only be right or unused. A group
 * holds its buffers alive in the library, so the groups of a buffer go when it is released.
 * SPDX-License-Identifier: MIT */
#include <string.h>

#include "base/log.h"
#include "base/map.h"
#include "base/mem.h"
#include "webgpu/gpu.h"

weft_status groups_open(gpu *g) {
    g->groups.buckets = mem_array(GPU_GROUP_BUCKETS, sizeof(gpu_group *));
    return g->groups.buckets ? WEFT_OK : WEFT_NO_MEMORY;
}

static void drop(gpu *g, gpu_group **place) {
    gpu_group *group = *place;
    *place = group->next;
    for (int i = 0; i < group->key.n; i++) group->buffers[i]->n_groups--;
    g->api.BindGroupRelease(group->handle);
    mem_free(group);
    g->groups.n--;
}

static void drop_all(gpu *g) {
    for (int i = 0; i < GPU_GROUP_BUCKETS; i++) {
        while (g->groups.buckets[i]) drop(g, &g->groups.buckets[i]);
    }
}

void groups_forget(gpu *g, gpu_buffer *b) {
    for (int i = 0; i < GPU_GROUP_BUCKETS && b->n_groups > 0; i++) {
        gpu_group **place = &g->groups.buckets[i];
        while (*place) {
            bool holds = false;
            for (int k = 0; k < (*place)->key.n; k++) holds = holds || (*place)->buffers[k] == b;
            if (holds) drop(g, place);
            else place = &(*place)->next;
        }
    }
}

static WGPUBindGroup make(gpu *g, const gpu_pipeline *pipeline, const gpu_bound *bound, int n) {
    WGPUBindGroupEntry entries[PLAN_MAX_BINDINGS];
    memset(entries, 0, sizeof entries);
    for (int i = 0; i < n; i++) {
        entries[i].binding = (uint32_t)i;
        entries[i].buffer = bound[i].buffer->handle;
        entries[i].offset = bound[i].at;
        entries[i].size = bound[i].bytes;
    }
    WGPUBindGroupDescriptor desc = {.label = gpu_text(pipeline->row->name),
                                    .layout = g->pipelines.layouts[pipeline->layout].group,
                                    .entryCount = (size_t)n,
                                    .entries = entries};
    return g->api.DeviceCreateBindGroup(g->device, &desc);
}

weft_status group_find(gpu *g, const gpu_pipeline *pipeline, const gpu_bound *bound, int n,
                       WGPUBindGroup *out) {
    gpu_group_key key;
    memset(&key, 0, sizeof key);
    key.layout = pipeline->layout;
    key.n = n;
    for (int i = 0; i < n; i++) {
        key.bound[i].id = bound[i].buffer->id;
        key.bound[i].at = bound[i].at;
        key.bound[i].bytes = bound[i].bytes;
    }
    gpu_groups *all = &g->groups;
    gpu_group **bucket = &all->buckets[hash_bytes(&key, sizeof key, 0) % GPU_GROUP_BUCKETS];
    for (gpu_group *group = *bucket; group; group = group->next) {
        if (memcmp(&group->key, &key, sizeof key) != 0) continue;
        all->n_hits++;
        *out = group->handle;
        return WEFT_OK;
    }
    all->n_misses++;
    if (all->n >= GPU_MAX_GROUPS) { /* the recorded batch still names some */
        TRY(batch_submit(g));
        drop_all(g);
    }
    gpu_group *group = mem_alloc(sizeof *group);
    if (!group) return WEFT_NO_MEMORY;
    gpu_scope_push(g);
    group->handle = make(g, pipeline, bound, n);
    weft_status status = gpu_scope_pop(g);
    if (status != WEFT_OK) {
        if (group->handle) g->api.BindGroupRelease(group->handle);
        mem_free(group);
        return error_prefix(status, "kernel %s cannot bind its tensors", pipeline->row->name);
    }
    group->key = key;
    for (int i = 0; i < n; i++) {
        group->buffers[i] = bound[i].buffer;
        bound[i].buffer->n_groups++;
    }
    group->next = *bucket;
    *bucket = group;
    all->n++;
    *out = group->handle;
    return WEFT_OK;
}

void groups_close(gpu *g) {
    if (!g->groups.buckets) return;
    log_line(WEFT_LOG_DEBUG, "webgpu: bind groups found %llu times, made %llu",
             (unsigned long long)g->groups.n_hits, (unsigned long long)g->groups.n_misses);
    drop_all(g);
    mem_free(g->groups.buckets);
    memset(&g->groups, 0, sizeof g->groups);
}
