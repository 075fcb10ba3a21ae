/* The terminal side: progress bars, Ctrl-C, standard input, sizes as text.
 * SPDX-License-Identifier: MIT */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli.h"

double cli_seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* ---- Ctrl-C
 * -------------------------------------------------------------------------------------- */

static volatile sig_atomic_t was_interrupted;

static void on_interrupt(int number) {
    (void)number;
    was_interrupted = 1;
}

void cli_catch_interrupts(bool second_kills) {
    /* no SA_RESTART: reads end */
    struct sigaction action = {.sa_handler = on_interrupt,
                               .sa_flags = second_kills ? (int)SA_RESETHAND : 0};
    sigaction(SIGINT, &action, NULL);
    /* what ends once asked ends so for these too, leaving nothing behind; nohup stays in force */
    static const int others[] = {SIGTERM, SIGHUP};
    action.sa_flags = 0; /* these may come twice, to the process and to its group */
    for (size_t i = 0; second_kills && i < sizeof others / sizeof *others; i++) {
        struct sigaction old;
        if (!sigaction(others[i], NULL, &old) && old.sa_handler != SIG_IGN)
            sigaction(others[i], &action, NULL);
    }
}

bool cli_interrupted(void) { return was_interrupted != 0; }

void cli_forget_interrupt(void) { was_interrupted = 0; }

/* ---- progress
 * ------------------------------------------------------------------------------------ */

void cli_bar_begin(cli_bar *bar, const char *what) {
    *bar = (cli_bar){.what = what, .start = cli_seconds()};
}

/* Drawn from 0.3 s on, ten times a second. */
void cli_bar_update(cli_bar *bar, double fraction) {
    enum { WIDTH = 30 };
    double now = cli_seconds();
    if (now - bar->start < 0.3 || now - bar->drawn < 0.1 || !isatty(STDERR_FILENO)) return;
    char cells[WIDTH + 1];
    int n = (int)(fraction * WIDTH);
    for (int i = 0; i < WIDTH; i++) cells[i] = i < n ? '#' : '.';
    cells[WIDTH] = 0;
    fprintf(stderr, "\r%s [%s] %3.0f%%", bar->what, cells, 100 * fraction);
    fflush(stderr);
    bar->drawn = now;
    bar->is_drawn = true;
}

void cli_bar_end(cli_bar *bar) {
    if (bar->is_drawn) fprintf(stderr, "\r\033[K");
    bar->is_drawn = false;
}

/* ---- text
 * ---------------------------------------------------------------------------------------- */

size_t cli_character(const char *text, size_t n) {
    unsigned char c = (unsigned char)text[0];
    size_t length = c < 0x80    ? 1
                    : c >= 0xF5 ? 0
                    : c >= 0xF0 ? 4
                    : c >= 0xE0 ? 3
                    : c >= 0xC2 ? 2
                                : 0;
    if (length > n) return 0;
    for (size_t k = 1; k < length; k++)
        if (((unsigned char)text[k] & 0xC0) != 0x80) return 0;
    return length;
}

/* C0, DEL and C1. */
static bool is_control(const char *text, size_t length) {
    unsigned char c = (unsigned char)text[0];
    return (length == 1 && (c < ' ' || c == 127)) ||
           (length == 2 && c == 0xC2 && (unsigned char)text[1] < 0xA0);
}

void cli_show(FILE *to, const char *text, size_t n) {
    for (size_t at = 0; at < n;) {
        size_t length = cli_character(text + at, n - at);
        bool is_plain =
            length && (!is_control(text + at, length) || text[at] == '\n' || text[at] == '\t');
        if (is_plain) fwrite(text + at, 1, length, to);
        else fputs("\xEF\xBF\xBD", to);
        at += length ? length : 1;
    }
}

void cli_quote(FILE *to, const char *text, size_t n) {
    fputc('"', to);
    for (size_t at = 0; at < n;) {
        const char *c = text + at;
        size_t length = cli_character(c, n - at);
        at += length ? length : 1;
        if (*c == '\n') fputs("\\n", to);
        else if (*c == '\t') fputs("\\t", to);
        else if (*c == '"' || *c == '\\') fprintf(to, "\\%c", *c);
        else if (length && !is_control(c, length)) fwrite(c, 1, length, to);
        else
            for (; c < text + at; c++) fprintf(to, "\\x%02X", (unsigned char)*c);
    }
    fputc('"', to);
}

bool cli_answer(const char *text, size_t n) {
    if (isatty(STDOUT_FILENO)) cli_show(stdout, text, n);
    else fwrite(text, 1, n, stdout);
    return fflush(stdout) == 0 && !ferror(stdout);
}

/* ---- the rest
 * ------------------------------------------------------------------------------------- */

enum { MOST_TEXT = 1 << 30 };

static char *read_all(FILE *from, const char *name, size_t *n) {
    size_t capacity = 4096, used = 0;
    char *text = malloc(capacity);
    while (text) {
        size_t got = fread(text + used, 1, capacity - used - 1, from);
        used += got;
        if (got == 0) break;
        if (used + 1 < capacity) continue;
        if (used > MOST_TEXT) {
            cli_fail(EXIT_FAILED, "%s is longer than 1 GB", name);
            free(text);
            return NULL;
        }
        char *larger = realloc(text, 2 * capacity);
        if (!larger) free(text);
        text = larger;
        capacity *= 2;
    }
    if (!text) {
        cli_fail(EXIT_FAILED, "%s is larger than the memory", name);
        return NULL;
    }
    if (ferror(from)) {
        cli_fail(EXIT_FAILED, "%s: %s", name, strerror(errno));
        free(text);
        return NULL;
    }
    text[used] = 0;
    *n = used;
    return text;
}

char *cli_read_stdin(size_t *n) { return read_all(stdin, "standard input", n); }

char *cli_read_file(const char *path, size_t *n) {
    if (!strcmp(path, "-")) return cli_read_stdin(n);
    FILE *file = fopen(path, "rb");
    if (!file) {
        cli_fail(EXIT_FAILED, "%s: %s", path, strerror(errno));
        return NULL;
    }
    char *text = read_all(file, path, n);
    fclose(file);
    return text;
}

const char *cli_size_text(uint64_t bytes, char out[32]) {
    static const char *const units[] = {"bytes", "kB", "MB", "GB", "TB"};
    double size = (double)bytes;
    int unit = 0;
    while (size >= 999.5 && unit < 4) {
        size /= 1000;
        unit++;
    }
    snprintf(out, 32, unit && size < 99.5 ? "%.1f %s" : "%.0f %s", size, units[unit]);
    return out;
}
