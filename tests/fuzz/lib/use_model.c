/* A model's path given to the public functions one after the other, for the targets that write a
 * file or a folder: looked into, loaded on the CPU, asked for a few tokens, quantised.
 * SPDX-License-Identifier: MIT */
#include "lib/use_model.h"

#include "weft/llm.h"

enum {
    FILES = FUZZ_FILE | 1U << WEFT_SHAPE | 1U << WEFT_DTYPE | 1U << WEFT_IO,
    ANSWER = FILES | 1U << WEFT_INVALID | 1U << WEFT_CONTEXT_FULL
};

static weft_device *device(void) {
    static weft_device *dev;
    if (!dev) dev = weft_open(&(weft_device_desc){.name = "cpu", .n_threads = 1});
    fuzz_require(dev, "the CPU does not open");
    return dev;
}

/* A call that gave `ok`; when it failed, the message's status counts. A failed allocation need not
 * be the call's failure (a chat template that cannot be used is not). */
static bool check(const fuzz_input *in, bool ok, unsigned allowed) {
    weft_status status = ok ? WEFT_OK : error_status();
    bool has_failed = fuzz_disarm(in) && status == WEFT_NO_MEMORY;
    return fuzz_status(status, has_failed, allowed);
}

static void look_into(const fuzz_input *in, const char *path) {
    weft_gguf_info info;
    weft_gguf_value value;
    weft_gguf_tensor tensor;
    weft_placement places[8];
    fuzz_arm(in);
    weft_gguf *f = weft_gguf_open(path);
    if (!check(in, f, FILES)) return;
    fuzz_require(weft_gguf_get_info(f, &info) == WEFT_OK, "the info of an open file is not there");
    fuzz_arm(in);
    bool ok = true;
    for (size_t i = 0; i < info.n_values && ok; i++)
        ok = weft_gguf_get_value(f, i, &value) == WEFT_OK;
    for (size_t i = 0; i < info.n_tensors && ok; i++)
        ok = weft_gguf_get_tensor(f, i, &tensor) == WEFT_OK;
    check(in, ok, 0);
    weft_gguf_problem(f);
    if (weft_gguf_placement(f, device(), places, 8) < 0) fuzz_status(error_status(), false, FILES);
    weft_gguf_close(f);
}

static void answer(const fuzz_input *in, weft_model *model) {
    weft_session *s = weft_session_open(model, (weft_session_desc){.n_ctx = 12, .n_batch = 2});
    if (!fuzz_status(s ? WEFT_OK : error_status(), false, ANSWER)) return;
    weft_generate_desc desc = {.max_tokens = 2, .ignore_eos = true};
    desc.sampling = (weft_sampling){.temperature = 1, .top_p = 0.9F, .repeat_penalty = 1.1F};
    fuzz_arm(in);
    check(in, weft_generate(s, "a b", desc) == WEFT_OK, ANSWER);
    desc.ignore_eos = false;
    desc.grammar = "root ::= [a-c]+ | \"<\" root";
    fuzz_arm(in);
    check(in, weft_generate(s, "b", desc) == WEFT_OK, ANSWER);
    desc.grammar = NULL;
    weft_chat_message message = {"user", "a"};
    fuzz_arm(in);
    check(in, weft_chat(s, &message, 1, desc) == WEFT_OK, ANSWER);
    weft_session_close(s);
}

static void quantize(const fuzz_input *in, const char *path, const char *out) {
    static const char *const types[] = {"Q4_0", "F16", "Q6_K", "IQ4_NL"};
    weft_quantize_desc desc = {.type = types[in->n % 4], .n_threads = 1};
    fuzz_arm(in);
    check(in, weft_quantize(path, out, desc) == WEFT_OK, FILES);
}

bool fuzz_use_model(const fuzz_input *in, const char *path, const char *out) {
    weft_model_info info;
    look_into(in, path);
    fuzz_arm(in);
    weft_model *model = weft_model_load(device(), path, (weft_model_desc){0});
    bool is_model = check(in, model, FILES);
    if (is_model) {
        fuzz_require(weft_get_model_info(model, &info) == WEFT_OK, "the info is not there");
        answer(in, model);
        quantize(in, path, out);
    }
    weft_model_free(model);
    return is_model;
}
