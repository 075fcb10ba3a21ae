/* The WebGPU backend: the table of functions, and calls turned into dispatches.
 *
 * A call is packed into a signature (op, precision, attributes, and dtype, shape, strides and
 * offset of each tensor), which finds its plan in one hash look-up: the kernel row, its
 * pipelines, grids and parameters. Only the buffers differ between calls of one signature. Plans
 * are pure functions of the signature and the device, so they never go stale; when there are too
 * many, all are dropped and made again. SPDX-License-Identifier: MIT */
#include <string.h>

#include "base/log.h"
#include "base/map.h"
#include "base/mem.h"
#include "tensor/backend.h"
#include "webgpu/gpu.h"

enum { MEMO_PLACES = 1 << 14, MEMO_MAX = MEMO_PLACES / 2 };

typedef struct signature {
    size_t n;
    uint8_t bytes[(CALL_MAX_INPUTS + 1) * (8 + 16 * WEFT_MAX_RANK + 8) + 64];
} signature;

typedef struct gpu_memo_entry {
    uint64_t hash;
    uint8_t *key;
    size_t key_bytes;
    gpu_plan plan;
    const gpu_pipeline **pipelines; /* one a step */
} memo_entry;

/* ---- opening --------------------------------------------------------------------------------- */

static int list(weft_device_info *out, int cap) {
    gpu_list *all = gpu_list_new();
    if (!all) return 0;
    int n = all->n;
    for (int i = 0; i < n && i < cap; i++) out[i] = all->items[i].info;
    gpu_list_free(all);
    return n;
}

static weft_status open_device(weft_device *dev, const weft_device_desc *desc, int index,
                               void **state) {
    (void)dev;
    (void)desc;
    gpu_list *all = gpu_list_new();
    if (!all) return WEFT_NO_MEMORY;
    int chosen = 0;
    gpu *g = NULL;
    weft_status status = gpu_list_choose(all, index, &chosen);
    if (status == WEFT_OK) status = gpu_open(all, chosen, &g);
    gpu_list_free(all);
    *state = g;
    return status;
}

static void free_memo(gpu *g);

static void close_device(void *state) {
    gpu *g = state;
    if (!g) return;
    log_line(WEFT_LOG_DEBUG,
             "webgpu: plans kept %zu, found %llu times, made %llu; %llu kernels compiled",
             g->memo.n, (unsigned long long)g->memo.n_hits, (unsigned long long)g->memo.n_misses,
             (unsigned long long)g->pipelines.n_compiled);
    free_memo(g);
    mem_free(g->memo.places);
    gpu_close(g);
}

static weft_status info(void *state, weft_device_info *out) {
    const gpu *g = state;
    *out = g->info;
    return WEFT_OK;
}

/* ---- rows ------------------------------------------------------------------------------------ */

static bool can_use(const gpu *g, const kernel_row *row, const weft_call *call) {
    const gpu_caps *caps = &g->caps;
    if (row->op != call->op) return false;
    if (!row->is_exact && call->precision != WEFT_FAST) return false;
    if ((row->needs & F_F16) && !caps->has_f16) return false;
    if ((row->needs & F_SUBGROUPS) && !(caps->has_subgroups && caps->subgroup_size)) return false;
    if ((row->needs & F_INT_DOT) && !caps->has_int_dot) return false;
    if ((row->needs & F_MATRIX) && !caps->has_matrix) return false;
    return row->applies(caps, call);
}

static const kernel_row *find_row(const gpu *g, const weft_call *call) {
    if (g->selected && can_use(g, g->selected, call)) return g->selected;
    for (int i = 0; i < n_kernel_rows; i++) {
        if (can_use(g, &kernel_rows[i], call)) return &kernel_rows[i];
    }
    return NULL;
}

static bool can_run(void *state, const weft_call *call) { return find_row(state, call) != NULL; }

static int variants(void *state, const weft_call *call, const char **names, int cap) {
    int n = 0;
    for (int i = 0; i < n_kernel_rows; i++) {
        if (!can_use(state, &kernel_rows[i], call)) continue;
        if (n < cap) names[n] = kernel_rows[i].name;
        n++;
    }
    return n;
}

static weft_status select_row(void *state, const char *name) {
    gpu *g = state;
    const kernel_row *found = NULL;
    for (int i = 0; i < n_kernel_rows && name; i++) {
        if (!strcmp(kernel_rows[i].name, name)) found = &kernel_rows[i];
    }
    REQUIRE(!name || found, WEFT_INVALID, "there is no WebGPU kernel \"%s\"", name);
    g->selected = found;
    return WEFT_OK;
}

