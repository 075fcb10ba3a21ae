/* See tiny_model.h. SPDX-License-Identifier: MIT */
#include "tiny_model.h"

#include <math.h>
#include <unistd.h>

#include "base/utf8.h"
#include "format/half.h"
#include "gguf/gguf.h"

typedef struct writer {
    const tiny_model *m;
    tiny_model d; /* defaults filled in */
    str values, records, data;
    uint64_t n_values, n_tensors;
} writer;

static const char *const default_controls[] = {"<s>", "</s>", NULL};

static int count(const char *const *list) {
    int n = 0;
    while (list && list[n]) n++;
    return n;
}

static tiny_model fill(const tiny_model *m) {
    tiny_model d = *m;
    if (!d.arch) d.arch = "llama";
    if (!d.n_layers) d.n_layers = 2;
    if (!d.n_embd) d.n_embd = 32;
    if (!d.n_ff) d.n_ff = 48;
    if (!d.n_heads) d.n_heads = 4;
    if (!d.n_kv_heads) d.n_kv_heads = 2;
    if (!d.head_dim) d.head_dim = 8;
    if (!d.n_rot) d.n_rot = 8;
    if (!d.n_ctx) d.n_ctx = 512;
    if (!d.controls) d.controls = default_controls;
    return d;
}

int tiny_model_n_vocab(const tiny_model *m) {
    tiny_model d = fill(m);
    return count(d.controls) + 257 + count(d.pieces);
}

int32_t tiny_model_byte(const tiny_model *m, unsigned char b) {
    return count(fill(m).controls) + b;
}

int32_t tiny_model_piece(const tiny_model *m, int i) { return count(fill(m).controls) + 257 + i; }

/* ---- metadata
 * ------------------------------------------------------------------------------------ */

static void put(str *s, const void *bytes, size_t n) { assert_ok(str_append(s, bytes, n)); }
static void put_u32(str *s, uint32_t v) { put(s, &v, sizeof v); }
static void put_u64(str *s, uint64_t v) { put(s, &v, sizeof v); }

static void put_string(str *s, const char *text, size_t n) {
    put_u64(s, n);
    put(s, text, n);
}

static bool begin_key(writer *w, const char *key, gguf_type type) {
    char full[128];
    snprintf(full, sizeof full, "%s%s%s", strchr(key, '.') == key ? w->d.arch : "", "", key);
    if (w->d.skip && !strcmp(w->d.skip, full)) return false;
    put_string(&w->values, full, strlen(full));
    put_u32(&w->values, type);
    w->n_values++;
    return true;
}

/* Keys that begin with a dot get the architecture in front. */
static void key_u32(writer *w, const char *key, int value) {
    if (begin_key(w, key, GGUF_U32)) put_u32(&w->values, (uint32_t)value);
}

static void key_f32(writer *w, const char *key, double value) {
    float v = (float)value;
    if (begin_key(w, key, GGUF_F32)) put(&w->values, &v, sizeof v);
}

static void key_string(writer *w, const char *key, const char *value) {
    if (begin_key(w, key, GGUF_STRING)) put_string(&w->values, value, strlen(value));
}

static void key_bool(writer *w, const char *key, bool value) {
    if (begin_key(w, key, GGUF_BOOL)) put(&w->values, &value, 1);
}

/* GPT-2's characters for bytes: printable ones stand for themselves, the others from U+0100 on. */
static void put_mapped(str *s, const char *bytes, size_t n) {
    for (size_t i = 0; i < n; i++) {
        int32_t code = 0, next = 256;
        for (int b = 0; b <= (unsigned char)bytes[i]; b++) {
            bool is_printable = (b >= 33 && b <= 126) || (b >= 161 && b <= 172) || b >= 174;
            code = is_printable ? b : next++;
        }
        char text[4];
        put(s, text, (size_t)utf8_encode(code, text));
    }
}

static void put_mapped_string(writer *w, const char *bytes, size_t n) {
    str mapped = {0};
    put_mapped(&mapped, bytes, n);
    put_string(&w->values, str_text(&mapped), mapped.n);
    str_free(&mapped);
}

