/* How tokens are chosen, as the options say: the program's defaults, then what the model's file
 * recommends, then the options. A 0 that the library would take for "the default" or "off" is
 * passed on as a tiny number, since on a command line it means 0.
 * SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli.h"

static const float tiny = 1e-30f;

/* Options that are one field. */
static const struct {
    cli_option_id option;
    size_t place;
    bool zero_is_zero;
} reals[] = {
    {OPT_temp, offsetof(weft_sampling, temperature), false},
    {OPT_top_p, offsetof(weft_sampling, top_p), true},
    {OPT_min_p, offsetof(weft_sampling, min_p), false},
    {OPT_repeat_penalty, offsetof(weft_sampling, repeat_penalty), false},
    {OPT_presence_penalty, offsetof(weft_sampling, presence_penalty), false},
    {OPT_frequency_penalty, offsetof(weft_sampling, frequency_penalty), false},
    {OPT_typical_p, offsetof(weft_sampling, typical_p), true},
    {OPT_top_n_sigma, offsetof(weft_sampling, top_n_sigma), false},
    {OPT_xtc_probability, offsetof(weft_sampling, xtc_probability), false},
    {OPT_xtc_threshold, offsetof(weft_sampling, xtc_threshold), true},
    {OPT_dynatemp_range, offsetof(weft_sampling, temperature_range), false},
    {OPT_dynatemp_exponent, offsetof(weft_sampling, temperature_exponent), true},
    {OPT_dry_multiplier, offsetof(weft_sampling, dry_multiplier), false},
    {OPT_dry_base, offsetof(weft_sampling, dry_base), false},
};
enum { N_REALS = sizeof reals / sizeof *reals };

/* Options that do nothing while another's field is 0. */
static const struct {
    cli_option_id option, needs;
    size_t place;
} needs[] = {
    {OPT_xtc_threshold, OPT_xtc_probability, offsetof(weft_sampling, xtc_probability)},
    {OPT_dynatemp_exponent, OPT_dynatemp_range, offsetof(weft_sampling, temperature_range)},
    {OPT_dry_base, OPT_dry_multiplier, offsetof(weft_sampling, dry_multiplier)},
    {OPT_dry_allowed_length, OPT_dry_multiplier, offsetof(weft_sampling, dry_multiplier)},
    {OPT_dry_penalty_last_n, OPT_dry_multiplier, offsetof(weft_sampling, dry_multiplier)},
    {OPT_dry_sequence_breaker, OPT_dry_multiplier, offsetof(weft_sampling, dry_multiplier)},
    {OPT_mirostat_eta, OPT_mirostat, offsetof(weft_sampling, mirostat_tau)},
};

/* Options that do nothing when --samplers names none of these. */
static const struct {
    cli_option_id option;
    const char *names;
} named[] = {
    {OPT_temp, "temperature temp"},
    {OPT_dynatemp_range, "temperature temp"},
    {OPT_top_k, "top_k"},
    {OPT_top_p, "top_p"},
    {OPT_min_p, "min_p"},
    {OPT_typical_p, "typical typical_p typ_p"},
    {OPT_top_n_sigma, "top_n_sigma"},
    {OPT_xtc_probability, "xtc"},
    {OPT_mirostat, "mirostat"},
    {OPT_mirostat_tau, "mirostat"},
};

/* Whether the list has one of these names; '-' stands for '_' in it. */
static bool names_one(const char *order, const char *names) {
    for (const char *at = order; *at; at += at[0] != 0) {
        size_t n = strcspn(at, ",;");
        for (const char *name = names; *name; name += name[0] == ' ') {
            size_t length = strcspn(name, " "), same = 0;
            while (same < n && same < length && name[same] == (at[same] == '-' ? '_' : at[same]))
                same++;
            if (same == n && n == length) return true;
            name += length;
        }
        at += n;
    }
    return false;
}

static float real_at(const weft_sampling *s, size_t place) {
    float value;
    memcpy(&value, (const char *)s + place, sizeof value);
    return value;
}

/* ---- DRY's breaks ---------------------------------------------------------------------------- */

/* A copy in which \n, \t, \r, \" and \\ are what they stand for; NULL when out of memory. */
static char *unescape(const char *text) {
    static const char letters[] = "ntr\"\\", meant[] = "\n\t\r\"\\";
    char *copy = malloc(strlen(text) + 1), *to = copy;
    for (; copy && *text; text++) {
        const char *letter = text[0] == '\\' && text[1] ? strchr(letters, text[1]) : NULL;
        *to++ = letter ? meant[letter - letters] : *text;
        text += letter != NULL;
    }
    if (copy) *to = 0;
    return copy;
}

