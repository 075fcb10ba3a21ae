/* The demo model (SmolLM2-135M-Instruct, Q4_1), where the set-up script has fetched it: it answers,
 * in another engine's words, within its memory, on the CPU; on an adapter its logits are the CPU's.
 * Expected ids: llama.cpp's greedy text and its tokens of the rendered chat.
 * SPDX-License-Identifier: MIT */
#include <math.h>
#include <unistd.h>

#include "tiny_model.h"
#include "weft/llm.h"

static weft_device *dev;
static weft_model *model;

static const char *model_path(void) {
    static char path[1024];
    const char *cache = getenv("WEFT_CACHE"), *home = getenv("HOME");
    if (cache && cache[0]) snprintf(path, sizeof path, "%s/models/", cache);
    else snprintf(path, sizeof path, "%s/.cache/weft/models/", home ? home : ".");
    strcat(path, "SmolLM2-135M-Instruct.Q4_1.gguf");
    return access(path, R_OK) == 0 ? path : NULL;
}

static void load_once(void) {
    if (!model_path()) skip_because(false, "the demo model is not there (tools/setup.sh model)");
    if (!dev) dev = weft_open(&(weft_device_desc){.name = "cpu"});
    if (!model) model = weft_model_load(dev, model_path(), (weft_model_desc){0});
    if (!model) fail_msg("%s", weft_message());
}

static int close_all(void **state) {
    (void)state;
    weft_model_free(model);
    weft_close(dev);
    return 0;
}

static const weft_chat_message question = {"user", "What is the capital of France?"};

static void conversation_is_rendered_as_elsewhere(void **state) {
    (void)state;
    static const int32_t expected[] = {
        1,   9690, 198, 2683, 359,   253,  5356, 5646, 11173, 3365, 3511, 308,  34519,
        28,  7018, 411, 407,  19712, 8182, 2,    198,  1,     4093, 198,  1780, 314,
        260, 3575, 282, 4649, 47,    2,    198,  1,    520,   9531, 198};
    load_once();
    weft_session *s = weft_session_open(model, (weft_session_desc){0});
    int32_t ids[64];
    int64_t n = weft_chat_encode(s, &question, 1, ids, 64);
    assert_int_equal(n, sizeof expected / sizeof *expected);
    assert_memory_equal(ids, expected, sizeof expected);
    weft_session_close(s);
}

/* Under valgrind a token of this model takes seconds; the tiny models cover the same code. */
static void skip_when_slow(void) {
    const char *checker = getenv("WEFT_TEST_CHECKED");
    if (checker && !strcmp(checker, "valgrind")) skip_because(false, "too slow under valgrind");
}

static void two_turns_make_sense(void **state) {
    (void)state;
    load_once();
    skip_when_slow();
    weft_session *s = weft_session_open(model, (weft_session_desc){0});
    weft_generation g;
    weft_generate_desc desc = {.max_tokens = 16, .result = &g};
    weft_chat_message messages[3] = {question};
    assert_ok(weft_chat(s, messages, 1, desc));
    assert_string_equal(weft_session_text(s), "The capital of France is Paris.");
    assert_int_equal(g.finish, WEFT_FINISH_STOP);
    int n_first = g.n_prompt, n_answer = g.n_generated;
    char *answer = strdup(weft_session_text(s));
    messages[1] = (weft_chat_message){"assistant", answer};
    messages[2] = (weft_chat_message){"user", "And of Italy?"};
    desc.max_tokens = 8;
    assert_ok(weft_chat(s, messages, 3, desc));
    assert_int_equal(g.n_cached, n_first + n_answer); /* only the new turn was computed */
    assert_non_null(strstr(weft_session_text(s), "Rome"));
    free(answer);
    weft_session_close(s);
}

/* Fed with the other engine's text, the likeliest token is the other engine's wherever it is clear.
 * */
