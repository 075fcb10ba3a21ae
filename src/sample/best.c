/* The most likely tokens by the logits alone, with the log-probabilities of the plain softmax: what
 * the model thought, whatever the samplers make of it. Two passes over the vocabulary and a heap of
 * the n best in the caller's array; nothing is allocated.
 * SPDX-License-Identifier: MIT */
#include <math.h>

#include "sample/chain.h"

/* A heap's entries while it is built: log_prob holds the logit. */
static bool is_worse(sample_choice a, sample_choice b) {
    return choice_is_worse((choice){a.id, a.log_prob}, (choice){b.id, b.log_prob});
}

/* Puts `moving` into the heap (its worst on top) at place i or below. */
static void sift_down(sample_choice *heap, size_t n, size_t i, sample_choice moving) {
    for (size_t child; (child = 2 * i + 1) < n; i = child) {
        if (child + 1 < n && is_worse(heap[child + 1], heap[child])) child++;
        if (!is_worse(heap[child], moving)) break;
        heap[i] = heap[child];
    }
    heap[i] = moving;
}

/* Where logits are infinite their tokens share the probability. */
static float log_prob_of(float logit, float largest, double log_total) {
    if (largest == INFINITY) logit = logit == INFINITY ? 0 : -INFINITY;
    else logit -= largest;
    double log_prob = (double)logit - log_total;
    return log_prob < 0 ? (float)log_prob : 0;
}

weft_status sample_best(const float *logits, size_t n_vocab, size_t n, sample_choice *out,
                        sample_choice *one) {
    float largest = -INFINITY;
    double total = 0;
    for (size_t i = 0; i < n; i++) out[i] = (sample_choice){-1, -INFINITY};
    for (size_t i = 0; i < n_vocab; i++) {
        REQUIRE(!isnan(logits[i]), WEFT_INVALID, "the logit of token %zu is not a number", i);
        if (logits[i] > largest) largest = logits[i];
        sample_choice c = {(int32_t)i, logits[i]};
        bool is_better = n && c.log_prob > -INFINITY && (out[0].id < 0 || is_worse(out[0], c));
        if (is_better) sift_down(out, n, 0, c);
    }
    REQUIRE(largest > -INFINITY, WEFT_INVALID, "all logits are -infinity");
    for (size_t i = 0; i < n_vocab; i++) {
        if (largest < INFINITY) total += (double)expf(logits[i] - largest);
        else total += logits[i] == INFINITY;
    }
    total = log(total);
    for (size_t left = n; left > 1; left--) { /* heap sort: the worst goes to the end */
        sample_choice worst = out[0];
        sift_down(out, left - 1, 0, out[left - 1]);
        out[left - 1] = worst;
    }
    for (size_t i = 0; i < n && out[i].id >= 0; i++)
        out[i].log_prob = log_prob_of(out[i].log_prob, largest, total);
    if (one) one->log_prob = log_prob_of(logits[one->id], largest, total);
    return WEFT_OK;
}
