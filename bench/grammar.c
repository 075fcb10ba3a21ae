/* How long a mask takes: bench_grammar MODEL KIND GRAMMAR TIMES TEXT ... follows each TEXT, cut
 * into tokens by the model's tokenizer, and times every mask (processor time). KIND is gbnf, regex
 * or json-schema. Each text is followed twice: cold, by a new matcher with nothing worked out, and
 * warm. TIMES gets a line for the grammar, "compile US", and one for each token, "TEXT TOKEN MASK
 * ACCEPT": the text's number, the token, and the cold times in microseconds before and at it.
 * bench/grammar.sh runs it beside llguidance.
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

typedef struct times {
    double *cold, *warm;
    size_t n, cold_capacity, warm_capacity;
} times;

typedef struct bench {
    const tokenizer *t;
    const grammar *g;
    grammar_vocab *v;
    uint32_t *mask;
    FILE *out;
    times times;
} bench;

static double micros(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return 1e6 * (double)t.tv_sec + 1e-3 * (double)t.tv_nsec;
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* One pass over a text; the times go to `to`, and to the file the first time. */
static weft_status follow(bench *b, grammar_matcher *m, const token_list *l, int text, double *to) {
    TRY(grammar_matcher_rollback(m, 0));
    for (size_t i = 0; i < l->n; i++) {
        double start = micros();
        TRY(grammar_matcher_mask(m, b->mask));
        double masked = micros();
        if (grammar_matcher_accept(m, l->ids[i]) != WEFT_OK)
            return error_prefix(error_status(), "token %zu of text %d", i, text);
        to[i] = masked - start;
        if (to == b->times.cold + b->times.n)
            fprintf(b->out, "%d %d %.2f %.2f\n", text, l->ids[i], to[i], micros() - masked);
    }
    return WEFT_OK;
}

static weft_status follow_text(bench *b, const char *path, int number) {
    char *text = NULL;
    size_t n = 0;
    token_list l = {0};
    grammar_matcher *m = NULL;
    times *t = &b->times;
    weft_status status = file_read(path, 1 << 24, &text, &n);
    if (status == WEFT_OK) status = tokenizer_encode(b->t, text, n, 0, &l);
    if (status == WEFT_OK)
        status = mem_reserve((void **)&t->cold, &t->cold_capacity, t->n + l.n, sizeof *t->cold);
    if (status == WEFT_OK)
        status = mem_reserve((void **)&t->warm, &t->warm_capacity, t->n + l.n, sizeof *t->warm);
    if (status == WEFT_OK) status = grammar_matcher_open(b->g, b->v, &m);
    if (status == WEFT_OK) status = follow(b, m, &l, number, t->cold + t->n);
    if (status == WEFT_OK && !grammar_matcher_may_end(m))
        status = error_set(WEFT_INVALID, "text %d may not end where it does", number);
    if (status == WEFT_OK) status = follow(b, m, &l, number, t->warm + t->n);
    if (status == WEFT_OK) t->n += l.n;
    grammar_matcher_close(m);
    token_list_free(&l);
    mem_free(text);
    return status;
}

static void show(const char *what, double *values, size_t n) {
    double sum = 0;
    for (size_t i = 0; i < n; i++) sum += values[i];
    qsort(values, n, sizeof *values, by_value);
    printf("%s: median %.1f us, mean %.1f us, p99 %.1f us, most %.1f us\n", what, values[n / 2],
           sum / (double)n, values[n * 99 / 100], values[n - 1]);
}

static weft_status open_grammar(const char *kind, const char *text, size_t n, grammar **out) {
    if (!strcmp(kind, "gbnf")) return grammar_open_gbnf(text, n, out);
    if (!strcmp(kind, "regex")) return grammar_open_regex(text, n, out);
    if (!strcmp(kind, "json-schema")) return grammar_open_json_schema(text, n, out);
    return error_set(WEFT_INVALID, "%s is no kind of grammar", kind);
}

/* Compiles the grammar, a matcher included: the median of some times. */
static weft_status compile(bench *b, const char *kind, const char *text, size_t n, grammar **out) {
    enum { TIMES = 9 };
    double values[TIMES];
    for (int i = 0; i < TIMES; i++) {
        grammar_matcher *m = NULL;
        grammar_close(*out);
        *out = NULL;
        double start = micros();
        TRY(open_grammar(kind, text, n, out));
        TRY(grammar_matcher_open(*out, b->v, &m));
        values[i] = micros() - start;
        grammar_matcher_close(m);
    }
    qsort(values, TIMES, sizeof *values, by_value);
    fprintf(b->out, "compile %.1f\n", values[TIMES / 2]);
    printf("compiled in %.2f ms\n", values[TIMES / 2] / 1e3);
    return WEFT_OK;
}

static weft_status run(bench *b, char **argv, int n_texts) {
    char *source = NULL;
    size_t n_source;
    grammar *g = NULL;
    double start = micros();
    TRY(vocabulary_for_grammar(b->t, &b->v));
    printf("vocabulary: %.1f ms\n", (micros() - start) / 1e3);
    b->mask = mem_array(tokenizer_n_tokens(b->t), sizeof *b->mask);
    b->out = fopen(argv[4], "w");
    REQUIRE(b->out && b->mask, WEFT_IO, "cannot write %s", argv[4]);
    weft_status status = file_read(argv[3], 1 << 24, &source, &n_source);
    if (status == WEFT_OK) status = compile(b, argv[2], source, n_source, &g);
    b->g = g;
    for (int i = 0; i < n_texts && status == WEFT_OK; i++) status = follow_text(b, argv[5 + i], i);
    if (status == WEFT_OK && b->times.n) {
        show("cold", b->times.cold, b->times.n);
        show("warm", b->times.warm, b->times.n);
        printf("%zu tokens\n", b->times.n);
    }
    grammar_close(g);
    mem_free(source);
    return status;
}

int main(int argc, char **argv) {
    gguf_file *f = NULL;
    tokenizer *t = NULL;
    bench b = {0};
    weft_status status = WEFT_OK;
    if (argc < 6)
        status = error_set(WEFT_INVALID, "usage: bench_grammar MODEL KIND GRAMMAR TIMES TEXT ...");
    if (status == WEFT_OK) status = gguf_open(argv[1], &f);
    if (status == WEFT_OK) status = vocabulary_open(f, &t);
    b.t = t;
    if (status == WEFT_OK) status = run(&b, argv, argc - 5);
    if (b.out) fclose(b.out);
    grammar_vocab_close(b.v);
    tokenizer_close(t);
    gguf_close(f);
    mem_free(b.mask);
    mem_free(b.times.cold);
    mem_free(b.times.warm);
    if (status == WEFT_OK) return 0;
    fprintf(stderr, "bench_grammar: %s\n", error_message());
    return 1;
}
