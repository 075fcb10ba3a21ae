/* The forward of a decoder, for a batch of rows (token, sequence, position) of any number of
 * sequences: a prompt in pieces, one step of many conversations, or both. It reads like the papers:
 * pre-norm (Vaswani et al. 2017; Xiong et al. 2020), rotary positions (Su et al. 2021), grouped
 * heads (Ainslie et al. 2023), SwiGLU (Shazeer 2020), in some models a mixture of such
 * feed-forwards.
 *
 * Each layer is a scope, so its intermediates die with it and their memory serves the next layer.
 * Failures are error tensors that pass through to the logits: nothing here looks at them. n is the
 * number of rows.
 * SPDX-License-Identifier: MIT */
#include "base/mem.h"
#include "model/model.h"

/* The batch on the device: small i32 tensors. */
typedef struct inputs {
    weft_tensor *tokens;    /* (n) */
    weft_tensor *positions; /* (n) */
    weft_tensor *slots;     /* (n) where keys and values go */
    weft_tensor *rows;      /* (n, 2) sequence and length each row attends to */
    weft_tensor *table;     /* (sequences, pages) */
    weft_tensor *wanted;    /* (n_wanted) rows whose logits are wanted; NULL = all or none */
    int64_t n, n_wanted;
} inputs;

/* x w^T for siblings: out[i] is sibling i's product, (n, its rows). */
static void project(const model_siblings *s, weft_tensor *x, const int64_t *rows,
                    weft_tensor **out) {
    for (int r = 0; r < s->n_runs; r++) {
        const model_run *run = &s->run[r];
        weft_tensor *y = weft_linear(x, run->w, run->bias); /* (n, rows of the run) */
        int64_t at = 0;
        for (int i = run->first; i < run->first + run->count; i++) {
            out[i] = run->count == 1 ? y : weft_slice(y, -1, at, rows[i]);
            at += rows[i];
        }
    }
}

static weft_tensor *attention(model *m, const model_layer *layer, weft_tensor *x, const inputs *in,
                              weft_tensor *k_pages, weft_tensor *v_pages) {
    const model_params *p = &m->p;
    int64_t heads = model_size_of(p, SIZE_HEADS), kv_heads = model_size_of(p, SIZE_KV_HEADS);
    weft_tensor *qkv[MODEL_MAX_SIBLINGS] = {NULL};
    project(&layer->qkv, x, (int64_t[]){heads, kv_heads, kv_heads}, qkv);
    weft_tensor *q = weft_reshape(qkv[0], weft_3d(in->n, p->n_heads, p->head_dim));
    weft_tensor *k = weft_reshape(qkv[1], weft_3d(in->n, p->n_kv_heads, p->head_dim));
    weft_tensor *v = weft_reshape(qkv[2], weft_3d(in->n, p->n_kv_heads, p->head_dim));
    if (layer->w[ROLE_Q_NORM]) q = weft_rms_norm(q, layer->w[ROLE_Q_NORM], p->norm_eps);
    if (layer->w[ROLE_K_NORM]) k = weft_rms_norm(k, layer->w[ROLE_K_NORM], p->norm_eps);
    weft_rope_desc rope = {p->n_rot, p->rope_base, p->arch->pairing, p->rope_scale,
                           m->w[ROLE_ROPE_FREQS]};
    q = weft_rope(q, in->positions, rope); /* (n, n_heads, head_dim) */
    k = weft_rope(k, in->positions, rope); /* (n, n_kv_heads, head_dim) */
    k_pages = fused_kv_write(k_pages, k, in->slots);
    v_pages = fused_kv_write(v_pages, v, in->slots);
    weft_tensor *a = fused_attention(q, k_pages, v_pages, in->table, in->rows, p->attention_scale);
    a = weft_reshape(a, weft_2d(in->n, heads));
    return weft_linear(a, layer->w[ROLE_O], layer->w[ROLE_O_BIAS]); /* (n, n_embd) */
}

static weft_tensor *feed_forward(model *m, const model_layer *layer, weft_tensor *x) {
    weft_tensor *gate_up[MODEL_MAX_SIBLINGS] = {NULL};
    project(&layer->gate_up, x, (int64_t[]){m->p.n_ff, m->p.n_ff}, gate_up);
    weft_tensor *h = weft_silu_mul(gate_up[0], gate_up[1]); /* (n, n_ff) */
    return weft_linear(h, layer->w[ROLE_DOWN], NULL);       /* (n, n_embd) */
}

/* A mixture of experts (Shazeer et al. 2017): the router picks a few for each row, and their
 * results are added up by its probabilities. A softmax over the picked ones is the softmax over
 * all, made to sum to 1. */
static weft_tensor *mixture(model *m, const model_layer *layer, weft_tensor *x, int64_t n) {
    const model_params *p = &m->p;
    int64_t used = p->n_experts_used;
    weft_tensor *scores = weft_linear(x, layer->w[ROLE_ROUTER], NULL); /* (n, n_experts) */
    weft_tensor *ids = weft_top_k(scores, (int)used);                  /* (n, used) */
    weft_tensor *gates = p->has_raw_gates ? weft_gather(weft_softmax(scores, -1), ids)
                                          : weft_softmax(weft_gather(scores, ids), -1);
    x = weft_reshape(x, weft_3d(n, 1, p->n_embd));
    weft_tensor *gate = fused_linear_ids(x, layer->w[ROLE_GATE_EXPS], ids);
    weft_tensor *up = fused_linear_ids(x, layer->w[ROLE_UP_EXPS], ids);
    weft_tensor *h = weft_silu_mul(gate, up);                            /* (n, used, n_ff) */
    weft_tensor *y = fused_linear_ids(h, layer->w[ROLE_DOWN_EXPS], ids); /* (n, used, n_embd) */
    y = weft_matmul(weft_reshape(gates, weft_3d(n, 1, used)), y);
    return weft_reshape(y, weft_2d(n, p->n_embd));
}

