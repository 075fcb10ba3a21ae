/* Renders many templates in one process, for tests/fuzz/template_diff.py. Reads records from
 * standard input: "TEMPLATE_BYTES CONTEXT_BYTES\n", then the template and the context; for each
 * writes "STATUS BYTES\n" and the text or the message. The clock stands at 2026-12-01 12:34:56.
 * SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "template/template.h"

int main(void) {
    size_t n, m;
    struct tm clock = {
        .tm_year = 126, .tm_mon = 11, .tm_mday = 1, .tm_hour = 12, .tm_min = 34, .tm_sec = 56};
    template_options options = {.clock = &clock};
    while (scanf("%zu %zu", &n, &m) == 2 && getchar() == '\n') {
        char *text = malloc(n + m + 1);
        if (!text || fread(text, 1, n + m, stdin) != n + m) return 1;
        template_program *program;
        str out = {0};
        weft_status status = template_parse(text, n, &program);
        if (status == WEFT_OK) status = template_render(program, text + n, m, &options, &out);
        if (status != WEFT_OK) str_clear(&out), str_text_append(&out, error_message());
        printf("%d %zu\n", (int)status, out.n);
        fwrite(str_text(&out), 1, out.n, stdout);
        fflush(stdout);
        str_free(&out);
        template_free(program);
        free(text);
    }
    return 0;
}
