/* Samplers that change logits by what is in the context: bias, repetition, presence, frequency,
 * DRY. Costs are linear in the history they look at, not in the vocabulary.
 * SPDX-License-Identifier: MIT */
#include <math.h>

#include "base/mem.h"
#include "sample/chain.h"

size_t sample_window(int32_t window, size_t n_history) {
    return window < 0 || (size_t)window > n_history ? n_history : (size_t)window;
}

weft_status sample_penalties(sampler *s) {
    const sampler_params *p = &s->params;
    float repeat = p->repeat_penalty > 0 ? p->repeat_penalty : 1;
    bool is_on = repeat != 1 || p->presence_penalty != 0 || p->frequency_penalty != 0;
    size_t n = is_on ? sample_window(p->penalty_window, s->n_history) : 0;
    if (!n) return WEFT_OK; /* a history without tokens is no array */
    const int32_t *tokens = s->history + (s->n_history - n);
    for (size_t i = 0; i < n; i++) s->counts[tokens[i]]++;
    for (size_t i = 0; i < n; i++) {
        uint32_t count = s->counts[tokens[i]];
        float *logit = &s->logits[tokens[i]];
        if (!count) continue; /* seen before in this loop */
        s->counts[tokens[i]] = 0;
        *logit = *logit > 0 ? *logit / repeat : *logit * repeat;
        *logit -= (float)count * p->frequency_penalty + p->presence_penalty;
    }
    return WEFT_OK;
}

/* matches[i] = how many tokens before place i from the end repeat the text's last tokens: the
 * Z-function (Gusfield 1997) of the reversed window. */
static void count_matches(const int32_t *tokens, size_t n, uint32_t *matches) {
    size_t left = 0, right = 0; /* the match that reaches furthest: [left, right) */
    matches[0] = 0;
    for (size_t i = 1; i < n; i++) {
        size_t z = 0;
        if (i < right) z = matches[i - left] < right - i ? matches[i - left] : right - i;
        while (i + z < n && tokens[n - 1 - z] == tokens[n - 1 - i - z]) z++;
        matches[i] = (uint32_t)z;
        if (i + z > right) {
            left = i;
            right = i + z;
        }
    }
}

static bool ends_a_break(const sampler *s, size_t at) {
    return breaks_end_in(s->breaks, s->history, at, s->history[at]);
}

weft_status sample_dry(sampler *s) {
    const sampler_params *p = &s->params;
    if (p->dry_multiplier <= 0) return WEFT_OK;
    size_t n = sample_window(p->dry_window ? p->dry_window : -1, s->n_history);
    if (!n) return WEFT_OK;
    const int32_t *tokens = s->history + (s->n_history - n);
    void *matches = s->matches;
    weft_status status = mem_reserve(&matches, &s->matches_capacity, n + 1, sizeof *s->matches);
    s->matches = matches;
    TRY(status);
    uint32_t reach = 0; /* tokens since the last break */
    while (reach < n && !ends_a_break(s, s->n_history - 1 - reach)) reach++;
    if (n) count_matches(tokens, n, s->matches);
    uint32_t allowed = p->dry_allowed > 0 ? (uint32_t)p->dry_allowed : 2;
    double base = p->dry_base > 0 ? p->dry_base : 1.75;
    /* counts[] holds, for a while, the longest repetition that each token would lengthen. */
    for (size_t i = 1; i < n; i++) {
        uint32_t match = s->matches[i] < reach ? s->matches[i] : reach;
        int32_t next = tokens[n - i];
        if (match >= allowed && match > s->counts[next]) s->counts[next] = match;
    }
    for (size_t i = 1; i < n; i++) {
        int32_t next = tokens[n - i];
        uint32_t match = s->counts[next];
        if (!match) continue;
        s->counts[next] = 0;
        if (breaks_end_in(s->breaks, s->history, s->n_history, next)) continue;
        double penalty = p->dry_multiplier * pow(base, (double)(match - allowed));
        s->logits[next] -= (float)(penalty < 1e30 ? penalty : 1e30);
    }
    return WEFT_OK;
}

weft_status sample_bias(sampler *s) {
    for (size_t i = 0; i < s->params.n_bias; i++) {
        sampler_bias b = s->params.bias[i];
        if (b.bias == -INFINITY) s->logits[b.id] = -INFINITY; /* even where the logit is +inf */
        else s->logits[b.id] += b.bias;
    }
    return WEFT_OK;
}
