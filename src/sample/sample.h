/* From logits to a token: a chain of samplers in one documented order, and a seed that reproduces.
 *
 * Order: mask -> logit bias -> penalties (repetition, then frequency and presence) -> DRY ->
 * top-n-sigma -> top-k -> typical -> top-p -> min-p -> XTC -> temperature (fixed or dynamic) ->
 * Mirostat v2 -> draw. samplers.def says where each comes from. Zero switches a sampler off.
 * temperature <= 0 is greedy: the largest logit, the lowest id among equals, after the steps up to
 * DRY. NaN logits are an error; +inf wins; -inf is never drawn.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_SAMPLE_SAMPLE_H
#define WEFT_SAMPLE_SAMPLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

typedef struct sampler_bias {
    int32_t id;
    float bias; /* added to the logit, below infinity; -INFINITY forbids the token */
} sampler_bias;

/* What the tokens stand for: token i is bytes[first[i]..first[i + 1]). */
typedef struct sampler_texts {
    const char *bytes;
    const size_t *first; /* n_vocab + 1 */
} sampler_texts;

typedef struct sampler_params {
    float temperature; /* <= 0: greedy */
    int32_t top_k;     /* the k most likely; 0 = off */
    float top_p;       /* the fewest whose probabilities sum to this; 0 or >= 1 = off */
    float min_p;       /* at least this fraction of the most likely one's probability; 0 = off */
    /* 0 or 1 = off; > 1 divides positive logits and multiplies negative ones, once per token */
    float repeat_penalty;
    float presence_penalty, frequency_penalty;
    int32_t penalty_window; /* last tokens looked at: 0 = off, -1 = whole context */
    uint64_t seed;

    float temperature_range;    /* dynamic: temperature +- this by the entropy; 0 = fixed */
    float temperature_exponent; /* shapes that; 0 = 1 */
    float typical_p;            /* 0 or >= 1 = off */
    float top_n_sigma;          /* logits within n standard deviations of the best; 0 = off */
    float xtc_probability;      /* how often XTC acts; 0 = off */
    float xtc_threshold;        /* of those at least this likely all but the last go; 0 = 0.1 */

    float dry_multiplier; /* 0 = off */
    float dry_base;       /* 0 = 1.75 */
    int32_t dry_allowed;  /* repetitions up to this length are free; 0 = 2 */
    int32_t dry_window;   /* as penalty_window, but 0 = -1: it is DRY's switch above that counts */
    /* Strings that no repetition reaches across, found in the text and not among the tokens: it
     * begins after the last token in which one of them ends, and DRY never makes such a token less
     * likely. Copied; what `texts` points at is borrowed as long as the sampler lives. */
    const char *const *dry_breaks;
    size_t n_dry_breaks;
    const sampler_texts *texts;

    float mirostat_tau; /* the surprise aimed at, in bits; 0 = off */
    float mirostat_eta; /* how fast it gets there; 0 = 0.1 */

    const sampler_bias *bias; /* copied */
    size_t n_bias;

    /* The steps between DRY and the draw in another order: names of samplers.def with commas or
     * semicolons, e.g. "temperature,min_p". What is not named is off. The steps before may be named
     * at its beginning, which changes nothing. NULL = the order above; copied. */
    const char *order;
} sampler_params;

typedef struct sampler sampler;

/* An error names the parameter that is out of range; n_vocab 0 = not known yet. */
weft_status sampler_check(const sampler_params *params, size_t n_vocab);
/* Checks the parameters, too. */
weft_status sampler_open(const sampler_params *params, size_t n_vocab, sampler **out);
void sampler_close(sampler *s);
/* As new, with this seed: the same calls then give the same tokens. */
void sampler_reset(sampler *s, uint64_t seed);
/* From now on only tokens whose bit is set (bit id % 32 of allowed[id / 32]) may be drawn: a
 * grammar's mask. Borrowed until the next call; NULL = all. */
void sampler_set_mask(sampler *s, const uint32_t *allowed);
/* Draws from logits[0..n_vocab) (not changed). history[0..n_history) are the context's tokens,
 * prompt included, oldest first. *log_prob (may be NULL) is the natural log of the drawn token's
 * probability in the final distribution (greedy: among all tokens), finite and <= 0. */
weft_status sampler_draw(sampler *s, const float *logits, const int32_t *history, size_t n_history,
                         int32_t *token, float *log_prob);

typedef struct sample_choice {
    int32_t id;
    float log_prob;
} sample_choice;

/* The i-th token that the last draw could have given, with its probability's log; false past the
 * last. In no particular order. */
bool sampler_choice(const sampler *s, size_t i, sample_choice *out);
/* The n most likely tokens by the logits alone, best first: log-probabilities of the plain softmax.
 * Where fewer are possible the rest of out[0..n) gets the id -1. one->log_prob becomes that of
 * one->id, -INFINITY for an impossible token; `one` may be NULL. */
weft_status sample_best(const float *logits, size_t n_vocab, size_t n, sample_choice *out,
                        sample_choice *one);

#endif
