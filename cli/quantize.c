/* weft quantize: a model file in another weight format. SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "cli.h"

static bool is_type(const char *text) {
    for (size_t i = 0; weft_quantize_type(i); i++)
        if (!strcasecmp(weft_quantize_type(i), text)) return true;
    return false;
}

static int list_types(const char *text) {
    cli_fail(EXIT_USAGE, "there is no type \"%s\"; there are:", text);
    for (size_t i = 0; weft_quantize_type(i); i++)
        fprintf(stderr, "%s%s", i % 10 ? " " : i ? "\n  " : "  ", weft_quantize_type(i));
    fprintf(stderr, "\n");
    return EXIT_USAGE;
}

static bool on_progress(void *user, uint64_t done, uint64_t total) {
    cli_bar_update(user, total ? (double)done / (double)total : 1);
    return !cli_interrupted();
}

/* Warnings are for the user, wherever WEFT_LOG points. */
static void on_log(void *user, weft_log_level level, const char *line) {
    (void)level;
    cli_bar_end(user);
    fprintf(stderr, "weft: note: %s\n", line);
}

static uint64_t size_of(const char *path) {
    struct stat st;
    return stat(path, &st) ? 0 : (uint64_t)st.st_size;
}

/* Whether the two names are one file: OUT would take the place of IN, and its weights be gone. */
static bool is_same_file(const char *a, const char *b) {
    struct stat s, t;
    return !stat(a, &s) && !stat(b, &t) && s.st_dev == t.st_dev && s.st_ino == t.st_ino;
}

int cli_quantize(const cli_args *args) {
    const char *in = args->positional[0], *out = args->positional[1], *type = args->positional[2];
    if (!is_type(type)) return list_types(type);
    if (is_same_file(in, out))
        return cli_fail(EXIT_USAGE, "%s is the input: give the output another name", out);
    cli_bar bar;
    cli_bar_begin(&bar, "quantizing");
    cli_catch_interrupts(true);
    weft_set_log(on_log, &bar, WEFT_LOG_WARN);
    weft_status status = weft_quantize(in, out,
                                       (weft_quantize_desc){
                                           .type = type,
                                           .imatrix = args->opt[OPT_imatrix].text,
                                           .output_type = args->opt[OPT_output_type].text,
                                           .is_pure = args->opt[OPT_pure].is_set,
                                           .n_threads = (int)args->opt[OPT_threads].number,
                                           .on_progress = on_progress,
                                           .user = &bar,
                                       });
    weft_set_log(NULL, NULL, WEFT_LOG_ERROR);
    cli_bar_end(&bar);
    if (status == WEFT_CANCELLED)
        return cli_fail(EXIT_INTERRUPTED, "stopped; %s was not written", out);
    if (status != WEFT_OK) return cli_fail_weft();
    char size[32];
    printf("%s: %s, %s in %.1f s\n", out, type, cli_size_text(size_of(out), size),
           cli_seconds() - bar.start);
    return EXIT_OK;
}