/* "none" alone is none. */
static int take_breaks(const cli_option *o, cli_sampling *out) {
    if (!o->is_set) return 0;
    out->s.dry_breaks = (const char *const *)out->breaks;
    bool is_none = o->n_list == 1 && !strcmp(o->list[0], "none");
    for (int i = 0; i < o->n_list && !is_none; i++) {
        char *text = unescape(o->list[i]);
        if (!text) return cli_fail(EXIT_FAILED, "out of memory");
        out->breaks[out->s.n_dry_breaks++] = text;
        if (!text[0])
            return cli_fail(EXIT_USAGE, "--dry-sequence-breaker takes a text, or \"none\" alone");
    }
    return 0;
}

/* ---- logit biases ---------------------------------------------------------------------------- */

/* Cuts "TEXT-1.5" where the first number that is the rest begins: its length before, -1 = none. */
static int cut_bias(const char *text, float *bias) {
    for (int i = 1; text[0] && text[i]; i++) {
        if (text[i] != '+' && text[i] != '-') continue;
        if (strchr("+-", text[i + 1]) || !text[i + 1]) continue;
        char *end;
        *bias = strtof(text + i, &end);
        if (!*end && end != text + i && *bias < INFINITY) return i;
    }
    return -1;
}

static int check_biases(const cli_option *o) {
    float bias;
    for (int i = 0; i < o->n_list; i++)
        if (cut_bias(o->list[i], &bias) < 0)
            return cli_fail(EXIT_USAGE,
                            "--logit-bias takes ID or TEXT, then + or - and a number (-inf "
                            "forbids), not \"%s\"",
                            o->list[i]);
    return 0;
}

/* The one token that text[0..n) is: a number its id, else its text, in quotes or not. */
static int find_token(weft_model *model, const char *text, int n, int32_t *id) {
    if ((int)strspn(text, "0123456789") == n) {
        double number = strtod(text, NULL);
        *id = number <= INT32_MAX ? (int32_t)number : INT32_MAX;
        return 0;
    }
    bool is_quoted = n > 2 && text[0] == '"' && text[n - 1] == '"';
    text += is_quoted;
    n -= 2 * is_quoted;
    int64_t count = weft_encode(model, text, (size_t)n, WEFT_PARSE_SPECIAL, id, 1);
    if (count < 0) return cli_fail_weft();
    if (count == 1) return 0;
    return cli_fail(EXIT_USAGE,
                    "--logit-bias: \"%.*s\" is %lld tokens of this model, and a bias is for one "
                    "(weft tokenize shows them)",
                    n, text, (long long)count);
}

static int take_biases(const cli_option *o, weft_model *model, cli_sampling *out) {
    for (int i = 0; i < o->n_list; i++) {
        weft_logit_bias *b = &out->bias[i];
        int n = cut_bias(o->list[i], &b->bias), code = find_token(model, o->list[i], n, &b->id);
        if (code) return code;
    }
    out->s.bias = out->bias;
    out->s.n_bias = (size_t)o->n_list;
    if (weft_check_sampling(model, &out->s) == WEFT_OK) return 0;
    return cli_fail(EXIT_USAGE, "--logit-bias: %s", weft_message());
}

/* ---- all together ---------------------------------------------------------------------------- */

static int take_mirostat(const cli_option *opt, weft_sampling *s) {
    double version = opt[OPT_mirostat].number;
    if (opt[OPT_mirostat].is_set && version == 1)
        return cli_fail(EXIT_USAGE, "--mirostat takes 0 (off) or 2; version 1 is not here");
    if (opt[OPT_mirostat].is_set && version == 0) s->mirostat_tau = 0;
    bool is_off = opt[OPT_mirostat].is_set && version == 0;
    if (is_off || (version == 0 && !opt[OPT_mirostat_tau].is_set && s->mirostat_tau <= 0)) return 0;
    if (s->mirostat_tau <= 0) { /* else the file says so, and has switched the filters off */
        s->top_k = 0;
        s->top_p = s->min_p = 0;
        s->mirostat_tau = 5;
    }
    if (opt[OPT_mirostat_tau].is_set) s->mirostat_tau = (float)opt[OPT_mirostat_tau].number;
    if (opt[OPT_mirostat_eta].is_set) s->mirostat_eta = (float)opt[OPT_mirostat_eta].number;
    if (s->mirostat_tau <= 0) s->mirostat_tau = tiny;
    if (opt[OPT_mirostat_eta].is_set && s->mirostat_eta <= 0) s->mirostat_eta = tiny;
    return 0;
}

