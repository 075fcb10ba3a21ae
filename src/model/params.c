/* Hyper-parameters: keys of the metadata, their defaults and their limits. The limits keep every
 * later product of two sizes far inside 64 bits. What would silently give wrong numbers if it were
 * skipped (a rotary scaling this version
 * does not know, experts in a dense model, heads that differ by layer) is an error here.
 * SPDX-License-Identifier: MIT */
#include "model/model.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    MAX_SIZE = 1 << 24,
    MAX_HEAD = 1 << 16,
    MAX_LAYERS = 4096,
    MAX_CONTEXT = 1 << 28,
    MAX_EXPERTS = 1 << 16
};

typedef struct reader {
    const gguf_file *file;
    const char *arch;
    char key[128];
} reader;

static const char *key_of(reader *r, const char *name) {
    snprintf(r->key, sizeof r->key, "%s.%s", r->arch, name);
    return r->key;
}

/* An integer from 1 to `most`; `otherwise` when the key is absent (0 = the key is required). */
static weft_status read_size(reader *r, const char *name, int64_t most, int64_t otherwise,
                             int32_t *out) {
    uint64_t value = 0;
    weft_status status = WEFT_OK;
    if (!gguf_get_u64(r->file, key_of(r, name), &value, &status)) {
        TRY(status);
        REQUIRE(otherwise > 0, WEFT_FORMAT, "key '%s' is missing", r->key);
        value = (uint64_t)otherwise;
    }
    REQUIRE(value >= 1 && value <= (uint64_t)most, WEFT_FORMAT,
            "key '%s' is %llu, expected 1 to %lld", r->key, (unsigned long long)value,
            (long long)most);
    *out = (int32_t)value;
    return WEFT_OK;
}

/* A positive finite number; `otherwise` when absent (0 = required). */
static weft_status read_number(reader *r, const char *name, double otherwise, float *out) {
    double value = 0;
    weft_status status = WEFT_OK;
    if (!gguf_get_f64(r->file, key_of(r, name), &value, &status)) {
        TRY(status);
        REQUIRE(otherwise > 0, WEFT_FORMAT, "key '%s' is missing", r->key);
        value = otherwise;
    }
    REQUIRE(value > 0 && value < 1e30, WEFT_FORMAT, "key '%s' is %g, expected a positive number",
            r->key, value);
    *out = (float)value;
    return WEFT_OK;
}

static weft_status find_arch(const gguf_file *file, const model_arch **out) {
    static const model_arch *const archs[] = {
#define MODEL_ARCH(name) &arch_##name,
#include "model/archs.def"
#undef MODEL_ARCH
    };
    gguf_string name = {0};
    weft_status status = WEFT_OK;
    if (!gguf_get_string(file, "general.architecture", &name, &status)) {
        TRY(status);
        return error_set(WEFT_FORMAT, "key 'general.architecture' is missing");
    }
    for (size_t i = 0; i < sizeof archs / sizeof *archs; i++)
        if (strlen(archs[i]->name) == name.n && !memcmp(archs[i]->name, name.data, name.n)) {
            *out = archs[i];
            return WEFT_OK;
        }
    return error_set(WEFT_UNSUPPORTED, "architecture '%.*s' is not supported",
                     (int)(name.n < 60 ? name.n : 60), name.data);
}

static bool is_text(gguf_string s, const char *text) {
    return s.n == strlen(text) && !memcmp(s.data, text, s.n);
}

/* YaRN's keys. It also stretches queries and keys by 0.1 ln(factor) + 1 (equation 22), times a
 * factor of the file's; both together stretch the scores by its square. */
