/* config.json: what kind of model a folder holds, and its sizes. What changes the arithmetic and is
 * not known here is an error that names the key. SPDX-License-Identifier: MIT */
#ifndef WEFT_CHECKPOINT_CONFIG_H
#define WEFT_CHECKPOINT_CONFIG_H

#include "checkpoint/conf.h"

/* What the models differ in. Those up to QKV_BIAS are a class's own (archs.def), the others come
 * from the file. */
enum {
    TRAIT_NONE = 0,
    TRAIT_NEIGHBOURS = 1 << 0,    /* GGUF rotates neighbours, the folder halves */
    TRAIT_MAY_HAVE_BIAS = 1 << 1, /* "attention_bias": on queries, keys, values and output */
    TRAIT_SAME_KV_HEADS = 1 << 2, /* without a number of KV heads there are as many as heads */
    TRAIT_WINDOW = 1 << 3,        /* "sliding_window" counts without "use_sliding_window" */
    TRAIT_HEAD_NORMS = 1 << 4,    /* each head of queries and keys is normalised */
    TRAIT_HEAD_DIM = 1 << 5,      /* "head_dim" must be there */
    TRAIT_EXPERTS = 1 << 6,
    TRAIT_QKV_BIAS = 1 << 7, /* also from the file */
    TRAIT_O_BIAS = 1 << 8,
    TRAIT_UNTIED = 1 << 9, /* an output matrix of its own */
    TRAIT_DENSE = 1 << 10, /* no experts */
};

typedef struct checkpoint_arch {
    const char *class_name, *model_type, *name;
    unsigned traits;
} checkpoint_arch;

/* A size is at most this, so that no product of two wraps. */
enum { CONFIG_MOST = 1 << 24 };

typedef enum config_size {
    CONFIG_ONE,
    CONFIG_VOCAB,
    CONFIG_EMBD,
    CONFIG_FF,
    CONFIG_HEADS, /* all query heads together */
    CONFIG_KV_HEADS,
    CONFIG_HEAD,
    CONFIG_EXPERTS,
    CONFIG_EXPERT_FF
} config_size;

typedef enum config_rope { ROPE_PLAIN, ROPE_LINEAR, ROPE_YARN, ROPE_LLAMA3 } config_rope;

typedef struct config {
    const checkpoint_arch *arch;
    unsigned traits; /* the class's and the file's */
    int64_t n_vocab, n_embd, n_ff, n_layers, n_heads, n_kv_heads, head_dim, n_ctx;
    int64_t n_experts, n_experts_used, n_expert_ff; /* 0 without experts */
    bool has_raw_gates; /* the picked experts' probabilities are not made to sum to 1 */
    double norm_eps;
    struct {
        config_rope type;
        double base, factor;
        double low, high;            /* llama3: wave lengths are context / these */
        double beta_fast, beta_slow; /* yarn */
        double attention;            /* yarn: what queries and keys are stretched by; 0 = usual */
        int64_t n_ctx;               /* before it was stretched */
    } rope;
} config;

weft_status config_read(const conf_value *root, config *out);
int64_t config_size_of(const config *c, config_size size);
/* What llama3 divides the angle of each of the head_dim / 2 pairs by. */
void config_llama3_factors(const config *c, float *factors);
/* What queries and keys are stretched by under yarn beyond 0.1 ln(factor) + 1. */
double config_yarn_extra(const config *c);

#endif
