/* get_rows and kv_write: rows picked or placed by an index. All indices are checked before anything
 * is written. SPDX-License-Identifier: MIT */
#include <string.h>

#include "base/parallel.h"
#include "cpu/cpu.h"
#include "tensor/fused.h"

typedef struct job {
    const cpu_state *cpu;
    const weft_call *call;
} job;

static const int32_t *integers(const weft_tensor *t) { return cpu_address(t, t->offset); }

/* ---- get_rows -------------------------------------------------------------------------------- */

static bool get_rows_accepts(const weft_call *call) {
    return cpu_is_readable(call->in[0]) && call->in[1]->dtype == WEFT_I32 &&
           call->out->dtype == WEFT_F32;
}

static void get_rows_part(void *context, int64_t first, int64_t last) {
    const job *j = context;
    const weft_tensor *table = j->call->in[0], *out = j->call->out;
    const int32_t *ids = integers(j->call->in[1]);
    int64_t k = table->dim[1];
    for (int64_t i = first; i < last; i++)
        cpu_decode(j->cpu->kernels, table->dtype, cpu_address(table, table->offset + ids[i] * k),
                   cpu_address(out, out->offset + i * k), k);
}

static weft_status get_rows_run(const cpu_state *cpu, const weft_call *call) {
    const weft_tensor *table = call->in[0];
    const int32_t *ids = integers(call->in[1]);
    int64_t n = tensor_elements(call->in[1]);
    for (int64_t i = 0; i < n; i++)
        REQUIRE(ids[i] >= 0 && ids[i] < table->dim[0], WEFT_INDEX,
                "get_rows: id %d at position %lld is outside 0..%lld", (int)ids[i], (long long)i,
                (long long)table->dim[0] - 1);
    job j = {.cpu = cpu, .call = call};
    parallel_for(cpu->n_threads, n, cpu_grain(table->dim[1]), get_rows_part, &j);
    return WEFT_OK;
}

/* ---- kv_write -------------------------------------------------------------------------------- */

static bool kv_write_accepts(const weft_call *call) {
    const weft_tensor *pages = call->in[0];
    return (pages->dtype == WEFT_F16 || pages->dtype == WEFT_F32) &&
           call->in[1]->dtype == WEFT_F32 && call->in[2]->dtype == WEFT_I32;
}

static void kv_write_part(void *context, int64_t first, int64_t last) {
    const job *j = context;
    const weft_tensor *pages = j->call->in[0], *x = j->call->in[1];
    const int32_t *slots = integers(j->call->in[2]);
    const cpu_kernels *k = j->cpu->kernels;
    int64_t n_heads = x->dim[1], n = x->dim[2];
    for (int64_t i = first; i < last; i++)
        for (int64_t h = 0; h < n_heads; h++) {
            int64_t from = x->offset + i * x->stride[0] + h * x->stride[1];
            int64_t to = pages->offset +
                         ((slots[i] / KV_PAGE * n_heads + h) * KV_PAGE + slots[i] % KV_PAGE) * n;
            for (int64_t at = 0; at < n; at += CPU_CHUNK) {
                int64_t count = n - at < CPU_CHUNK ? n - at : CPU_CHUNK;
                cpu_store(k, pages, to + at, 1, count, cpu_load(k, x, from + at, 1, count, NULL));
            }
        }
}

static weft_status kv_write_run(const cpu_state *cpu, const weft_call *call) {
    const weft_tensor *pages = call->in[0], *x = call->in[1];
    const int32_t *slots = integers(call->in[2]);
    for (int64_t i = 0; i < x->dim[0]; i++)
        REQUIRE(slots[i] >= 0 && slots[i] < pages->dim[0] * KV_PAGE, WEFT_INDEX,
                "kv_write: slot %d at position %lld is outside 0..%lld", (int)slots[i],
                (long long)i, (long long)pages->dim[0] * KV_PAGE - 1);
    job j = {.cpu = cpu, .call = call};
    parallel_for(cpu->n_threads, x->dim[0], cpu_grain(x->dim[1] * x->dim[2]), kv_write_part, &j);
    return WEFT_OK;
}

const cpu_op cpu_get_rows = {get_rows_run, get_rows_accepts, true, NULL};
const cpu_op cpu_kv_write = {kv_write_run, kv_write_accepts, true, NULL};
