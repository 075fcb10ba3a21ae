/* See line.h. libedit where the program was built with it and both sides are terminals; getline
 * otherwise, and no prompt
 * then unless standard input is a terminal. SPDX-License-Identifier: MIT */
#include "line.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"
#ifdef WEFT_HAVE_EDIT
#include <histedit.h>
#endif

struct line_reader {
    const char *prompt;
    char *line;
    size_t capacity;
    bool is_terminal;
#ifdef WEFT_HAVE_EDIT
    EditLine *editor;
    History *history;
#endif
};

#ifdef WEFT_HAVE_EDIT
static char *prompt_of(EditLine *editor) {
    line_reader *r = NULL;
    el_get(editor, EL_CLIENTDATA, (void *)&r);
    return (char *)(uintptr_t)r->prompt;
}

static void open_editor(line_reader *r) {
    HistEvent event;
    r->editor = el_init("weft", stdin, stdout, stderr);
    r->history = history_init();
    if (!r->editor || !r->history) return;
    history(r->history, &event, H_SETSIZE, 500);
    history(r->history, &event, H_SETUNIQUE, 1);
    el_set(r->editor, EL_CLIENTDATA, r);
    el_set(r->editor, EL_PROMPT, prompt_of);
    el_set(r->editor, EL_EDITOR, "emacs");
    el_set(r->editor, EL_HIST, history, r->history);
    el_set(r->editor, EL_SIGNAL, 0); /* Ctrl-C is ours */
    el_source(r->editor, NULL);
}
#endif

line_reader *line_open(const char *prompt) {
    line_reader *r = calloc(1, sizeof *r);
    if (!r) return NULL;
    r->prompt = prompt;
    r->is_terminal = isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
#ifdef WEFT_HAVE_EDIT
    if (r->is_terminal) open_editor(r);
#endif
    return r;
}

void line_close(line_reader *r) {
    if (!r) return;
#ifdef WEFT_HAVE_EDIT
    if (r->history) history_end(r->history);
    if (r->editor) el_end(r->editor);
#endif
    free(r->line);
    free(r);
}

/* What a read that gave nothing means. */
static line_result no_line(void) {
    if (!cli_interrupted()) return LINE_END;
    cli_forget_interrupt();
    clearerr(stdin);
    return LINE_INTERRUPTED;
}

#ifdef WEFT_HAVE_EDIT
static line_result read_edited(line_reader *r, char **line) {
    int n = 0;
    const char *text = el_gets(r->editor, &n);
    if (!text || n <= 0) {
        el_set(r->editor, EL_UNBUFFERED, 0); /* the terminal as it was */
        el_reset(r->editor);
        return no_line();
    }
    free(r->line);
    r->line = strndup(text, text[n - 1] == '\n' ? (size_t)n - 1 : (size_t)n);
    if (!r->line) return LINE_END;
    HistEvent event;
    if (r->line[0]) history(r->history, &event, H_ENTER, r->line);
    *line = r->line;
    return LINE_OK;
}
#endif

line_result line_read(line_reader *r, char **line) {
#ifdef WEFT_HAVE_EDIT
    if (r->editor && r->history) return read_edited(r, line);
#endif
    if (r->is_terminal) {
        fputs(r->prompt, stdout);
        fflush(stdout);
    }
    ssize_t n = getline(&r->line, &r->capacity, stdin);
    if (n < 0) return no_line();
    if (n > 0 && r->line[n - 1] == '\n') r->line[n - 1] = 0;
    *line = r->line;
    return LINE_OK;
}
