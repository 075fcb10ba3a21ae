/* A tiny random llama against logits computed outside in double (tests/golden/llama.py); the same
 * prompt fed in any pieces; files that are not models. On the CPU, or on the adapter
 * tools/with_adapter.sh chose.
 * SPDX-License-Identifier: MIT */
#include "weft/llm.h"

#include <math.h>

#include "tiny_model.h"

static weft_device *dev;

static int open_device(void **state) {
    (void)state;
    dev = tiny_model_device();
    return dev ? 0 : -1;
}

static int close_device(void **state) {
    (void)state;
    weft_close(dev);
    return 0;
}

static weft_model *load(const tiny_model *m) {
    weft_model *model = weft_model_load(dev, tiny_model_file(m), (weft_model_desc){0});
    if (!model) fail_msg("%s", weft_message());
    return model;
}

static weft_session *open_session(weft_model *model, weft_session_desc desc) {
    if (!desc.precision) desc.precision = WEFT_EXACT;
    weft_session *s = weft_session_open(model, desc);
    if (!s) fail_msg("%s", weft_message());
    return s;
}

enum { N_VOCAB = 259 };

static void fill_ids(int32_t *ids, int n) {
    for (int i = 0; i < n; i++) ids[i] = (int32_t)((7 * (int64_t)i * i + 13 * i + 5) % N_VOCAB);
}

static double largest_difference(const float *a, const float *b, size_t n) {
    double largest = 0;
    for (size_t i = 0; i < n; i++) {
        double d = fabs((double)a[i] - b[i]);
        if (d > largest || isnan(d)) largest = isnan(d) ? INFINITY : d;
    }
    return largest;
}

/* ---- against the outside
 * -------------------------------------------------------------------------- */

/* Compares the logits of all 300 positions with those the file has; `bound` is absolute. */
static void agrees(const char *name, const tiny_model *m, weft_session_desc desc, double bound) {
    FILE *f = fopen(WEFT_SOURCE_DIR "/tests/golden/llama.txt", "r");
    assert_non_null(f);
    char found[32];
    int n_positions, n_vocab;
    float *golden = calloc(N_VOCAB, sizeof *golden);
    weft_model *model = load(m);
    weft_session *s = open_session(model, desc);
    int32_t ids[300];
    fill_ids(ids, 300);
    float *ours = calloc(300 * N_VOCAB, sizeof *ours);
    assert_ok(weft_score(s, ids, 300, 0, ours, 300 * N_VOCAB));
    int n_compared = 0;
    while (fscanf(f, "%31s %d %d", found, &n_positions, &n_vocab) == 3) {
        assert_int_equal(n_vocab, N_VOCAB);
        for (int p = 0; p < n_positions; p++) {
            int position;
            assert_int_equal(fscanf(f, "%d", &position), 1);
            for (int i = 0; i < N_VOCAB; i++) assert_int_equal(fscanf(f, "%f", &golden[i]), 1);
            if (strcmp(found, name)) continue;
            double d = largest_difference(golden, ours + position * N_VOCAB, N_VOCAB);
            if (!(d <= bound))
                fail_msg("%s: position %d is off by %g, allowed %g", name, position, d, bound);
            n_compared++;
        }
    }
    assert_int_equal(n_compared, 6);
    fclose(f);
    free(golden);
    free(ours);
    weft_session_close(s);
    weft_model_free(model);
}

static const tiny_model plain = {.seed = 1};
static const tiny_model rich = {.seed = 2,
                                .has_output = true,
                                .has_bias = true,
                                .has_factors = true,
                                .n_rot = 6,
                                .linear_factor = 2,
                                .n_kv_heads = 1};

static const tiny_model yarn = {
    .seed = 4, .scaling = "yarn", .linear_factor = 4, .original_ctx = 64};
static const tiny_model qwen2 = {
    .arch = "qwen2", .seed = 5, .has_bias = true, .has_no_output_bias = true, .has_output = true};
static const tiny_model qwen3 = {
    .arch = "qwen3", .seed = 6, .has_head_norms = true, .head_dim = 16, .n_rot = 16};

static const tiny_model qwen3moe = {.arch = "qwen3moe",
                                    .seed = 7,
                                    .has_head_norms = true,
                                    .head_dim = 16,
                                    .n_rot = 16,
                                    .n_experts = 6,
                                    .n_experts_used = 2,
                                    .n_ff_expert = 24};
static const tiny_model raw_gates = {.arch = "qwen3moe",
                                     .seed = 8,
                                     .has_head_norms = true,
                                     .head_dim = 16,
                                     .n_rot = 16,
                                     .n_experts = 5,
                                     .n_experts_used = 3,
                                     .n_ff_expert = 8,
                                     .has_raw_gates = true};

