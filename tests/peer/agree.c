/* Compares weft's logits with those another engine gave for the same tokens.
 *
 *   agree MODEL DEVICE exact|fast FIRST LOGITS ID...
 *
 * LOGITS holds f32 logits of every position, n_ids x n_vocab, as the peer wrote them. Prints one
 * line of `name value` pairs: positions compared (from FIRST on), where the peer's two best differ
 * by more than 0.5 how many top tokens differ, the mean Kullback-Leibler divergence from the peer
 * to weft in nats, and the largest absolute difference. Judging is the script's (run.sh).
 * SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "weft/llm.h"

typedef struct tally {
    long n, n_clear, n_wrong;
    double kl, max_difference;
} tally;

static double log_sum(const float *x, long n) {
    double top = x[0], sum = 0;
    for (long i = 1; i < n; i++) top = x[i] > top ? x[i] : top;
    for (long i = 0; i < n; i++) sum += exp(x[i] - top);
    return top + log(sum);
}

static void compare(const float *peer, const float *ours, long n, tally *t) {
    long best = 0, second = -1, mine = 0;
    double peer_sum = log_sum(peer, n), our_sum = log_sum(ours, n);
    for (long i = 0; i < n; i++) {
        if (peer[i] > peer[best]) second = best, best = i;
        else if (i != best && (second < 0 || peer[i] > peer[second])) second = i;
        if (ours[i] > ours[mine]) mine = i;
        double p = peer[i] - peer_sum, q = ours[i] - our_sum, d = fabs((double)peer[i] - ours[i]);
        t->kl += exp(p) * (p - q);
        t->max_difference = d > t->max_difference || isnan(d) ? d : t->max_difference;
    }
    t->n++;
    if (peer[best] - peer[second] > 0.5f) {
        t->n_clear++;
        t->n_wrong += mine != best;
    }
}

static int fail(const char *what) {
    fprintf(stderr, "agree: %s: %s\n", what, weft_message());
    return 1;
}

int main(int argc, char **argv) {
    if (argc < 7) return fprintf(stderr, "agree MODEL DEVICE exact|fast FIRST LOGITS ID...\n"), 2;
    size_t n = (size_t)argc - 6, first = strtoul(argv[4], NULL, 10);
    int32_t *ids = malloc(n * sizeof *ids);
    for (size_t i = 0; i < n; i++) ids[i] = atoi(argv[6 + i]);

    weft_device *dev = weft_open(&(weft_device_desc){.name = argv[2]});
    if (!dev) return fail("device");
    weft_model *model = weft_model_load(dev, argv[1], (weft_model_desc){0});
    weft_model_info info;
    if (!model || weft_get_model_info(model, &info)) return fail("model");
    weft_session_desc desc = {.precision = strcmp(argv[3], "fast") ? WEFT_EXACT : WEFT_FAST,
                              .kv = WEFT_KV_DEFAULT};
    weft_session *session = weft_session_open(model, desc);
    size_t n_vocab = (size_t)info.n_vocab, floats = (n - first) * n_vocab;
    float *ours = malloc(floats * sizeof *ours), *peer = malloc(n * n_vocab * sizeof *peer);
    if (!session || weft_score(session, ids, n, first, ours, floats)) return fail("score");

    FILE *f = fopen(argv[5], "rb");
    if (!f || fread(peer, sizeof *peer, n * n_vocab, f) != n * n_vocab)
        return fprintf(stderr, "agree: %s does not hold %zu x %zu logits\n", argv[5], n, n_vocab),
               1;
    fclose(f);
    tally t = {0};
    for (size_t i = first; i < n; i++)
        compare(peer + i * n_vocab, ours + (i - first) * n_vocab, (long)n_vocab, &t);
    printf("positions %ld clear %ld wrong %ld kl %.3g max_difference %.3g\n", t.n, t.n_clear,
           t.n_wrong, t.kl / (double)t.n, t.max_difference);
    weft_session_close(session);
    weft_model_free(model);
    weft_close(dev);
    free(ids), free(ours), free(peer);
    return 0;
}