/* The options over *s, which has the defaults. */
static int take_options(const cli_option *opt, weft_sampling *s) {
    int code = take_mirostat(opt, s);
    for (int i = 0; i < N_REALS; i++) {
        const cli_option *o = &opt[reals[i].option];
        float value = (float)o->number;
        if (o->is_set && value == 0 && reals[i].zero_is_zero) value = tiny;
        if (o->is_set) memcpy((char *)s + reals[i].place, &value, sizeof value);
    }
    if (opt[OPT_top_k].is_set) s->top_k = (int32_t)opt[OPT_top_k].number;
    if (opt[OPT_samplers].is_set) s->order = opt[OPT_samplers].text;
    if (opt[OPT_seed].is_set) s->seed = (uint64_t)opt[OPT_seed].number;
    if (opt[OPT_dry_allowed_length].is_set)
        s->dry_allowed = (int32_t)opt[OPT_dry_allowed_length].number;
    double dry_window = opt[OPT_dry_penalty_last_n].number;
    if (dry_window > 0) s->dry_window = (int32_t)dry_window;
    if (opt[OPT_dry_penalty_last_n].is_set && dry_window == 0) s->dry_multiplier = 0;
    double window = opt[OPT_repeat_last_n].number;
    if (opt[OPT_repeat_last_n].is_set) s->penalty_window = window > 0 ? (int32_t)window : 0;
    if (opt[OPT_repeat_last_n].is_set && window == 0)
        s->repeat_penalty = s->presence_penalty = s->frequency_penalty = 0;
    return code;
}

static int take_all(const cli_args *args, weft_sampling base, cli_sampling *out) {
    const weft_sampling lists = out->s;
    out->s = base;
    out->s.dry_breaks = lists.dry_breaks;
    out->s.n_dry_breaks = lists.n_dry_breaks;
    int code = take_options(args->opt, &out->s);
    if (code || weft_check_sampling(NULL, &out->s) == WEFT_OK) return code;
    const char *option = strstr(weft_message(), "order: ") ? "--samplers" : "sampling";
    return cli_fail(EXIT_USAGE, "%s: %s", option, weft_message());
}

static weft_sampling defaults(void) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (weft_sampling){
        .temperature = 0.7f,
        .top_k = 40,
        .top_p = 0.95f,
        .min_p = 0.05f,
        .repeat_penalty = 1,
        .penalty_window = 64,
        .seed = ((uint64_t)now.tv_sec * 1000003u ^ (uint64_t)now.tv_nsec) & 0xFFFFFFFFu,
    };
}

int cli_sampling_open(const cli_args *args, cli_sampling *out) {
    *out = (cli_sampling){0};
    int code = take_breaks(&args->opt[OPT_dry_sequence_breaker], out);
    if (!code) code = check_biases(&args->opt[OPT_logit_bias]);
    if (!code) code = take_all(args, defaults(), out);
    return code;
}

static void note_idle_options(const cli_option *opt, const weft_sampling *s) {
    for (size_t i = 0; i < sizeof needs / sizeof *needs; i++)
        if (opt[needs[i].option].is_set && real_at(s, needs[i].place) == 0)
            fprintf(stderr, "weft: note: --%s does nothing without --%s\n",
                    cli_option_name(needs[i].option), cli_option_name(needs[i].needs));
    for (size_t i = 0; i < sizeof named / sizeof *named; i++)
        if (opt[named[i].option].is_set && s->order && !names_one(s->order, named[i].names))
            fprintf(stderr, "weft: note: --%s does nothing, as %s does not name it\n",
                    cli_option_name(named[i].option),
                    opt[OPT_samplers].is_set ? "--samplers" : "the file's order of samplers");
}

int cli_sampling_finish(const cli_args *args, weft_model *model, cli_sampling *out) {
    weft_sampling base = defaults();
    const char *said;
    if (weft_model_sampling(model, &base, &said) != WEFT_OK) {
        fprintf(stderr, "weft: warning: what the file recommends for sampling is not used: ");
        cli_show(stderr, weft_message(), strlen(weft_message()));
        fputc('\n', stderr);
    } else if (said[0]) {
        fprintf(stderr, "sampling as the model's file recommends, where no option says else: %s\n",
                said);
    }
    int code = take_all(args, base, out);
    if (!code) code = take_biases(&args->opt[OPT_logit_bias], model, out);
    if (!code) note_idle_options(args->opt, &out->s);
    return code;
}

void cli_sampling_close(cli_sampling *s) {
    for (int i = 0; i < CLI_MOST_VALUES; i++) free(s->breaks[i]);
    *s = (cli_sampling){0};
}
