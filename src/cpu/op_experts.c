/* top_k, gather and linear_ids: routing rows to experts and multiplying them there. Ids are checked
 * before anything is written.
 *
 * linear_ids sorts its (row, slot) pairs by expert, so that the blocked product brings an expert's
 * weights to f32 once for all rows that want it; one or two rows stream each expert's weights
 * through the dot products of their format instead. SPDX-License-Identifier: MIT */
#include <string.h>

#include "base/mem.h"
#include "base/parallel.h"
#include "cpu/cpu.h"

static const int32_t *integers(const weft_tensor *t) { return cpu_address(t, t->offset); }

static weft_status check_ids(const weft_call *call, const weft_tensor *ids, int64_t bound) {
    int64_t n = tensor_elements(ids);
    for (int64_t i = 0; i < n; i++) {
        int32_t id = integers(ids)[i];
        REQUIRE(id >= 0 && id < bound, WEFT_INDEX, "%s: id %d at position %lld is outside 0..%lld",
                op_name(call->op), (int)id, (long long)i, (long long)bound - 1);
    }
    return WEFT_OK;
}

/* ---- top_k ----------------------------------------------------------------------------------- */

typedef struct rows_job {
    const cpu_state *cpu;
    const weft_call *call;
} rows_job;

/* True when element b comes before a: larger, or a NaN (the first one first). */
static bool is_before(float b, int32_t at_b, float a, int32_t at_a) {
    bool nan_a = a != a, nan_b = b != b;
    if (nan_a || nan_b) return nan_a == nan_b ? at_b < at_a : nan_b;
    return b > a || (b == a && at_b < at_a);
}

/* A row's elements by index, and the heap of the best so far: of these the root comes last. */
typedef struct top_row {
    const cpu_kernels *kernels;
    const weft_tensor *x;
    int64_t from; /* the row's first element */
    int32_t *heap;
} top_row;

static float value_at(const top_row *t, int32_t i) {
    float buffer;
    return *cpu_load(t->kernels, t->x, t->from + i, 1, 1, &buffer);
}

static bool precedes(const top_row *t, int32_t b, int32_t a) {
    return is_before(value_at(t, b), b, value_at(t, a), a);
}

/* Moves the element at `i` down to its place in the heap of the first n. */
static void sift(const top_row *t, int32_t i, int32_t n) {
    int32_t moved = t->heap[i];
    for (int64_t child; (child = 2 * (int64_t)i + 1) < n; i = (int32_t)child) {
        if (child + 1 < n && precedes(t, t->heap[child], t->heap[child + 1])) child++;
        if (!precedes(t, moved, t->heap[child])) break;
        t->heap[i] = t->heap[child];
    }
    t->heap[i] = moved;
}

static void top_k_rows(void *context, int64_t first, int64_t last) {
    const rows_job *j = context;
    const weft_tensor *x = j->call->in[0];
    int32_t k = j->call->attrs.top_k.k, n = (int32_t)x->dim[1];
    for (int64_t r = first; r < last; r++) {
        int32_t *out = cpu_address(j->call->out, j->call->out->offset);
        top_row t = {j->cpu->kernels, x, x->offset + r * n, out + r * k};
        for (int32_t i = 0; i < k; i++) t.heap[i] = i;
        for (int32_t i = k / 2 - 1; i >= 0; i--) sift(&t, i, k);
        for (int32_t i = k; i < n; i++) {
            if (!precedes(&t, i, t.heap[0])) continue;
            t.heap[0] = i;
            sift(&t, 0, k);
        }
        for (int32_t end = k - 1; end > 0; end--) { /* the last ones to the end */
            int32_t worst = t.heap[0];
            t.heap[0] = t.heap[end];
            sift(&t, 0, end);
            t.heap[end] = worst;
        }
    }
}

