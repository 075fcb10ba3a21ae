/* Memory: every allocation of a load and a generation may fail, nothing is lost then; and nothing
 * grows while tokens are
 * generated. On the CPU. SPDX-License-Identifier: MIT */
#include <malloc.h>

#include "base/error.h"
#include "base/mem.h"
#include "tiny_folder.h"
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

/* The status of a call that gives -1 for a failure. */
static weft_status counted(int64_t n) { return n < 0 ? error_status() : WEFT_OK; }

static weft_status look_into(const char *path, weft_device *dev) {
    weft_gguf *f = weft_gguf_open(path);
    if (!f) return error_status();
    weft_gguf_info info;
    weft_gguf_value value;
    weft_gguf_tensor tensor;
    weft_placement places[32] = {0};
    weft_status status = weft_gguf_get_info(f, &info);
    for (size_t i = 0; i < info.n_values && status == WEFT_OK; i++)
        status = weft_gguf_get_value(f, i, &value);
    for (size_t i = 0; i < info.n_tensors && status == WEFT_OK; i++)
        status = weft_gguf_get_tensor(f, i, &tensor);
    if (status == WEFT_OK) status = counted(weft_gguf_placement(f, dev, places, 32));
    for (int i = 0; i < 32 && status == WEFT_OK; i++) /* a note says what could not be tried */
        if (strstr(places[i].note, "out of memory")) status = WEFT_NO_MEMORY;
    weft_gguf_close(f);
    return status;
}

/* Looks into a file, renders, encodes, and answers under a grammar and a schema. */
static weft_status another_life(const char *path) {
    static const char context[] = "{\"messages\": [{\"role\": \"user\", \"content\": \"a\"}]}";
    char text[200];
    int32_t ids[50];
    weft_device *dev = weft_open(&(weft_device_desc){.name = "cpu", .n_threads = 1});
    weft_status status = dev ? look_into(path, dev) : error_status();
    weft_model *model = status == WEFT_OK ? weft_model_load(dev, path, (weft_model_desc){0}) : NULL;
    if (status == WEFT_OK && !model) status = error_status();
    if (status == WEFT_OK)
        status = counted(weft_render_chat(model, context, strlen(context), text, sizeof text));
    if (status == WEFT_OK)
        status = counted(weft_render("{{ messages }}", 14, context, strlen(context), text, 200));
    if (status == WEFT_OK) status = counted(weft_encode(model, "hello", 5, 0, ids, 50));
    if (status == WEFT_OK) status = counted(weft_decode(model, ids, 3, 0, text, sizeof text));
    weft_session *s = status == WEFT_OK ? weft_session_open(model, (weft_session_desc){0}) : NULL;
    if (status == WEFT_OK && !s) status = error_status();
    weft_generate_desc desc = {.max_tokens = 2, .grammar = "root ::= [a-c]+ \"x\""};
    if (status == WEFT_OK) status = weft_generate(s, "he", desc);
    desc.grammar = NULL;
    desc.json_schema = "{\"type\": \"object\", \"properties\": {\"a\": {\"type\": \"integer\"}}}";
    if (status == WEFT_OK) status = weft_generate(s, "he", desc);
    weft_session_close(s);
    weft_model_free(model);
    weft_close(dev);
    return status;
}

static void walk_allocations(weft_status (*life)(const char *), const char *path) {
    mem_fail_at(0);
    assert_ok(life(path));
    uint64_t n = mem_fail_at(0);
    assert_true(n > 100);
    /* All of the first ones, then a sample: the forward's are alike. */
    uint64_t step = getenv("WEFT_TEST_CHECKED") ? 29 : 1, n_failed = 0;
    for (uint64_t k = 1; k <= n; k += k < 100 ? 1 : step) {
        mem_fail_at(k);
        weft_status status = life(path);
        bool was_hit = mem_fail_at(0) >= k;
        if (status != WEFT_OK) n_failed++;
        if (was_hit && status != WEFT_OK && status != WEFT_NO_MEMORY)
            fail_msg("allocation %llu: %s, \"%s\"", (unsigned long long)k, weft_status_text(status),
                     weft_message());
    }
    assert_true(n_failed > 50);
    assert_ok(life(path));
}

static void every_allocation_may_fail(void **state) {
    (void)state;
    tiny_model m = {.seed = 1,
                    .has_bias = true,
                    .type_of_matrices = WEFT_F16,
                    .chat_template =
                        "{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}"};
    char path[64];
    snprintf(path, sizeof path, "%s", tiny_model_file(&m));
    walk_allocations(whole_life, path);
    walk_allocations(another_life, path);
}

/* The same for a folder, whose reordered weights are gathered. */
static weft_status folder_life(const char *path) {
    weft_device *dev = weft_open(&(weft_device_desc){.name = "cpu", .n_threads = 1});
    weft_model *model = weft_model_load(dev, path, (weft_model_desc){0});
    weft_session *s = weft_session_open(model, (weft_session_desc){.n_batch = 16});
    static const int32_t ids[2] = {1, 2};
    weft_status status = s ? weft_session_sync(s, ids, 2) : WEFT_NO_MEMORY;
    weft_session_close(s);
    weft_model_free(model);
    weft_close(dev);
    return status;
}

static void every_allocation_of_a_folder_may_fail(void **state) {
    (void)state;
    tiny_folder *f = tiny_folder_read("llama_yarn");
    const char *path = tiny_folder_write(f);
    mem_fail_at(0);
    assert_ok(folder_life(path));
    uint64_t n = mem_fail_at(0);
    for (uint64_t k = 1; k <= n; k += k < 500 ? 1 : 5) {
        mem_fail_at(k);
        weft_status status = folder_life(path);
        mem_fail_at(0);
        if (status != WEFT_OK && status != WEFT_NO_MEMORY)
            fail_msg("allocation %llu: %s, \"%s\"", (unsigned long long)k, weft_status_text(status),
                     weft_message());
    }
    assert_ok(folder_life(path));
    free(f);
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
        cmocka_unit_test(every_allocation_of_a_folder_may_fail),
        cmocka_unit_test(generating_does_not_grow),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