static void logits_are_those_of_the_paper(void **state) {
    (void)state;
    weft_session_desc f32 = {.kv = WEFT_KV_F32}, f16 = {.kv = WEFT_KV_F16};
    agrees("plain", &plain, f32, 1e-4);
    agrees("rich", &rich, f32, 1e-4);
    agrees("yarn", &yarn, f32, 1e-4);
    agrees("qwen2", &qwen2, f32, 1e-4);
    agrees("qwen3", &qwen3, f32, 1e-4);
    agrees("qwen3moe", &qwen3moe, f32, 1e-4);
    agrees("rawgates", &raw_gates, f32, 1e-4);
    agrees("plain", &plain, f16, 2e-2);
    agrees("rich", &rich, f16, 1e-2);
}

static void half_weights_are_near(void **state) {
    (void)state;
    tiny_model half = plain;
    half.type_of_matrices = WEFT_F16;
    agrees("plain", &half, (weft_session_desc){.kv = WEFT_KV_F32}, 3e-2);
}

/* Fast products of single tokens against exact ones, for quantised weights: 16-bit codes cost each
 * product about 2^-16 of its largest terms. */
static void fast_is_near_exact(void **state) {
    (void)state;
    static const char *const types[] = {"Q4_0", "Q4_1", "Q8_0"};
    static const tiny_model wide = {.seed = 3, .n_ff = 64, .has_output = true};
    for (int t = 0; t < 3; t++) {
        const char *path = tiny_model_file(&wide);
        weft_quantize_desc quantize = {.type = types[t], .is_pure = true};
        assert_ok(weft_quantize(path, path, quantize));
        weft_model *model = weft_model_load(dev, path, (weft_model_desc){0});
        if (!model) fail_msg("%s", weft_message());
        static float logits[2][20 * N_VOCAB];
        int32_t ids[20];
        fill_ids(ids, 20);
        for (int fast = 0; fast < 2; fast++) {
            weft_session_desc desc = {.precision = fast ? WEFT_FAST : WEFT_EXACT,
                                      .kv = WEFT_KV_F32};
            weft_session *s = open_session(model, desc);
            for (int i = 0; i < 20; i++) {
                assert_ok(weft_session_append(s, ids[i]));
                assert_ok(weft_logits(s, logits[fast] + i * N_VOCAB, N_VOCAB));
            }
            weft_session_close(s);
        }
        double d = largest_difference(logits[0], logits[1], 20 * N_VOCAB), top = 0;
        for (int i = 0; i < 20 * N_VOCAB; i++) top = fmax(top, fabs((double)logits[0][i]));
        if (!(d <= 3e-4 * top)) fail_msg("%s: off by %g of %g", types[t], d, top);
        weft_model_free(model);
    }
}

/* ---- in pieces (G4-12)
 * ------------------------------------------------------------------------------ */

/* Greedy text, up to n tokens or to where the two best are within `margin`. */
static int greedy(weft_session *s, float margin, int32_t *out, int n) {
    for (int i = 0; i < n; i++) {
        float logits[N_VOCAB];
        assert_ok(weft_logits(s, logits, N_VOCAB));
        int best = 0, second = -1;
        for (int k = 1; k < N_VOCAB; k++) {
            if (logits[k] > logits[best]) second = best, best = k;
            else if (second < 0 || logits[k] > logits[second]) second = k;
        }
        if (logits[best] - logits[second] <= margin) return i;
        out[i] = best;
        assert_ok(weft_session_append(s, best));
    }
    return n;
}

typedef struct expected {
    float logits[N_VOCAB];
    int32_t text[16];
    int n_text;
} expected;

/* The whole prompt at once, by a session of its own. */
static expected expect(weft_model *model, const int32_t *ids, int n) {
    expected e = {.n_text = 0};
    weft_session_desc desc = {.kv = WEFT_KV_F32, .n_batch = 512, .n_ctx = 512};
    weft_session *s = open_session(model, desc);
    assert_ok(weft_session_sync(s, ids, (size_t)n));
    assert_ok(weft_logits(s, e.logits, N_VOCAB));
    if (n + 16 <= 512) e.n_text = greedy(s, 1e-3F, e.text, 16);
    weft_session_close(s);
    return e;
}

static void check_same(weft_session *s, const expected *e, int room) {
    float ours[N_VOCAB];
    assert_ok(weft_logits(s, ours, N_VOCAB));
    assert_true(largest_difference(ours, e->logits, N_VOCAB) <= 1e-4);
    int32_t got[16];
    int n = e->n_text < room ? e->n_text : room;
    assert_int_equal(greedy(s, 0, got, n), n);
    assert_memory_equal(got, e->text, (size_t)n * sizeof *got);
}