static weft_status top_k_run(const cpu_state *cpu, const weft_call *call) {
    rows_job j = {cpu, call};
    const weft_tensor *x = call->in[0];
    parallel_for(cpu->n_threads, x->dim[0], cpu_grain(x->dim[1]), top_k_rows, &j);
    return WEFT_OK;
}

static bool top_k_accepts(const weft_call *call) {
    return cpu_is_float(call->in[0]) && call->out->dtype == WEFT_I32;
}

/* ---- gather ---------------------------------------------------------------------------------- */

static void gather_rows(void *context, int64_t first, int64_t last) {
    const rows_job *j = context;
    const weft_tensor *x = j->call->in[0], *ids = j->call->in[1];
    float *out = cpu_address(j->call->out, j->call->out->offset);
    int64_t k = ids->dim[1];
    for (int64_t i = first * k; i < last * k; i++)
        cpu_copy_row(j->cpu->kernels, x, x->offset + i / k * x->dim[1] + integers(ids)[i], 1, 1,
                     out + i);
}

static weft_status gather_run(const cpu_state *cpu, const weft_call *call) {
    const weft_tensor *ids = call->in[1];
    TRY(check_ids(call, ids, call->in[0]->dim[1]));
    rows_job j = {cpu, call};
    parallel_for(cpu->n_threads, ids->dim[0], cpu_grain(8 * ids->dim[1]), gather_rows, &j);
    return WEFT_OK;
}

static bool gather_accepts(const weft_call *call) {
    return cpu_is_float(call->in[0]) && call->in[1]->dtype == WEFT_I32 &&
           call->out->dtype == WEFT_F32;
}

/* ---- linear_ids ------------------------------------------------------------------------------ */

typedef struct experts_job {
    const cpu_state *cpu;
    const weft_tensor *w;
    const int32_t *ids;
    const float *x;
    float *out;                /* (pair, n_w) */
    int64_t n_pairs, n_w, n_k; /* pair = row * n_slots + slot */
    int64_t n_slots, x_slots;
    int32_t *pairs, *starts; /* pairs by expert; where each expert's begin, and an end */
    float *sorted;           /* products in that order */
} experts_job;

static const float *row_of(const experts_job *j, int64_t pair) {
    int64_t slot = j->x_slots == 1 ? 0 : pair % j->n_slots;
    return j->x + (pair / j->n_slots * j->x_slots + slot) * j->n_k;
}

/* The element of w where row i of an expert begins. */
static int64_t weight_at(const experts_job *j, int64_t expert, int64_t i) {
    return j->w->offset + (expert * j->n_w + i) * j->n_k;
}

static void run_dots(void *context, int64_t first, int64_t last) {
    const experts_job *j = context;
    for (int64_t i = first; i < last; i++) {
        int64_t pair = i / j->n_w;
        j->out[i] = cpu_weights_dot(j->cpu->kernels, j->w, weight_at(j, j->ids[pair], i % j->n_w),
                                    row_of(j, pair), j->n_k);
    }
}

/* One expert's product, as the blocked product sees it. */
typedef struct expert {
    const experts_job *j;
    int64_t number;
    const int32_t *pairs;
} expert;

static const float *fetch_w(const void *context, int64_t row, int64_t n_rows, int64_t at, int64_t n,
                            float *buffer, int64_t *stride) {
    const expert *e = context;
    const weft_tensor *w = e->j->w;
    int64_t first = weight_at(e->j, e->number, row) + at;
    if (w->dtype == WEFT_F32) {
        *stride = e->j->n_k;
        return cpu_address(w, first);
    }
    for (int64_t r = 0; r < n_rows; r++)
        cpu_decode(e->j->cpu->kernels, w->dtype, cpu_address(w, first + r * e->j->n_k),
                   buffer + r * *stride, n);
    return buffer;
}

static const float *fetch_x(const void *context, int64_t row, int64_t n_rows, int64_t at, int64_t n,
                            float *buffer, int64_t *stride) {
    const expert *e = context;
    for (int64_t r = 0; r < n_rows; r++)
        memcpy(buffer + r * *stride, row_of(e->j, e->pairs[row + r]) + at,
               (size_t)n * sizeof(float));
    return buffer;
}

