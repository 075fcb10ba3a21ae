/* Chat templates for the library's users: any template, or a model's own, on a context of theirs.
 * SPDX-License-Identifier: MIT */
#include <string.h>

#include "llm/llm.h"
#include "template/template.h"

/* Hands out what was rendered, as weft_render promises. */
static int64_t hand_out(weft_status status, str *out, char *text, size_t cap) {
    if (text && cap) {
        size_t kept = out->n < cap ? out->n : cap - 1;
        if (status != WEFT_OK) kept = 0;
        memcpy(text, str_text(out), kept);
        text[kept] = 0;
    }
    int64_t count = status == WEFT_OK ? (int64_t)out->n : -1;
    str_free(out);
    return count;
}

static weft_status render(const char *source, size_t n, const char *context, size_t n_context,
                          str *out) {
    template_program *program;
    REQUIRE(source && context, WEFT_INVALID, "weft_render: the template or the context is NULL");
    TRY(template_parse(source, n, &program));
    weft_status status = template_render(program, context, n_context, NULL, out);
    template_free(program);
    return status;
}

int64_t weft_render(const char *source, size_t n, const char *context_json, size_t n_context,
                    char *text, size_t cap) {
    str out = {0};
    return hand_out(render(source, n, context_json, n_context, &out), &out, text, cap);
}

int64_t weft_render_chat(weft_model *m, const char *context_json, size_t n_context, char *text,
                         size_t cap) {
    if (model_enter(m) != WEFT_OK) return -1;
    str out = {0};
    weft_status status = context_json
                             ? chat_render(m, context_json, n_context, &out)
                             : error_set(WEFT_INVALID, "weft_render_chat: the context is NULL");
    model_leave(m);
    return hand_out(status, &out, text, cap);
}