static void pieces_change_nothing(void **state) {
    (void)state;
    static const int batches[] = {1, 2, 7, 32, 64, 65, 512};
    int32_t ids[65];
    fill_ids(ids, 65);
    weft_model *model = load(&rich);
    expected e = expect(model, ids, 65);
    for (size_t b = 0; b < sizeof batches / sizeof *batches; b++) {
        weft_session_desc desc = {.kv = WEFT_KV_F32, .n_batch = batches[b], .n_ctx = 512};
        weft_session *s = open_session(model, desc);
        assert_ok(weft_session_sync(s, ids, 65));
        check_same(s, &e, 16);
        assert_ok(weft_session_sync(s, ids, 65)); /* from the cache, after an answer */
        check_same(s, &e, 16);
        weft_session_reset(s);
        for (int at = 0; at < 65;) { /* in pieces of the caller's */
            at = at + batches[b] < 65 ? at + batches[b] : 65;
            assert_ok(weft_session_sync(s, ids, (size_t)at));
        }
        check_same(s, &e, 16);
        weft_session_close(s);
    }
    weft_model_free(model);
}

/* Prompts of the batch, one more, the context and one less; pages full to the brim. */
static void edges_change_nothing(void **state) {
    (void)state;
    static const struct {
        int n, n_batch, n_ctx;
    } cases[] = {{32, 32, 512},   {33, 32, 512},   {256, 64, 256}, {255, 64, 256},
                 {257, 256, 512}, {100, 512, 100}, {99, 512, 100}};
    weft_model *model = load(&rich);
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        int32_t ids[512];
        int n = cases[c].n, n_ctx = cases[c].n_ctx;
        fill_ids(ids, n);
        expected e = expect(model, ids, n);
        weft_session_desc desc = {.kv = WEFT_KV_F32, .n_batch = cases[c].n_batch, .n_ctx = n_ctx};
        weft_session *s = open_session(model, desc);
        assert_int_equal(weft_session_size(s), n_ctx);
        assert_ok(weft_session_sync(s, ids, (size_t)n));
        check_same(s, &e, n_ctx - n);
        if (n == n_ctx) assert_fails(weft_session_append(s, 1), WEFT_CONTEXT_FULL, "full");
        weft_session_close(s);
    }
    weft_model_free(model);
}

/* Any walk of contexts ends with the logits of the last one, beside another session. */
static void cache_follows_any_change(void **state) {
    (void)state;
    weft_model *model = load(&rich);
    weft_session_desc desc = {.kv = WEFT_KV_F32, .n_batch = 16, .n_ctx = 512};
    weft_session *s = open_session(model, desc);
    desc.n_batch = 512;
    weft_session *other = open_session(model, desc);
    int32_t ids[400];
    rng r = {5};
    fill_ids(ids, 400);
    for (int round = 0; round < 12; round++) {
        int n = 1 + (int)rng_below(&r, 400), changed = (int)rng_below(&r, n);
        ids[changed] = (int32_t)rng_below(&r, N_VOCAB);
        assert_ok(weft_session_sync(s, ids, (size_t)n));
        size_t n_held;
        assert_memory_equal(weft_session_tokens(s, &n_held), ids, (size_t)n * sizeof *ids);
        assert_int_equal(n_held, n);
        weft_session_reset(other);
        assert_ok(weft_session_sync(other, ids, (size_t)n));
        float a[N_VOCAB], b[N_VOCAB];
        assert_ok(weft_logits(s, a, N_VOCAB));
        assert_ok(weft_logits(other, b, N_VOCAB));
        assert_true(largest_difference(a, b, N_VOCAB) <= 1e-4);
    }
    weft_session_close(s);
    weft_session_close(other);
    weft_model_free(model);
}

/* Scoring part of a prompt gives the rows that scoring all of it gives, whatever is cached. */
static void scores_agree(void **state) {
    (void)state;
    weft_model *model = load(&rich);
    weft_session_desc desc = {.kv = WEFT_KV_F32, .n_batch = 20};
    weft_session *s = open_session(model, desc);
    int32_t ids[50];
    static float all[50 * N_VOCAB], some[50 * N_VOCAB];
    fill_ids(ids, 50);
    assert_ok(weft_score(s, ids, 50, 0, all, 50 * N_VOCAB));
    for (int first = 0; first < 50; first += 7) {
        size_t n = (size_t)(50 - first) * N_VOCAB;
        assert_ok(weft_score(s, ids, 50, (size_t)first, some, n));
        assert_true(largest_difference(all + first * N_VOCAB, some, n) <= 1e-4);
        assert_ok(weft_logits(s, some, N_VOCAB));
        assert_true(largest_difference(all + 49 * N_VOCAB, some, N_VOCAB) <= 1e-4);
    }
    assert_fails(weft_score(s, ids, 50, 50, all, 0), WEFT_INVALID, "no tokens");
    assert_fails(weft_score(s, ids, 50, 0, all, 5), WEFT_INVALID, "room for 12950");
    weft_session_close(s);
    weft_model_free(model);
}

