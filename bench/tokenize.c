/* How fast one thread encodes a text file with a GGUF's vocabulary, by processor time (so that
 * other work on the machine counts little): bench_tokenize MODEL TEXT [REPEATS [IDS]]. The best of
 * the repeats is printed; the ids go to the file IDS, as 32-bit numbers, for comparison.
 * SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/file.h"
#include "base/mem.h"
#include "gguf/gguf.h"
#include "llm/vocabulary.h"

static double thread_seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static weft_status write_ids(const char *path, const token_list *l) {
    FILE *f = fopen(path, "wb");
    REQUIRE(f, WEFT_IO, "cannot write %s", path);
    size_t n = fwrite(l->ids, sizeof *l->ids, l->n, f);
    int closed = fclose(f);
    REQUIRE(n == l->n && !closed, WEFT_IO, "cannot write %s", path);
    return WEFT_OK;
}

static weft_status measure(const tokenizer *t, const char *text, size_t n, int repeats,
                           const char *ids) {
    double best = 0;
    token_list l = {0};
    weft_status status = WEFT_OK;
    for (int i = 0; i < repeats && status == WEFT_OK; i++) {
        l.n = 0;
        double start = thread_seconds();
        status = tokenizer_encode(t, text, n, 0, &l);
        double seconds = thread_seconds() - start;
        if (!i || seconds < best) best = seconds;
    }
    if (status == WEFT_OK) printf("weft %zu tokens, %.2f MB/s\n", l.n, (double)n / best / 1e6);
    if (status == WEFT_OK && ids) status = write_ids(ids, &l);
    token_list_free(&l);
    return status;
}

static weft_status run(int argc, char **argv) {
    REQUIRE(argc >= 3, WEFT_INVALID, "usage: bench_tokenize MODEL TEXT [REPEATS [IDS]]");
    char *text;
    size_t n;
    gguf_file *f;
    tokenizer *t = NULL;
    TRY(file_read(argv[2], (size_t)1 << 30, &text, &n));
    weft_status status = gguf_open(argv[1], &f);
    if (status == WEFT_OK) {
        double start = thread_seconds();
        status = vocabulary_open(f, &t);
        if (status == WEFT_OK) printf("opened in %.0f ms\n", (thread_seconds() - start) * 1e3);
        gguf_close(f);
    }
    if (status == WEFT_OK)
        status = measure(t, text, n, argc > 3 ? atoi(argv[3]) : 5, argc > 4 ? argv[4] : NULL);
    tokenizer_close(t);
    mem_free(text);
    return status;
}

int main(int argc, char **argv) {
    if (run(argc, argv) == WEFT_OK) return 0;
    fprintf(stderr, "bench_tokenize: %s\n", error_message());
    return 1;
}