/* ---- plans ----------------------------------------------------------------------------------- */

static void put(signature *s, const void *bytes, size_t n) {
    memcpy(s->bytes + s->n, bytes, n);
    s->n += n;
}

static void put_tensor(signature *s, const weft_tensor *t) {
    uint8_t head[2] = {t ? (uint8_t)t->dtype : 255, t ? (uint8_t)t->rank : 0};
    put(s, head, sizeof head);
    if (!t) return;
    put(s, t->dim, (size_t)t->rank * sizeof *t->dim);
    put(s, t->stride, (size_t)t->rank * sizeof *t->stride);
    put(s, &t->offset, sizeof t->offset);
}

static void sign(const gpu *g, const weft_call *call, signature *s) {
    s->n = 0;
    uint8_t head[3] = {(uint8_t)call->op, (uint8_t)call->precision, (uint8_t)call->n_in};
    put(s, head, sizeof head);
    put(s, &g->selected, sizeof g->selected);
    put(s, &call->attrs, sizeof call->attrs);
    for (int i = 0; i < call->n_in; i++) put_tensor(s, call->in[i]);
    put_tensor(s, call->out);
}

static void free_entry(memo_entry *e) {
    plan_free(&e->plan);
    mem_free(e->key);
    mem_free(e->pipelines);
    mem_free(e);
}

static void free_memo(gpu *g) {
    gpu_memo *m = &g->memo;
    for (size_t i = 0; i < m->n_places && m->places; i++) {
        if (m->places[i]) free_entry(m->places[i]);
        m->places[i] = NULL;
    }
    m->n = 0;
}

static weft_status make_plan(gpu *g, const weft_call *call, memo_entry *e) {
    const kernel_row *row = find_row(g, call);
    REQUIRE(row, WEFT_UNSUPPORTED, "%s: no WebGPU kernel takes this call", op_name(call->op));
    TRY(row->plan(&g->caps, row, call, &e->plan));
    TRY(plan_status(&e->plan));
    e->pipelines = mem_array((size_t)e->plan.n_steps, sizeof *e->pipelines);
    if (!e->pipelines) return WEFT_NO_MEMORY;
    for (int i = 0; i < e->plan.n_steps; i++) {
        if (e->plan.steps[i].n_groups == 0) continue;
        TRY(pipeline_get(g, &e->plan.steps[i], &e->pipelines[i]));
    }
    return WEFT_OK;
}

static weft_status find_plan(gpu *g, const weft_call *call, const memo_entry **out) {
    gpu_memo *m = &g->memo;
    if (!m->places) {
        m->places = mem_array(MEMO_PLACES, sizeof(memo_entry *));
        if (!m->places) return WEFT_NO_MEMORY;
        m->n_places = MEMO_PLACES;
    }
    signature s;
    sign(g, call, &s);
    uint64_t hash = hash_bytes(s.bytes, s.n, 0);
    size_t place = hash % MEMO_PLACES;
    for (memo_entry *e; (e = m->places[place]); place = (place + 1) % MEMO_PLACES) {
        if (e->hash != hash || e->key_bytes != s.n || memcmp(e->key, s.bytes, s.n) != 0) continue;
        m->n_hits++;
        *out = e;
        return WEFT_OK;
    }
    m->n_misses++;
    if (m->n >= MEMO_MAX) {
        free_memo(g);
        place = hash % MEMO_PLACES;
    }
    memo_entry *e = mem_alloc(sizeof *e);
    if (!e) return WEFT_NO_MEMORY;
    e->hash = hash;
    e->key_bytes = s.n;
    e->key = mem_copy(s.bytes, s.n);
    weft_status status = e->key ? make_plan(g, call, e) : WEFT_NO_MEMORY;
    if (status != WEFT_OK) {
        free_entry(e);
        return status;
    }
    m->places[place] = e;
    m->n++;
    *out = e;
    return WEFT_OK;
}

/* ---- running --------------------------------------------------------------------------------- */

