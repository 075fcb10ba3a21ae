/* What quantize and convert share: see cli.h. SPDX-License-Identifier: MIT */
#include <sys/stat.h>

#include "cli.h"

/* Warnings are for the user, wherever WEFT_LOG points. */
static void on_log(void *user, weft_log_level level, const char *line) {
    (void)level;
    cli_bar_end(user);
    fprintf(stderr, "weft: note: %s\n", line);
}

void cli_rewriting_begin(cli_rewriting *job, const char *what) {
    cli_bar_begin(&job->bar, what);
    cli_catch_interrupts(true);
    weft_set_log(on_log, &job->bar, WEFT_LOG_WARN);
}

bool cli_rewriting_progress(void *job, uint64_t done, uint64_t total) {
    cli_bar_update(&((cli_rewriting *)job)->bar, total ? (double)done / (double)total : 1);
    return !cli_interrupted();
}

static uint64_t size_of(const char *path) {
    struct stat st;
    return stat(path, &st) ? 0 : (uint64_t)st.st_size;
}

int cli_rewriting_end(cli_rewriting *job, weft_status status, const char *out, const char *type) {
    weft_set_log(NULL, NULL, WEFT_LOG_ERROR);
    cli_bar_end(&job->bar);
    if (status == WEFT_CANCELLED)
        return cli_fail(EXIT_INTERRUPTED, "stopped; %s was not written", out);
    if (status != WEFT_OK) return cli_fail_weft();
    char size[32];
    printf("%s: %s, %s in %.1f s\n", out, type, cli_size_text(size_of(out), size),
           cli_seconds() - job->bar.start);
    return EXIT_OK;
}
