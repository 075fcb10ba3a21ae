/* weft run: one prompt, one answer. The text goes to standard output as it comes, all else to
 * standard error.
 * SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"
#ifdef WEFT_HAVE_JANSSON
#include <jansson.h>
#endif

typedef struct output {
    cli_bar bar;
    cli_logprobs probs;
    bool is_silent; /* --json: the text comes at the end */
    bool is_broken; /* standard output cannot be written */
    bool ends_line;
} output;

static bool on_text(void *user, const char *text, size_t n) {
    output *o = user;
    cli_bar_end(&o->bar);
    if (o->is_silent) return true;
    o->is_broken = !cli_answer(text, n);
    o->ends_line = text[n - 1] == '\n';
    return !o->is_broken;
}

static bool on_token(void *user, const weft_token *token) {
    output *o = user;
    cli_logprobs_add(&o->probs, token);
    return true;
}

static bool on_prompt(void *user, int32_t done, int32_t total) {
    output *o = user;
    cli_bar_update(&o->bar, total ? (double)done / total : 1);
    return true;
}

static bool is_cancelled(void *user) {
    (void)user;
    return cli_interrupted();
}

#ifdef WEFT_HAVE_JANSSON
static json_t *text_or_null(const char *text) {
    json_t *made = json_string(text);
    return made ? made : json_null();
}

/* `probs` is a JSON array, NULL = not asked for. */
static int print_json(const cli_model *m, const weft_sampling *sampling, const weft_generation *g,
                      const char *probs) {
    json_t *all = json_pack(
        "{s:o, s:s, s:o, s:o, s:o, s:i, s:i, s:i, s:f, s:f, s:f, s:f, s:f, s:f, s:I}", "text",
        text_or_null(weft_session_text(m->session)), "finish", weft_finish_name(g->finish), "model",
        text_or_null(m->info.name), "device", text_or_null(m->device.name), "adapter",
        text_or_null(m->device.adapter), "prompt_tokens", g->n_prompt, "cached_tokens", g->n_cached,
        "generated_tokens", g->n_generated, "load_seconds", m->info.load_seconds, "prompt_seconds",
        g->prompt_seconds, "generate_seconds", g->generate_seconds, "first_token_seconds",
        g->first_token_seconds, "prompt_tokens_per_second", g->prompt_rate,
        "generated_tokens_per_second", g->generate_rate, "seed", (json_int_t)sampling->seed);
    json_t *tokens = probs ? json_loads(probs, JSON_ALLOW_NUL, NULL) : NULL;
    int failed = !all || (probs && json_object_set_new(all, "logprobs",
                                                       json_pack("{s:o}", "content", tokens)));
    failed = failed || json_dumpf(all, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(8)) != 0 ||
             putchar('\n') == EOF;
    json_decref(all);
    return failed ? cli_fail(EXIT_FAILED, "the JSON object cannot be written") : EXIT_OK;
}
#else
static int print_json(const cli_model *m, const weft_sampling *sampling, const weft_generation *g,
                      const char *probs) {
    (void)m;
    (void)sampling;
    (void)g;
    (void)probs;
    return cli_fail(EXIT_FAILED, "this weft was built without jansson, which --json needs");
}
#endif

static weft_status generate(const cli_args *args, cli_model *m, const char *prompt,
                            weft_generate_desc desc) {
    const char *system = args->opt[OPT_system].text;
    if (args->opt[OPT_raw].is_set || !m->info.chat_format[0]) {
        desc.parse_special = args->opt[OPT_raw].is_set;
        return weft_generate(m->session, prompt, desc);
    }
    weft_chat_message messages[2] = {{"system", system}, {"user", prompt}};
    return weft_chat(m->session, messages + !system, system ? 2 : 1, desc);
}

static int report(const cli_model *m, const weft_sampling *sampling, output *out,
                  const weft_generation *g) {
    if (out->is_silent) return print_json(m, sampling, g, cli_logprobs_text(&out->probs));
    cli_logprobs_print(&out->probs);
    cli_print_rates(m, g);
    return EXIT_OK;
}

