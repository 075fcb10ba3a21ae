/* config.json, key by key. Older and newer files spell some things differently: rotary scaling is
 * `rope_scaling` beside `rope_theta`, or both in `rope_parameters`; its kind is `type` or
 * `rope_type`. Defaults are those of the classes in transformers; a size that has none must be
 * there. Sizes are limited as in model/params.c, so that no product of two wraps.
 * SPDX-License-Identifier: MIT */
#include "checkpoint/config.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { MAX_SIZE = CONFIG_MOST, MAX_LAYERS = 4096, MAX_CONTEXT = 1 << 28, MAX_EXPERTS = 4096 };

static const checkpoint_arch archs[] = {
#define CHECKPOINT_ARCH(class_name, model_type, name, traits)                                      \
    {#class_name, #model_type, #name, traits},
#include "checkpoint/archs.def"
#undef CHECKPOINT_ARCH
};

static const struct {
    const char *key;
    bool is_one; /* must be 1, else "off" */
} fixed[] = {
#define CHECKPOINT_OFF(key) {key, false},
#define CHECKPOINT_ONE(key) {key, true},
#include "checkpoint/fixed.def"
#undef CHECKPOINT_OFF
#undef CHECKPOINT_ONE
};

/* ---- what kind of model
 * ----------------------------------------------------------------------- */

/* The class, else (where no class is given) the type. */
static weft_status find_arch(const conf_value *root, const checkpoint_arch **out) {
    const conf_value *classes;
    const char *type;
    size_t n;
    *out = NULL;
    TRY(conf_get_array(root, "architectures", &classes, &n));
    TRY(conf_get_text(root, "model_type", &type));
    REQUIRE(n <= 1, WEFT_UNSUPPORTED, "key 'architectures' names %zu models, expected one", n);
    const char *class_name = n ? conf_text(conf_at(classes, 0)) : NULL;
    REQUIRE(!n || class_name, WEFT_FORMAT, "key 'architectures' is no array of strings");
    REQUIRE(class_name || type, WEFT_FORMAT, "key 'architectures' is missing");
    for (size_t i = 0; i < sizeof archs / sizeof *archs; i++)
        if (!strcmp(class_name ? class_name : type,
                    class_name ? archs[i].class_name : archs[i].model_type))
            *out = &archs[i];
    REQUIRE(*out, WEFT_UNSUPPORTED, "the architecture '%.60s' (key '%s') is not supported",
            class_name ? class_name : type, class_name ? "architectures" : "model_type");
    REQUIRE(!type || !strcmp(type, (*out)->model_type), WEFT_UNSUPPORTED,
            "key 'model_type' is '%.60s', expected '%s' for %s", type, (*out)->model_type,
            (*out)->class_name);
    return WEFT_OK;
}

/* What would give wrong numbers if it were left out. */
static weft_status check_fixed(const conf_value *root) {
    for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++) {
        const conf_value *value = conf_find(root, fixed[i].key);
        int64_t n = 0;
        bool is_off =
            fixed[i].is_one ? !value || (conf_int(value, &n) && n == 1) : !conf_is_set(value);
        REQUIRE(is_off, WEFT_UNSUPPORTED, "key '%s' asks for what is not supported", fixed[i].key);
    }
    const char *act;
    TRY(conf_get_text(root, "hidden_act", &act));
    REQUIRE(!act || !strcmp(act, "silu") || !strcmp(act, "swish"), WEFT_UNSUPPORTED,
            "key 'hidden_act' is '%.60s', and only silu is supported", act);
    const conf_value *classes;
    TRY(conf_get_object(root, "auto_map", &classes));
    REQUIRE(!conf_find(classes, "AutoModelForCausalLM") && !conf_find(classes, "AutoModel"),
            WEFT_UNSUPPORTED, "key 'auto_map' names code of the model's own");
    return WEFT_OK;
}

