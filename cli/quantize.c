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
    cli_rewriting job;
    cli_rewriting_begin(&job, "quantizing");
    weft_status status = weft_quantize(in, out,
                                       (weft_quantize_desc){
                                           .type = type,
                                           .imatrix = args->opt[OPT_imatrix].text,
                                           .output_type = args->opt[OPT_output_type].text,
                                           .is_pure = args->opt[OPT_pure].is_set,
                                           .n_threads = (int)args->opt[OPT_threads].number,
                                           .on_progress = cli_rewriting_progress,
                                           .user = &job,
                                       });
    return cli_rewriting_end(&job, status, out, type);
}