static weft_status read_yarn(reader *r, model_params *p) {
    float extra;
    TRY(read_number(r, "rope.scaling.factor", 0, &p->yarn.factor));
    REQUIRE(p->yarn.factor >= 1, WEFT_FORMAT, "key '%s' is %g, expected 1 or more", r->key,
            (double)p->yarn.factor);
    TRY(read_size(r, "rope.scaling.original_context_length", MAX_CONTEXT, p->n_ctx_train,
                  &p->yarn.n_ctx));
    TRY(read_number(r, "rope.scaling.yarn_beta_fast", 32, &p->yarn.beta_fast));
    TRY(read_number(r, "rope.scaling.yarn_beta_slow", 1, &p->yarn.beta_slow));
    TRY(read_number(r, "rope.scaling.attn_factor", 1, &extra));
    double stretch = (double)extra * (0.1 * log((double)p->yarn.factor) + 1);
    REQUIRE(p->n_rot == p->head_dim, WEFT_UNSUPPORTED,
            "YaRN with %d of %d dimensions rotated is not supported", p->n_rot, p->head_dim);
    REQUIRE(p->rope_base > 1, WEFT_FORMAT, "YaRN with a rotary base of %g is not possible",
            (double)p->rope_base);
    p->attention_scale = (float)(stretch * stretch / sqrt((double)p->head_dim));
    static const char *const others[] = {"rope.scaling.yarn_ext_factor",
                                         "rope.scaling.yarn_attn_factor",
                                         "rope.scaling.yarn_log_multiplier"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        REQUIRE(!gguf_find(r->file, key_of(r, others[i])), WEFT_UNSUPPORTED,
                "key '%s' is not supported", r->key);
    return WEFT_OK;
}

/* Rotary embedding: which dimensions turn, and how positions are stretched. */
static weft_status read_rope(reader *r, model_params *p) {
    TRY(read_size(r, "rope.dimension_count", p->head_dim, p->head_dim, &p->n_rot));
    REQUIRE(p->n_rot % 2 == 0, WEFT_FORMAT, "key '%s' is %d, expected an even number", r->key,
            p->n_rot);
    TRY(read_number(r, "rope.freq_base", 10000, &p->rope_base));
    float factor = 1;
    TRY(read_number(r, "rope.scale_linear", 1, &factor)); /* the older key */
    weft_status status = WEFT_OK;
    gguf_string type = {"none", 4};
    gguf_get_string(r->file, key_of(r, "rope.scaling.type"), &type, &status);
    TRY(status);
    bool is_linear = is_text(type, "linear"), is_yarn = is_text(type, "yarn");
    REQUIRE(is_linear || is_yarn || is_text(type, "none"), WEFT_UNSUPPORTED,
            "rotary scaling '%.*s' (key '%s') is not supported", (int)(type.n < 60 ? type.n : 60),
            type.data, r->key);
    if (is_yarn) TRY(read_yarn(r, p));
    if (is_linear) TRY(read_number(r, "rope.scaling.factor", factor, &factor));
    p->rope_scale = is_yarn ? 1 : 1 / factor;
    return WEFT_OK;
}

static weft_status read_heads(reader *r, model_params *p) {
    TRY(read_size(r, "attention.head_count", MAX_SIZE, 0, &p->n_heads));
    TRY(read_size(r, "attention.head_count_kv", MAX_SIZE, p->n_heads, &p->n_kv_heads));
    REQUIRE(p->n_heads % p->n_kv_heads == 0, WEFT_FORMAT,
            "%d heads cannot share %d KV heads evenly (key '%s')", p->n_heads, p->n_kv_heads,
            r->key);
    int32_t usual = p->n_embd / p->n_heads > 0 ? p->n_embd / p->n_heads : 1, value_dim;
    TRY(read_size(r, "attention.key_length", MAX_HEAD, usual, &p->head_dim));
    TRY(read_size(r, "attention.value_length", MAX_SIZE, p->head_dim, &value_dim));
    REQUIRE(value_dim == p->head_dim, WEFT_UNSUPPORTED,
            "value heads of %d (key '%s') beside key heads of %d are not supported", value_dim,
            r->key, p->head_dim);
    REQUIRE((int64_t)p->n_heads * p->head_dim <= MAX_SIZE, WEFT_FORMAT,
            "%d heads of %d are more than a model can have", p->n_heads, p->head_dim);
    return WEFT_OK;
}

/* The vocabulary's size: the tokenizer's list, else the key, else the embedding's rows. */
static weft_status read_vocabulary(reader *r, model_params *p) {
    const gguf_value *tokens = gguf_find(r->file, "tokenizer.ggml.tokens");
    if (tokens && tokens->type == GGUF_ARRAY) {
        REQUIRE(tokens->n >= 1 && tokens->n <= MAX_SIZE, WEFT_FORMAT,
                "key 'tokenizer.ggml.tokens' has %llu elements, expected 1 to %d",
                (unsigned long long)tokens->n, MAX_SIZE);
        p->n_vocab = (int32_t)tokens->n;
        return WEFT_OK;
    }
    const gguf_tensor *table = gguf_find_tensor(r->file, "token_embd.weight");
    int64_t rows = table && table->rank == 2 ? table->dim[0] : 0;
    return read_size(r, "vocab_size", MAX_SIZE, rows, &p->n_vocab);
}

/* Experts, where the architecture has them; anywhere else the key would be passed over. */
static weft_status read_experts(reader *r, model_params *p) {
    uint64_t n_experts = 0;
    weft_status status = WEFT_OK;
    gguf_get_u64(r->file, key_of(r, "expert_count"), &n_experts, &status);
    TRY(status);
    REQUIRE(p->arch->has_experts || n_experts == 0, WEFT_UNSUPPORTED,
            "%llu experts (key '%s') are not supported in a %s model",
            (unsigned long long)n_experts, r->key, p->arch->name);
    if (!p->arch->has_experts) return WEFT_OK;
    TRY(read_size(r, "expert_count", MAX_EXPERTS, 0, &p->n_experts));
    TRY(read_size(r, "expert_used_count", p->n_experts, 0, &p->n_experts_used));
    TRY(read_size(r, "expert_feed_forward_length", MAX_SIZE, 0, &p->n_ff_expert));
    bool is_normed = true;
    gguf_get_bool(r->file, key_of(r, "expert_weights_norm"), &is_normed, &status);
    TRY(status);
    p->has_raw_gates = !is_normed;
    static const char *const others[] = {"expert_shared_count", "expert_weights_scale",
                                         "expert_gating_func", "expert_group_count"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        REQUIRE(!gguf_find(r->file, key_of(r, others[i])), WEFT_UNSUPPORTED,
                "key '%s' is not supported", r->key);
    return WEFT_OK;
}

weft_status model_read_params(const gguf_file *file, model_params *out) {
    model_params p = {0};
    TRY(find_arch(file, &p.arch));
    reader r = {.file = file, .arch = p.arch->name};
    TRY(read_size(&r, "block_count", MAX_LAYERS, 0, &p.n_layers));
    TRY(read_size(&r, "context_length", MAX_CONTEXT, 0, &p.n_ctx_train));
    TRY(read_size(&r, "embedding_length", MAX_SIZE, 0, &p.n_embd));
    TRY(read_size(&r, "feed_forward_length", MAX_SIZE, p.arch->has_experts ? 1 : 0, &p.n_ff));
    TRY(read_heads(&r, &p));
    TRY(read_number(&r, "attention.layer_norm_rms_epsilon", 0, &p.norm_eps));
    TRY(read_rope(&r, &p));
    TRY(read_vocabulary(&r, &p));
    TRY(read_experts(&r, &p));
    *out = p;
    return WEFT_OK;
}

int64_t model_size_of(const model_params *p, model_size size) {
    switch (size) {
    case SIZE_ONE: return 1;
    case SIZE_VOCAB: return p->n_vocab;
    case SIZE_EMBD: return p->n_embd;
    case SIZE_FF: return p->n_ff;
    case SIZE_EXPERTS: return p->n_experts;
    case SIZE_FF_EXPERT: return p->n_ff_expert;
    case SIZE_HEADS: return (int64_t)p->n_heads * p->head_dim;
    case SIZE_KV_HEADS: return (int64_t)p->n_kv_heads * p->head_dim;
    case SIZE_HEAD: return p->head_dim;
    case SIZE_PAIRS: return p->n_rot / 2;
    }
    return 0;
}
