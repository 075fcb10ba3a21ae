/* See log.h. The level and the sink are set before threads start; the environment is read once.
 * SPDX-License-Identifier: MIT */
#include "base/log.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"

static weft_log_fn sink;
static void *sink_user;
static weft_log_level sink_level;
static atomic_int env_level = -2; /* -2 unread, -1 unset, else a level */

static const char *const names[] = {"error", "warn", "info", "debug", "trace"};

static int read_env(void) {
    int level = atomic_load_explicit(&env_level, memory_order_relaxed);
    if (level != -2) return level;
    const char *text = getenv("WEFT_LOG");
    level = -1;
    for (int i = 0; text && i < 5; i++)
        if (!strcmp(text, names[i])) level = i;
    atomic_store(&env_level, level);
    return level;
}

void weft_set_log(weft_log_fn log, void *user, weft_log_level level) {
    sink = log;
    sink_user = user;
    sink_level = level;
}

bool log_wants(weft_log_level level) {
    return (int)level <= read_env() || (sink && level <= sink_level);
}

void log_line(weft_log_level level, const char *format, ...) {
    if (!log_wants(level)) return;
    char line[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    utf8_tidy(line);
    if ((int)level <= read_env()) fprintf(stderr, "weft %s: %s\n", names[level], line);
    else sink(sink_user, level, line);
}