/* Columns [first, last) of all experts' products, then to where they belong. */
static void run_products(void *context, int64_t first, int64_t last) {
    const experts_job *j = context;
    for (int64_t i = 0; i < j->w->dim[0]; i++) {
        int32_t begin = j->starts[i], n = j->starts[i + 1] - begin;
        expert e = {j, i, j->pairs + begin};
        cpu_product p = {.kernels = j->cpu->kernels,
                         .n_w = j->n_w,
                         .n_x = n,
                         .n_k = j->n_k,
                         .fetch_w = fetch_w,
                         .fetch_x = fetch_x,
                         .context = &e,
                         .out = j->sorted + begin * j->n_w,
                         .out_stride = j->n_w};
        if (n > 0) cpu_product_run(&p, first, last);
    }
    for (int64_t i = 0; i < j->n_pairs; i++)
        memcpy(j->out + j->pairs[i] * j->n_w + first, j->sorted + i * j->n_w + first,
               (size_t)(last - first) * sizeof(float));
}

/* Counts, then places: pairs of one expert stay in order. */
static weft_status sort_pairs(experts_job *j) {
    int64_t n_experts = j->w->dim[0];
    j->starts = mem_array((size_t)(n_experts + 2), sizeof *j->starts);
    j->pairs = mem_array((size_t)j->n_pairs, sizeof *j->pairs);
    j->sorted = mem_array((size_t)j->n_pairs, (size_t)j->n_w * sizeof *j->sorted);
    if (!j->starts || !j->pairs || !j->sorted) return WEFT_NO_MEMORY;
    int32_t *next = j->starts + 1; /* becomes `starts` as it is used */
    for (int64_t i = 0; i < j->n_pairs; i++) next[j->ids[i] + 1]++;
    for (int64_t e = 0; e < n_experts; e++) next[e + 1] += next[e];
    for (int64_t i = 0; i < j->n_pairs; i++) j->pairs[next[j->ids[i]]++] = (int32_t)i;
    return WEFT_OK;
}

static weft_status linear_ids_run(const cpu_state *cpu, const weft_call *call) {
    const weft_tensor *x = call->in[0], *w = call->in[1], *ids = call->in[2];
    TRY(check_ids(call, ids, w->dim[0]));
    experts_job j = {.cpu = cpu, .w = w, .ids = integers(ids), .n_w = w->dim[1], .n_k = w->dim[2]};
    j.x = cpu_address(x, x->offset);
    j.x_slots = x->dim[1];
    j.out = cpu_address(call->out, call->out->offset);
    j.n_slots = ids->dim[1];
    j.n_pairs = tensor_elements(ids);
    if (x->dim[0] <= CPU_FEW_ROWS && cpu->kernels->dot[w->dtype]) {
        parallel_for(cpu->n_threads, j.n_pairs * j.n_w, cpu_grain(j.n_k), run_dots, &j);
        return WEFT_OK;
    }
    weft_status status = sort_pairs(&j);
    if (status == WEFT_OK)
        parallel_for(cpu->n_threads, j.n_w, cpu_grain(j.n_k * j.n_pairs), run_products, &j);
    mem_free(j.starts);
    mem_free(j.pairs);
    mem_free(j.sorted);
    return status;
}

static bool linear_ids_accepts(const weft_call *call) {
    return call->in[0]->dtype == WEFT_F32 && cpu_is_readable(call->in[1]) &&
           call->in[2]->dtype == WEFT_I32 && call->out->dtype == WEFT_F32;
}

const cpu_op cpu_top_k = {top_k_run, top_k_accepts, false, NULL};
const cpu_op cpu_gather = {gather_run, gather_accepts, false, NULL};
const cpu_op cpu_linear_ids = {linear_ids_run, linear_ids_accepts, true, NULL};
