/* The sizes of config.json under GGUF's keys. SPDX-License-Identifier: MIT */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checkpoint/parts.h"

typedef struct putter {
    const config *c;
    gguf_writer *w;
    weft_status status; /* the first failure; nothing is put after it */
    char key[96];
} putter;

static const char *key_of(putter *p, const char *name) {
    snprintf(p->key, sizeof p->key, "%s.%s", p->c->arch->name, name);
    return p->key;
}

static void put_size(putter *p, const char *name, int64_t value) {
    if (p->status == WEFT_OK)
        p->status = gguf_writer_set_u32(p->w, key_of(p, name), (uint32_t)value);
}

static void put_number(putter *p, const char *name, double value) {
    float number = (float)value;
    if (p->status == WEFT_OK)
        p->status = gguf_writer_set(p->w, key_of(p, name), GGUF_F32, false, &number, 1);
}

static void put_switch(putter *p, const char *name, bool value) {
    uint8_t byte = value;
    if (p->status == WEFT_OK)
        p->status = gguf_writer_set(p->w, key_of(p, name), GGUF_BOOL, false, &byte, 1);
}

static void put_text(putter *p, const char *key, const char *text) {
    if (p->status == WEFT_OK) p->status = gguf_writer_set_string(p->w, key, text, strlen(text));
}

/* llama3's scaling is not here: it is a tensor (tensors.c). */
static void put_rope(putter *p) {
    const config *c = p->c;
    put_size(p, "rope.dimension_count", c->head_dim);
    put_number(p, "rope.freq_base", c->rope.base);
    if (c->rope.type != ROPE_LINEAR && c->rope.type != ROPE_YARN) return;
    bool is_yarn = c->rope.type == ROPE_YARN;
    put_text(p, key_of(p, "rope.scaling.type"), is_yarn ? "yarn" : "linear");
    put_number(p, "rope.scaling.factor", c->rope.factor);
    if (!is_yarn) return;
    put_size(p, "rope.scaling.original_context_length", c->rope.n_ctx);
    if (c->rope.beta_fast != 32) put_number(p, "rope.scaling.yarn_beta_fast", c->rope.beta_fast);
    if (c->rope.beta_slow != 1) put_number(p, "rope.scaling.yarn_beta_slow", c->rope.beta_slow);
    double extra = config_yarn_extra(c);
    if (extra < 1 - 1e-6 || extra > 1 + 1e-6) put_number(p, "rope.scaling.attn_factor", extra);
}

/* The model's name is its folder's. */
static void put_name(putter *p, const char *folder) {
    char path[PATH_MAX];
    const char *slash = realpath(folder, path) ? strrchr(path, '/') : NULL;
    if (slash && slash[1]) put_text(p, "general.name", slash + 1);
}

weft_status checkpoint_put_sizes(const checkpoint *checkpoint, const char *folder, gguf_writer *w) {
    const config *c = &checkpoint->config;
    putter p = {.c = c, .w = w};
    put_text(&p, "general.architecture", c->arch->name);
    put_text(&p, "general.type", "model");
    put_name(&p, folder);
    put_size(&p, "vocab_size", c->n_vocab);
    put_size(&p, "context_length", c->n_ctx);
    put_size(&p, "embedding_length", c->n_embd);
    put_size(&p, "block_count", c->n_layers);
    put_size(&p, "feed_forward_length", c->n_ff);
    put_size(&p, "attention.head_count", c->n_heads);
    put_size(&p, "attention.head_count_kv", c->n_kv_heads);
    put_size(&p, "attention.key_length", c->head_dim);
    put_size(&p, "attention.value_length", c->head_dim);
    put_number(&p, "attention.layer_norm_rms_epsilon", c->norm_eps);
    put_rope(&p);
    if (c->traits & TRAIT_EXPERTS) {
        put_size(&p, "expert_count", c->n_experts);
        put_size(&p, "expert_used_count", c->n_experts_used);
        put_size(&p, "expert_feed_forward_length", c->n_expert_ff);
        if (c->has_raw_gates) put_switch(&p, "expert_weights_norm", false);
    }
    return p.status;
}
