/* weft tokenize: a text's tokens, ids and what each stands for. SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

static int print_tokens(weft_model *model, const int32_t *ids, int64_t n, bool only_ids) {
    for (int64_t i = 0; i < n; i++) {
        if (only_ids) {
            printf(i ? " %d" : "%d", ids[i]);
            continue;
        }
        char piece[512];
        int64_t length = weft_decode(model, &ids[i], 1, WEFT_PARSE_SPECIAL, piece, sizeof piece);
        if (length < 0) return cli_fail_weft();
        printf("%8d  ", ids[i]);
        cli_quote(stdout, piece, (size_t)length < sizeof piece ? (size_t)length : sizeof piece - 1);
        printf("\n");
    }
    if (only_ids) printf("\n");
    return EXIT_OK;
}

static int tokenize(const cli_args *args, weft_model *model, const char *text, size_t n_bytes) {
    int flags = args->opt[OPT_special].is_set ? WEFT_ADD_SPECIAL | WEFT_PARSE_SPECIAL : 0;
    int64_t n = weft_encode(model, text, n_bytes, flags, NULL, 0);
    if (n < 0) return cli_fail_weft();
    int32_t *ids = calloc((size_t)n + 1, sizeof *ids);
    if (!ids) return cli_fail(EXIT_FAILED, "out of memory");
    int code = weft_encode(model, text, n_bytes, flags, ids, (size_t)n) < 0
                   ? cli_fail_weft()
                   : print_tokens(model, ids, n, args->opt[OPT_ids].is_set);
    free(ids);
    return code;
}

int cli_tokenize(const cli_args *args) {
    weft_model *model =
        weft_model_load(NULL, args->positional[0], (weft_model_desc){.vocabulary_only = true});
    weft_model_info info;
    if (!model || weft_get_model_info(model, &info) != WEFT_OK) return cli_fail_weft();
    if (info.warning[0]) fprintf(stderr, "weft: warning: %s\n", info.warning);
    int code = EXIT_FAILED;
    if (args->n_positional < 2 || !strcmp(args->positional[1], "-")) {
        size_t n = 0;
        char *text = cli_read_stdin(&n);
        if (text) code = tokenize(args, model, text, n);
        free(text);
    } else {
        code = tokenize(args, model, args->positional[1], strlen(args->positional[1]));
    }
    weft_model_free(model);
    return code;
}