/* ---- what is refused
 * --------------------------------------------------------------------------------- */

static void bad_tokens_are_named(void **state) {
    (void)state;
    weft_model *model = load(&plain);
    weft_session *s = open_session(model, (weft_session_desc){.n_ctx = 64});
    int32_t ids[65] = {1, 2, 3}, over[2] = {1, N_VOCAB}, below[1] = {-1};
    assert_ok(weft_session_sync(s, ids, 3));
    assert_fails(weft_session_sync(s, over, 2), WEFT_INDEX, "token 1 is 259");
    assert_fails(weft_session_sync(s, below, 1), WEFT_INDEX, "token 0 is -1");
    assert_fails(weft_session_append(s, 2147483647), WEFT_INDEX, "2147483647");
    size_t n;
    weft_session_tokens(s, &n);
    assert_int_equal(n, 3);
    assert_fails(weft_session_sync(s, ids, 65), WEFT_CONTEXT_FULL,
                 "65 tokens, but the context holds 64");
    assert_fails(weft_session_sync(s, ids, 0), WEFT_INVALID, "empty");
    assert_fails(weft_session_sync(s, NULL, 3), WEFT_INVALID, "NULL");
    weft_session_close(s);
    assert_null(weft_session_open(model, (weft_session_desc){.n_ctx = -1}));
    assert_non_null(strstr(weft_message(), "-1"));
    weft_model_free(model);
}

static void refused(tiny_model m, const char *part) {
    const char *path = tiny_model_file(&m);
    weft_model *model = weft_model_load(dev, path, (weft_model_desc){0});
    if (model || !strstr(weft_message(), part) || !strstr(weft_message(), path))
        fail_msg("expected a refusal with \"%s\", got \"%s\"", part, weft_message());
    weft_gguf *f = weft_gguf_open(path);
    assert_non_null(f);
    if (!strstr(weft_gguf_problem(f), part))
        fail_msg("expected the problem \"%s\", got \"%s\"", part, weft_gguf_problem(f));
    weft_gguf_close(f);
}

static void bad_models_are_named(void **state) {
    (void)state;
    refused((tiny_model){.skip = "blk.1.ffn_down.weight"}, "'blk.1.ffn_down.weight' is missing");
    refused((tiny_model){.skip = "output_norm.weight"}, "'output_norm.weight' is missing");
    refused((tiny_model){.widen = "blk.0.attn_q.weight"},
            "'blk.0.attn_q.weight' has shape (33, 32), expected (32, 32)");
    refused((tiny_model){.widen = "token_embd.weight"}, "(260, 32), expected (259, 32)");
    refused((tiny_model){.skip = "llama.block_count"}, "'llama.block_count' is missing");
    refused((tiny_model){.skip = "llama.attention.head_count"}, "'llama.attention.head_count'");
    refused((tiny_model){.skip = "llama.attention.layer_norm_rms_epsilon"}, "rms_epsilon' is miss");
    refused((tiny_model){.skip = "general.architecture"}, "'general.architecture' is missing");
    refused((tiny_model){.arch = "mamba"}, "architecture 'mamba'");
    refused((tiny_model){.scaling = "longrope"}, "'longrope'");
    refused((tiny_model){.scaling = "yarn", .linear_factor = 0.5}, "expected 1 or more");
    refused((tiny_model){.scaling = "yarn", .has_factors = true}, "'rope_freqs.weight'");
    refused((tiny_model){.scaling = "yarn", .n_rot = 6}, "6 of 8 dimensions");
    refused((tiny_model){.arch = "qwen2"}, "'blk.0.attn_q.bias' is missing");
    tiny_model unrouted = qwen3moe;
    unrouted.skip = "blk.1.ffn_gate_inp.weight";
    refused(unrouted, "'blk.1.ffn_gate_inp.weight' is missing");
    unrouted.skip = "qwen3moe.expert_used_count";
    refused(unrouted, "'qwen3moe.expert_used_count' is missing");
    unrouted = qwen3moe;
    unrouted.n_experts_used = 7;
    refused(unrouted, "'qwen3moe.expert_used_count' is 7, expected 1 to 6");
    refused((tiny_model){.arch = "qwen3"}, "'blk.0.attn_q_norm.weight' is missing");
    refused((tiny_model){.has_head_norms = true}, "'blk.0.attn_q_norm.weight'");
    refused((tiny_model){.extra = "blk.0.attn_sinks.weight"}, "'blk.0.attn_sinks.weight'");
    refused((tiny_model){.n_heads = 3}, "3 heads cannot share 2 KV heads");
    refused((tiny_model){.n_heads = 1, .n_kv_heads = 1, .head_dim = 65538}, "attention.key_length");
    refused((tiny_model){.n_rot = 7}, "rope.dimension_count");
    refused((tiny_model){.n_rot = 10}, "rope.dimension_count");
    assert_null(weft_model_load(dev, "/nonexistent/model.gguf", (weft_model_desc){0}));
    assert_non_null(strstr(weft_message(), "/nonexistent/model.gguf"));
    assert_null(weft_model_load(dev, NULL, (weft_model_desc){0}));
}