/* "name=value" after "name=value": a whole number, a number with a point, or a text. */
static void put_sampling(writer *w) {
    for (const char *at = w->d.sampling; at && *at; at += strspn(at, " ")) {
        char name[41], value[121], key[80];
        if (sscanf(at, "%40[^=]=%120s", name, value) != 2) return;
        snprintf(key, sizeof key, "general.sampling.%s", name);
        int whole = (int)strtol(value, NULL, 10);
        if (strspn(value, "-0123456789.") != strlen(value)) key_string(w, key, value);
        else if (strchr(value, '.')) key_f32(w, key, strtod(value, NULL));
        else if (begin_key(w, key, GGUF_I32)) put_u32(&w->values, (uint32_t)whole);
        at += strcspn(at, " ");
    }
}

static void put_vocabulary(writer *w) {
    int n_controls = count(w->d.controls), n = tiny_model_n_vocab(w->m);
    key_string(w, "tokenizer.ggml.model", "gpt2");
    key_string(w, "tokenizer.ggml.pre", "gpt-2");
    if (begin_key(w, "tokenizer.ggml.tokens", GGUF_ARRAY)) {
        put_u32(&w->values, GGUF_STRING);
        put_u64(&w->values, (uint64_t)n);
        for (int i = 0; i < n_controls; i++)
            put_string(&w->values, w->d.controls[i], strlen(w->d.controls[i]));
        for (int b = 0; b < 256; b++) put_mapped_string(w, &(char){(char)b}, 1);
        put_string(&w->values, "he", 2);
        for (int i = 0; w->d.pieces && w->d.pieces[i]; i++)
            put_mapped_string(w, w->d.pieces[i], strlen(w->d.pieces[i]));
    }
    if (begin_key(w, "tokenizer.ggml.token_type", GGUF_ARRAY)) {
        put_u32(&w->values, GGUF_I32);
        put_u64(&w->values, (uint64_t)n);
        for (int i = 0; i < n; i++) put_u32(&w->values, i < n_controls ? 3 : 1);
    }
    if (begin_key(w, "tokenizer.ggml.merges", GGUF_ARRAY)) {
        put_u32(&w->values, GGUF_STRING);
        put_u64(&w->values, 1);
        put_string(&w->values, "h e", 3);
    }
    if (w->d.bos) key_u32(w, "tokenizer.ggml.bos_token_id", w->d.bos - 1);
    if (w->d.eos) key_u32(w, "tokenizer.ggml.eos_token_id", w->d.eos - 1);
    if (w->d.eot) key_u32(w, "tokenizer.ggml.eot_token_id", w->d.eot - 1);
    key_bool(w, "tokenizer.ggml.add_bos_token", w->d.adds_bos);
    put_sampling(w);
    if (w->d.chat_template) key_string(w, "tokenizer.chat_template", w->d.chat_template);
}

static void put_sizes(writer *w) {
    key_string(w, "general.architecture", w->d.arch);
    key_string(w, "general.name", "tiny");
    key_u32(w, ".block_count", w->d.n_layers);
    key_u32(w, ".context_length", w->d.n_ctx);
    key_u32(w, ".embedding_length", w->d.n_embd);
    key_u32(w, ".feed_forward_length", w->d.n_ff);
    if (w->d.n_experts) {
        key_u32(w, ".expert_count", w->d.n_experts);
        key_u32(w, ".expert_used_count", w->d.n_experts_used);
        key_u32(w, ".expert_feed_forward_length", w->d.n_ff_expert);
        if (w->d.has_raw_gates) key_bool(w, ".expert_weights_norm", false);
    }
    key_u32(w, ".attention.head_count", w->d.n_heads);
    key_u32(w, ".attention.head_count_kv", w->d.n_kv_heads);
    key_u32(w, ".attention.key_length", w->d.head_dim);
    key_u32(w, ".attention.value_length", w->d.head_dim);
    key_u32(w, ".rope.dimension_count", w->d.n_rot);
    key_f32(w, ".rope.freq_base", 10000);
    key_f32(w, ".attention.layer_norm_rms_epsilon", 1e-5);
    if (w->d.linear_factor > 0 || w->d.scaling) {
        key_string(w, ".rope.scaling.type", w->d.scaling ? w->d.scaling : "linear");
        key_f32(w, ".rope.scaling.factor", w->d.linear_factor > 0 ? w->d.linear_factor : 1);
    }
    if (w->d.original_ctx) key_u32(w, ".rope.scaling.original_context_length", w->d.original_ctx);
}

