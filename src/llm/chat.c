/* Conversations: the model's chat format around messages, and the result as tokens.
 *
 * A control token in the format's own text is that token; the same characters written by a user
 * stay text. To keep the two apart through any rendering, a mark (a noncharacter no message
 * contains) is put inside every control token's text in the messages, and taken out again when the
 * text between control tokens is encoded.
 * SPDX-License-Identifier: MIT */
#include <string.h>

#include "base/mem.h"
#include "base/utf8.h"
#include "llm/llm.h"

enum { MARK_BYTES = 3 }; /* U+FDD0 .. U+FDEF in UTF-8 */

/* The control token whose text is the longest that text[0..n) begins with, or -1. */
static int32_t control_at(const weft_model *m, const char *text, size_t n, size_t *length) {
    int32_t found = -1;
    *length = 0;
    for (size_t i = 0; i < m->n_controls; i++) {
        token_text t = tokenizer_raw(m->tok, m->controls[i]);
        if (t.n <= *length || t.n > n || memcmp(t.data, text, t.n)) continue;
        *length = t.n;
        found = m->controls[i];
    }
    return found;
}

weft_status chat_find_controls(weft_model *m) {
    size_t n = tokenizer_n_tokens(m->tok), capacity = 0;
    for (size_t i = 0; i < n; i++) {
        int32_t kind = tokenizer_kind(m->tok, (int32_t)i);
        if (kind != TOKEN_CONTROL && kind != TOKEN_UNKNOWN) continue;
        TRY(mem_reserve((void **)&m->controls, &capacity, m->n_controls + 1, sizeof *m->controls));
        m->controls[m->n_controls++] = (int32_t)i;
    }
    return WEFT_OK;
}

/* A noncharacter that is in no message. */
static weft_status choose_mark(const weft_chat_message *messages, size_t n,
                               char mark[MARK_BYTES + 1]) {
    for (int32_t code = 0xFDD0; code <= 0xFDEF; code++) {
        mark[utf8_encode(code, mark)] = 0;
        bool is_used = false;
        for (size_t i = 0; i < n && !is_used; i++)
            is_used = strstr(messages[i].content, mark) || strstr(messages[i].role, mark);
        if (!is_used) return WEFT_OK;
    }
    return error_set(WEFT_INVALID, "the messages use all the noncharacters U+FDD0 to U+FDEF");
}

/* Appends text with the mark after the first byte of every control token's text, and bad bytes as
 * U+FFFD. */
static weft_status put_marked(const weft_model *m, const char *text, const char *mark, str *out) {
    for (size_t at = 0, n = strlen(text), length; at < n;) {
        int32_t code;
        size_t step = (size_t)utf8_decode(text + at, n - at, &code);
        TRY(code == UTF8_BAD ? str_text_append(out, "\xEF\xBF\xBD")
                             : str_append(out, text + at, step));
        if (control_at(m, text + at, n - at, &length) >= 0) TRY(str_text_append(out, mark));
        at += step;
    }
    return WEFT_OK;
}

/* Encodes the text between control tokens, without the mark, and empties it. */
static weft_status flush(const weft_model *m, str *run, const char *mark, token_list *out) {
    size_t kept = 0;
    for (size_t at = 0; at < run->n;) {
        if (run->n - at >= MARK_BYTES && !memcmp(run->data + at, mark, MARK_BYTES))
            at += MARK_BYTES;
        else run->data[kept++] = run->data[at++];
    }
    weft_status status = kept ? tokenizer_encode(m->tok, run->data, kept, 0, out) : WEFT_OK;
    str_clear(run);
    return status;
}

static weft_status put_token(token_list *out, size_t at, int32_t id) {
    TRY(mem_reserve((void **)&out->ids, &out->capacity, out->n + 1, sizeof *out->ids));
    memmove(out->ids + at + 1, out->ids + at, (out->n - at) * sizeof *out->ids);
    out->ids[at] = id;
    out->n++;
    return WEFT_OK;
}

static weft_status encode_rendered(const weft_model *m, const str *text, const char *mark, str *run,
                                   token_list *out) {
    for (size_t at = 0, length; at < text->n;) {
        int32_t id = control_at(m, text->data + at, text->n - at, &length);
        if (id < 0) {
            TRY(str_char(run, text->data[at++]));
            continue;
        }
        TRY(flush(m, run, mark, out));
        TRY(put_token(out, out->n, id));
        at += length;
    }
    TRY(flush(m, run, mark, out));
    bool has_bos = out->n && out->ids[0] == tokenizer_bos(m->tok);
    if (tokenizer_adds_bos(m->tok) && !has_bos) TRY(put_token(out, 0, tokenizer_bos(m->tok)));
    return WEFT_OK;
}

/* ---- ChatML -------------------------------------------------------------------------------------
 * */

static bool is_chatml(const weft_model *m) {
    gguf_string source = {"", 0};
    weft_status status = WEFT_OK;
    gguf_get_string(m->file, "tokenizer.chat_template", &source, &status);
    return source.n && memmem(source.data, source.n, "<|im_start|>", 12);
}

const char *chat_format(const weft_model *m) { return is_chatml(m) ? "chatml" : ""; }

static weft_status render(const weft_model *m, const weft_chat_message *messages, size_t n,
                          const char *mark, str *out) {
    for (size_t i = 0; i < n; i++) {
        TRY(str_text_append(out, "<|im_start|>"));
        TRY(put_marked(m, messages[i].role, mark, out));
        TRY(str_char(out, '\n'));
        TRY(put_marked(m, messages[i].content, mark, out));
        TRY(str_text_append(out, "<|im_end|>\n"));
    }
    return str_text_append(out, "<|im_start|>assistant\n");
}

weft_status chat_encode(weft_model *m, const weft_chat_message *messages, size_t n,
                        token_list *out) {
    REQUIRE(n && messages, WEFT_INVALID, "a conversation needs a message");
    for (size_t i = 0; i < n; i++)
        REQUIRE(messages[i].role && messages[i].content, WEFT_INVALID, "message %zu has no %s", i,
                messages[i].role ? "content" : "role");
    REQUIRE(chat_format(m)[0], WEFT_UNSUPPORTED, "the model has no chat format that is known here");
    char mark[MARK_BYTES + 1];
    TRY(choose_mark(messages, n, mark));
    str text = {0}, run = {0};
    weft_status status = render(m, messages, n, mark, &text);
    if (status == WEFT_OK) status = encode_rendered(m, &text, mark, &run, out);
    str_free(&text);
    str_free(&run);
    return status;
}