static weft_status resolve(gpu *g, const weft_call *call, const plan_step *step, gpu_bound *bound) {
    for (int i = 0; i < step->n_bindings; i++) {
        const plan_binding *b = &step->bindings[i];
        if (b->tensor == BIND_CODEBOOK) TRY(codebook_load(g));
        gpu_buffer *buffer = b->tensor == BIND_SCRATCH    ? g->buffers.scratch
                             : b->tensor == BIND_CODEBOOK ? g->buffers.codebook
                             : b->tensor == BIND_OUT      ? call->out->storage->handle
                                                          : call->in[b->tensor]->storage->handle;
        REQUIRE(buffer, WEFT_INVALID, "kernel %s: binding %d is a tensor without memory",
                step->row->name, i);
        bound[i] = (gpu_bound){buffer, b->at, b->bytes, b->is_written};
        if (bound[i].at >= buffer->capacity) bound[i].at = 0; /* an empty view at the end */
        uint64_t rest = buffer->capacity - bound[i].at;
        if (bound[i].bytes > rest) bound[i].bytes = rest; /* rounding up in the last words */
    }
    return WEFT_OK;
}

/* No buffer may be read in a dispatch that writes it: what is read there is copied first. */
static weft_status part_aliases(gpu *g, const plan_step *step, gpu_bound *bound) {
    bool is_shared[PLAN_MAX_BINDINGS] = {false};
    uint64_t bytes = 0;
    for (int i = 0; i < step->n_bindings; i++) {
        if (bound[i].is_written) continue;
        for (int k = 0; k < step->n_bindings; k++)
            is_shared[i] =
                is_shared[i] || (bound[k].is_written && bound[k].buffer == bound[i].buffer);
        if (is_shared[i]) bytes += (bound[i].bytes + 255) / 256 * 256;
    }
    if (bytes == 0) return WEFT_OK;
    TRY(buffer_grow(g, &g->buffers.copies, bytes, "a copy of an input that is also the output"));
    uint64_t at = 0;
    for (int i = 0; i < step->n_bindings; i++) {
        if (!is_shared[i]) continue;
        TRY(batch_copy(g, bound[i].buffer, bound[i].at, g->buffers.copies, at, bound[i].bytes));
        bound[i].buffer = g->buffers.copies;
        bound[i].at = at;
        at += (bound[i].bytes + 255) / 256 * 256;
    }
    return WEFT_OK;
}

static weft_status run(void *state, const weft_call *call) {
    gpu *g = state;
    TRY(gpu_check(g));
    const memo_entry *e;
    TRY(find_plan(g, call, &e));
    if (e->plan.scratch_bytes)
        TRY(buffer_grow(g, &g->buffers.scratch, e->plan.scratch_bytes, "scratch memory"));
    for (int i = 0; i < e->plan.n_steps; i++) {
        const plan_step *step = &e->plan.steps[i];
        gpu_bound bound[PLAN_MAX_BINDINGS];
        if (step->n_groups == 0) continue;
        TRY(resolve(g, call, step, bound));
        TRY(part_aliases(g, step, bound));
        TRY(batch_dispatch(g, e->pipelines[i], step, bound));
    }
    return WEFT_OK;
}

static weft_status alloc_storage(void *state, weft_storage *s) { return buffer_alloc(state, s); }

static void free_storage(void *state, weft_storage *s) { buffer_free(state, s); }

static weft_status write_storage(void *state, weft_storage *s, uint64_t at, const void *data,
                                 uint64_t bytes) {
    return buffer_write(state, s->handle, s->bytes, at, data, bytes);
}

static weft_status read_storage(void *state, weft_storage *s, uint64_t at, void *out,
                                uint64_t bytes) {
    REQUIRE(at <= s->bytes && bytes <= s->bytes - at, WEFT_INVALID,
            "a read of %llu bytes at %llu ends past %llu", (unsigned long long)bytes,
            (unsigned long long)at, (unsigned long long)s->bytes);
    return read_all(state, s->handle, at, out, bytes);
}

static weft_status flush(void *state, bool wait) {
    return wait ? batch_sync(state) : batch_submit(state);
}

static void counters(void *state, weft_counters *add_to) {
    const gpu *g = state;
    add_to->n_dispatches += g->batch.n_dispatched;
    add_to->n_submits += g->batch.n_submits;
    add_to->n_reads += g->batch.n_reads;
    add_to->n_writes += g->batch.n_writes;
    add_to->bytes_allocated = g->buffers.bytes; /* what the device gave, arenas and scratch too */
    add_to->bytes_peak = g->buffers.bytes_peak;
}

extern const weft_backend webgpu_backend;
const weft_backend webgpu_backend = {
    .name = "webgpu",
    .list = list,
    .open = open_device,
    .close = close_device,
    .info = info,
    .alloc = alloc_storage,
    .free = free_storage,
    .write = write_storage,
    .read = read_storage,
    .can_run = can_run,
    .run = run,
    .flush = flush,
    .counters = counters,
    .variants = variants,
    .select = select_row,
};