/* ---- weights
 * -------------------------------------------------------------------------------------- */

enum {
    EMBD,
    OUT_NORM,
    OUT,
    FACTORS,
    ATTN_NORM,
    Q,
    K,
    V,
    QB,
    KB,
    VB,
    O,
    OB,
    FFN_NORM,
    GATE,
    UP,
    DOWN,
    QN,
    KN,
    ROUTER,
    GATE_EXPS,
    UP_EXPS,
    DOWN_EXPS
};

static double value_of(writer *w, int role, int64_t row, int64_t column, int64_t columns, rng *r) {
    double u = rng_uniform(r);
    if (w->d.chain) {
        if (role == OUT_NORM || role == ATTN_NORM || role == FFN_NORM) return 1;
        for (int i = 0; i < w->d.n_chain; i++) {
            int next = i + 1 < w->d.n_chain ? i + 1 : i;
            if (role == EMBD && row == w->d.chain[i] && column == i) return 1;
            if (role == OUT && row == w->d.chain[next] && column == i) return 1;
        }
        return 0;
    }
    switch (role) {
    case OUT_NORM:
    case ATTN_NORM:
    case FFN_NORM:
    case QN:
    case KN: return 0.8 + 0.4 * u;
    case FACTORS: return 1 + 3 * u;
    case QB:
    case KB:
    case VB:
    case OB: return 0.2 * (2 * u - 1);
    case EMBD: return 2 * u - 1;
    default: return (2 * u - 1) * 1.7 / sqrt((double)columns);
    }
}

/* rows 0: a vector; stack: so many matrices, 0 = one and no dimension of it */
static void put_tensor(writer *w, const char *name, int role, int layer, int64_t stack,
                       int64_t rows, int64_t columns) {
    if (w->d.skip && !strcmp(w->d.skip, name)) return;
    if (w->d.widen && !strcmp(w->d.widen, name)) rows++;
    bool is_half = rows && w->d.type_of_matrices == WEFT_F16;
    while (w->data.n % 32) put(&w->data, "", 1);
    put_string(&w->records, name, strlen(name));
    put_u32(&w->records, (uint32_t)(rows ? 2 : 1) + (stack ? 1u : 0u));
    put_u64(&w->records, (uint64_t)columns);
    if (rows) put_u64(&w->records, (uint64_t)rows);
    if (stack) put_u64(&w->records, (uint64_t)stack);
    put_u32(&w->records, is_half ? WEFT_F16 : WEFT_F32);
    put_u64(&w->records, w->data.n);
    w->n_tensors++;
    rng r = {w->d.seed * 1000003u + (uint64_t)layer * 100u + (uint64_t)role};
    int64_t n_rows = (rows ? rows : 1) * (stack ? stack : 1);
    for (int64_t row = 0; row < n_rows; row++)
        for (int64_t column = 0; column < columns; column++) {
            float v = (float)value_of(w, role, row, column, columns, &r);
            uint16_t h = is_half ? f32_to_f16(v) : 0;
            if (is_half) put(&w->data, &h, sizeof h);
            else put(&w->data, &v, sizeof v);
        }
}

