/* What would run where: every kind of op a model's forward needs, given to the device in miniature,
 * with the model's own formats and head sizes, and a look at what the device handed to the CPU. The
 * device's kernel table is so asked itself,
 * and nothing here can disagree with it. SPDX-License-Identifier: MIT */
#include <stdio.h>

#include "llm/llm.h"

/* Gives an op to the device in miniature and looks whether the device ran it itself. */
static void probe(weft_device *dev, const char *what, weft_tensor *result, uint64_t n_fallback,
                  weft_placement *out) {
    *out = (weft_placement){0};
    snprintf(out->op, sizeof out->op, "%s", what);
    weft_counters after = {0};
    weft_get_counters(dev, &after);
    out->is_fallback = after.n_fallback > n_fallback;
    if (weft_tensor_status(result) != WEFT_OK)
        snprintf(out->note, sizeof out->note, "%s", weft_tensor_message(result));
}

typedef struct placement_list {
    weft_placement *out;
    int cap, n;
} placement_list;

static uint64_t fallbacks(weft_device *dev) {
    weft_counters counters = {0};
    weft_get_counters(dev, &counters);
    return counters.n_fallback;
}

static void add(placement_list *list, weft_device *dev, const char *what, weft_tensor *result,
                uint64_t before) {
    weft_placement unused;
    probe(dev, what, result, before, list->n < list->cap ? &list->out[list->n] : &unused);
    list->n++;
}

static void probe_experts(placement_list *list, weft_device *dev, weft_dtype dtype,
                          const int32_t *id) {
    char what[32];
    weft_tensor *w = weft_zeros(dev, dtype, weft_3d(2, 8, 256));
    weft_tensor *x = weft_zeros(dev, WEFT_F32, weft_3d(1, 1, 256));
    uint64_t before = fallbacks(dev);
    snprintf(what, sizeof what, "linear_ids %s", weft_dtype_name(dtype));
    add(list, dev, what, fused_linear_ids(x, w, weft_from(dev, WEFT_I32, weft_2d(1, 1), id)),
        before);
}

static void probe_weights(placement_list *list, weft_device *dev, const gguf_file *file) {
    bool is_seen[WEFT_DTYPE_NUMBERS] = {false}, is_stack[WEFT_DTYPE_NUMBERS] = {false};
    const gguf_tensor *embd = gguf_find_tensor(file, "token_embd.weight");
    int32_t id = 0;
    for (size_t i = 0; i < gguf_n_tensors(file); i++) {
        const gguf_tensor *t = gguf_tensor_at(file, i);
        if (t->rank == 3 && !is_stack[t->dtype]) {
            is_stack[t->dtype] = true;
            probe_experts(list, dev, t->dtype, &id);
        }
        if (t->rank != 2 || is_seen[t->dtype]) continue;
        is_seen[t->dtype] = true;
        char what[32];
        weft_tensor *w = weft_zeros(dev, t->dtype, weft_2d(8, 256));
        weft_tensor *x = weft_zeros(dev, WEFT_F32, weft_2d(1, 256));
        uint64_t before = fallbacks(dev);
        snprintf(what, sizeof what, "linear %s", weft_dtype_name(t->dtype));
        add(list, dev, what, weft_linear(x, w, NULL), before);
        if (!embd || embd->dtype != t->dtype) continue;
        before = fallbacks(dev);
        snprintf(what, sizeof what, "get_rows %s", weft_dtype_name(t->dtype));
        add(list, dev, what, weft_get_rows(w, weft_from(dev, WEFT_I32, weft_1d(1), &id)), before);
    }
}

static void probe_rest(placement_list *list, weft_device *dev, const model_params *p) {
    /* one KV head and those that share it: a page of all of them may be very large */
    int64_t heads = p->n_heads / p->n_kv_heads, kv_heads = 1, head_dim = p->head_dim;
    int32_t zero = 0, row[2] = {0, 1};
    weft_tensor *first = weft_from(dev, WEFT_I32, weft_1d(1), &zero);
    weft_tensor *x = weft_zeros(dev, WEFT_F32, weft_2d(1, 256));
    weft_tensor *q = weft_zeros(dev, WEFT_F32, weft_3d(1, heads, head_dim));
    weft_tensor *k = weft_zeros(dev, WEFT_F32, weft_3d(1, kv_heads, head_dim));
    weft_tensor *pages = weft_zeros(dev, WEFT_F16, weft_4d(1, kv_heads, KV_PAGE, head_dim));
    weft_tensor *table = weft_from(dev, WEFT_I32, weft_2d(1, 1), &zero);
    weft_tensor *rows = weft_from(dev, WEFT_I32, weft_2d(1, 2), row);
    weft_tensor *weight = weft_zeros(dev, WEFT_F32, weft_1d(256));
    weft_rope_desc rope = {.n_dims = p->n_rot, .base = p->rope_base, .pairing = p->arch->pairing};
    uint64_t before = fallbacks(dev);
    add(list, dev, "rms_norm f32", weft_rms_norm(x, weight, p->norm_eps), before);
    before = fallbacks(dev);
    add(list, dev, "rope f32", weft_rope(q, first, rope), before);
    before = fallbacks(dev);
    add(list, dev, "kv_write f16", fused_kv_write(pages, k, first), before);
    before = fallbacks(dev);
    add(list, dev, "attention f16", fused_attention(q, pages, pages, table, rows, 0), before);
    before = fallbacks(dev);
    add(list, dev, "silu_mul f32", weft_silu_mul(x, x), before);
    before = fallbacks(dev);
    add(list, dev, "add f32", weft_add(x, x), before);
    if (!p->n_experts) return;
    before = fallbacks(dev);
    weft_tensor *ids = weft_top_k(x, 2);
    add(list, dev, "top_k f32", ids, before);
    before = fallbacks(dev);
    add(list, dev, "gather f32", weft_gather(x, ids), before);
    before = fallbacks(dev);
    weft_tensor *gates = weft_zeros(dev, WEFT_F32, weft_3d(1, 1, 2));
    weft_tensor *y = weft_zeros(dev, WEFT_F32, weft_3d(1, 2, 256));
    add(list, dev, "matmul f32", weft_matmul(gates, y), before);
}

int weft_gguf_placement(weft_gguf *f, weft_device *dev, weft_placement *out, int cap) {
    model_params p;
    if (!f) error_set(WEFT_INVALID, "there is no file");
    if (f && f->plain) error_set(WEFT_UNSUPPORTED, "the file has weights alone");
    if (!f || f->plain || model_read_params(f->file, &p) != WEFT_OK) return -1;
    if (weft_scope_push(dev) != WEFT_OK) return -1;
    placement_list list = {out, out ? cap : 0, 0};
    probe_weights(&list, dev, f->file);
    probe_rest(&list, dev, &p);
    weft_scope_pop(dev);
    return list.n;
}