static void greedy_text_is_the_other_engines(void **state) {
    (void)state;
    enum { N = 28, FIRST = 3 };
    static const int32_t ids[N] = {6403, 1980, 253,   655,   28,  260, 2240,  282,   1315, 27108,
                                   436,  253,  15114, 39228, 28,  351, 25854, 41658, 284,  14055,
                                   9018, 30,   1249,  347,   260, 929, 3514,  411};
    load_once();
    skip_when_slow();
    int32_t prompt[8];
    const char *text = "Once upon a time";
    assert_int_equal(weft_encode(model, text, strlen(text), WEFT_ADD_SPECIAL, prompt, 8),
                     FIRST + 1);
    assert_memory_equal(prompt, ids, (FIRST + 1) * sizeof *prompt);
    weft_session *s = weft_session_open(model, (weft_session_desc){.precision = WEFT_EXACT});
    weft_model_info info;
    assert_ok(weft_get_model_info(model, &info));
    size_t n_vocab = (size_t)info.n_vocab, n_rows = N - FIRST;
    float *logits = calloc(n_rows * n_vocab, sizeof *logits);
    assert_ok(weft_score(s, ids, N, FIRST, logits, n_rows * n_vocab));
    int n_clear = 0;
    for (size_t row = 0; row + 1 < n_rows; row++) {
        const float *x = logits + row * n_vocab;
        size_t best = 0, second = 1;
        if (x[1] > x[0]) best = 1, second = 0;
        for (size_t i = 2; i < n_vocab; i++) {
            if (x[i] > x[best]) second = best, best = i;
            else if (x[i] > x[second]) second = i;
        }
        if (x[best] - x[second] <= 0.5F) continue;
        n_clear++;
        assert_int_equal(best, ids[FIRST + row + 1]);
    }
    assert_true(n_clear >= 12);
    weft_session_close(s);
    /* Token by token, as text is generated, rounding allowed. */
    s = weft_session_open(model, (weft_session_desc){.precision = WEFT_FAST, .n_batch = 1});
    enum { N_FAST = 12 };
    float *fast = calloc((N_FAST - FIRST) * n_vocab, sizeof *fast);
    assert_ok(weft_score(s, ids, N_FAST, FIRST, fast, (N_FAST - FIRST) * n_vocab));
    for (size_t i = 0; i < (N_FAST - FIRST) * n_vocab; i++)
        if (!(fabsf(fast[i] - logits[i]) <= 0.05F))
            fail_msg("logit %zu is %g, exact %g", i % n_vocab, fast[i], logits[i]);
    free(fast);
    free(logits);
    weft_session_close(s);
}

/* The most memory this process ever had, in bytes. */
static uint64_t peak_memory(void) {
    char line[256];
    unsigned long long kb = 0;
    FILE *f = fopen("/proc/self/status", "r");
    while (f && fgets(line, sizeof line, f))
        if (sscanf(line, "VmHWM: %llu kB", &kb) == 1) break;
    if (f) fclose(f);
    return kb * 1024;
}

static void memory_is_file_and_cache(void **state) {
    (void)state;
    load_once();
    if (getenv("WEFT_TEST_CHECKED")) skip_because(false, "memory is not measured under a checker");
    weft_model_info info;
    assert_ok(weft_get_model_info(model, &info));
    uint64_t allowed = info.file_bytes + info.kv_bytes * 256 + (64u << 20);
    if (!peak_memory()) skip_because(false, "this system has no /proc/self/status");
    if (peak_memory() > allowed)
        fail_msg("%.1f MB were used, %.1f allowed", (double)peak_memory() * 1e-6,
                 (double)allowed * 1e-6);
}

/* ---- on an adapter tools/with_adapter.sh chose ----------------------------------------------- */

static void gpu_and_cpu_agree(void **state) {
    (void)state;
    enum { N = 12 };
    static const int32_t ids[N] = {6403, 1980, 253, 655, 28, 260, 2240, 282, 1315, 27108, 436, 253};
    load_once();
    weft_device *gpu = tiny_model_device();
    weft_model *there = weft_model_load(gpu, model_path(), (weft_model_desc){0});
    if (!there) fail_msg("%s", weft_message());
    weft_model_info info;
    assert_ok(weft_get_model_info(model, &info));
    size_t n = (size_t)N * (size_t)info.n_vocab;
    float *a = calloc(n, sizeof *a), *b = calloc(n, sizeof *b);
    for (int fast = 0; fast < 2; fast++) { /* fast: token by token, as text is generated */
        weft_session_desc desc = {.precision = WEFT_EXACT};
        if (fast) desc = (weft_session_desc){.precision = WEFT_FAST, .n_batch = 1};
        weft_session *s = weft_session_open(model, desc), *t = weft_session_open(there, desc);
        assert_ok(weft_score(s, ids, N, 0, a, n));
        assert_ok(weft_score(t, ids, N, 0, b, n));
        double largest = 0, allowed = fast ? 3e-2 : 2e-3;
        for (size_t i = 0; i < n; i++) {
            double d = fabs((double)a[i] - b[i]);
            if (!(d <= largest)) largest = d;
        }
        if (!(largest <= allowed)) fail_msg("logits differ by %g, allowed %g", largest, allowed);
        weft_session_close(s);
        weft_session_close(t);
    }
    weft_counters counters;
    assert_ok(weft_get_counters(gpu, &counters));
    assert_int_equal(counters.n_fallback, 0);
    free(a);
    free(b);
    weft_model_free(there);
    weft_close(gpu);
}

int main(void) {
    const struct CMUnitTest gpu_tests[] = {cmocka_unit_test(gpu_and_cpu_agree)};
    if (!tiny_model_is_cpu()) return cmocka_run_group_tests(gpu_tests, NULL, close_all);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(conversation_is_rendered_as_elsewhere),
        cmocka_unit_test(two_turns_make_sense),
        cmocka_unit_test(memory_is_file_and_cache),
        cmocka_unit_test(greedy_text_is_the_other_engines),
    };
    return cmocka_run_group_tests(tests, NULL, close_all);
}