static void put_weights(writer *w) {
    const tiny_model *d = &w->d;
    int64_t vocab = tiny_model_n_vocab(w->m), embd = d->n_embd, ff = d->n_ff;
    int64_t heads = d->n_heads * d->head_dim, kv_heads = d->n_kv_heads * d->head_dim;
    int64_t stack = d->n_experts, ff_expert = d->n_ff_expert;
    bool is_dense = stack == 0;
    put_tensor(w, "token_embd.weight", EMBD, 0, 0, vocab, embd);
    put_tensor(w, "output_norm.weight", OUT_NORM, 0, 0, 0, embd);
    if (d->has_output || d->chain) put_tensor(w, "output.weight", OUT, 0, 0, vocab, embd);
    if (d->has_factors) put_tensor(w, "rope_freqs.weight", FACTORS, 0, 0, 0, d->n_rot / 2);
    if (d->extra) put_tensor(w, d->extra, EMBD, 0, 0, 1, embd);
    for (int i = 0; i < d->n_layers; i++) {
        struct {
            const char *name;
            int role;
            int64_t rows, columns;
            bool is_there;
        } all[] = {
            {"attn_norm.weight", ATTN_NORM, 0, embd, true},
            {"attn_q.weight", Q, heads, embd, true},
            {"attn_k.weight", K, kv_heads, embd, true},
            {"attn_v.weight", V, kv_heads, embd, true},
            {"attn_q.bias", QB, 0, heads, d->has_bias},
            {"attn_k.bias", KB, 0, kv_heads, d->has_bias},
            {"attn_v.bias", VB, 0, kv_heads, d->has_bias},
            {"attn_output.weight", O, embd, heads, true},
            {"attn_output.bias", OB, 0, embd, d->has_bias && !d->has_no_output_bias},
            {"attn_q_norm.weight", QN, 0, d->head_dim, d->has_head_norms},
            {"attn_k_norm.weight", KN, 0, d->head_dim, d->has_head_norms},
            {"ffn_norm.weight", FFN_NORM, 0, embd, true},
            {"ffn_gate.weight", GATE, ff, embd, is_dense},
            {"ffn_up.weight", UP, ff, embd, is_dense},
            {"ffn_down.weight", DOWN, embd, ff, is_dense},
            {"ffn_gate_inp.weight", ROUTER, stack, embd, !is_dense},
            {"ffn_gate_exps.weight", GATE_EXPS, ff_expert, embd, !is_dense},
            {"ffn_up_exps.weight", UP_EXPS, ff_expert, embd, !is_dense},
            {"ffn_down_exps.weight", DOWN_EXPS, embd, ff_expert, !is_dense},
        };
        for (size_t k = 0; k < sizeof all / sizeof *all; k++) {
            char name[64];
            snprintf(name, sizeof name, "blk.%d.%s", i, all[k].name);
            int64_t matrices = all[k].role >= GATE_EXPS ? stack : 0;
            if (all[k].is_there)
                put_tensor(w, name, all[k].role, i, matrices, all[k].rows, all[k].columns);
        }
    }
}

void tiny_model_bytes(const tiny_model *m, str *out) {
    writer w = {.m = m, .d = fill(m)};
    put_sizes(&w);
    put_vocabulary(&w);
    put_weights(&w);
    put(out, "GGUF", 4);
    put_u32(out, 3);
    put_u64(out, w.n_tensors);
    put_u64(out, w.n_values);
    put(out, str_text(&w.values), w.values.n);
    put(out, str_text(&w.records), w.records.n);
    while (out->n % 32) put(out, "", 1);
    put(out, str_text(&w.data), w.data.n);
    str_free(&w.values);
    str_free(&w.records);
    str_free(&w.data);
}

static char path[64];

static void remove_file(void) { unlink(path); }

const char *tiny_model_file(const tiny_model *m) {
    if (!path[0]) {
        snprintf(path, sizeof path, "/tmp/weft_tiny_%ld.gguf", (long)getpid());
        atexit(remove_file);
    }
    str bytes = {0};
    tiny_model_bytes(m, &bytes);
    unlink(path); /* an older one may still be mapped */
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes.data, 1, bytes.n, f), bytes.n);
    assert_int_equal(fclose(f), 0);
    str_free(&bytes);
    return path;
}

/* "cpu", or the name of the WebGPU adapter this run is for. */
static const char *device_name(void) {
    static weft_device_info list[32];
    const char *asked = getenv("WEFT_TEST_DEVICE");
    if (asked && asked[0]) return asked;
    if (!getenv("WEFT_TEST_ADAPTER")) return "cpu";
    int n = weft_list_devices(list, 32);
    for (int i = 0; i < n && i < 32; i++)
        if (list[i].is_usable && !strncmp(list[i].name, "webgpu", 6)) return list[i].name;
    return "webgpu";
}

bool tiny_model_is_cpu(void) { return !strcmp(device_name(), "cpu"); }

weft_device *tiny_model_device(void) {
    weft_device *dev = weft_open(&(weft_device_desc){.name = device_name()});
    if (!dev) fail_msg("device %s: %s", device_name(), weft_message());
    return dev;
}
