/* attention over a paged cache: grouped heads, shuffled pages, rows of different sequences and
 * lengths. SPDX-License-Identifier: MIT */
#include "runner.h"
#include "tensor/fused.h"

typedef struct view {
    const ref_call *c;
    int64_t n_heads, n_kv, k, max_pages;
} view;

/* Element d of position p in a sequence's cache. */
static double cached(const view *v, const array *pages, int64_t sequence, int64_t kv, int64_t p,
                     int64_t d) {
    int64_t page = (int64_t)v->c->in[3]->v[sequence * v->max_pages + p / KV_PAGE];
    return pages->v[((page * v->n_kv + kv) * KV_PAGE + p % KV_PAGE) * v->k + d];
}

/* Head h of row r. */
static void attend(const view *v, ref_call *c, int64_t r, int64_t h, double scale) {
    int64_t sequence = (int64_t)c->in[4]->v[2 * r], length = (int64_t)c->in[4]->v[2 * r + 1],
            kv = h / (v->n_heads / v->n_kv);
    double *score = malloc((size_t)(length + 1) * sizeof *score),
           *loss = malloc((size_t)(length + 1) * sizeof *loss);
    double top = -INFINITY, sum = 0, mean_loss = 0;
    for (int64_t p = 0; p < length; p++) {
        double dot = 0, terms = 0;
        for (int64_t d = 0; d < v->k; d++) {
            double t = c->in[0]->v[(r * v->n_heads + h) * v->k + d] *
                       cached(v, c->in[1], sequence, kv, p, d);
            dot += t;
            terms += fabs(t);
        }
        score[p] = scale * dot;
        loss[p] = ref_sum_cost(v->k) * scale * terms; /* absolute, so relative to exp of it */
        top = fmax(top, score[p]);
    }
    for (int64_t p = 0; p < length; p++) sum += exp(score[p] - top);
    for (int64_t p = 0; p < length; p++) {
        loss[p] += 8 + 3 * fmin(top - score[p], 200);
        mean_loss += exp(score[p] - top) / sum * loss[p];
    }
    for (int64_t d = 0; d < v->k; d++) {
        int64_t at = (r * v->n_heads + h) * v->k + d;
        for (int64_t p = 0; p < length; p++) {
            double term = exp(score[p] - top) / sum * cached(v, c->in[2], sequence, kv, p, d);
            c->out.v[at] += term;
            c->err[at] += EPS * fabs(term) * (loss[p] + mean_loss + 2 * ref_sum_cost(length));
            if (c->is_fast)
                c->err[at] += 3 * 0x1p-11 * fabs(term) * (1 + loss[p] / ref_sum_cost(v->k));
        }
    }
    free(score);
    free(loss);
}

static void ref_attention(ref_call *c) {
    const array *q = c->in[0];
    view v = {c, q->shape.dim[1], c->in[1]->shape.dim[1], q->shape.dim[2], c->in[3]->shape.dim[1]};
    double scale =
        c->attrs.attention.scale == 0 ? 1 / sqrt((double)v.k) : (double)c->attrs.attention.scale;
    ref_out(c, WEFT_F32, q->shape);
    for (int64_t r = 0; r < q->shape.dim[0]; r++)
        for (int64_t h = 0; h < v.n_heads; h++) attend(&v, c, r, h, scale);
}

static weft_tensor *api(weft_tensor *const *in, const op_attrs *attrs, const op_case *c) {
    (void)c;
    return fused_attention(in[0], in[1], in[2], in[3], in[4], attrs->attention.scale);
}

static void one(weft_dtype cache, int64_t n_heads, int64_t n_kv, int64_t k, const double *rows,
                int n_rows, float scale) {
    static const double table[] = {3, 0, 2,
                                   1, 4, 2}; /* two sequences of three pages; they share page 2 */
    run_case(&(op_case){.in = {normal(WEFT_F32, weft_3d(n_rows, n_heads, k)),
                               normal(cache, weft_4d(5, n_kv, KV_PAGE, k)),
                               normal(cache, weft_4d(5, n_kv, KV_PAGE, k)),
                               listed(weft_2d(2, 3), table, 6),
                               listed(weft_2d(n_rows, 2), rows, 2 * n_rows)},
                        .attrs.attention = {scale}});
}

static void cases(void) {
    static const double decode[] = {0, 300},
                        edges[] = {0, 0, 1, 1, 0, 63, 0, 64, 1, 65, 0, 255, 1, 256, 0, 257, 1, 768};
    double prompt[80];
    for (int i = 0; i < 40; i++) {
        prompt[2 * i] = i % 20 == 7;
        prompt[2 * i + 1] = 240 + i;
    }
    for (int d = 0; d < 2; d++) {
        weft_dtype t = d ? WEFT_F16 : WEFT_F32;
        one(t, 3, 1, 64, decode, 1, 0);
        one(t, 4, 2, 32, edges, 9, 0);
        one(t, 2, 2, 64, prompt, 40, 0.3f);
        one(t, 9, 3, 64, edges + 10, 2, 0);
        one(t, 2, 1, 128, edges, 9, 0);
        one(t, 1, 1, 80, decode, 1, 0);
        one(t, 2, 1, 5, edges, 9, 1);
    }
}

const op_test test_attention = {.ref = ref_attention, .cases = cases, .api = api};
