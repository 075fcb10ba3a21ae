/* Hugging Face folders: loaded as they are and converted, against what `transformers` answers
 * (tests/golden/checkpoint.py). On the CPU, or on the adapter tools/with_adapter.sh chose.
 * SPDX-License-Identifier: MIT */
#include "weft/llm.h"

#include <math.h>
#include <unistd.h>

#include "tiny_folder.h"
#include "tiny_model.h"

static weft_device *dev;
static char out_path[64];

static int open_device(void **state) {
    (void)state;
    snprintf(out_path, sizeof out_path, "/tmp/weft_folder_out_%ld.gguf", (long)getpid());
    dev = tiny_model_device();
    return dev ? 0 : -1;
}

static int close_device(void **state) {
    (void)state;
    unlink(out_path);
    weft_close(dev);
    return 0;
}

static weft_session *open_session(const char *path, weft_model **model) {
    *model = weft_model_load(dev, path, (weft_model_desc){0});
    if (!*model) fail_msg("%s", weft_message());
    weft_session *s =
        weft_session_open(*model, (weft_session_desc){.precision = WEFT_EXACT, .kv = WEFT_KV_F32});
    if (!s) fail_msg("%s", weft_message());
    return s;
}

static int best_of(const float *logits) {
    int best = 0;
    for (int i = 1; i < FOLDER_VOCAB; i++)
        if (logits[i] > logits[best]) best = i;
    return best;
}

/* The logits of the whole prompt are filled in, and the answer's tokens are compared. */
static void answer(const tiny_folder *f, const char *path, float *logits) {
    weft_model *model;
    weft_session *s = open_session(path, &model);
    assert_ok(weft_score(s, f->prompt, FOLDER_PROMPT, 0, logits, FOLDER_PROMPT * FOLDER_VOCAB));
    const float *last = logits + (FOLDER_PROMPT - 1) * FOLDER_VOCAB;
    float next[FOLDER_VOCAB];
    memcpy(next, last, sizeof next);
    for (int i = 0; i < FOLDER_ANSWER; i++) {
        int id = best_of(next);
        if (id != f->answer[i])
            fail_msg("%s: token %d is %d, not %d", f->name, i, id, f->answer[i]);
        assert_ok(weft_session_append(s, id));
        assert_ok(weft_logits(s, next, FOLDER_VOCAB));
    }
    weft_session_close(s);
    weft_model_free(model);
}

static double distance(const tiny_folder *f, const float *logits) {
    double most = 0;
    for (int p = 0; p < FOLDER_POSITIONS; p++)
        for (int i = 0; i < FOLDER_SHOWN; i++) {
            float ours = logits[f->position[p] * FOLDER_VOCAB + i * FOLDER_STEP];
            double d = fabs((double)ours - f->logits[p][i]);
            if (!(d <= most)) most = d;
        }
    return most;
}

static void folders_answer_as_transformers(void **state) {
    (void)state;
    static float direct[FOLDER_PROMPT * FOLDER_VOCAB], converted[FOLDER_PROMPT * FOLDER_VOCAB];
    const char *name;
    for (int i = 0; (name = tiny_folder_name(i)); i++) {
        tiny_folder *f = tiny_folder_read(name);
        const char *path = tiny_folder_write(f);
        answer(f, path, direct);
        double d = distance(f, direct);
        if (!(d <= 1e-4)) fail_msg("%s: logits are off by %g", name, d);
        assert_ok(weft_convert(path, out_path, (weft_convert_desc){0}));
        answer(f, out_path, converted);
        for (int k = 0; k < FOLDER_PROMPT * FOLDER_VOCAB; k++)
            if (!(fabsf(direct[k] - converted[k]) <= 1e-6F))
                fail_msg("%s: converted, logit %d is %g, not %g", name, k, (double)converted[k],
                         (double)direct[k]);
        free(f);
    }
}

/* Weights at odd addresses, and a tied model with its output matrix all the same. */
static void odd_folders_answer_too(void **state) {
    (void)state;
    static float logits[FOLDER_PROMPT * FOLDER_VOCAB];
    static const char *const of[] = {"llama3", "qwen2", "qwen3", "qwen3_moe"};
    for (size_t i = 0; i < 4; i++) {
        tiny_folder *f = tiny_folder_read(of[i]);
        f->is_off_by_one = true;
        f->has_tied_output = i == 1 || i == 2;
        answer(f, tiny_folder_write(f), logits);
        assert_true(distance(f, logits) <= 1e-4);
        free(f);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(folders_answer_as_transformers),
        cmocka_unit_test(odd_folders_answer_too),
    };
    return cmocka_run_group_tests(tests, open_device, close_device);
}
