/* attention: softmax(scale * q k^T) v over a paged cache, one (row, query head) at a time. Scores
 * are made for PIECE positions at once, with a running maximum and sum that rescale what was added
 * before (Milakov and Gimelshein 2018), so that no memory grows with the length. Keys and values
 * are read in the cache's own dtype. SPDX-License-Identifier: MIT */
#include <math.h>

#include "base/mem.h"
#include "base/parallel.h"
#include "cpu/cpu.h"
#include "tensor/fused.h"

enum { PIECE = 64, MAX_HEAD = 1024 };
_Static_assert(KV_PAGE % PIECE == 0, "a piece lies in one page");

typedef struct job {
    const cpu_state *cpu;
    const weft_tensor *q, *k, *v, *out;
    const int32_t *table, *rows;
    int64_t n_heads, n_kv_heads, head_dim, max_pages;
    float scale;
} job;

static bool accepts(const weft_call *call) {
    for (int i = 1; i <= 2; i++)
        if (call->in[i]->dtype != WEFT_F16 && call->in[i]->dtype != WEFT_F32) return false;
    return call->in[0]->dtype == WEFT_F32 && call->in[3]->dtype == WEFT_I32 &&
           call->in[4]->dtype == WEFT_I32 && call->out->dtype == WEFT_F32 &&
           call->in[0]->dim[2] <= MAX_HEAD;
}

static const char *cached(const job *j, const weft_tensor *pages, int32_t page, int64_t kv_head,
                          int64_t position) {
    return cpu_address(pages,
                       pages->offset +
                           ((page * j->n_kv_heads + kv_head) * KV_PAGE + position) * j->head_dim);
}

static int64_t row_bytes(const job *j, const weft_tensor *pages) {
    return j->head_dim * dtype_find(pages->dtype)->bytes;
}

/* One query head of one row. */
static void attend(const job *j, int64_t row, int64_t head) {
    const cpu_kernels *k = j->cpu->kernels;
    int64_t length = j->rows[2 * row + 1], kv_head = head / (j->n_heads / j->n_kv_heads),
            n = j->head_dim;
    const int32_t *pages = j->table + j->rows[2 * row] * j->max_pages;
    const float *q =
        cpu_address(j->q, j->q->offset + row * j->q->stride[0] + head * j->q->stride[1]);
    float *out = cpu_address(j->out, j->out->offset + (row * j->n_heads + head) * n);
    float acc[MAX_HEAD] = {0}, score[PIECE], share[PIECE], top = -INFINITY, sum = 0;
    int64_t k_bytes = row_bytes(j, j->k), v_bytes = row_bytes(j, j->v);
    void (*axpy)(float a, const void *x, float *y, int64_t n) =
        j->v->dtype == WEFT_F16 ? k->axpy_f16 : k->axpy_f32;
    for (int64_t at = 0; at < length; at += PIECE) {
        int64_t count = length - at < PIECE ? length - at : PIECE;
        const char *keys = cached(j, j->k, pages[at / KV_PAGE], kv_head, at % KV_PAGE);
        const char *values = cached(j, j->v, pages[at / KV_PAGE], kv_head, at % KV_PAGE);
        float piece_top = top;
        for (int64_t i = 0; i < count; i++) {
            score[i] = j->scale * k->dot[j->k->dtype](keys + i * k_bytes, q, n);
            piece_top = score[i] > piece_top ? score[i] : piece_top;
        }
        if (piece_top > top && sum > 0) {
            float shrink = expf(top - piece_top);
            sum *= shrink;
            for (int64_t i = 0; i < n; i++) acc[i] *= shrink;
        }
        top = piece_top;
        sum += k->exp_sum(score, top, share, count);
        for (int64_t i = 0; i < count; i++) axpy(share[i], values + i * v_bytes, acc, n);
    }
    for (int64_t i = 0; i < n; i++) out[i] = length > 0 ? acc[i] / sum : 0;
}

static void attend_part(void *context, int64_t first, int64_t last) {
    const job *j = context;
    for (int64_t i = first; i < last; i++) attend(j, i / j->n_heads, i % j->n_heads);
}

/* Every index that will be followed, before anything is. */
static weft_status check_indices(const job *j, int64_t n_rows, int64_t n_sequences) {
    for (int64_t r = 0; r < n_rows; r++) {
        int32_t sequence = j->rows[2 * r], length = j->rows[2 * r + 1];
        REQUIRE(sequence >= 0 && sequence < n_sequences, WEFT_INDEX,
                "attention: sequence %d of row %lld is outside 0..%lld", (int)sequence,
                (long long)r, (long long)n_sequences - 1);
        REQUIRE(length >= 0 && length <= j->max_pages * KV_PAGE, WEFT_INDEX,
                "attention: length %d of row %lld is outside 0..%lld", (int)length, (long long)r,
                (long long)j->max_pages * KV_PAGE);
        for (int64_t p = 0; p < (length + KV_PAGE - 1) / KV_PAGE; p++) {
            int32_t page = j->table[sequence * j->max_pages + p];
            REQUIRE(page >= 0 && page < j->k->dim[0] && page < j->v->dim[0], WEFT_INDEX,
                    "attention: page %d of sequence %d is outside 0..%lld", (int)page,
                    (int)sequence, (long long)j->k->dim[0] - 1);
        }
    }
    return WEFT_OK;
}

static weft_status run(const cpu_state *cpu, const weft_call *call) {
    const weft_tensor *q = call->in[0], *table = call->in[3], *rows = call->in[4];
    job j = {.cpu = cpu,
             .q = q,
             .k = call->in[1],
             .v = call->in[2],
             .out = call->out,
             .table = cpu_address(table, table->offset),
             .rows = cpu_address(rows, rows->offset),
             .n_heads = q->dim[1],
             .n_kv_heads = call->in[1]->dim[1],
             .head_dim = q->dim[2],
             .max_pages = table->dim[1],
             .scale = call->attrs.attention.scale};
    TRY(check_indices(&j, q->dim[0], table->dim[0]));
    int64_t longest = 0;
    for (int64_t r = 0; r < q->dim[0]; r++)
        longest = j.rows[2 * r + 1] > longest ? j.rows[2 * r + 1] : longest;
    parallel_for(cpu->n_threads, q->dim[0] * j.n_heads, cpu_grain(longest * j.head_dim),
                 attend_part, &j);
    return WEFT_OK;
}

const cpu_op cpu_attention = {run, accepts, true, NULL};
