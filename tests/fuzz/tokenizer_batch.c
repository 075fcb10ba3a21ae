/* Tokenizers in one process, for tests/fuzz/tokenizer_diff.py. Reads records from standard input,
 * "COMMAND A B\n" and bytes, and answers each with "STATUS BYTES\n" and bytes:
 *
 *     open A B        tokenizer.json and tokenizer_config.json (B = 0: none)
 *     describe A B    the same by way of the description
 *     gguf A 0        the path of a GGUF
 *     encode A FLAGS  a text -> ids as decimal numbers
 *     decode A FLAG   ids, 4 bytes each -> text (FLAG 1: with special tokens)
 *     stream A FLAG   the same token by token
 * SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gguf/gguf.h"
#include "llm/vocabulary.h"
#include "tokenizer/tokenizer_json.h"

static weft_status open_gguf(const char *path, tokenizer **t) {
    gguf_file *f;
    weft_status status = gguf_open(path, &f);
    if (status != WEFT_OK) return status;
    status = vocabulary_open(f, t);
    gguf_close(f);
    return status;
}

static weft_status open_any(const char *command, const char *text, size_t n, size_t m,
                            tokenizer **t) {
    tokenizer_close(*t);
    *t = NULL;
    tokenizer_json_text json = {.json = text, .n = n, .config = m ? text + n : NULL, .n_config = m};
    if (!strcmp(command, "open")) return tokenizer_open_json(&json, t);
    if (!strcmp(command, "gguf")) return open_gguf(text, t);
    tokenizer_description d;
    weft_status status = tokenizer_describe_json(&json, &d);
    if (status == WEFT_OK) status = tokenizer_open(&d.desc, t);
    tokenizer_description_free(&d);
    return status;
}

static weft_status decode(const char *command, const tokenizer *t, const int32_t *ids, size_t n,
                          bool special, str *out) {
    if (!strcmp(command, "decode")) return tokenizer_decode(t, ids, n, special, out);
    token_stream s = {0};
    weft_status status = WEFT_OK;
    for (size_t i = 0; i < n && status == WEFT_OK; i++)
        status = token_stream_feed(t, &s, ids[i], special, out);
    return status == WEFT_OK ? token_stream_end(&s, out) : status;
}

int main(void) {
    char command[16];
    size_t n, m;
    tokenizer *t = NULL;
    while (scanf("%15s %zu %zu", command, &n, &m) == 3 && getchar() == '\n') {
        bool opens = !strcmp(command, "open") || !strcmp(command, "describe");
        size_t bytes = n + (opens ? m : 0);
        char *text = malloc(bytes + 1);
        if (!text || fread(text, 1, bytes, stdin) != bytes) return 1;
        text[bytes] = 0;
        str out = {0};
        weft_status status = WEFT_OK;
        if (opens || !strcmp(command, "gguf")) {
            status = open_any(command, text, n, m, &t);
        } else if (!t) {
            status = error_set(WEFT_INVALID, "no tokenizer is open");
        } else if (!strcmp(command, "encode")) {
            token_list ids = {0};
            status = tokenizer_encode(t, text, n, (int)m, &ids);
            for (size_t i = 0; i < ids.n; i++) str_format(&out, i ? " %d" : "%d", ids.ids[i]);
            token_list_free(&ids);
        } else {
            status = decode(command, t, (const int32_t *)text, n / 4, m, &out);
        }
        if (status != WEFT_OK) str_clear(&out), str_text_append(&out, error_message());
        printf("%d %zu\n", (int)status, out.n);
        fwrite(str_text(&out), 1, out.n, stdout);
        fflush(stdout);
        str_free(&out);
        free(text);
    }
    tokenizer_close(t);
    return 0;
}
