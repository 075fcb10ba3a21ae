/* Memory: every allocation of a load and a generation may fail, nothing is lost then; and nothing
 * grows while tokens are
 * generated. On the CPU. SPDX-License-Identifier: MIT */
#include <malloc.h>

#include "base/mem.h"
#include "tiny_model.h"
#include "weft/llm.h"

static bool take_token(void *user, const weft_token *token) {
    return *(int *)user >= 0 && token->n_best == 3;
}

/* Load, chat a little, score, close. The status of the first thing that failed. */
static weft_status whole_life(const char *path) {
    weft_device *dev = weft_open(&(weft_device_desc){.name = "cpu", .n_threads = 1});
    weft_model *model = weft_model_load(dev, path, (weft_model_desc){0});
    weft_session *s = weft_session_open(model, (weft_session_desc){.n_batch = 16});
    const char *stop[] = {"zz", "qq"};
    weft_generate_desc desc = {.max_tokens = 3, .stop = stop, .n_stop = 2, .ignore_eos = true};
    weft_logit_bias bias = {7, 1};
    const char *breaks[] = {"\n", "said"};
    int user = 0;
    desc.sampling = (weft_sampling){.temperature = 1,
                                    .top_k = 20,
                                    .repeat_penalty = 1.1F,
                                    .dry_multiplier = 1,
                                    .dry_breaks = breaks,
                                    .n_dry_breaks = 2,
                                    .bias = &bias,
                                    .n_bias = 1,
                                    .order = "top_k;temperature"};
    desc.on_token = take_token;
    desc.user = &user;
    desc.n_best = 3;
    weft_chat_message message = {"user", "he said: hello"};
    weft_status status = s ? weft_chat(s, &message, 1, desc) : WEFT_NO_MEMORY;
    if (status == WEFT_OK) status = weft_generate(s, "he", desc);
    int32_t ids[20] = {1, 2, 3}, id;
    static float logits[20 * 259];
    if (status == WEFT_OK) status = weft_score(s, ids, 20, 4, logits, 16 * 259);
    if (status == WEFT_OK) status = weft_sample(s, desc.sampling, &id, NULL);
    weft_token_prob best[3];
    if (status == WEFT_OK) status = weft_best(s, 3, best);
    if (status == WEFT_OK) status = weft_model_sampling(model, &desc.sampling, NULL);
    if (status == WEFT_OK) status = weft_session_sync(s, ids, 5);
    weft_session_close(s);
    weft_model_free(model);
    weft_close(dev);
    return status;
}

static void every_allocation_may_fail(void **state) {
    (void)state;
    tiny_model m = {.seed = 1,
                    .sampling = "temp=0.5 sequence=temperature;top_k",
                    .has_bias = true,
                    .type_of_matrices = WEFT_F16,
                    .chat_template =
                        "{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}"};
    char path[64];
    snprintf(path, sizeof path, "%s", tiny_model_file(&m));
    mem_fail_at(0);
    assert_ok(whole_life(path));
    uint64_t n = mem_fail_at(0);
    assert_true(n > 100);
    /* All of the first ones, then a sample: the forward's are alike. */
    uint64_t step = getenv("WEFT_TEST_CHECKED") ? 29 : 1, n_failed = 0;
    for (uint64_t k = 1; k <= n; k += k < 100 ? 1 : step) {
        mem_fail_at(k);
        weft_status status = whole_life(path);
        bool was_hit = mem_fail_at(0) >= k;
        if (status != WEFT_OK) n_failed++;
        if (was_hit && status != WEFT_OK && status != WEFT_NO_MEMORY)
            fail_msg("allocation %llu: %s, \"%s\"", (unsigned long long)k, weft_status_text(status),
                     weft_message());
    }
    assert_true(n_failed > 50);
    assert_ok(whole_life(path));
}

static size_t in_use(void) { return mallinfo2().uordblks + mallinfo2().hblkhd; }

typedef struct growth {
    size_t at_600, at_1000;
    int n;
} growth;

static bool watch(void *user, const char *text, size_t n) {
    (void)text;
    (void)n;
    growth *g = user;
    g->n++;
    if (g->n == 600) g->at_600 = in_use();
    if (g->n == 1000) g->at_1000 = in_use();
    return true;
}

static void generating_does_not_grow(void **state) {
    (void)state;
    tiny_model m = {.eos = 1 + 1, .n_ctx = 2048};
    int32_t chain[1] = {tiny_model_byte(&m, 'x')};
    m.chain = chain;
    m.n_chain = 1;
    weft_device *dev = weft_open(&(weft_device_desc){.name = "cpu"});
    weft_model *model = weft_model_load(dev, tiny_model_file(&m), (weft_model_desc){0});
    weft_session *s = weft_session_open(model, (weft_session_desc){0});
    growth g = {0};
    weft_generate_desc desc = {.max_tokens = 1001, .on_text = watch, .user = &g};
    assert_ok(weft_generate(s, "x", desc)); /* 513 to 1024 tokens: four pages */
    if (g.at_1000 > g.at_600 + 8192) fail_msg("%zu bytes, then %zu", g.at_600, g.at_1000);
    size_t before = in_use();
    g.n = 0;
    weft_session_reset(s);
    assert_ok(weft_generate(s, "x", desc));
    assert_true(in_use() <= before + 8192);
    weft_session_close(s);
    weft_model_free(model);
    weft_close(dev);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(generating_does_not_grow),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
