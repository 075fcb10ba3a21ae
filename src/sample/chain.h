/* What the samplers' files share: the state of one draw. Private to this folder.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_SAMPLE_CHAIN_H
#define WEFT_SAMPLE_CHAIN_H

#include "sample/sample.h"

typedef struct choice {
    int32_t id;
    float logit;
} choice;

enum { SAMPLE_MAX_STEPS = 16 };
typedef void (*sample_step)(sampler *s);

struct sampler {
    sampler_params params;
    size_t n_vocab;
    sample_step steps[SAMPLE_MAX_STEPS]; /* of phase CHOICES */
    int n_steps;
    uint64_t random[4];  /* xoshiro256** */
    float mu;            /* Mirostat's bound, in bits */
    float surprise_base; /* Mirostat: log of the weights' sum before it cut */

    float *logits; /* (n_vocab), this draw's own copy */
    const uint32_t *mask;
    const int32_t *history;
    size_t n_history;
    uint32_t *counts;             /* (n_vocab), zero between draws */
    struct sample_breaks *breaks; /* DRY's, NULL when there are none (breaks.c) */
    uint32_t *matches;
    size_t matches_capacity;

    choice *choices, *best; /* (n_vocab) each; `best` is scratch */
    size_t n_choices;
    bool is_sorted;       /* by falling logit, then rising id */
    float *weights;       /* (n_vocab): exp(logit - largest) after choices_weigh */
    float last_total_log; /* log of the final weights' sum, and the logit they are relative to */
    float last_largest;
    size_t drawn; /* the place of the drawn choice */
};

/* Reads an order by name (params.c), NULL = the table's. */
weft_status sample_order(const char *order, sample_step *steps, int *n_steps);

weft_status breaks_open(const sampler_params *params, size_t n_vocab, struct sample_breaks **out);
void breaks_close(struct sample_breaks *b);
/* Whether one of the strings ends inside token `id` where it follows history[0..n). */
bool breaks_end_in(const struct sample_breaks *b, const int32_t *history, size_t n, int32_t id);

/* The number of last tokens that a window of the parameters' kind covers. */
size_t sample_window(int32_t window, size_t n_history);

/* Fills weights[i] = exp(logit[i] - largest); returns their sum, >= 1. */
double choices_weigh(sampler *s);
float choices_largest(const sampler *s);
/* Copies the n best of choices[0..n_choices) to s->best, sorted. */
void choices_best(sampler *s, size_t n);
/* Makes s->best[0..n) the choices; they are sorted. */
void choices_take_best(sampler *s, size_t n);
/* By falling logit, then rising id: whether a comes after b. */
bool choice_is_worse(choice a, choice b);
double random_uniform(sampler *s); /* [0, 1) */

#define SAMPLER_PHASE_LOGITS(name) weft_status sample_##name(sampler *s);
#define SAMPLER_PHASE_CHOICES(name) void sample_##name(sampler *s);
#define SAMPLER(name, phase, source) SAMPLER_PHASE_##phase(name)
#include "sample/samplers.def"
#undef SAMPLER
#undef SAMPLER_PHASE_LOGITS
#undef SAMPLER_PHASE_CHOICES

#endif