static weft_tensor *block(model *m, kv_cache *cache, int i, weft_tensor *x, const inputs *in) {
    const model_layer *layer = &m->layers[i];
    float eps = m->p.norm_eps;
    weft_tensor *h = weft_rms_norm(x, layer->w[ROLE_ATTN_NORM], eps);
    x = weft_add(x, attention(m, layer, h, in, cache->k[i], cache->v[i]));
    h = weft_rms_norm(x, layer->w[ROLE_FFN_NORM], eps);
    h = m->p.arch->has_experts ? mixture(m, layer, h, in->n) : feed_forward(m, layer, h);
    return weft_add(x, h); /* (n, n_embd) */
}

/* The batch as small tensors; `space` holds what they are filled from. */
static void upload(model *m, const model_batch *b, int32_t *space, inputs *in) {
    int64_t n = b->n_rows, n_pages = 1, n_wanted = 0;
    for (int i = 0; i < b->n_tables; i++)
        if ((int64_t)b->tables[i]->n > n_pages) n_pages = (int64_t)b->tables[i]->n;
    int32_t *tokens = space, *positions = tokens + n, *slots = positions + n, *rows = slots + n;
    int32_t *wanted = rows + 2 * n, *table = wanted + n;
    for (int64_t i = 0; i < n; i++) {
        const model_row *row = &b->rows[i];
        const int32_t *pages = b->tables[row->sequence]->pages;
        tokens[i] = row->token;
        positions[i] = row->position;
        slots[i] = pages[row->position / KV_PAGE] * KV_PAGE + row->position % KV_PAGE;
        rows[2 * i] = row->sequence;
        rows[2 * i + 1] = row->position + 1;
        if (row->wants_logits) wanted[n_wanted++] = (int32_t)i;
    }
    for (int i = 0; i < b->n_tables; i++)
        for (size_t k = 0; k < b->tables[i]->n; k++)
            table[i * n_pages + (int64_t)k] = b->tables[i]->pages[k];
    in->n = n;
    in->n_wanted = n_wanted;
    in->tokens = weft_from(m->dev, WEFT_I32, weft_1d(n), tokens);
    in->positions = weft_from(m->dev, WEFT_I32, weft_1d(n), positions);
    in->slots = weft_from(m->dev, WEFT_I32, weft_1d(n), slots);
    in->rows = weft_from(m->dev, WEFT_I32, weft_2d(n, 2), rows);
    in->table = weft_from(m->dev, WEFT_I32, weft_2d(b->n_tables, n_pages), table);
    if (n_wanted && n_wanted < n)
        in->wanted = weft_from(m->dev, WEFT_I32, weft_1d(n_wanted), wanted);
}

static weft_status make_inputs(model *m, const model_batch *b, inputs *in) {
    size_t n_pages = 1;
    for (int i = 0; i < b->n_tables; i++)
        if (b->tables[i]->n > n_pages) n_pages = b->tables[i]->n;
    size_t n = 6 * (size_t)b->n_rows + (size_t)b->n_tables * n_pages;
    int32_t *space = mem_array(n, sizeof *space);
    if (!space) return WEFT_NO_MEMORY;
    upload(m, b, space, in);
    mem_free(space);
    return WEFT_OK;
}

static weft_status run(model *m, kv_cache *cache, const model_batch *batch, weft_tensor **out) {
    inputs in = {0};
    TRY(make_inputs(m, batch, &in));
    weft_tensor *x = weft_get_rows(m->w[ROLE_TOKEN_EMBD], in.tokens); /* (n, n_embd) */
    for (int i = 0; i < m->p.n_layers; i++) {
        TRY(weft_scope_push(m->dev));
        weft_tensor *y = weft_scope_pop_keep(m->dev, block(m, cache, i, x, &in));
        weft_free(x);
        x = y;
    }
    if (in.n_wanted) {
        if (in.wanted) x = weft_get_rows(x, in.wanted); /* (wanted, n_embd) */
        x = weft_rms_norm(x, m->w[ROLE_OUTPUT_NORM], m->p.norm_eps);
        x = weft_linear(x, m->w[ROLE_OUTPUT], NULL); /* (wanted, n_vocab) */
        *out = x;
    }
    weft_status status = weft_tensor_status(x);
    return status == WEFT_OK ? status : error_set(status, "%s", weft_tensor_message(x));
}

weft_status model_forward(model *m, kv_cache *cache, const model_batch *batch,
                          weft_tensor **logits) {
    *logits = NULL;
    TRY(weft_scope_push(m->dev));
    weft_tensor *out = NULL;
    weft_status status = run(m, cache, batch, &out);
    if (status != WEFT_OK || !out) {
        weft_scope_pop(m->dev);
        return status;
    }
    *logits = weft_scope_pop_keep(m->dev, out);
    return WEFT_OK;
}
