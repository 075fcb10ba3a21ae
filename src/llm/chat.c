/* Conversations: the model's own chat template around messages, and the result as tokens.
 *
 * A control token in the format's own text is that token; the same characters written by a user
 * stay text. To keep the two apart through any rendering, a mark (a noncharacter no message
 * contains) is put inside every control token's text in the messages, and taken out again when the
 * text between control tokens is encoded.
 * SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/utf8.h"
#include "llm/llm.h"
#include "template/template.h"

enum { MARK_BYTES = 3 }; /* U+FDD0 .. U+FDEF in UTF-8 */

/* The control token whose text is the longest that text[0..n) begins with, or -1. */
static int32_t control_at(const weft_model *m, const char *text, size_t n, size_t *length) {
    int32_t found = -1;
    *length = trie_longest(&m->controls, text, n, &found);
    return *length ? found : -1;
}

static weft_status find_controls(weft_model *m) {
    size_t n = tokenizer_n_tokens(m->tok), n_keys = 0;
    trie_key *keys = mem_array(n, sizeof *keys);
    if (!keys) return WEFT_NO_MEMORY;
    for (size_t i = 0; i < n; i++) {
        int32_t kind = tokenizer_kind(m->tok, (int32_t)i);
        token_text text = tokenizer_raw(m->tok, (int32_t)i);
        if ((kind != TOKEN_CONTROL && kind != TOKEN_UNKNOWN) || !text.n) continue;
        keys[n_keys++] = (trie_key){text.data, text.n, (int32_t)i};
    }
    weft_status status = trie_build(&m->controls, keys, n_keys);
    mem_free(keys);
    return status;
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

/* ---- rendering ------------------------------------------------------------------------------- */

/* Appends bytes as a JSON string; they are UTF-8 already (put_marked; the file's own tokens). */
static weft_status put_json(const str *text, str *out) {
    TRY(str_char(out, '"'));
    for (size_t i = 0; i < text->n; i++) {
        unsigned char c = (unsigned char)text->data[i];
        if (c == '"' || c == '\\') TRY(str_char(out, '\\'));
        TRY(c < ' ' ? str_format(out, "\\u%04x", c) : str_char(out, (char)c));
    }
    return str_char(out, '"');
}

static weft_status put_json_text(const weft_model *m, const char *text, const char *mark,
                                 str *scratch, str *out) {
    str_clear(scratch);
    TRY(put_marked(m, text, mark, scratch));
    return put_json(scratch, out);
}

/* "name": the token's own text, "" when there is none. */
static weft_status put_json_token(const weft_model *m, const char *name, int32_t id, str *scratch,
                                  str *out) {
    token_text t = id >= 0 ? tokenizer_raw(m->tok, id) : (token_text){"", 0};
    str_clear(scratch);
    TRY(str_append(scratch, t.data, t.n));
    TRY(str_format(out, ", \"%s\": ", name));
    return put_json(scratch, out);
}

/* What the template sees. */
static weft_status put_context(const weft_model *m, const weft_chat_message *messages, size_t n,
                               const char *mark, str *scratch, str *out) {
    TRY(str_text_append(out, "{\"messages\": ["));
    for (size_t i = 0; i < n; i++) {
        TRY(str_text_append(out, i ? ", {\"role\": " : "{\"role\": "));
        TRY(put_json_text(m, messages[i].role, mark, scratch, out));
        TRY(str_text_append(out, ", \"content\": "));
        TRY(put_json_text(m, messages[i].content, mark, scratch, out));
        TRY(str_char(out, '}'));
    }
    TRY(str_text_append(out, "], \"add_generation_prompt\": true"));
    TRY(put_json_token(m, "bos_token", tokenizer_bos(m->tok), scratch, out));
    TRY(put_json_token(m, "eos_token", tokenizer_eos(m->tok), scratch, out));
    return str_char(out, '}');
}

weft_status chat_open(weft_model *m) {
    TRY(find_controls(m));
    gguf_string source = {"", 0};
    weft_status status = WEFT_OK;
    if (!gguf_get_string(m->file, "tokenizer.chat_template", &source, &status)) return status;
    status = template_parse(source.data, source.n, &m->chat_template);
    if (status == WEFT_OK || status == WEFT_NO_MEMORY) return status;
    /* The model can still continue texts: weft_chat will say what is wrong. */
    snprintf(m->chat_problem, sizeof m->chat_problem, "%s", error_message());
    return WEFT_OK;
}

const char *chat_format(const weft_model *m) {
    gguf_string source = {"", 0};
    weft_status status = WEFT_OK;
    if (!m->chat_template) return "";
    gguf_get_string(m->file, "tokenizer.chat_template", &source, &status);
    return memmem(source.data, source.n, "<|im_start|>", 12) ? "chatml" : "template";
}

static weft_status render(const weft_model *m, const weft_chat_message *messages, size_t n,
                          const char *mark, str *out) {
    str context = {0}, scratch = {0};
    weft_status status = put_context(m, messages, n, mark, &scratch, &context);
    if (status == WEFT_OK) {
        status = template_render(m->chat_template, context.data, context.n, NULL, out);
        if (status != WEFT_OK) error_prefix(status, "the model's chat template");
    }
    str_free(&context);
    str_free(&scratch);
    return status;
}

static weft_status check_template(const weft_model *m) {
    REQUIRE(!m->chat_problem[0], WEFT_UNSUPPORTED, "the model's chat template cannot be used: %s",
            m->chat_problem);
    REQUIRE(m->chat_template, WEFT_UNSUPPORTED, "the model has no chat format");
    return WEFT_OK;
}

/* The model's tokens, then the caller's keys: of two that are equal the last one counts. */
static weft_status put_tokens(const weft_model *m, const char *context, size_t n, str *scratch,
                              str *out) {
    const char *open = n ? memchr(context, '{', n) : NULL;
    size_t at = open ? (size_t)(open - context) + 1 : 0, next = at;
    if (!open) return str_append(out, context, n); /* no object: the template's reader says so */
    while (next < n && strchr(" \t\r\n", context[next]) && context[next]) next++;
    TRY(str_append(out, context, at));
    str tokens = {0};
    weft_status status = put_json_token(m, "bos_token", tokenizer_bos(m->tok), scratch, &tokens);
    if (status == WEFT_OK)
        status = put_json_token(m, "eos_token", tokenizer_eos(m->tok), scratch, &tokens);
    if (status == WEFT_OK) status = str_append(out, tokens.data + 1, tokens.n - 1); /* no comma */
    str_free(&tokens);
    TRY(status);
    if (next < n && context[next] != '}') TRY(str_char(out, ','));
    return str_append(out, context + at, n - at);
}

weft_status chat_render(const weft_model *m, const char *context, size_t n, str *out) {
    TRY(check_template(m));
    str full = {0}, scratch = {0};
    weft_status status = put_tokens(m, context, n, &scratch, &full);
    if (status == WEFT_OK) {
        status = template_render(m->chat_template, str_text(&full), full.n, NULL, out);
        if (status != WEFT_OK) error_prefix(status, "the model's chat template");
    }
    str_free(&full);
    str_free(&scratch);
    return status;
}

weft_status chat_encode(weft_model *m, const weft_chat_message *messages, size_t n,
                        token_list *out) {
    REQUIRE(n && messages, WEFT_INVALID, "a conversation needs a message");
    for (size_t i = 0; i < n; i++)
        REQUIRE(messages[i].role && messages[i].content, WEFT_INVALID, "message %zu has no %s", i,
                messages[i].role ? "content" : "role");
    TRY(check_template(m));
    char mark[MARK_BYTES + 1];
    TRY(choose_mark(messages, n, mark));
    str text = {0}, run = {0};
    weft_status status = render(m, messages, n, mark, &text);
    if (status == WEFT_OK) status = encode_rendered(m, &text, mark, &run, out);
    str_free(&text);
    str_free(&run);
    return status;
}