/* A window that no text of the model's context outgrows does nothing. */
static weft_status check_window(const conf_value *root, const config *c) {
    bool is_used;
    int64_t window, first_layer;
    size_t n;
    const conf_value *kinds;
    TRY(conf_get_bool(root, "use_sliding_window", c->traits & TRAIT_WINDOW, &is_used));
    TRY(conf_get_int(root, "sliding_window", 1, INT64_MAX, c->n_ctx, &window));
    TRY(conf_get_int(root, "max_window_layers", 0, INT64_MAX, 0, &first_layer));
    REQUIRE(!is_used || window >= c->n_ctx || first_layer >= c->n_layers, WEFT_UNSUPPORTED,
            "key 'sliding_window' is %" PRId64 " of %" PRId64 " positions, which is not supported",
            window, c->n_ctx);
    TRY(conf_get_array(root, "layer_types", &kinds, &n));
    for (size_t i = 0; i < n; i++) {
        const char *kind = conf_text(conf_at(kinds, i));
        REQUIRE(kind, WEFT_FORMAT, "key 'layer_types' is no array of strings");
        bool is_full = !strcmp(kind, "full_attention") ||
                       (!strcmp(kind, "sliding_attention") && window >= c->n_ctx);
        REQUIRE(is_full, WEFT_UNSUPPORTED, "key 'layer_types' has '%.60s', which is not supported",
                kind);
    }
    return WEFT_OK;
}

/* ---- sizes
 * ------------------------------------------------------------------------------------ */

static weft_status read_heads(const conf_value *root, config *c) {
    int64_t required = INT64_MIN, usual = required;
    TRY(conf_get_int(root, "num_attention_heads", 1, MAX_SIZE, required, &c->n_heads));
    if (c->traits & TRAIT_SAME_KV_HEADS) usual = c->n_heads;
    TRY(conf_get_int(root, "num_key_value_heads", 1, MAX_SIZE, usual, &c->n_kv_heads));
    REQUIRE(c->n_heads % c->n_kv_heads == 0, WEFT_FORMAT,
            "key 'num_key_value_heads': %" PRId64 " heads cannot share %" PRId64 " evenly",
            c->n_heads, c->n_kv_heads);
    bool must_be_there = c->traits & TRAIT_HEAD_DIM;
    REQUIRE(must_be_there || conf_find(root, "head_dim") || c->n_embd % c->n_heads == 0,
            WEFT_FORMAT, "key 'hidden_size': %" PRId64 " cannot be divided among %" PRId64 " heads",
            c->n_embd, c->n_heads);
    usual = must_be_there ? required : c->n_embd / c->n_heads;
    TRY(conf_get_int(root, "head_dim", 1, MAX_SIZE, usual, &c->head_dim));
    REQUIRE(c->head_dim % 2 == 0, WEFT_FORMAT,
            "key 'head_dim': heads of %" PRId64 " cannot be rotated", c->head_dim);
    REQUIRE(c->n_heads * c->head_dim <= MAX_SIZE, WEFT_FORMAT,
            "key 'head_dim': %" PRId64 " heads of %" PRId64 " are more than a model can have",
            c->n_heads, c->head_dim);
    return WEFT_OK;
}

static weft_status read_experts(const conf_value *root, config *c) {
    int64_t required = INT64_MIN;
    bool is_normed;
    const char *key = conf_find(root, "num_experts") ? "num_experts" : "num_local_experts";
    if (!(c->traits & TRAIT_EXPERTS)) {
        int64_t n;
        TRY(conf_get_int(root, key, 0, INT64_MAX, 0, &n));
        REQUIRE(n == 0, WEFT_UNSUPPORTED, "key '%s': experts in %s are not supported", key,
                c->arch->class_name);
        return WEFT_OK;
    }
    TRY(conf_get_int(root, key, 1, MAX_EXPERTS, required, &c->n_experts));
    TRY(conf_get_int(root, "num_experts_per_tok", 1, c->n_experts, required, &c->n_experts_used));
    TRY(conf_get_int(root, "moe_intermediate_size", 1, MAX_SIZE, required, &c->n_expert_ff));
    TRY(conf_get_bool(root, "norm_topk_prob", false, &is_normed));
    c->has_raw_gates = !is_normed;
    return WEFT_OK;
}