/* A chain of failures keeps the first one's reason; NULLs never crash. */
static void nothing_is_nothing(void **state) {
    (void)state;
    const char *path = "/nonexistent/model.gguf";
    weft_model *model = weft_model_load(dev, path, (weft_model_desc){0});
    weft_session *s = weft_session_open(model, (weft_session_desc){0});
    assert_null(s);
    assert_fails(weft_generate(s, "x", (weft_generate_desc){0}), WEFT_INVALID, path);
    weft_session_close(NULL);
    weft_session_reset(NULL);
    weft_model_free(NULL);
    weft_gguf_close(NULL);
    assert_null(weft_gguf_open(NULL));
    assert_fails(weft_logits(NULL, NULL, 0), WEFT_INVALID, "no session");
    assert_fails(weft_session_sync(NULL, NULL, 0), WEFT_INVALID, "no session");
    assert_fails(weft_get_model_info(NULL, NULL), WEFT_INVALID, "NULL");
    assert_int_equal(weft_encode(NULL, "x", 1, 0, NULL, 0), -1);
    assert_int_equal(weft_decode(NULL, NULL, 0, 0, NULL, 0), -1);
    assert_int_equal(weft_session_size(NULL), 0);
    assert_string_equal(weft_session_text(NULL), "");
    assert_false(weft_is_end(NULL, 0));
}

static bool stop_at_half(void *user, uint64_t done, uint64_t total) {
    (*(int *)user)++;
    return done < total / 2;
}

static void loading_can_be_cancelled(void **state) {
    (void)state;
    int n_calls = 0;
    weft_model_desc desc = {.on_progress = stop_at_half, .user = &n_calls};
    assert_null(weft_model_load(dev, tiny_model_file(&plain), desc));
    assert_non_null(strstr(weft_message(), "cancelled"));
    assert_true(n_calls > 0);
}

static void info_is_right(void **state) {
    (void)state;
    weft_model *model = load(&plain);
    weft_model_info info;
    assert_ok(weft_get_model_info(model, &info));
    assert_string_equal(info.name, "tiny");
    assert_string_equal(info.arch, "llama");
    assert_string_equal(info.formats, "f32");
    assert_string_equal(info.tokenizer, "gpt2/gpt-2");
    assert_string_equal(info.chat_format, "");
    assert_int_equal(info.n_vocab, N_VOCAB);
    assert_int_equal(info.n_layers, 2);
    assert_int_equal(info.kv_bytes, 2 * 2 * 2 * 16);
    uint64_t layer = 32 * 32 + 2 * 16 * 32 + 32 * 32 + 3 * 48 * 32 + 2 * 32;
    assert_int_equal(info.n_parameters, 259 * 32 + 32 + 2 * layer);
    assert_int_equal(info.device_bytes, 4 * info.n_parameters);
    weft_model_free(model);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(logits_are_those_of_the_paper),
        cmocka_unit_test(half_weights_are_near),
        cmocka_unit_test(fast_is_near_exact),
        cmocka_unit_test(pieces_change_nothing),
        cmocka_unit_test(edges_change_nothing),
        cmocka_unit_test(cache_follows_any_change),
        cmocka_unit_test(scores_agree),
        cmocka_unit_test(bad_tokens_are_named),
        cmocka_unit_test(bad_models_are_named),
        cmocka_unit_test(nothing_is_nothing),
        cmocka_unit_test(loading_can_be_cancelled),
        cmocka_unit_test(info_is_right),
    };
    return cmocka_run_group_tests(tests, open_device, close_device);
}
