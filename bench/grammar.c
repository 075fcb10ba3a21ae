/* How long a mask takes: bench_grammar MODEL KIND GRAMMAR TEXT follows TEXT, cut into tokens by the
 * model's tokenizer, and times every mask (processor time). KIND is gbnf, regex or json-schema.
 * The text is followed twice by one matcher: cold, with nothing worked out, and warm.
 * SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/file.h"
#include "base/mem.h"
#include "gguf/gguf.h"
#include "grammar/grammar.h"
#include "llm/vocabulary.h"

static double micros(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return 1e6 * (double)t.tv_sec + 1e-3 * (double)t.tv_nsec;
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static weft_status follow(grammar_matcher *m, const token_list *l, double *times, uint32_t *mask) {
    TRY(grammar_matcher_rollback(m, 0));
    for (size_t i = 0; i < l->n; i++) {
        double start = micros();
        TRY(grammar_matcher_mask(m, mask));
        times[i] = micros() - start;
        if (grammar_matcher_accept(m, l->ids[i]) != WEFT_OK)
            return error_prefix(error_status(), "token %zu of the text", i);
    }
    return WEFT_OK;
}

static void show(const char *what, double *times, size_t n) {
    double sum = 0;
    for (size_t i = 0; i < n; i++) sum += times[i];
    qsort(times, n, sizeof *times, by_value);
    printf("%s: median %.1f us, mean %.1f us, p99 %.1f us, most %.1f us\n", what, times[n / 2],
           sum / (double)n, times[n * 99 / 100], times[n - 1]);
}

static weft_status measure(const tokenizer *t, const grammar *g, const char *text, size_t n) {
    grammar_vocab *v = NULL;
    grammar_matcher *m = NULL;
    token_list l = {0};
    double start = micros();
    TRY(vocabulary_for_grammar(t, &v));
    printf("vocabulary: %.1f ms\n", (micros() - start) / 1e3);
    double *times = NULL;
    uint32_t *mask = mem_array(tokenizer_n_tokens(t), sizeof *mask);
    weft_status status = tokenizer_encode(t, text, n, 0, &l);
    if (status == WEFT_OK) status = grammar_matcher_open(g, v, &m);
    if (status == WEFT_OK && (!(times = mem_array(l.n + 1, sizeof *times)) || !mask))
        status = WEFT_NO_MEMORY;
    for (int pass = 0; pass < 2 && status == WEFT_OK; pass++) {
        status = follow(m, &l, times, mask);
        if (status == WEFT_OK && l.n) show(pass ? "warm" : "cold", times, l.n);
    }
    if (status == WEFT_OK)
        printf("%zu tokens, the text %s end here\n", l.n,
               grammar_matcher_may_end(m) ? "may" : "may not");
    grammar_matcher_close(m);
    grammar_vocab_close(v);
    token_list_free(&l);
    mem_free(times);
    mem_free(mask);
    return status;
}

static weft_status open_grammar(const char *kind, const char *text, size_t n, grammar **out) {
    if (!strcmp(kind, "gbnf")) return grammar_open_gbnf(text, n, out);
    if (!strcmp(kind, "regex")) return grammar_open_regex(text, n, out);
    if (!strcmp(kind, "json-schema")) return grammar_open_json_schema(text, n, out);
    return error_set(WEFT_INVALID, "%s is no kind of grammar", kind);
}

static weft_status run(int argc, char **argv) {
    REQUIRE(argc == 5, WEFT_INVALID, "usage: bench_grammar MODEL KIND GRAMMAR TEXT");
    char *source = NULL, *text = NULL;
    size_t n_source, n;
    gguf_file *f = NULL;
    tokenizer *t = NULL;
    grammar *g = NULL;
    weft_status status = file_read(argv[3], 1 << 24, &source, &n_source);
    if (status == WEFT_OK) status = file_read(argv[4], 1 << 24, &text, &n);
    if (status == WEFT_OK) status = gguf_open(argv[1], &f);
    if (status == WEFT_OK) status = vocabulary_open(f, &t);
    double start = micros();
    if (status == WEFT_OK) status = open_grammar(argv[2], source, n_source, &g);
    if (status == WEFT_OK) printf("compiled in %.2f ms\n", (micros() - start) / 1e3);
    if (status == WEFT_OK) status = measure(t, g, text, n);
    grammar_close(g);
    tokenizer_close(t);
    gguf_close(f);
    mem_free(source);
    mem_free(text);
    return status;
}

int main(int argc, char **argv) {
    if (run(argc, argv) == WEFT_OK) return 0;
    fprintf(stderr, "bench_grammar: %s\n", error_message());
    return 1;
}