static weft_status read_flags(const conf_value *root, config *c) {
    bool is_tied, has_bias;
    TRY(conf_get_bool(root, "tie_word_embeddings", false, &is_tied));
    TRY(conf_get_bool(root, "attention_bias", false, &has_bias));
    if (!is_tied) c->traits |= TRAIT_UNTIED;
    if (!(c->traits & TRAIT_EXPERTS)) c->traits |= TRAIT_DENSE;
    if (c->traits & TRAIT_MAY_HAVE_BIAS && has_bias) c->traits |= TRAIT_QKV_BIAS | TRAIT_O_BIAS;
    REQUIRE(!has_bias || c->traits & TRAIT_QKV_BIAS, WEFT_UNSUPPORTED,
            "key 'attention_bias' is true, which is not supported for %s", c->arch->class_name);
    return WEFT_OK;
}

/* ---- rotary positions
 * ------------------------------------------------------------------------- */

static weft_status read_yarn(const conf_value *rope, config *c) {
    bool truncates;
    double scale, all;
    TRY(conf_get_number(rope, "beta_fast", 32, &c->rope.beta_fast));
    TRY(conf_get_number(rope, "beta_slow", 1, &c->rope.beta_slow));
    TRY(conf_get_number(rope, "attention_factor", -1, &c->rope.attention));
    TRY(conf_get_number(rope, "mscale", -1, &scale));
    TRY(conf_get_number(rope, "mscale_all_dim", -1, &all));
    TRY(conf_get_bool(rope, "truncate", true, &truncates));
    REQUIRE(truncates, WEFT_UNSUPPORTED, "key 'truncate' is false, which is not supported");
    if (c->rope.attention < 0) c->rope.attention = 0;
    if (c->rope.attention > 0 || scale < 0 || all < 0) return WEFT_OK;
    double grown = 0.1 * log(c->rope.factor);
    c->rope.attention = (scale * grown + 1) / (all * grown + 1);
    return WEFT_OK;
}

static weft_status read_llama3(const conf_value *rope, config *c) {
    TRY(conf_get_number(rope, "low_freq_factor", 0, &c->rope.low));
    TRY(conf_get_number(rope, "high_freq_factor", 0, &c->rope.high));
    REQUIRE(c->rope.high > c->rope.low, WEFT_FORMAT,
            "key 'high_freq_factor' is %g, expected more than 'low_freq_factor', %g", c->rope.high,
            c->rope.low);
    REQUIRE(conf_find(rope, "original_max_position_embeddings"), WEFT_FORMAT,
            "key 'original_max_position_embeddings' is missing");
    return WEFT_OK;
}

/* The kind of scaling and what it needs. `rope` is rope_parameters or rope_scaling. */
static weft_status read_scaling(const conf_value *rope, config *c) {
    static const struct {
        const char *name;
        config_rope type;
    } types[] = {{"default", ROPE_PLAIN},
                 {"linear", ROPE_LINEAR},
                 {"yarn", ROPE_YARN},
                 {"llama3", ROPE_LLAMA3}};
    const char *name, *older;
    TRY(conf_get_text(rope, "type", &older));
    TRY(conf_get_text(rope, "rope_type", &name));
    if (!name) name = older;
    REQUIRE(name, WEFT_FORMAT, "key 'rope_type' is missing");
    size_t i = 0, n = sizeof types / sizeof *types;
    while (i < n && strcmp(types[i].name, name) != 0) i++;
    REQUIRE(i < n, WEFT_UNSUPPORTED, "key 'rope_type' is '%.60s', which is not supported", name);
    c->rope.type = types[i].type;
    const conf_value *partial = conf_find(rope, "partial_rotary_factor");
    int64_t whole = 0;
    REQUIRE(!partial || (conf_int(partial, &whole) && whole == 1), WEFT_UNSUPPORTED,
            "key 'partial_rotary_factor' is not 1, which is not supported");
    if (c->rope.type == ROPE_PLAIN) return WEFT_OK;
    TRY(conf_get_number(rope, "factor", 0, &c->rope.factor));
    REQUIRE(c->rope.factor >= 1, WEFT_FORMAT, "key 'factor' is %g, expected 1 or more",
            c->rope.factor);
    TRY(conf_get_int(rope, "original_max_position_embeddings", 1, MAX_CONTEXT, c->n_ctx,
                     &c->rope.n_ctx));
    if (c->rope.type == ROPE_YARN) return read_yarn(rope, c);
    return c->rope.type == ROPE_LLAMA3 ? read_llama3(rope, c) : WEFT_OK;
}

