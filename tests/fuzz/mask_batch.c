/* What mask_check.py drives: mask_batch MODEL reads commands from standard input, one JSON object a
 * line. {"kind": K, "grammar": G} opens a grammar (gbnf, regex, json-schema) at the beginning of a
 * text: a line "ok", or what is wrong. {"accept": N} moves on by token N, {"rollback": N} back to N
 * steps: the answer is the mask as it is in memory. {"try": HEX} asks whether these bytes may come:
 * a line "yes" or "no".
 * SPDX-License-Identifier: MIT */
#include "harness.h"

#ifdef WEFT_HAVE_JANSSON
#include <jansson.h>

#include "gguf/gguf.h"
#include "grammar/grammar.h"
#include "llm/vocabulary.h"

typedef struct batch {
    grammar_vocab *v;
    size_t n_words;
    grammar *g;
    grammar_matcher *m;
    uint32_t *mask;
} batch;

static void open_one(batch *b, const char *kind, const char *text) {
    size_t n = strlen(text);
    weft_status status = WEFT_OK;
    grammar_matcher_close(b->m);
    grammar_close(b->g);
    b->m = NULL;
    b->g = NULL;
    if (!strcmp(kind, "gbnf")) status = grammar_open_gbnf(text, n, &b->g);
    else if (!strcmp(kind, "regex")) status = grammar_open_regex(text, n, &b->g);
    else status = grammar_open_json_schema(text, n, &b->g);
    if (status == WEFT_OK) status = grammar_matcher_open(b->g, b->v, &b->m);
    printf("%s\n", status == WEFT_OK ? "ok" : weft_message());
}

static void try_bytes(batch *b, const char *hex) {
    static char bytes[1 << 16];
    size_t n = 0, steps = grammar_matcher_steps(b->m);
    for (; hex[2 * n] && hex[2 * n + 1] && n < sizeof bytes; n++) {
        char digits[3] = {hex[2 * n], hex[2 * n + 1], 0};
        bytes[n] = (char)strtol(digits, NULL, 16);
    }
    bool ok = grammar_matcher_accept_bytes(b->m, bytes, n) == WEFT_OK;
    if (ok) assert_ok(grammar_matcher_rollback(b->m, steps));
    printf("%s\n", ok ? "yes" : "no");
}

static void answer(batch *b, const json_t *in) {
    const json_t *token = json_object_get(in, "accept"), *steps = json_object_get(in, "rollback");
    const char *hex = json_string_value(json_object_get(in, "try"));
    const char *kind = json_string_value(json_object_get(in, "kind"));
    if (kind) open_one(b, kind, json_string_value(json_object_get(in, "grammar")));
    else if (hex) try_bytes(b, hex);
    else {
        if (token) assert_ok(grammar_matcher_accept(b->m, (int32_t)json_integer_value(token)));
        else assert_ok(grammar_matcher_rollback(b->m, (size_t)json_integer_value(steps)));
        assert_ok(grammar_matcher_mask(b->m, b->mask));
        fwrite(b->mask, sizeof *b->mask, b->n_words, stdout);
    }
    fflush(stdout);
}

int main(int argc, char **argv) {
    static char line[1 << 20];
    batch b = {0};
    gguf_file *f;
    tokenizer *t;
    if (argc != 2 || gguf_open(argv[1], &f) != WEFT_OK || vocabulary_open(f, &t) != WEFT_OK ||
        vocabulary_for_grammar(t, &b.v) != WEFT_OK) {
        fprintf(stderr, "mask_batch: %s\n", argc == 2 ? weft_message() : "usage: mask_batch MODEL");
        return 1;
    }
    b.n_words = (tokenizer_n_tokens(t) + 31) / 32;
    b.mask = calloc(b.n_words, sizeof *b.mask);
    while (fgets(line, sizeof line, stdin)) {
        json_t *in = json_loads(line, 0, NULL);
        if (!in) return 1;
        answer(&b, in);
        json_decref(in);
    }
    grammar_matcher_close(b.m);
    grammar_close(b.g);
    grammar_vocab_close(b.v);
    tokenizer_close(t);
    gguf_close(f);
    free(b.mask);
    return 0;
}
#else
int main(void) { return 77; }
#endif
