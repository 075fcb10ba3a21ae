/* run.c: a language model in 15 lines. SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <weft/llm.h>

static bool print(void *user, const char *text, size_t n) {
    (void)user;
    return fwrite(text, 1, n, stdout) == n && fflush(stdout) == 0;
}
int main(int argc, char **argv) {
    weft_device *dev = weft_open(NULL);
    weft_model *model = weft_model_load(dev, argc > 1 ? argv[1] : "", (weft_model_desc){0});
    weft_session *session = weft_session_open(model, (weft_session_desc){0});
    weft_generate_desc desc = {.on_text = print, .max_tokens = 64};
    bool failed = weft_generate(session, argc > 2 ? argv[2] : "Once upon a time", desc) != WEFT_OK;
    puts(failed ? weft_message() : "");
    weft_session_close(session), weft_model_free(model), weft_close(dev);
}
