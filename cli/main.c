/* The program `weft`: finds the command, reads its options from the table in commands.def, prints
 * help.
 * Exit codes: 0 ok, 1 failure, 2 usage, 130 interrupted. SPDX-License-Identifier: MIT */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"

typedef struct command {
    const char *name, *arguments;
    int least, most;
    const char *summary, *details;
    int (*run)(const cli_args *args);
} command;

static const command commands[CMD_COUNT] = {
#define CLI_COMMAND(name, arguments, least, most, summary, details)                                \
    {#name, arguments, least, most, summary, details, cli_##name},
#include "commands.def"
#undef CLI_COMMAND
};

typedef enum option_kind { FLAG, TEXT, LIST, WHOLE, INTEGER, REAL } option_kind;
typedef struct option {
    const char *name, *letter;
    option_kind kind;
    const char *value;
    double least, most;
    const char *commands, *help;
} option;

static const option options[OPT_COUNT] = {
#define CLI_OPTION(name, long_name, short_name, kind, value, least, most, commands, help)          \
    {long_name, short_name, kind, value, least, most, commands, help},
#include "commands.def"
#undef CLI_OPTION
};

static const struct {
    cli_option_id first;
    const char *title;
} groups[] = {
#define CLI_GROUP(name, title) {OPT_##name, title},
#include "commands.def"
#undef CLI_GROUP
};

static const struct {
    const char *alias;
    cli_option_id option;
} aliases[] = {
#define CLI_ALIAS(alias, name) {alias, OPT_##name},
#include "commands.def"
#undef CLI_ALIAS
};

const char *cli_option_name(cli_option_id option) { return options[option].name; }

/* Whether the command's name is a word of the option's list. */
static bool belongs_to(const option *o, int c) {
    size_t n = strlen(commands[c].name);
    for (const char *at = o->commands; (at = strstr(at, commands[c].name)); at += n)
        if ((at == o->commands || at[-1] == ' ') && (at[n] == ' ' || !at[n])) return true;
    return false;
}

int cli_fail(int code, const char *format, ...) {
    fflush(stdout);
    char text[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    fputs("weft: ", stderr);
    cli_show(stderr, text, strlen(text));
    fputc('\n', stderr);
    return code;
}

int cli_fail_weft(void) { return cli_fail(EXIT_FAILED, "%s", weft_message()); }

/* ---- help
 * ---------------------------------------------------------------------------------------- */

static void print_help(void) {
    printf("weft %s: language models on any GPU, or on the CPU\n\n"
           "usage: weft COMMAND [OPTIONS] ...\n\ncommands:\n",
           weft_version());
    for (int c = 0; c < CMD_COUNT; c++)
        printf("  %-9s %-17s %s\n", commands[c].name, commands[c].arguments, commands[c].summary);
    printf("\nMODEL is a GGUF file or a Hugging Face folder. \"weft COMMAND --help\" lists a\n"
           "command's options; \"weft --version\" prints the version.\n"
           "The environment variable WEFT_LOG=info (or debug) shows what happens inside.\n");
}

/* The title of the part of the help that the option is in. */
static const char *group_of(int option) {
    const char *title = "options";
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++)
        if ((int)groups[i].first <= option) title = groups[i].title;
    return title;
}

enum { HELP_COLUMN = 29 };

static void print_option(const option *o) {
    char name[64];
    int n = snprintf(name, sizeof name, "%s%s%s--%s%s%s", o->letter[0] ? "-" : "    ", o->letter,
                     o->letter[0] ? ", " : "", o->name, o->value[0] ? " " : "", o->value);
    if (n > HELP_COLUMN - 3) printf("  %s\n%*s", name, HELP_COLUMN, "");
    else printf("  %-*s ", HELP_COLUMN - 3, name);
    for (const char *line = o->help;; line++) { /* its lines, one below the other */
        int length = (int)strcspn(line, "\n");
        printf("%.*s\n", length, line);
        line += length;
        if (!*line) return;
        printf("%*s", HELP_COLUMN, "");
    }
}

static void print_command_help(int c) {
    const command *cmd = &commands[c];
    const char *title = NULL;
    bool has_options = false;
    for (int i = 0; i < OPT_COUNT; i++) has_options = has_options || belongs_to(&options[i], c);
    printf("weft %s: %s\n\nusage: weft %s%s%s%s\n\n%s\n", cmd->name, cmd->summary, cmd->name,
           has_options ? " [OPTIONS]" : "", cmd->arguments[0] ? " " : "", cmd->arguments,
           cmd->details);
    for (int i = 0; i < OPT_COUNT; i++) {
        if (!belongs_to(&options[i], c)) continue;
        if (!title || strcmp(title, group_of(i)) != 0) printf("\n%s:\n", group_of(i));
        title = group_of(i);
        print_option(&options[i]);
    }
}

/* ---- parsing
 * --------------------------------------------------------------------------------------- */

static bool is_word(const char *word, const char *text, size_t n) {
    return n && strlen(word) == n && !memcmp(word, text, n);
}

/* The option an argument names ("-p", "--prompt", "--prompt=x"); *value gets what follows '='. -1 =
 * none. */
static int find_option(const char *arg, int c, const char **value) {
    bool is_long = arg[1] == '-';
    const char *name = arg + (is_long ? 2 : 1), *equals = is_long ? strchr(name, '=') : NULL;
    size_t n = equals ? (size_t)(equals - name) : strlen(name);
    *value = equals ? equals + 1 : NULL;
    for (int i = 0; i < OPT_COUNT; i++) {
        const char *known = is_long ? options[i].name : options[i].letter;
        if (is_word(known, name, n) && belongs_to(&options[i], c)) return i;
    }
    for (size_t i = 0; is_long && i < sizeof aliases / sizeof *aliases; i++) {
        int which = (int)aliases[i].option;
        if (is_word(aliases[i].alias, name, n) && belongs_to(&options[which], c)) return which;
    }
    return -1;
}

static int take_value(const option *o, const char *text, cli_option *out) {
    out->is_set = true;
    out->text = text;
    if (o->kind == LIST) {
        if (out->n_list == CLI_MOST_VALUES)
            return cli_fail(EXIT_USAGE, "--%s may come at most %d times", o->name, CLI_MOST_VALUES);
        out->list[out->n_list++] = text;
    }
    if (o->kind == FLAG || o->kind == TEXT || o->kind == LIST) return 0;
    char *end;
    out->number = strtod(text, &end);
    bool is_number = end != text && !*end && out->number >= o->least && out->number <= o->most;
    const char *digits = text + (o->kind == INTEGER && text[0] == '-');
    bool is_whole = o->kind == REAL || strspn(digits, "0123456789") == strlen(digits);
    if (is_number && is_whole) return 0;
    return cli_fail(EXIT_USAGE, "--%s takes a %s from %.16g to %.16g, not \"%s\"", o->name,
                    o->kind == REAL ? "number" : "whole number", o->least, o->most, text);
}

/* 0, or an exit code after a message; -1 when --help was answered. */
static int parse(int c, int argc, char **argv, cli_args *out) {
    const command *cmd = &commands[c];
    bool are_options_over = false;
    for (int i = 0; i < argc; i++) {
        const char *arg = argv[i], *value = NULL;
        if (are_options_over || arg[0] != '-' || !arg[1]) {
            if (out->n_positional == cmd->most)
                return cli_fail(EXIT_USAGE, "%s: one argument too many: \"%s\"", cmd->name, arg);
            out->positional[out->n_positional++] = arg;
            continue;
        }
        if (!strcmp(arg, "--")) {
            are_options_over = true;
            continue;
        }
        if (!strcmp(arg, "--help") || !strcmp(arg, "-h")) {
            print_command_help(c);
            return -1;
        }
        int which = find_option(arg, c, &value);
        if (which < 0)
            return cli_fail(EXIT_USAGE, "%s has no option %s (see weft %s --help)", cmd->name, arg,
                            cmd->name);
        if (options[which].kind == FLAG && value)
            return cli_fail(EXIT_USAGE, "--%s takes no value", options[which].name);
        if (options[which].kind != FLAG && !value) {
            if (++i == argc)
                return cli_fail(EXIT_USAGE, "--%s needs a value: %s", options[which].name,
                                options[which].value);
            value = argv[i];
        }
        int code = take_value(&options[which], value, &out->opt[which]);
        if (code) return code;
    }
    if (out->n_positional < cmd->least)
        return cli_fail(EXIT_USAGE, "%s needs an argument: weft %s %s", cmd->name, cmd->name,
                        cmd->arguments);
    return 0;
}

static int find_command(const char *name) {
    for (int c = 0; c < CMD_COUNT; c++)
        if (!strcmp(commands[c].name, name)) return c;
    return -1;
}

/* GCC's OpenMP lets a thread that waits spin for milliseconds, which is faster by a little on an
 * idle machine and slower by ten times when other programs want the cores (docs/performance.md). It
 * reads its environment before main, so asking it to sleep means starting again. Started
 * through another program (a dynamic loader, a checker) it stays as it is. */
static void share_the_cores(char **argv) {
    if (getenv("OMP_WAIT_POLICY") || getenv("GOMP_SPINCOUNT")) return;
    static char self[4096];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    if (n <= 0) return;
    self[n] = 0;
    const char *name = strrchr(argv[0], '/');
    name = name ? name + 1 : argv[0];
    const char *file = strrchr(self, '/');
    if (!file || strcmp(file + 1, name) != 0) return;
    if (setenv("OMP_WAIT_POLICY", "passive", 1) == 0) execv(self, argv);
}

/* Help and version. -1 = the first argument asks for neither. */
static int answer_help(int argc, char **argv) {
    const char *first = argc > 1 ? argv[1] : "--help";
    if (!strcmp(first, "--version")) {
        printf("weft %s\n", weft_version());
        return EXIT_OK;
    }
    if (strcmp(first, "--help") != 0 && strcmp(first, "-h") != 0 && strcmp(first, "help") != 0)
        return -1;
    if (argc <= 2) {
        print_help();
        return argc > 1 ? EXIT_OK : EXIT_USAGE;
    }
    int c = find_command(argv[2]);
    if (c < 0) return cli_fail(EXIT_USAGE, "there is no command \"%s\" (see weft --help)", argv[2]);
    print_command_help(c);
    return EXIT_OK;
}

static int run_command(int argc, char **argv) {
    int c = find_command(argv[1]);
    if (c < 0) return cli_fail(EXIT_USAGE, "there is no command \"%s\" (see weft --help)", argv[1]);
    cli_args args = {0};
    int code = parse(c, argc - 2, argv + 2, &args);
    if (code == 0) code = commands[c].run(&args);
    return code == -1 ? EXIT_OK : code;
}

int main(int argc, char **argv) {
    if (argc > 1) share_the_cores(argv);
    /* Without this folder the Vulkan drivers complain on standard error, many times. */
    setenv("XDG_RUNTIME_DIR", "/tmp", 0);
    int code = answer_help(argc, argv);
    if (code < 0) code = run_command(argc, argv);
    if (fflush(stdout) != 0 || ferror(stdout)) {
        if (code == EXIT_OK) code = cli_fail(EXIT_FAILED, "standard output cannot be written");
    }
    return code;
}
