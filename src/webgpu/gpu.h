/* The insides of an opened WebGPU device, shared by the files of this folder and by its tests:
 * the device and its errors (gpu.c, adapters.c), buffers (buffers.c), recording (batch.c),
 * pipelines (pipelines.c), timing (profile.c). All of it is used by one thread at a time.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_WEBGPU_GPU_H
#define WEFT_WEBGPU_GPU_H

#include "tensor/backend.h"
#include "webgpu/dialect.h"
#include "webgpu/plan.h"

typedef struct gpu gpu;

/* ---- adapters.c: what there is to open ------------------------------------------------------- */

enum { GPU_MAX_ADAPTERS = 24 };

typedef struct gpu_candidate {
    const gpu_library *library; /* NULL when no library was found */
    WGPUInstance instance;
    WGPUAdapter adapter;
    weft_device_info info;
} gpu_candidate;

/* Every (library, adapter) pair, best first, then a line for each library that is refused or has
 * no adapter. */
typedef struct gpu_list {
    gpu_library libraries[LOADER_MAX];
    WGPUInstance instances[LOADER_MAX];
    int n_libraries, n;
    gpu_candidate items[GPU_MAX_ADAPTERS];
} gpu_list;

/* Fills a zeroed list; NULL when out of memory. gpu_list_free releases what was not taken out of
 * it. */
gpu_list *gpu_list_new(void);
void gpu_list_free(gpu_list *list);
/* Line `index`, or for -1 the best usable one, hardware before software. WEFT_NO_DEVICE names
 * what is missing. */
weft_status gpu_list_choose(const gpu_list *list, int index, int *chosen);
/* False when WEFT_WEBGPU_FEATURES switches this optional feature off ("none", or
 * "no-f16,no-subgroups"). */
bool gpu_feature_allowed(const char *name);

/* ---- buffers.c ------------------------------------------------------------------------------- */

typedef struct gpu_buffer {
    uint32_t id; /* never used twice on a device */
    WGPUBuffer handle;
    uint64_t capacity;     /* bytes, a multiple of 16 */
    uint64_t used_in;      /* the batch that last recorded a use of it; 0 = none */
    weft_storage *storage; /* what lives on it now, or NULL */
    bool in_arena;         /* kept for the next allocation of its scope and slot */
    uint32_t n_groups;     /* cached bind groups that hold it */
    uint32_t n_small;      /* uses in a row that would have fitted into a quarter */
} gpu_buffer;

/* The buffers of one scope depth and one of its two alternating arenas, by allocation number. */
typedef struct gpu_arena {
    gpu_buffer **slots;
    size_t n_slots, capacity;
    uint32_t n_used, n_used_before; /* slots used by the scope now open, and the one before it */
} gpu_arena;

typedef struct gpu_buffers {
    gpu_arena (*arenas)[2]; /* by depth - 1 */
    size_t n_depths, capacity;
    gpu_buffer *scratch, *copies; /* of calls that need some; grown */
    gpu_buffer *codebook;         /* codebook_load's, or NULL */
    uint32_t next_id;
    uint64_t bytes, bytes_peak;
    uint64_t n_created, n_reused;
    uint64_t pending_bytes; /* written by the host and not yet submitted */
    gpu_buffer **dead;      /* released by us, still in the recorded batch */
    size_t n_dead, dead_capacity;
} gpu_buffers;

weft_status buffer_alloc(gpu *g, weft_storage *s);
void buffer_free(gpu *g, weft_storage *s);
weft_status buffer_write(gpu *g, gpu_buffer *b, uint64_t size, uint64_t at, const void *data,
                         uint64_t bytes);
/* A buffer of our own of at least `bytes`. NULL on failure (limit or memory), with a message
 * about `what`. */
gpu_buffer *buffer_new(gpu *g, uint64_t bytes, const char *what);
void buffer_release(gpu *g, gpu_buffer *b);
/* Makes *b at least `bytes` large; its contents are lost when it grows. */
weft_status buffer_grow(gpu *g, gpu_buffer **b, uint64_t bytes, const char *what);
/* Makes buffers.codebook, if it is not there yet (codebook.c). */
weft_status codebook_load(gpu *g);
/* Releases what was waiting for the batch to be submitted. */
void buffers_bury(gpu *g);
void buffers_close(gpu *g);

/* ---- pipelines.c ----------------------------------------------------------------------------- */

typedef struct gpu_pipeline {
    char *key; /* prelude and source names */
    const kernel_row *row;
    WGPUComputePipeline handle;
    int layout; /* of group 0: index into layouts */
    bool has_flag;
    int flag_slot;
} gpu_pipeline;

typedef struct gpu_layout {
    int n_bindings;
    uint32_t written; /* a bit per binding */
    WGPUBindGroupLayout group;
    WGPUPipelineLayout pipeline[2]; /* without and with the flag buffer */
} gpu_layout;

