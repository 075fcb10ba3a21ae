/* weft chat: a conversation. The messages are kept here and given whole every time; the session
 * recognises what it has
 * seen, so only the new turn is computed. SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"
#include "line.h"

typedef struct conversation {
    weft_chat_message *messages;
    size_t n, capacity;
} conversation;

/* Adds a copy; false when out of memory. */
static bool add(conversation *c, const char *role, const char *content) {
    if (c->n == c->capacity) {
        size_t capacity = 2 * c->capacity + 8;
        weft_chat_message *larger = realloc(c->messages, capacity * sizeof *larger);
        if (!larger) return false;
        c->messages = larger;
        c->capacity = capacity;
    }
    char *copy = strdup(content);
    if (!copy) return false;
    c->messages[c->n++] = (weft_chat_message){role, copy};
    return true; /* cppcheck-suppress memleak ; the conversation has it */
}

static void cut(conversation *c, size_t n) {
    while (c->n > n) free((char *)(uintptr_t)c->messages[--c->n].content);
}

/* What the callbacks of one answer know. */
typedef struct hearing {
    cli_bar bar;
    cli_logprobs probs;
} hearing;

static bool on_text(void *user, const char *text, size_t n) {
    hearing *h = user;
    cli_bar_end(&h->bar);
    return cli_answer(text, n);
}

static bool on_token(void *user, const weft_token *token) {
    hearing *h = user;
    cli_logprobs_add(&h->probs, token);
    return true;
}

static bool on_prompt(void *user, int32_t done, int32_t total) {
    hearing *h = user;
    cli_bar_update(&h->bar, total ? (double)done / total : 1);
    return true;
}

static bool is_cancelled(void *user) {
    (void)user;
    return cli_interrupted();
}

/* Answers the last message. False when the program should end. */
static bool answer(cli_model *m, conversation *c, weft_generate_desc desc) {
    weft_generation g;
    hearing h = {0};
    if (desc.on_token && !cli_logprobs_open(&h.probs, false)) desc.on_token = NULL;
    cli_bar_begin(&h.bar, "reading");
    desc.user = &h;
    desc.result = &g;
    cli_forget_interrupt();
    weft_status status = weft_chat(m->session, c->messages, c->n, desc);
    cli_bar_end(&h.bar);
    if (status == WEFT_OK) printf("\n");
    if (status == WEFT_OK && fflush(stdout) == 0) cli_logprobs_print(&h.probs);
    cli_logprobs_close(&h.probs);
    bool was_interrupted = cli_interrupted();
    cli_forget_interrupt();
    if (status != WEFT_OK && status != WEFT_CANCELLED) {
        cli_fail(0, "%s", weft_message());
        if (status == WEFT_CONTEXT_FULL)
            fprintf(stderr, "/reset begins anew; --ctx N makes the context larger\n");
        cut(c, c->n - 1);
        return status == WEFT_CONTEXT_FULL || status == WEFT_INVALID;
    }
    if (status == WEFT_CANCELLED) {
        fprintf(stderr, "[interrupted]\n");
        cut(c, c->n - 1);
        return true;
    }
    bool is_refused = g.finish == WEFT_FINISH_CANCELLED && !was_interrupted;
    if (ferror(stdout) || is_refused) {
        cli_fail(0, "standard output cannot be written");
        return false;
    }
    if (isatty(STDERR_FILENO))
        fprintf(stderr, "\033[2m[%s%d tokens, %.1f/s; context %d of %d]\033[0m\n",
                was_interrupted ? "interrupted, " : "", g.n_generated, g.generate_rate,
                g.n_prompt + g.n_generated, weft_session_size(m->session));
    cli_note_fallbacks(m);
    return add(c, "assistant", weft_session_text(m->session));
}

static void print_help(void) {
    printf("/reset  forget the conversation\n/quit   leave (Ctrl-D too)\n/help   this list\n"
           "Ctrl-C stops an answer. A line that begins with // is sent with one slash.\n");
}

typedef enum slash { SLASH_NONE, SLASH_DONE, SLASH_QUIT } slash;

static slash take_slash(const char *line, cli_model *m, conversation *c, size_t n_fixed) {
    if (line[0] != '/' || line[1] == '/') return SLASH_NONE;
    if (!strcmp(line, "/quit") || !strcmp(line, "/exit")) return SLASH_QUIT;
    if (!strcmp(line, "/reset")) {
        cut(c, n_fixed);
        weft_session_reset(m->session);
        printf("The conversation is forgotten.\n");
    } else if (!strcmp(line, "/help")) {
        print_help();
    } else {
        fprintf(stderr, "There is no %s; /help lists what there is.\n", line);
    }
    return SLASH_DONE;
}

static int talk(cli_model *m, conversation *c, weft_generate_desc desc, line_reader *reader) {
    size_t n_fixed = c->n; /* the system message stays */
    bool is_terminal = isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
    if (is_terminal)
        printf("%s. /help lists commands, /quit leaves.\n",
               m->info.name[0] ? m->info.name : "weft");
    for (;;) {
        char *line;
        line_result got = line_read(reader, &line);
        if (got == LINE_END) {
            if (is_terminal) printf("\n");
            return EXIT_OK;
        }
        if (got == LINE_INTERRUPTED) {
            printf("\n");
            if (is_terminal) fprintf(stderr, "(/quit or Ctrl-D leaves)\n");
            else return EXIT_INTERRUPTED;
            continue;
        }
        if (!line[strspn(line, " \t")]) continue;
        slash what = take_slash(line, m, c, n_fixed);
        if (what == SLASH_QUIT) return EXIT_OK;
        if (what == SLASH_DONE) continue;
        if (!add(c, "user", line + (line[0] == '/'))) return cli_fail(EXIT_FAILED, "out of memory");
        if (!answer(m, c, desc)) return EXIT_FAILED;
    }
}

int cli_chat(const cli_args *args) {
    cli_catch_interrupts(false);
    cli_model m;
    cli_sampling sampling;
    int code = cli_sampling_open(args, &sampling);
    if (!code) code = cli_open_model(args, &m);
    if (code) {
        cli_sampling_close(&sampling);
        return code;
    }
    conversation c = {0};
    weft_generate_desc desc = {.on_text = on_text,
                               .on_prompt = on_prompt,
                               .is_cancelled = is_cancelled,
                               .max_tokens = (int32_t)args->opt[OPT_tokens].number,
                               .n_best = (int32_t)args->opt[OPT_logprobs].number};
    if (args->opt[OPT_logprobs].is_set) desc.on_token = on_token;
    line_reader *reader = line_open("> ");
    const char *system = args->opt[OPT_system].text;
    if (!m.info.chat_format[0])
        code = cli_fail(EXIT_FAILED,
                        "the model has no chat format; weft run continues a text with it");
    else if (!reader || (system && !add(&c, "system", system)))
        code = cli_fail(EXIT_FAILED, "out of memory");
    else code = cli_sampling_finish(args, m.model, &sampling);
    desc.sampling = sampling.s;
    if (!code) code = talk(&m, &c, desc, reader);
    line_close(reader);
    cli_sampling_close(&sampling);
    cut(&c, 0);
    free(c.messages);
    cli_close_model(&m);
    return code;
}
