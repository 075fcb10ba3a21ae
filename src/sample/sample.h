/* From logits to a token: a chain of samplers in one documented order, and a seed that reproduces.
 *
 * Order: logit bias -> penalties (repetition, presence, frequency) -> top-k -> top-p -> min-p ->
 * temperature -> draw. temperature <= 0 is greedy: the largest logit, the lowest id among equals,
 * after bias and penalties. NaN logits are an error; +inf wins; -inf is never drawn. More samplers
 * are rows of samplers.def. SPDX-License-Identifier: MIT */
#ifndef WEFT_SAMPLE_SAMPLE_H
#define WEFT_SAMPLE_SAMPLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

typedef struct sampler_params {
    float temperature; /* <= 0: greedy */
    int32_t top_k;     /* 0 = off */
    float top_p;       /* 0 or >= 1 = off */
    float min_p;       /* 0 = off */
    /* 0 or 1 = off; > 1 divides positive logits and multiplies negative ones, once per token */
    float repeat_penalty;
    float presence_penalty, frequency_penalty;
    int32_t penalty_window; /* last tokens looked at: 0 = off, -1 = whole context */
    uint64_t seed;
} sampler_params;

typedef struct sampler sampler;

weft_status sampler_open(const sampler_params *params, size_t n_vocab, sampler **out);
void sampler_close(sampler *s);
void sampler_reset(sampler *s, uint64_t seed);
/* Draws from logits[0..n_vocab) (not changed). history[0..n_history) are the context's tokens,
 * prompt included, oldest first. *log_prob (may be NULL) is the natural log of the drawn token's
 * probability in the final distribution, finite and <= 0. */
weft_status sampler_draw(sampler *s, const float *logits, const int32_t *history, size_t n_history,
                         int32_t *token, float *log_prob);

#endif
