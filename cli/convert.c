/* weft convert: a Hugging Face folder as a GGUF file. SPDX-License-Identifier: MIT */
#include <stdio.h>
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

int cli_convert(const cli_args *args) {
    const char *type = args->n_positional > 2 ? args->positional[2] : "auto";
    int code = check_type(type);
    if (code) return code;
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
