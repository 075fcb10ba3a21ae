/* The chain: one draw from start to end, the temperature, Mirostat and the generator.
 * The generator is xoshiro256** (Blackman and Vigna 2018, arXiv:1805.01407), seeded by splitmix64
 * (Steele et al. 2014), so a seed gives the same tokens on every machine. See sample.h.
 * SPDX-License-Identifier: MIT */
#include "sample/sample.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "sample/chain.h"

/* The steps that change logits, in their order. */
static weft_status (*const changes[])(sampler *s) = {
#define SAMPLER_PHASE_LOGITS(name) sample_##name,
#define SAMPLER_PHASE_CHOICES(name)
#define SAMPLER(name, phase, source) SAMPLER_PHASE_##phase(name)
#include "sample/samplers.def"
#undef SAMPLER
#undef SAMPLER_PHASE_LOGITS
#undef SAMPLER_PHASE_CHOICES
};

static uint64_t rotate(uint64_t x, int k) { return x << k | x >> (64 - k); }

static uint64_t random_next(sampler *s) {
    uint64_t *r = s->random, result = rotate(r[1] * 5, 7) * 9, t = r[1] << 17;
    r[2] ^= r[0];
    r[3] ^= r[1];
    r[1] ^= r[2];
    r[0] ^= r[3];
    r[2] ^= t;
    r[3] = rotate(r[3], 45);
    return result;
}

double random_uniform(sampler *s) { return (double)(random_next(s) >> 11) * 0x1p-53; }

void sampler_reset(sampler *s, uint64_t seed) {
    for (int i = 0; i < 4; i++) { /* splitmix64 */
        uint64_t z = seed += 0x9E3779B97F4A7C15u;
        z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
        z = (z ^ z >> 27) * 0x94D049BB133111EBu;
        s->random[i] = z ^ z >> 31;
    }
    s->mu = 2 * s->params.mirostat_tau;
    s->n_choices = 0;
}

static weft_status open_parts(sampler *s, const sampler_params *p) {
    s->params = *p;
    s->params.bias = NULL;
    s->params.dry_breaks = NULL;
    s->params.order = NULL;
    TRY(sampler_check(p, s->n_vocab));
    TRY(sample_order(p->order, s->steps, &s->n_steps));
    s->params.bias = mem_copy(p->bias, p->n_bias * sizeof *p->bias);
    if (!s->params.bias) return WEFT_NO_MEMORY;
    if (p->dry_multiplier > 0) TRY(breaks_open(p, s->n_vocab, &s->breaks));
    s->logits = mem_array(s->n_vocab, sizeof *s->logits);
    s->counts = mem_array(s->n_vocab, sizeof *s->counts);
    s->choices = mem_array(s->n_vocab, sizeof *s->choices);
    s->best = mem_array(s->n_vocab, sizeof *s->best);
    s->weights = mem_array(s->n_vocab, sizeof *s->weights);
    if (!s->logits || !s->counts || !s->choices || !s->best || !s->weights) return WEFT_NO_MEMORY;
    sampler_reset(s, p->seed);
    return WEFT_OK;
}

weft_status sampler_open(const sampler_params *params, size_t n_vocab, sampler **out) {
    *out = NULL;
    REQUIRE(n_vocab && n_vocab <= INT32_MAX, WEFT_INVALID, "a vocabulary of %zu tokens", n_vocab);
    sampler *s = mem_alloc(sizeof *s);
    if (!s) return WEFT_NO_MEMORY;
    s->n_vocab = n_vocab;
    weft_status status = open_parts(s, params);
    if (status != WEFT_OK) {
        sampler_close(s);
        return status;
    }
    *out = s;
    return WEFT_OK;
}

void sampler_close(sampler *s) {
    if (!s) return;
    mem_free((void *)s->params.bias);
    mem_free(s->logits);
    mem_free(s->counts);
    breaks_close(s->breaks);
    mem_free(s->matches);
    mem_free(s->choices);
    mem_free(s->best);
    mem_free(s->weights);
    mem_free(s);
}

void sampler_set_mask(sampler *s, const uint32_t *allowed) { s->mask = allowed; }

void sample_temperature(sampler *s) {
    double t = (double)s->params.temperature, range = (double)s->params.temperature_range;
    if (range > 0 && s->n_choices > 1) {
        double sum = choices_weigh(s), entropy = 0;
        for (size_t i = 0; i < s->n_choices; i++) {
            double q = (double)s->weights[i] / sum;
            if (q > 0) entropy -= q * log(q);
        }
        double share = entropy / log((double)s->n_choices);
        double exponent = s->params.temperature_exponent > 0 ? s->params.temperature_exponent : 1;
        double low = t > range ? t - range : 0;
        t = low + (t + range - low) * pow(share, exponent);
    }
    /* Relative to the largest, so that nothing overflows and a tiny T leaves the largest alone. */
    float largest = choices_largest(s);
    for (size_t i = 0; i < s->n_choices; i++) {
        double below = (double)(s->choices[i].logit - largest);
        s->choices[i].logit = below < 0 ? (float)(below / t) : 0;
    }
}

