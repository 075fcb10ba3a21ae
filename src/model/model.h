/* A model's weights on a device, and its forward. Files, tokenizers and sessions are llm/'s: this
 * folder knows token
 * numbers, positions and pages. SPDX-License-Identifier: MIT */
#ifndef WEFT_MODEL_MODEL_H
#define WEFT_MODEL_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "gguf/gguf.h"
#include "model/arch.h"
#include "model/kv.h"

/* Hyper-parameters, from the file's metadata (params.c). */
typedef struct model_params {
    const model_arch *arch;
    int32_t n_vocab, n_embd, n_ff, n_layers, n_heads, n_kv_heads, head_dim;
    int32_t n_experts, n_experts_used, n_ff_expert; /* 0 without experts */
    bool has_raw_gates;  /* the picked experts' probabilities are not made to sum to 1 */
    int32_t n_rot;       /* rotated dimensions of a head, even */
    int32_t n_ctx_train; /* the context the model was made for */
    float norm_eps, rope_base, rope_scale;
    float attention_scale; /* of q k^T; 0 = 1 / sqrt(head_dim) */
    struct {
        float factor, beta_fast, beta_slow; /* factor 0: no YaRN */
        int32_t n_ctx;                      /* the context before it was stretched */
    } yarn;
} model_params;

/* Reads and checks them; the error names the key. */
weft_status model_read_params(const gguf_file *file, model_params *out);
int64_t model_size_of(const model_params *p, model_size size);
/* What YaRN divides the angle of each of the n_rot / 2 pairs by (rope.c). */
void model_yarn_factors(const model_params *p, float *factors);

/* Sibling matrices that read the same input (Q, K, V; gate, up), as few matrices as their formats
 * allow: a run holds `count` siblings from number `first` on, one below the other. */
enum { MODEL_MAX_SIBLINGS = 3 };
typedef struct model_run {
    weft_tensor *w, *bias; /* (sum of rows, n_embd); (sum of rows) or NULL */
    int first, count;
} model_run;
typedef struct model_siblings {
    model_run run[MODEL_MAX_SIBLINGS];
    int n_runs;
} model_siblings;

typedef struct model_layer {
    weft_tensor *w[ROLE_COUNT]; /* by role; siblings are not here; absent ones NULL */
    model_siblings qkv, gate_up;
} model_layer;

typedef struct model {
    weft_device *dev;
    model_params p;
    weft_tensor *w[ROLE_FIRST_OF_LAYER]; /* the model's own; OUTPUT is TOKEN_EMBD when tied */
    model_layer *layers;
    weft_tensor **owned; /* every tensor to free */
    size_t n_owned, owned_capacity;
    uint64_t bytes; /* of all weights */
} model;

/* Bytes done and to do; false cancels. */
typedef bool (*model_progress)(void *user, uint64_t done, uint64_t total);

/* All the checks of a load, without loading. */
weft_status model_check(const gguf_file *file);
/* Loads the weights. `file` must stay open as long as the model: the CPU uses it in place. */
weft_status model_load(weft_device *dev, const gguf_file *file, model_progress on_progress,
                       void *user, model **out);
void model_free(model *m);

/* One row of a forward: a token at a position of a sequence (an index into the batch's tables). */
typedef struct model_row {
    int32_t token, sequence, position;
    bool wants_logits;
} model_row;

typedef struct model_batch {
    const model_row *
        rows; /* of one sequence: every position once, all earlier ones in the cache or the batch */
    int n_rows;
    const kv_table *const *tables; /* one a sequence, with pages for every position */
    int n_tables;
} model_batch;

/* Runs the batch: its keys and values are in the cache afterwards. *logits (rows that want them,
 * n_vocab) f32 belongs to the current scope; NULL when no row wants any. On a GPU a failure may
 * show later, when the logits are read. */
weft_status model_forward(model *m, kv_cache *cache, const model_batch *batch,
                          weft_tensor **logits);

#endif
