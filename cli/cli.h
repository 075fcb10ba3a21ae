/* What the commands of the program share. The program uses the library's public headers alone.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_CLI_H
#define WEFT_CLI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "weft/llm.h"

enum { EXIT_OK = 0, EXIT_FAILED = 1, EXIT_USAGE = 2, EXIT_INTERRUPTED = 130 };

typedef enum cli_command_id {
#define CLI_COMMAND(name, arguments, least, most, summary, details) CMD_##name,
#include "commands.def"
#undef CLI_COMMAND
    CMD_COUNT
} cli_command_id;

typedef enum cli_option_id {
#define CLI_OPTION(name, long_name, short_name, kind, value, least, most, commands, help)          \
    OPT_##name,
#include "commands.def"
#undef CLI_OPTION
    OPT_COUNT
} cli_option_id;

enum { CLI_MOST_VALUES = 32 }; /* of a LIST */

typedef struct cli_option {
    bool is_set;
    const char *text; /* as given; the last one of a LIST */
    double number;
    const char *list[CLI_MOST_VALUES];
    int n_list;
} cli_option;

typedef struct cli_args {
    cli_option opt[OPT_COUNT];
    const char *positional[3];
    int n_positional;
} cli_args;

/* One function a command: returns the exit code. */
#define CLI_COMMAND(name, arguments, least, most, summary, details)                                \
    int cli_##name(const cli_args *args);
#include "commands.def"
#undef CLI_COMMAND

/* "weft: " and one sentence on standard error; returns `code`. */
int cli_fail(int code, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The same with the library's message, which may be followed by a hint. */
int cli_fail_weft(void);

/* All of standard input, 0-terminated, to be freed; NULL after a message. */
char *cli_read_stdin(size_t *n);
/* The same of a file; "-" is standard input. */
char *cli_read_file(const char *path, size_t *n);

/* A progress bar on standard error, when that is a terminal: nothing for work done within a moment.
 * */
typedef struct cli_bar {
    const char *what;
    double start, drawn;
    bool is_drawn;
} cli_bar;
void cli_bar_begin(cli_bar *bar, const char *what);
void cli_bar_update(cli_bar *bar, double fraction);
void cli_bar_end(cli_bar *bar);

/* A model that is written anew (rewriting.c): progress, warnings, and what is said at the end. */
typedef struct cli_rewriting {
    cli_bar bar;
} cli_rewriting;
void cli_rewriting_begin(cli_rewriting *job, const char *what);
bool cli_rewriting_progress(void *job, uint64_t done, uint64_t total);
/* Returns the exit code. */
int cli_rewriting_end(cli_rewriting *job, weft_status status, const char *out, const char *type);

/* Ctrl-C: after this it sets a flag, which cli_interrupted() reads and the library is told before
 * each forward. With second_kills a second one does not wait for that, and being told to end
 * (SIGTERM), or the terminal closing (SIGHUP), is the same as Ctrl-C. */
void cli_catch_interrupts(bool second_kills);
bool cli_interrupted(void);
void cli_forget_interrupt(void);

double cli_seconds(void);
/* The bytes of the whole UTF-8 character at text[0..n), n >= 1; 0 when there is none. */
size_t cli_character(const char *text, size_t n);
/* Writes text[0..n) so that a terminal shows it and does not obey it: control characters but tab
 * and newline, and bytes that are no character, as U+FFFD. */
void cli_show(FILE *to, const char *text, size_t n);
/* Writes text[0..n) in quotes, control characters and bytes that are no whole character as \xNN. */
void cli_quote(FILE *to, const char *text, size_t n);
/* Writes a piece of an answer to standard output and flushes it: shown where that is a terminal,
 * else as it is. False when it cannot be written. */
bool cli_answer(const char *text, size_t n);

/* "1.2 GB" in a buffer of the caller's. */
const char *cli_size_text(uint64_t bytes, char out[32]);

/* A device, a model and a session as the options say (open.c). */
typedef struct cli_model {
    weft_device *dev;
    weft_device_info device;
    weft_model *model;
    weft_model_info info;
    weft_session *session;
    bool has_noted_fallbacks;
} cli_model;
/* 0, or the exit code after a message. Prints which device was taken, and why, when none was asked
 * for. */
int cli_open_device(const cli_args *args, weft_device **dev, weft_device_info *info);
int cli_open_model(const cli_args *args, cli_model *out);
void cli_close_model(cli_model *m);

/* How tokens are chosen (sampling.c), with what its lists point at. */
typedef struct cli_sampling {
    weft_sampling s;
    char *breaks[CLI_MOST_VALUES];
    weft_logit_bias bias[CLI_MOST_VALUES];
} cli_sampling;
/* Checks the options, before a model is loaded. Non-zero = exit code after a message. */
int cli_sampling_open(const cli_args *args, cli_sampling *out);
/* Makes it whole: what the model's file recommends, and the tokens of biases. */
int cli_sampling_finish(const cli_args *args, weft_model *model, cli_sampling *out);
void cli_sampling_close(cli_sampling *s);

/* The log-probabilities of an answer's tokens (logprobs.c); all-zero keeps nothing. */
typedef struct cli_logprobs {
    FILE *out;
    char *text;
    size_t n, n_tokens;
    bool is_json;
} cli_logprobs;
bool cli_logprobs_open(cli_logprobs *p, bool is_json);
void cli_logprobs_close(cli_logprobs *p);
void cli_logprobs_add(cli_logprobs *p, const weft_token *token);
/* All of it: lines, or a JSON array; NULL when there is none. The probabilities'. */
const char *cli_logprobs_text(cli_logprobs *p);
/* The lines, on standard error. */
void cli_logprobs_print(cli_logprobs *p);

/* An option's long name (main.c). */
const char *cli_option_name(cli_option_id option);
/* "cpu | load 0.1 s | ..." */
void cli_print_rates(const cli_model *m, const weft_generation *g);
/* One line, once a model, when the GPU has handed work to the CPU. */
void cli_note_fallbacks(cli_model *m);

#endif