/* Tokens more surprising than mu bits go; draw() moves mu. */
void sample_mirostat(sampler *s) {
    if (s->params.mirostat_tau <= 0) return;
    double total = log(choices_weigh(s));
    float largest = choices_largest(s);
    double bound = (double)largest + total - (double)s->mu * log(2.0);
    size_t n = 0;
    s->surprise_base = (float)(total + (double)largest);
    for (size_t i = 0; i < s->n_choices; i++) {
        choice c = s->choices[i];
        if ((double)c.logit >= bound || c.logit == largest) s->choices[n++] = c;
    }
    s->n_choices = n;
}

static void move_mu(sampler *s, float logit) {
    if (s->params.mirostat_tau <= 0) return;
    double surprise = (double)(s->surprise_base - logit) / log(2.0);
    double eta = s->params.mirostat_eta > 0 ? s->params.mirostat_eta : 0.1;
    s->mu -= (float)(eta * (surprise - (double)s->params.mirostat_tau));
}

static bool is_allowed(const sampler *s, size_t id) {
    return !s->mask || s->mask[id / 32] >> (id % 32) & 1;
}

/* Makes choices of all tokens that may be drawn. When a logit is infinite, those that are share
 * the probability. */
static weft_status begin(sampler *s) {
    size_t n = 0;
    float largest = -INFINITY;
    for (size_t i = 0; i < s->n_vocab; i++) {
        float logit = s->logits[i];
        REQUIRE(!isnan(logit), WEFT_INVALID, "the logit of token %zu is not a number", i);
        if (logit == -INFINITY || !is_allowed(s, i)) continue;
        if (logit > largest) largest = logit;
        s->choices[n++] = (choice){(int32_t)i, logit};
    }
    REQUIRE(n, WEFT_INVALID, "no token may be drawn: grammar, biases or logits have excluded all");
    s->n_choices = n;
    s->is_sorted = false;
    if (largest < INFINITY) return WEFT_OK;
    size_t kept = 0;
    for (size_t i = 0; i < n; i++)
        if (s->choices[i].logit == INFINITY) s->choices[kept++] = (choice){s->choices[i].id, 0};
    s->n_choices = kept;
    return WEFT_OK;
}

/* The place of the best choice, the lowest id among equals. */
static size_t find_best(const sampler *s) {
    size_t best = 0;
    for (size_t i = 1; i < s->n_choices; i++)
        if (s->choices[i].logit > s->choices[best].logit) best = i;
    return best;
}

static size_t pick(sampler *s, double total) {
    double at = random_uniform(s) * total;
    size_t last = 0;
    for (size_t i = 0; i < s->n_choices; i++) {
        if (s->weights[i] <= 0) continue;
        last = i;
        at -= (double)s->weights[i];
        if (at < 0) break;
    }
    return last; /* rounding may leave a rest: it is the last possible one's */
}

/* The best choice is the only one left; its probability is looked at only when it is wanted. */
static void finish_greedy(sampler *s, bool wants_log_prob) {
    choice best = s->choices[find_best(s)];
    s->last_largest = best.logit;
    s->last_total_log = wants_log_prob ? (float)log(choices_weigh(s)) : 0;
    s->choices[0] = best;
    s->n_choices = 1;
    s->drawn = 0;
}

weft_status sampler_draw(sampler *s, const float *logits, const int32_t *history, size_t n_history,
                         int32_t *token, float *log_prob) {
    for (size_t i = 0; i < n_history; i++)
        REQUIRE(history[i] >= 0 && (size_t)history[i] < s->n_vocab, WEFT_INDEX,
                "token %d of the history is not among %zu", history[i], s->n_vocab);
    memcpy(s->logits, logits, s->n_vocab * sizeof *logits);
    s->history = history;
    s->n_history = n_history;
    s->n_choices = 0;
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) TRY(changes[i](s));
    TRY(begin(s));
    bool is_greedy = s->params.temperature <= 0;
    for (int i = 0; i < s->n_steps && !is_greedy; i++) s->steps[i](s);
    if (is_greedy) {
        finish_greedy(s, log_prob != NULL);
    } else {
        double total = choices_weigh(s);
        s->last_largest = choices_largest(s);
        s->last_total_log = (float)log(total);
        size_t at = pick(s, total);
        move_mu(s, s->choices[at].logit);
        s->drawn = at;
    }
    sample_choice drawn = {0};
    sampler_choice(s, s->drawn, &drawn);
    *token = drawn.id;
    if (log_prob) *log_prob = drawn.log_prob;
    return WEFT_OK;
}

bool sampler_choice(const sampler *s, size_t i, sample_choice *out) {
    if (i >= s->n_choices) return false;
    float log_prob = s->choices[i].logit - s->last_largest - s->last_total_log;
    *out = (sample_choice){s->choices[i].id, log_prob < 0 ? log_prob : 0};
    return true;
}