typedef struct gpu_pipelines {
    gpu_pipeline **items;
    size_t n, capacity;
    gpu_layout *layouts;
    size_t n_layouts, layouts_capacity;
    WGPUBindGroupLayout common[2]; /* group 1: parameters; parameters and flag */
    uint64_t n_compiled;
} gpu_pipelines;

enum { GPU_FLAG_SLOTS = 64, GPU_FLAG_STRIDE = 256 };

weft_status pipelines_open(gpu *g);
/* The pipeline of a step, compiled if it is new. Valid until the device is closed. */
weft_status pipeline_get(gpu *g, const plan_step *step, const gpu_pipeline **out);
void pipelines_close(gpu *g);

/* What a group-0 binding resolves to. */
typedef struct gpu_bound {
    gpu_buffer *buffer;
    uint64_t at, bytes;
    bool is_written;
} gpu_bound;

typedef struct gpu_group_key {
    int layout, n;
    struct {
        uint64_t id, at, bytes;
    } bound[PLAN_MAX_BINDINGS]; /* the rest is zero */
} gpu_group_key;

typedef struct gpu_group {
    struct gpu_group *next; /* in its bucket */
    gpu_group_key key;
    gpu_buffer *buffers[PLAN_MAX_BINDINGS];
    WGPUBindGroup handle;
} gpu_group;

/* ---- groups.c: bind groups kept by what they bind -------------------------------------------- */

enum { GPU_GROUP_BUCKETS = 4096, GPU_MAX_GROUPS = 16384 };

typedef struct gpu_groups {
    gpu_group **buckets; /* GPU_GROUP_BUCKETS of them */
    size_t n;
    uint64_t n_hits, n_misses;
} gpu_groups;

weft_status groups_open(gpu *g);
weft_status group_find(gpu *g, const gpu_pipeline *pipeline, const gpu_bound *bound, int n,
                       WGPUBindGroup *out);
/* Drops the groups that hold a buffer. */
void groups_forget(gpu *g, gpu_buffer *b);
void groups_close(gpu *g);

/* ---- readback.c ------------------------------------------------------------------------------ */

enum { GPU_READ_SLOTS = 4 };

enum { GPU_READ_BYTES = 8 << 20 }; /* at once; longer reads go in pieces */

/* A piece of persistent staging memory for reading back. Behind the bytes asked for come the
 * flags that kernels used since they were last looked at. */
typedef struct gpu_reading {
    WGPUBuffer staging;
    uint64_t capacity;
    WGPUFuture future;
    volatile int done; /* 1: mapped, 2: failed */
    bool is_busy;
    uint64_t offset, bytes, flags_at, mapped; /* within the staging memory */
    int n_flags, slots[GPU_FLAG_SLOTS];
    const kernel_row *rows[GPU_FLAG_SLOTS];
} gpu_reading;

/* Starts reading `bytes` (at most GPU_READ_BYTES) from any byte `at`; gives a slot, WEFT_BUSY
 * when all are taken. */
weft_status read_begin(gpu *g, gpu_buffer *b, uint64_t at, uint64_t bytes, gpu_reading **out);
/* True when the bytes are there (or failed): read_end then copies them and frees the slot. Never
 * waits. */
bool read_poll(gpu *g, gpu_reading *r);
/* Waits, copies, frees the slot. WEFT_INDEX when a kernel met a bad index. */
weft_status read_end(gpu *g, gpu_reading *r, void *out);
/* The blocking read of any size. */
weft_status read_all(gpu *g, gpu_buffer *b, uint64_t at, void *out, uint64_t bytes);
void readings_close(gpu *g);

/* ---- batch.c --------------------------------------------------------------------------------- */

/* A recorded dispatch, kept until the submit, so that one the library refuses can be found
 * again. */
typedef struct gpu_recorded {
    const gpu_pipeline *pipeline;
    WGPUBindGroup group;
    uint32_t offsets[2], grid[3];
} gpu_recorded;

typedef struct gpu_batch {
    uint64_t number; /* of the batch now recorded, from 1 */
    WGPUCommandEncoder encoder;
    WGPUComputePassEncoder pass;
    WGPUComputePipeline bound_pipeline;
    int n_dispatches, limit; /* submitted when so many are recorded */
    bool has_commands;
    WGPUBuffer ring; /* parameters, slots of ring_stride bytes */
    uint8_t *ring_shadow;
    uint32_t ring_stride, ring_slots, ring_next, ring_first; /* first: of this batch */
    WGPUBuffer flags;
    const kernel_row
        *flag_rows[GPU_FLAG_SLOTS]; /* who used it since it was last looked at, or NULL */
    int n_flags;
    WGPUBindGroup common[2];
    gpu_buffer **written; /* by this batch, for poisoning when it fails */
    size_t n_written, written_capacity;
    gpu_recorded *recorded;
    size_t n_recorded, recorded_capacity;
    gpu_reading readings[GPU_READ_SLOTS];
    volatile int work_done; /* 1: done, 2: failed */
    uint64_t n_dispatched, n_submits, n_reads, n_writes;
} gpu_batch;

