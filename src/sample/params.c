/* What a sampler is asked to do: ranges, lists, and the order of the steps by name. See sample.h.
 * SPDX-License-Identifier: MIT */
#include <math.h>
#include <string.h>

#include "sample/chain.h"

static const struct {
    const char *name;
    sample_step choices; /* NULL: it changes logits, before all of these */
} rows[] = {
#define SAMPLER_ROW_LOGITS(name) {#name, NULL},
#define SAMPLER_ROW_CHOICES(name) {#name, sample_##name},
#define SAMPLER(name, phase, source) SAMPLER_ROW_##phase(name)
#include "sample/samplers.def"
#undef SAMPLER
#undef SAMPLER_ROW_LOGITS
#undef SAMPLER_ROW_CHOICES
};

enum { N_ROWS = sizeof rows / sizeof *rows };

static const struct {
    const char *alias, *name;
} aliases[] = {
#define SAMPLER(name, phase, source)
#define SAMPLER_ALIAS(alias, name) {#alias, #name},
#include "sample/samplers.def"
#undef SAMPLER
#undef SAMPLER_ALIAS
};

/* Whether a name of the table is text[0..n), in which '-' may stand for '_'. */
static bool is_name(const char *name, const char *text, size_t n) {
    if (strlen(name) != n) return false;
    for (size_t i = 0; i < n; i++)
        if (name[i] != (text[i] == '-' ? '_' : text[i])) return false;
    return true;
}

/* The row of the sampler called text[0..n), N_ROWS when there is none. */
static int find_row(const char *text, size_t n) {
    for (size_t k = 0; k < sizeof aliases / sizeof *aliases; k++) {
        if (!is_name(aliases[k].alias, text, n)) continue;
        text = aliases[k].name;
        n = strlen(text);
    }
    int i = 0;
    while (i < N_ROWS && !is_name(rows[i].name, text, n)) i++;
    return i;
}

weft_status sample_order(const char *order, sample_step *steps, int *n_steps) {
    int n_taken = 0;
    for (int i = 0; i < N_ROWS && !order; i++)
        if (rows[i].choices) steps[n_taken++] = rows[i].choices;
    while (order && *order) {
        size_t n = strcspn(order, ",;");
        int shown = (int)(n < 40 ? n : 40), row = find_row(order, n);
        REQUIRE(row < N_ROWS, WEFT_INVALID, "order: there is no sampler \"%.*s\"", shown, order);
        REQUIRE(rows[row].choices || !n_taken, WEFT_INVALID,
                "order: %s comes before those whose place can be chosen", rows[row].name);
        REQUIRE(n_taken < SAMPLE_MAX_STEPS, WEFT_INVALID, "order: more than %d samplers",
                SAMPLE_MAX_STEPS);
        if (rows[row].choices) steps[n_taken++] = rows[row].choices;
        order += n + (order[n] != 0);
    }
    *n_steps = n_taken;
    return WEFT_OK;
}

static weft_status check(const char *name, float value, float low, float high) {
    REQUIRE(value >= low && value <= high, WEFT_INVALID, "%s is %g, outside %g to %g", name,
            (double)value, (double)low, (double)high);
    return WEFT_OK;
}

static weft_status check_numbers(const sampler_params *p) {
    const float big = 1e9f;
    TRY(check("temperature", p->temperature, -big, big));
    REQUIRE(p->top_k >= 0, WEFT_INVALID, "top_k is %d, less than 0", p->top_k);
    TRY(check("top_p", p->top_p, 0, big));
    TRY(check("min_p", p->min_p, 0, 1));
    TRY(check("repeat_penalty", p->repeat_penalty, 0, big));
    TRY(check("presence_penalty", p->presence_penalty, -big, big));
    TRY(check("frequency_penalty", p->frequency_penalty, -big, big));
    REQUIRE(p->penalty_window >= -1, WEFT_INVALID, "penalty_window is %d, less than -1",
            p->penalty_window);
    TRY(check("temperature_range", p->temperature_range, 0, big));
    TRY(check("temperature_exponent", p->temperature_exponent, 0, big));
    TRY(check("typical_p", p->typical_p, 0, big));
    TRY(check("top_n_sigma", p->top_n_sigma, 0, big));
    TRY(check("xtc_probability", p->xtc_probability, 0, 1));
    TRY(check("xtc_threshold", p->xtc_threshold, 0, 1));
    TRY(check("dry_multiplier", p->dry_multiplier, 0, big));
    TRY(check("dry_base", p->dry_base, 0, big));
    REQUIRE(p->dry_allowed >= 0, WEFT_INVALID, "dry_allowed is %d, less than 0", p->dry_allowed);
    REQUIRE(p->dry_window >= -1, WEFT_INVALID, "dry_window is %d, less than -1", p->dry_window);
    TRY(check("mirostat_tau", p->mirostat_tau, 0, big));
    return check("mirostat_eta", p->mirostat_eta, 0, big);
}

static weft_status check_lists(const sampler_params *p, size_t n_vocab) {
    for (size_t i = 0; i < p->n_bias; i++) {
        sampler_bias b = p->bias[i];
        REQUIRE(b.id >= 0 && (!n_vocab || (size_t)b.id < n_vocab), WEFT_INDEX,
                "bias for token %d, of %zu", b.id, n_vocab);
        REQUIRE(b.bias < INFINITY, WEFT_INVALID,
                "the bias for token %d is %g, not a number below infinity", b.id, (double)b.bias);
    }
    for (size_t i = 0; i < p->n_dry_breaks; i++)
        REQUIRE(p->dry_breaks[i] && p->dry_breaks[i][0], WEFT_INVALID, "DRY break %zu is empty", i);
    return WEFT_OK;
}

weft_status sampler_check(const sampler_params *p, size_t n_vocab) {
    sample_step steps[SAMPLE_MAX_STEPS];
    int n_steps;
    TRY(check_numbers(p));
    TRY(check_lists(p, n_vocab));
    return sample_order(p->order, steps, &n_steps);
}
