/* weft convert: a Hugging Face folder as a GGUF file. SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "cli.h"

static int check_type(const char *text) {
    for (size_t i = 0; weft_convert_type(i); i++)
        if (!strcasecmp(weft_convert_type(i), text)) return 0;
    cli_fail(EXIT_USAGE, "convert makes no \"%s\"; it makes:", text);
    for (size_t i = 0; weft_convert_type(i); i++)
        fprintf(stderr, "%s%s", i ? " " : "  ", weft_convert_type(i));
    fprintf(stderr, "\n  (weft quantize takes a folder too, and makes the others)\n");
    return EXIT_USAGE;
}

/* A name that a folder's own files have: OUT would take the place of one. */
static bool is_input(const char *out) {
    static const char *const ends[] = {".safetensors", ".json", ".jinja"};
    size_t n = strlen(out);
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        size_t k = strlen(ends[i]);
        if (n >= k && !strcmp(out + n - k, ends[i])) return true;
    }
    return false;
}

int cli_convert(const cli_args *args) {
    const char *type = args->n_positional > 2 ? args->positional[2] : "auto";
    int code = check_type(type);
    if (code) return code;
    if (is_input(args->positional[1]))
        return cli_fail(EXIT_USAGE, "%s: OUT is a GGUF file: give it another name",
                        args->positional[1]);
    cli_rewriting job;
    cli_rewriting_begin(&job, "converting");
    weft_status status = weft_convert(args->positional[0], args->positional[1],
                                      (weft_convert_desc){
                                          .type = type,
                                          .n_threads = (int)args->opt[OPT_threads].number,
                                          .on_progress = cli_rewriting_progress,
                                          .user = &job,
                                      });
    return cli_rewriting_end(&job, status, args->positional[1], type);
}
