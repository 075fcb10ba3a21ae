/* Samplers that leave fewer tokens in question. Each keeps at least one. None sorts the vocabulary:
 * selection costs one pass and a sort of what is kept.
 * SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sample/chain.h"

float choices_largest(const sampler *s) {
    if (s->is_sorted) return s->choices[0].logit;
    float largest = -INFINITY;
    for (size_t i = 0; i < s->n_choices; i++)
        if (s->choices[i].logit > largest) largest = s->choices[i].logit;
    return largest;
}

double choices_weigh(sampler *s) {
    float largest = choices_largest(s);
    double sum = 0;
    for (size_t i = 0; i < s->n_choices; i++) {
        s->weights[i] = expf(s->choices[i].logit - largest);
        sum += (double)s->weights[i];
    }
    return sum;
}

bool choice_is_worse(choice a, choice b) {
    return a.logit < b.logit || (a.logit == b.logit && a.id > b.id);
}

static int by_rank(const void *a, const void *b) {
    return choice_is_worse(*(const choice *)a, *(const choice *)b) ? 1 : -1;
}

/* Restores the heap (its worst on top) below place i. */
static void sift_down(choice *heap, size_t n, size_t i) {
    choice moving = heap[i];
    for (;;) {
        size_t child = 2 * i + 1;
        if (child >= n) break;
        if (child + 1 < n && choice_is_worse(heap[child + 1], heap[child])) child++;
        if (!choice_is_worse(heap[child], moving)) break;
        heap[i] = heap[child];
        i = child;
    }
    heap[i] = moving;
}

void choices_best(sampler *s, size_t n) {
    choice *heap = s->best;
    memcpy(heap, s->choices, n * sizeof *heap);
    if (s->is_sorted) return;
    for (size_t i = n / 2; i-- > 0;) sift_down(heap, n, i);
    for (size_t i = n; i < s->n_choices; i++) {
        if (!choice_is_worse(heap[0], s->choices[i])) continue;
        heap[0] = s->choices[i];
        sift_down(heap, n, 0);
    }
    qsort(heap, n, sizeof *heap, by_rank);
}

void choices_take_best(sampler *s, size_t n) {
    choice *old = s->choices;
    s->choices = s->best;
    s->best = old;
    s->n_choices = n;
    s->is_sorted = true;
}

void sample_top_k(sampler *s) {
    size_t k = (size_t)s->params.top_k;
    if (s->params.top_k <= 0 || k >= s->n_choices) return;
    choices_best(s, k);
    choices_take_best(s, k);
}

/* Choices by a key that says how gladly each is given up: `logit` holds it, `id` the place. */
static int by_key(const void *a, const void *b) {
    const choice *x = a, *y = b;
    if (x->logit != y->logit) return x->logit < y->logit ? -1 : 1;
    return (x->id > y->id) - (x->id < y->id);
}

enum { N_BUCKETS = 2048, BUCKETS_PER_UNIT = 64 };

static int bucket_of(float key) {
    return key < N_BUCKETS / BUCKETS_PER_UNIT ? (int)(key * BUCKETS_PER_UNIT) : N_BUCKETS - 1;
}

/* Keeps the choices with the least keys (s->best[i] = {i, key >= 0}) until their weights sum to
 * `target`. Only the bucket in which that happens is sorted. */
static void keep_least(sampler *s, double target) {
    double sums[N_BUCKETS] = {0}, sum = 0;
    for (size_t i = 0; i < s->n_choices; i++)
        sums[bucket_of(s->best[i].logit)] += (double)s->weights[i];
    int last = 0;
    while (last + 1 < N_BUCKETS && sum + sums[last] < target) sum += sums[last++];
    size_t n = 0, n_sorted = 0;
    for (size_t i = 0; i < s->n_choices; i++) {
        int bucket = bucket_of(s->best[i].logit);
        if (bucket > last) s->weights[i] = -1; /* given up */
        if (bucket == last) s->best[n_sorted++] = s->best[i];
    }
    qsort(s->best, n_sorted, sizeof *s->best, by_key);
    size_t kept = 0;
    while (kept < n_sorted && sum < target) sum += (double)s->weights[s->best[kept++].id];
    if (sum < target) kept = n_sorted;
    for (size_t i = kept; i < n_sorted; i++) s->weights[s->best[i].id] = -1;
    for (size_t i = 0; i < s->n_choices; i++)
        if (s->weights[i] >= 0) s->choices[n++] = s->choices[i];
    s->n_choices = n;
}

void sample_top_p(sampler *s) {
    double p = (double)s->params.top_p;
    if (p <= 0 || p >= 1) return;
    double sum = choices_weigh(s);
    float largest = choices_largest(s);
    for (size_t i = 0; i < s->n_choices; i++)
        s->best[i] = (choice){(int32_t)i, largest - s->choices[i].logit};
    keep_least(s, p * sum);
}

/* Keeps the choices whose logit is at least `bound`, in their order. */
static void keep_from(sampler *s, float bound) {
    size_t n = 0;
    for (size_t i = 0; i < s->n_choices; i++)
        if (s->choices[i].logit >= bound) s->choices[n++] = s->choices[i];
    s->n_choices = n;
}

void sample_min_p(sampler *s) {
    float p = s->params.min_p;
    if (p <= 0) return;
    float largest = choices_largest(s);
    keep_from(s, p >= 1 ? largest : largest + logf(p));
}

void sample_top_n_sigma(sampler *s) {
    if (s->params.top_n_sigma <= 0) return;
    double mean = 0, square = 0;
    float largest = choices_largest(s);
    for (size_t i = 0; i < s->n_choices; i++) mean += (double)(s->choices[i].logit - largest);
    mean /= (double)s->n_choices;
    for (size_t i = 0; i < s->n_choices; i++) {
        double d = (double)(s->choices[i].logit - largest) - mean;
        square += d * d;
    }
    double sigma = sqrt(square / (double)s->n_choices);
    keep_from(s, largest - (float)(s->params.top_n_sigma * sigma));
}

void sample_typical(sampler *s) {
    double p = (double)s->params.typical_p;
    if (p <= 0 || p >= 1) return;
    double sum = choices_weigh(s), entropy = 0, largest = (double)choices_largest(s);
    for (size_t i = 0; i < s->n_choices; i++) {
        double q = (double)s->weights[i] / sum;
        if (q > 0) entropy -= q * log(q);
    }
    for (size_t i = 0; i < s->n_choices; i++) {
        double surprise = log(sum) - ((double)s->choices[i].logit - largest);
        s->best[i] = (choice){(int32_t)i, (float)fabs(surprise - entropy)};
    }
    keep_least(s, p * sum);
}

void sample_xtc(sampler *s) {
    const sampler_params *p = &s->params;
    double threshold = p->xtc_threshold > 0 ? (double)p->xtc_threshold : 0.1;
    if (p->xtc_probability <= 0 || threshold > 0.5) return; /* two cannot pass above 0.5 */
    if (random_uniform(s) >= (double)p->xtc_probability) return;
    double bound = threshold * choices_weigh(s);
    size_t n_likely = 0, last = 0;
    for (size_t i = 0; i < s->n_choices; i++) {
        if ((double)s->weights[i] < bound) continue;
        if (!n_likely++ || choice_is_worse(s->choices[i], s->choices[last])) last = i;
    }
    if (n_likely < 2) return;
    size_t n = 0;
    for (size_t i = 0; i < s->n_choices; i++)
        if ((double)s->weights[i] < bound || i == last) s->choices[n++] = s->choices[i];
    s->n_choices = n;
}
