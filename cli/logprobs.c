/* --logprobs: what on_token tells, kept until the answer is over: lines for people, or the JSON
 * that OpenAI's API calls "logprobs".
 * SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

bool cli_logprobs_open(cli_logprobs *p, bool is_json) {
    *p = (cli_logprobs){.is_json = is_json};
    p->out = open_memstream(&p->text, &p->n);
    return p->out != NULL;
}

void cli_logprobs_close(cli_logprobs *p) {
    if (p->out) fclose(p->out);
    free(p->text);
    *p = (cli_logprobs){0};
}

/* A JSON string; bytes that are no character become U+FFFD. */
static void put_string(FILE *out, const char *text, size_t n) {
    fputc('"', out);
    for (size_t at = 0; at < n;) {
        unsigned char c = (unsigned char)text[at];
        size_t length = cli_character(text + at, n - at);
        if (!length) fputs("\xEF\xBF\xBD", out);
        else if (c == '"' || c == '\\') fprintf(out, "\\%c", c);
        else if (c < ' ' || c == 127) fprintf(out, "\\u%04x", c);
        else fwrite(text + at, 1, length, out);
        at += length ? length : 1;
    }
    fputc('"', out);
}

/* The members of an object for one token. */
static void put_token(FILE *out, const weft_token_prob *t) {
    fprintf(out, "\"token\": ");
    put_string(out, t->text, t->n);
    fprintf(out, ", \"id\": %d, \"logprob\": %.7g, \"bytes\": [", t->id, (double)t->log_prob);
    for (size_t i = 0; i < t->n; i++) fprintf(out, i ? ", %d" : "%d", (unsigned char)t->text[i]);
    fprintf(out, "]");
}

static void put_json(cli_logprobs *p, const weft_token *t) {
    fprintf(p->out, p->n_tokens ? ",\n{" : "[{");
    put_token(p->out, &t->token);
    fprintf(p->out, ", \"top_logprobs\": [");
    for (size_t i = 0; i < t->n_best; i++) {
        fprintf(p->out, i ? ", {" : "{");
        put_token(p->out, &t->best[i]);
        fputc('}', p->out);
    }
    fprintf(p->out, "]}");
}

static void put_line(FILE *out, const weft_token *t) {
    fprintf(out, "%9.4f  ", (double)t->token.log_prob);
    cli_quote(out, t->token.text, t->token.n);
    for (size_t i = 0; i < t->n_best; i++) {
        fprintf(out, "%s%.4f ", i ? "  " : "   of  ", (double)t->best[i].log_prob);
        cli_quote(out, t->best[i].text, t->best[i].n);
    }
    fputc('\n', out);
}

void cli_logprobs_add(cli_logprobs *p, const weft_token *token) {
    if (!p->out) return;
    if (p->is_json) put_json(p, token);
    else put_line(p->out, token);
    p->n_tokens++;
}

const char *cli_logprobs_text(cli_logprobs *p) {
    if (!p->out || (p->is_json && fputs(p->n_tokens ? "]" : "[]", p->out) == EOF)) return NULL;
    bool is_whole = fflush(p->out) == 0 && !ferror(p->out);
    return is_whole ? p->text : NULL;
}

void cli_logprobs_print(cli_logprobs *p) {
    const char *text = cli_logprobs_text(p);
    if (text) fputs(text, stderr);
}