static weft_status read_rope(const conf_value *root, config *c) {
    const conf_value *both, *scaling;
    double theta;
    TRY(conf_get_object(root, "rope_parameters", &both));
    TRY(conf_get_object(root, "rope_scaling", &scaling));
    TRY(conf_get_number(root, "rope_theta", 10000, &theta));
    TRY(conf_get_number(both, "rope_theta", theta, &c->rope.base));
    REQUIRE(c->rope.base > 1, WEFT_FORMAT, "key 'rope_theta' is %g, expected more than 1",
            c->rope.base);
    const conf_value *rope = both ? both : scaling;
    if (!rope) return WEFT_OK;
    weft_status status = read_scaling(rope, c);
    return status == WEFT_OK
               ? status
               : error_prefix(status, "'%s'", both ? "rope_parameters" : "rope_scaling");
}

weft_status config_read(const conf_value *root, config *out) {
    config c = {.norm_eps = 0};
    int64_t required = INT64_MIN;
    TRY(find_arch(root, &c.arch));
    c.traits = c.arch->traits;
    TRY(check_fixed(root));
    TRY(conf_get_int(root, "num_hidden_layers", 1, MAX_LAYERS, required, &c.n_layers));
    TRY(conf_get_int(root, "max_position_embeddings", 1, MAX_CONTEXT, required, &c.n_ctx));
    TRY(conf_get_int(root, "hidden_size", 1, MAX_SIZE, required, &c.n_embd));
    TRY(conf_get_int(root, "intermediate_size", 1, MAX_SIZE, required, &c.n_ff));
    TRY(conf_get_int(root, "vocab_size", 1, MAX_SIZE, required, &c.n_vocab));
    TRY(conf_get_number(root, "rms_norm_eps", 1e-6, &c.norm_eps));
    TRY(read_heads(root, &c));
    TRY(read_experts(root, &c));
    TRY(read_flags(root, &c));
    TRY(check_window(root, &c));
    TRY(read_rope(root, &c));
    *out = c;
    return WEFT_OK;
}

int64_t config_size_of(const config *c, config_size size) {
    switch (size) {
    case CONFIG_ONE: return 1;
    case CONFIG_VOCAB: return c->n_vocab;
    case CONFIG_EMBD: return c->n_embd;
    case CONFIG_FF: return c->n_ff;
    case CONFIG_HEADS: return c->n_heads * c->head_dim;
    case CONFIG_KV_HEADS: return c->n_kv_heads * c->head_dim;
    case CONFIG_HEAD: return c->head_dim;
    case CONFIG_EXPERTS: return c->n_experts;
    case CONFIG_EXPERT_FF: return c->n_expert_ff;
    }
    return 0;
}

/* Llama 3.1's scaling by parts (the model's reference code, apply_scaling): short waves stay, those
 * longer than the first context turn `factor` times slower, and between the two their rates are
 * blended by how often they fit into that context. */
void config_llama3_factors(const config *c, float *factors) {
    const double pi = 3.14159265358979323846;
    for (int64_t i = 0; i < c->head_dim / 2; i++) {
        double rate = pow(c->rope.base, -2.0 * (double)i / (double)c->head_dim);
        double turns = (double)c->rope.n_ctx * rate / (2 * pi);
        double kept = (turns - c->rope.low) / (c->rope.high - c->rope.low);
        kept = kept < 0 ? 0 : kept > 1 ? 1 : kept;
        factors[i] = (float)(1 / ((1 - kept) / c->rope.factor + kept));
    }
}

double config_yarn_extra(const config *c) {
    return c->rope.attention > 0 ? c->rope.attention / (0.1 * log(c->rope.factor) + 1) : 1;
}