weft_status batch_open(gpu *g);
/* Records one dispatch of a step. */
weft_status batch_dispatch(gpu *g, const gpu_pipeline *pipeline, const plan_step *step,
                           const gpu_bound *bound);
/* Records a copy; offsets and bytes are multiples of 4. */
weft_status batch_copy(gpu *g, gpu_buffer *from, uint64_t from_at, gpu_buffer *to, uint64_t to_at,
                       uint64_t bytes);
/* Gives what is recorded to the GPU. On a validation error nothing is run, what the batch wrote
 * is poisoned, and the status names the kernel. */
weft_status batch_submit(gpu *g);
/* Submits, waits for the GPU, and looks at the flags of bad indices. */
weft_status batch_sync(gpu *g);
/* Submits and waits. */
weft_status batch_wait(gpu *g);
/* Records a copy between buffers of the host code's own. */
weft_status batch_copy_out(gpu *g, WGPUBuffer from, uint64_t from_at, WGPUBuffer to, uint64_t to_at,
                           uint64_t bytes);
void batch_close(gpu *g);
/* Splits any number of workgroups over three dimensions of at most `limit` each, so that the
 * product is at least n. */
void batch_grid(uint64_t n, uint32_t limit, uint32_t grid[3]);

/* ---- profile.c ------------------------------------------------------------------------------- */

typedef struct gpu_profile {
    bool is_on; /* WEFT_PROFILE is set and the adapter has timestamps */
    WGPUQuerySet queries;
    WGPUBuffer resolved;
    gpu_buffer *times;
    const kernel_row **rows; /* of the dispatches of this batch: two queries each */
    uint32_t n, n_resolved;
    struct profile_sum {
        const kernel_row *row;
        uint64_t n_calls;
        double seconds;
    } * sums;
    size_t n_sums, sums_capacity;
} gpu_profile;

weft_status profile_open(gpu *g);
/* The timestamps for a pass that holds one dispatch of `row`; false when not profiling. */
bool profile_next(gpu *g, const kernel_row *row, WGPUPassTimestampWrites *out);
void profile_resolve(gpu *g);        /* records the copy of the times, before Finish */
weft_status profile_collect(gpu *g); /* after the submit: waits, adds the times up */
void profile_log(gpu *g);            /* one line a row: calls, milliseconds, share */
void profile_close(gpu *g);
/* For tests and tools: calls and seconds of a row by name; false when it has not run. */
bool profile_find(const gpu *g, const char *row, uint64_t *n_calls, double *seconds);

/* ---- webgpu.c: plans kept by call signature -------------------------------------------------- */

typedef struct gpu_memo {
    struct gpu_memo_entry **places; /* an open-addressed table */
    size_t n, n_places;
    uint64_t n_hits, n_misses;
} gpu_memo;

/* ---- gpu.c ----------------------------------------------------------------------------------- */

struct gpu {
    gpu_api api;
    const dialect *dialect;
    WGPUInstance instance;
    WGPUAdapter adapter;
    WGPUDevice device;
    WGPUQueue queue;
    gpu_caps caps;
    uint32_t uniform_alignment;
    bool has_checks; /* the library's bounds checks are on (WEFT_CHECKS=on, WEFT_SHADER_DIR) */
    weft_device_info info;
    volatile int is_lost; /* sticky */
    char lost_message[200];
    /* The answer of the error scope now popped; here and not on the stack, because a lost device
     * answers late. */
    struct {
        volatile int done;
        WGPUErrorType type;
        char message[400];
    } popped;
    volatile int has_error; /* an error no scope caught */
    char error[300];
    gpu_buffers buffers;
    gpu_pipelines pipelines;
    gpu_groups groups;
    gpu_batch batch;
    gpu_profile profile;
    gpu_memo memo;
    const kernel_row *selected; /* forced by select() */
};

/* Opens the adapter of a list's line, takes it out of the list, and runs the self test. */
weft_status gpu_open(gpu_list *list, int index, gpu **out);
void gpu_close(gpu *g);
/* WEFT_DEVICE_LOST when the device is lost. */
weft_status gpu_check(gpu *g);
/* Errors made between push and pop are returned by pop, as WEFT_DEVICE or WEFT_NO_MEMORY and the
 * library's words. */
void gpu_scope_push(gpu *g);
weft_status gpu_scope_pop(gpu *g);
/* Waits for a callback to set *done. False when the device was lost meanwhile. */
bool gpu_wait(gpu *g, WGPUFuture future, const volatile int *done);
/* An error no scope caught since the last call, as a status. */
weft_status gpu_take_error(gpu *g);

WGPUStringView gpu_text(const char *text);
/* Copies a library's text, cut at the end of a line or a character, always 0-terminated. */
void gpu_text_copy(WGPUStringView view, char *out, size_t cap);

#endif