static int answer(const cli_args *args, cli_model *m, const char *prompt, weft_generate_desc desc) {
    weft_generation g;
    output out = {.is_silent = args->opt[OPT_json].is_set, .ends_line = true};
    desc.on_text = on_text;
    desc.on_prompt = on_prompt;
    desc.is_cancelled = is_cancelled;
    desc.user = &out;
    desc.max_tokens = (int32_t)args->opt[OPT_tokens].number;
    desc.ignore_eos = args->opt[OPT_ignore_eos].is_set;
    desc.result = &g;
    if (args->opt[OPT_logprobs].is_set) {
        if (!cli_logprobs_open(&out.probs, out.is_silent))
            return cli_fail(EXIT_FAILED, "out of memory");
        desc.on_token = on_token;
        desc.n_best = (int32_t)args->opt[OPT_logprobs].number;
    }
    cli_bar_begin(&out.bar, "reading");
    weft_status status = generate(args, m, prompt, desc);
    cli_bar_end(&out.bar);
    int code = EXIT_OK;
    if (!out.is_broken && !out.ends_line && !out.is_silent) putchar('\n');
    fflush(stdout);
    if (out.is_broken) code = cli_fail(EXIT_FAILED, "standard output: %s", strerror(errno));
    else if (status == WEFT_CANCELLED) code = cli_fail(EXIT_INTERRUPTED, "interrupted");
    else if (status != WEFT_OK) code = cli_fail_weft();
    else code = report(m, &desc.sampling, &out, &g);
    cli_logprobs_close(&out.probs);
    if (!out.is_broken && status == WEFT_OK) cli_note_fallbacks(m);
    return code == EXIT_OK && cli_interrupted() ? EXIT_INTERRUPTED : code;
}

/* -p, or standard input less its last newline. To be freed. */
static char *take_prompt(const cli_args *args, int *code) {
    if (args->opt[OPT_prompt].is_set) {
        char *copy = strdup(args->opt[OPT_prompt].text);
        if (!copy) *code = cli_fail(EXIT_FAILED, "out of memory");
        return copy;
    }
    if (isatty(STDIN_FILENO)) {
        *code =
            cli_fail(EXIT_USAGE, "there is no prompt: give -p TEXT, or send it to standard input");
        return NULL;
    }
    size_t n = 0;
    char *text = cli_read_stdin(&n);
    *code = text ? 0 : EXIT_FAILED;
    if (text && n && text[n - 1] == '\n') text[--n] = 0;
    if (text && strlen(text) != n) {
        *code = cli_fail(EXIT_FAILED, "the prompt on standard input has a zero byte in it");
        free(text);
        return NULL;
    }
    return text;
}

/* The file that an option names, NULL when it is not given. To be freed. */
static char *take_file(const cli_option *option, int *code) {
    if (!option->is_set) return NULL;
    size_t n = 0;
    char *text = cli_read_file(option->text, &n);
    if (!text) *code = EXIT_FAILED;
    else if (strlen(text) != n)
        *code = cli_fail(EXIT_FAILED, "%s has a zero byte in it", option->text);
    return text;
}

static int run(const cli_args *args, const char *prompt, const char *grammar,
               cli_sampling *sampling) {
    cli_model m;
    cli_catch_interrupts(true);
    int code = cli_open_model(args, &m);
    if (code) return code;
    if (args->opt[OPT_system].is_set && !m.info.chat_format[0])
        code =
            cli_fail(EXIT_FAILED, "the model has no chat format, so it takes no --system message");
    if (!code) code = cli_sampling_finish(args, m.model, sampling);
    bool is_gbnf = args->opt[OPT_grammar].is_set;
    weft_generate_desc desc = {.sampling = sampling->s,
                               .grammar = is_gbnf ? grammar : NULL,
                               .json_schema = is_gbnf ? NULL : grammar};
    if (!code) code = answer(args, &m, prompt, desc);
    cli_close_model(&m);
    return code;
}

int cli_run(const cli_args *args) {
    if (args->opt[OPT_raw].is_set && args->opt[OPT_system].is_set)
        return cli_fail(EXIT_USAGE, "--raw and --system exclude each other");
#ifndef WEFT_HAVE_JANSSON
    if (args->opt[OPT_json].is_set) return print_json(NULL, NULL, NULL, NULL);
#endif
    if (args->opt[OPT_grammar].is_set && args->opt[OPT_json_schema].is_set)
        return cli_fail(EXIT_USAGE, "--grammar and --json-schema exclude each other");
    cli_sampling sampling;
    int code = cli_sampling_open(args, &sampling);
    const cli_option *which = &args->opt[OPT_grammar];
    if (!which->is_set) which = &args->opt[OPT_json_schema];
    char *grammar = code ? NULL : take_file(which, &code);
    char *prompt = code ? NULL : take_prompt(args, &code);
    if (prompt) code = run(args, prompt, grammar, &sampling);
    cli_sampling_close(&sampling);
    free(prompt);
    free(grammar);
    return code;
}
