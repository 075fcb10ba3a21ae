/* sample/: the public bug reports G4-01, G4-02 and G4-04, every sampler against a plain reference
 * in double, frequencies of 100,000 draws, and that a seed reproduces.
 * SPDX-License-Identifier: MIT */
#include <math.h>

#include "base/mem.h"
#include "harness.h"
#include "sample/sample.h"

/* The references work on this: all tokens in the order of their ids, some of them out. */
enum { MAX_VOCAB = 400 };
typedef struct ref {
    int n;
    double logit[MAX_VOCAB];
    bool out[MAX_VOCAB];
} ref;

static ref ref_of(const float *logits, int n) {
    ref r = {.n = n};
    for (int i = 0; i < n; i++) r.logit[i] = (double)logits[i];
    return r;
}

static void ref_softmax(const ref *r, double *p) {
    double largest = -INFINITY, sum = 0;
    for (int i = 0; i < r->n; i++)
        if (!r->out[i] && r->logit[i] > largest) largest = r->logit[i];
    for (int i = 0; i < r->n; i++) sum += p[i] = r->out[i] ? 0 : exp(r->logit[i] - largest);
    for (int i = 0; i < r->n; i++) p[i] /= sum;
}

/* The token that is next best after `after` (-1: the best), by key then id; -1: none left. */
static int ref_next(const ref *r, const double *key, int after) {
    int best = -1;
    for (int i = 0; i < r->n; i++) {
        if (r->out[i]) continue;
        bool is_later = after < 0 || key[i] < key[after] || (key[i] == key[after] && i > after);
        if (is_later && (best < 0 || key[i] > key[best])) best = i;
    }
    return best;
}

static void ref_keep_until(ref *r, const double *key, const double *p, double target, int count) {
    bool keep[MAX_VOCAB] = {false};
    double sum = 0;
    int at = -1, n = 0;
    while (n < count && sum < target && (at = ref_next(r, key, at)) >= 0) {
        keep[at] = true;
        sum += p[at];
        n++;
    }
    for (int i = 0; i < r->n; i++) r->out[i] |= !keep[i];
}

static void ref_top_k(ref *r, int k) {
    double p[MAX_VOCAB];
    ref_softmax(r, p);
    ref_keep_until(r, r->logit, p, 2, k);
}

static void ref_top_p(ref *r, double top_p) {
    double p[MAX_VOCAB];
    ref_softmax(r, p);
    ref_keep_until(r, r->logit, p, top_p, r->n);
}

static double ref_entropy(const ref *r, const double *p) {
    double h = 0;
    for (int i = 0; i < r->n; i++)
        if (p[i] > 0) h -= p[i] * log(p[i]);
    return h;
}

static void ref_typical(ref *r, double typical_p) {
    double p[MAX_VOCAB], key[MAX_VOCAB];
    ref_softmax(r, p);
    double h = ref_entropy(r, p);
    for (int i = 0; i < r->n; i++) key[i] = r->out[i] ? 0 : -fabs(-log(p[i]) - h);
    ref_keep_until(r, key, p, typical_p, r->n);
}

static void ref_min_p(ref *r, double min_p) {
    double p[MAX_VOCAB], largest = 0;
    ref_softmax(r, p);
    for (int i = 0; i < r->n; i++) largest = fmax(largest, p[i]);
    for (int i = 0; i < r->n; i++) r->out[i] |= p[i] < min_p * largest;
}

static void ref_top_n_sigma(ref *r, double n_sigma) {
    double mean = 0, square = 0, largest = -INFINITY;
    int n = 0;
    for (int i = 0; i < r->n; i++) {
        if (r->out[i]) continue;
        mean += r->logit[i];
        largest = fmax(largest, r->logit[i]);
        n++;
    }
    mean /= n;
    for (int i = 0; i < r->n; i++)
        if (!r->out[i]) square += (r->logit[i] - mean) * (r->logit[i] - mean);
    for (int i = 0; i < r->n; i++) r->out[i] |= r->logit[i] < largest - n_sigma * sqrt(square / n);
}

static void ref_xtc(ref *r, double threshold) {
    double p[MAX_VOCAB];
    ref_softmax(r, p);
    int last = -1, n = 0;
    for (int i = 0; i < r->n; i++) {
        if (r->out[i] || p[i] < threshold) continue;
        n++;
        if (last < 0 || p[i] <= p[last]) last = i;
    }
    for (int i = 0; i < r->n && n > 1; i++) r->out[i] |= p[i] >= threshold && i != last;
}

static void ref_temperature(ref *r, double t, double range, double exponent) {
    double p[MAX_VOCAB];
    int n = 0;
    for (int i = 0; i < r->n; i++) n += !r->out[i];
    if (range > 0 && n > 1) {
        ref_softmax(r, p);
        double low = fmax(0, t - range), high = t + range;
        t = low + (high - low) * pow(ref_entropy(r, p) / log(n), exponent);
    }
    for (int i = 0; i < r->n; i++) r->logit[i] /= t;
}

static void random_logits(rng *r, float *logits, int n) {
    double scale = 0.5 + 4 * rng_uniform(r);
    for (int i = 0; i < n; i++) logits[i] = (float)(scale * rng_normal(r));
}

static int32_t draw(sampler_params params, const float *logits, int n, const int32_t *history,
                    size_t n_history, float *log_prob) {
    sampler *s;
    int32_t token = -1;
    assert_ok(sampler_open(&params, (size_t)n, &s));
    assert_ok(sampler_draw(s, logits, history, n_history, &token, log_prob));
    sampler_close(s);
    return token;
}

/* Runs the chain once and checks that exactly the reference's tokens are left, at its odds. */
static void check_choices(sampler_params params, const float *logits, const ref *expected) {
    sampler *s;
    int32_t token;
    float log_prob;
    double p[MAX_VOCAB];
    int n_left = 0;
    ref_softmax(expected, p);
    assert_ok(sampler_open(&params, (size_t)expected->n, &s));
    assert_ok(sampler_draw(s, logits, NULL, 0, &token, &log_prob));
    assert_false(expected->out[token]);
    assert_true(log_prob <= 0 && isfinite(log_prob));
    sample_choice c;
    size_t i = 0;
    for (; sampler_choice(s, i, &c); i++) {
        assert_false(expected->out[c.id]);
        assert_true(fabs(exp((double)c.log_prob) - p[c.id]) < 2e-6);
    }
    for (int k = 0; k < expected->n; k++) n_left += !expected->out[k];
    assert_int_equal(i, n_left);
    sampler_close(s);
}

static void every_filter_equals_its_reference(void **state) {
    (void)state;
    rng r = {7};
    for (int round = 0; round < 400; round++) {
        float logits[MAX_VOCAB];
        int n = 1 + (int)rng_below(&r, MAX_VOCAB);
        random_logits(&r, logits, n);
        ref e = ref_of(logits, n);
        sampler_params p = {.temperature = 1, .seed = (uint64_t)round};
        double u = 0.02 + 0.95 * rng_uniform(&r);
        float f = (float)u;
        switch (round % 8) {
        case 0: p.top_k = 1 + (int)(u * 50), ref_top_k(&e, p.top_k); break;
        case 1: p.top_p = f, ref_top_p(&e, (double)f); break;
        case 2: p.min_p = f, ref_min_p(&e, (double)f); break;
        case 3: p.typical_p = f, ref_typical(&e, (double)f); break;
        case 4: p.top_n_sigma = 2 * f, ref_top_n_sigma(&e, (double)(2 * f)); break;
        case 5:
            p.xtc_probability = 1, p.xtc_threshold = f / 2;
            ref_xtc(&e, (double)(f / 2));
            break;
        case 6: p.temperature = 3 * f, ref_temperature(&e, (double)(3 * f), 0, 1); break;
        case 7:
            p.temperature = f, p.temperature_range = 0.5f, p.temperature_exponent = 1.5f;
            ref_temperature(&e, (double)f, 0.5, 1.5);
            break;
        }
        check_choices(p, logits, &e);
    }
}

static void the_chain_is_in_its_documented_order(void **state) {
    (void)state;
    rng r = {8};
    for (int round = 0; round < 200; round++) {
        float logits[MAX_VOCAB];
        int n = 2 + (int)rng_below(&r, MAX_VOCAB - 2);
        random_logits(&r, logits, n);
        ref e = ref_of(logits, n);
        sampler_params p = {.temperature = 1.7f,
                            .top_k = 60,
                            .top_p = 0.97f,
                            .min_p = 0.01f,
                            .typical_p = 0.98f,
                            .top_n_sigma = 3,
                            .xtc_probability = 1,
                            .xtc_threshold = 0.2f};
        ref_top_n_sigma(&e, 3);
        ref_top_k(&e, 60);
        ref_typical(&e, (double)p.typical_p);
        ref_top_p(&e, (double)p.top_p);
        ref_min_p(&e, (double)p.min_p);
        ref_xtc(&e, (double)p.xtc_threshold);
        ref_temperature(&e, (double)p.temperature, 0, 1);
        check_choices(p, logits, &e);
    }
}

static void temperature_zero_is_argmax(void **state) { /* G4-01 */
    (void)state;
    const float inputs[][3] = {
        {1, 3, 2}, {0, 0, 0}, {-1e30f, -2e30f, -3e30f}, {INFINITY, 1, 2}, {1e-40f, 0, -1e-40f}};
    const int32_t right[] = {1, 0, 0, 0, 0};
    const float temperatures[] = {0, -1};
    for (int i = 0; i < 5; i++)
        for (int t = 0; t < 2; t++)
            for (uint64_t seed = 0; seed < 1000; seed++) {
                sampler_params p = {.temperature = temperatures[t], .seed = seed};
                float log_prob = 1;
                assert_int_equal(draw(p, inputs[i], 3, NULL, 0, &log_prob), right[i]);
                assert_true(isfinite(log_prob) && log_prob <= 0);
            }
    for (uint64_t seed = 0; seed < 1000; seed++) {
        sampler_params p = {.temperature = 1e-30f, .seed = seed};
        float log_prob = 1;
        assert_int_equal(draw(p, inputs[0], 3, NULL, 0, &log_prob), 1);
        assert_true(isfinite(log_prob) && log_prob <= 0);
        draw(p, inputs[1], 3, NULL, 0, &log_prob); /* equals stay equal */
        assert_true(isfinite(log_prob) && log_prob <= 0);
        assert_int_equal(draw(p, inputs[3], 3, NULL, 0, &log_prob), 0);
    }
    const float bad[] = {NAN, 1, 2}, none[] = {-INFINITY, -INFINITY, -INFINITY};
    for (int t = 0; t < 3; t++) {
        sampler_params p = {.temperature = (const float[]){0, -1, 1e-30f}[t]};
        sampler *s;
        int32_t token;
        assert_ok(sampler_open(&p, 3, &s));
        assert_fails(sampler_draw(s, bad, NULL, 0, &token, NULL), WEFT_INVALID,
                     "token 0 is not a number");
        assert_fails(sampler_draw(s, none, NULL, 0, &token, NULL), WEFT_INVALID, "no token");
        sampler_close(s);
    }
}

/* The logits that the chain draws from, seen through the log-probabilities of all tokens. */
static void changed_logits(sampler_params p, const float *logits, int n, const int32_t *history,
                           size_t n_history, double *out) {
    sampler *s;
    int32_t token;
    p.temperature = 1;
    assert_ok(sampler_open(&p, (size_t)n, &s));
    assert_ok(sampler_draw(s, logits, history, n_history, &token, NULL));
    sample_choice c;
    for (size_t i = 0; sampler_choice(s, i, &c); i++) out[c.id] = (double)c.log_prob;
    sampler_close(s);
}

static void assert_logits(sampler_params p, const float *logits, int n, const int32_t *history,
                          size_t n_history, const double *right) {
    double got[16], sum = 0;
    for (int i = 0; i < n; i++) sum += exp(right[i]);
    changed_logits(p, logits, n, history, n_history, got);
    for (int i = 0; i < n; i++) assert_true(fabs(got[i] - (right[i] - log(sum))) < 1e-5);
}

static void penalties_follow_sign_count_and_window(void **state) { /* G4-02 */
    (void)state;
    const float logits[] = {2, -1, 0.5f, -3};
    const int32_t history[] = {0, 1, 1}, longer[] = {0, 1, 2, 3};
    sampler_params p = {.repeat_penalty = 1.5f, .penalty_window = -1};
    assert_logits(p, logits, 4, history, 3, (const double[]){2 / 1.5, -1.5, 0.5, -3});
    assert_logits(p, logits, 4, history, 3, (const double[]){2 / 1.5, -1.5, 0.5, -3}); /* again */
    p.penalty_window = 2;
    assert_logits(p, logits, 4, longer, 4, (const double[]){2, -1, 0.5 / 1.5, -4.5});
    p.penalty_window = 0;
    assert_logits(p, logits, 4, longer, 4, (const double[]){2, -1, 0.5, -3});
    p = (sampler_params){
        .frequency_penalty = 0.5f, .presence_penalty = 0.25f, .penalty_window = -1};
    assert_logits(p, logits, 4, history, 3, (const double[]){1.25, -2.25, 0.5, -3});
    int32_t greedy[] = {0, 0, 0, 0};
    p = (sampler_params){.frequency_penalty = 1, .penalty_window = -1};
    assert_int_equal(draw(p, logits, 4, greedy, 4, NULL), 2); /* greedy after the penalties */
    sampler *s;
    int32_t token;
    assert_ok(sampler_open(&p, 4, &s));
    assert_fails(sampler_draw(s, logits, (const int32_t[]){4}, 1, &token, NULL), WEFT_INDEX,
                 "token 4");
    sampler_close(s);
}

static size_t n_kept(sampler_params p, const float *logits, int n) {
    sampler *s;
    int32_t token;
    sample_choice c;
    assert_ok(sampler_open(&p, (size_t)n, &s));
    assert_ok(sampler_draw(s, logits, NULL, 0, &token, NULL));
    size_t kept = 0;
    while (sampler_choice(s, kept, &c)) kept++;
    sampler_close(s);
    return kept;
}

static void filters_keep_what_the_reports_say(void **state) { /* G4-04 */
    (void)state;
    const float l[] = {3, 2, 1, 0, -1};
    assert_int_equal(n_kept((sampler_params){.temperature = 1, .min_p = 0.1f}, l, 5), 3);
    assert_int_equal(n_kept((sampler_params){.temperature = 1, .top_p = 0.87f}, l, 5), 2);
    assert_int_equal(n_kept((sampler_params){.temperature = 1, .top_p = 0.88f}, l, 5), 3);
    sampler_params p = {.temperature = 2, .min_p = 0.3f};
    assert_int_equal(n_kept(p, l, 5), 2); /* the documented order: temperature last */
    p.order = "temperature,min_p";
    assert_int_equal(n_kept(p, l, 5), 3);
    p.order = "min_p";
    assert_int_equal(n_kept(p, l, 5), 2);
    sampler *s;
    p.order = "penalties;dry;temp;min-p"; /* other names and separators of the same */
    assert_int_equal(n_kept(p, l, 5), 3);
    p = (sampler_params){.temperature = 1, .typical_p = 0.3f, .top_k = 4, .order = "top_k;typ_p"};
    size_t n_typical = n_kept(p, l, 5);
    p.order = NULL;
    assert_int_equal(n_kept(p, l, 5), n_typical);
    p.order = "temperature,minp";
    assert_fails(sampler_open(&p, 5, &s), WEFT_INVALID, "no sampler \"minp\"");
    p.order = "top_k,penalties";
    assert_fails(sampler_open(&p, 5, &s), WEFT_INVALID, "penalties comes before");
}

static void frequencies_are_the_probabilities(void **state) { /* G4-04 */
    (void)state;
    const float l[] = {3, 2, 1, 0, -1};
    const double p[] = {.636409, .234122, .086129, .031685, .011656};
    int counts[5] = {0}, n = 100000;
    sampler_params params = {.temperature = 1, .seed = 5};
    sampler *s;
    assert_ok(sampler_open(&params, 5, &s));
    for (int i = 0; i < n; i++) {
        int32_t token;
        float log_prob;
        assert_ok(sampler_draw(s, l, NULL, 0, &token, &log_prob));
        assert_true(fabs(exp((double)log_prob) - p[token]) < 1e-5);
        counts[token]++;
    }
    sampler_close(s);
    double chi = 0;
    for (int i = 0; i < 5; i++) {
        double error = counts[i] - n * p[i];
        assert_true(fabs(error) < 4 * sqrt(n * p[i] * (1 - p[i])));
        chi += error * error / (n * p[i]);
    }
    assert_true(chi < 18.47); /* 4 degrees of freedom, 0.1 % */
    /* XTC acts as often as asked, and many values come up in a large flat vocabulary. */
    params = (sampler_params){
        .temperature = 1, .xtc_probability = 0.3f, .xtc_threshold = 0.1f, .seed = 9};
    assert_ok(sampler_open(&params, 5, &s));
    int acted = 0;
    for (int i = 0; i < 10000; i++) {
        int32_t token;
        sample_choice c;
        assert_ok(sampler_draw(s, l, NULL, 0, &token, NULL));
        acted += !sampler_choice(s, 4, &c);
    }
    sampler_close(s);
    assert_true(fabs(acted - 3000.0) < 4 * sqrt(10000 * 0.3 * 0.7));
}

static void a_seed_reproduces(void **state) {
    (void)state;
    float logits[MAX_VOCAB];
    rng r = {3};
    random_logits(&r, logits, MAX_VOCAB);
    sampler_params p = {.temperature = 2,
                        .top_p = 0.99f,
                        .xtc_probability = 0.5f,
                        .xtc_threshold = 0.01f,
                        .mirostat_tau = 6,
                        .seed = 42};
    int32_t first[200], token;
    sampler *s;
    assert_ok(sampler_open(&p, MAX_VOCAB, &s));
    for (int i = 0; i < 200; i++) assert_ok(sampler_draw(s, logits, NULL, 0, &first[i], NULL));
    sampler_reset(s, 42);
    for (int i = 0; i < 200; i++) {
        assert_ok(sampler_draw(s, logits, NULL, 0, &token, NULL));
        assert_int_equal(token, first[i]);
    }
    sampler_reset(s, 43);
    int same = 0;
    for (int i = 0; i < 200; i++) {
        assert_ok(sampler_draw(s, logits, NULL, 0, &token, NULL));
        same += token == first[i];
    }
    assert_true(same < 100);
    sampler_close(s);
    /* The generator itself, against values of its authors' algorithm (computed independently). */
    p = (sampler_params){.temperature = 1, .seed = 1234567};
    float two[2] = {0, 0};
    const int32_t right[] = {0, 0, 0, 1, 1, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0};
    assert_ok(sampler_open(&p, 2, &s));
    for (int i = 0; i < 16; i++) {
        assert_ok(sampler_draw(s, two, NULL, 0, &token, NULL));
        assert_int_equal(token, right[i]);
    }
    sampler_close(s);
}

/* Token i is the letter 'a' + i. */
static const size_t letter_places[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
static const sampler_texts letters = {"abcdefghijklmnop", letter_places};

/* The plain definition: for every earlier place, how far the text before it equals the end. */
static void ref_dry(double *logits, const int32_t *h, int n, double multiplier, double base,
                    int allowed, const bool *breaks) {
    int longest[16] = {0};
    for (int i = 1; i < n; i++) { /* h[i] followed a repetition of the last tokens */
        int k = 0;
        while (k < i && h[i - 1 - k] == h[n - 1 - k] && !breaks[h[n - 1 - k]]) k++;
        if (k > longest[h[i]]) longest[h[i]] = k;
    }
    for (int v = 0; v < 16; v++)
        if (longest[v] >= allowed && !breaks[v])
            logits[v] -= multiplier * pow(base, longest[v] - allowed);
}

static void dry_equals_its_reference(void **state) {
    (void)state;
    rng r = {11};
    for (int round = 0; round < 300; round++) {
        int n = 16, n_history = (int)rng_below(&r, 60), spread = 1 + (int)rng_below(&r, 5);
        float logits[16];
        int32_t history[60];
        for (int i = 0; i < n; i++) logits[i] = (float)rng_normal(&r);
        for (int i = 0; i < n_history; i++) history[i] = (int32_t)rng_below(&r, spread);
        int32_t brk = (int32_t)rng_below(&r, 16);
        bool breaks[16] = {false};
        breaks[brk] = true;
        const char letter[] = {(char)('a' + brk), 0}, *const strings[] = {letter};
        sampler_params p = {.dry_multiplier = 0.25f,
                            .dry_base = 1.0625f,
                            .dry_allowed = 1 + round % 4,
                            .dry_breaks = strings,
                            .n_dry_breaks = 1,
                            .texts = &letters};
        int window = round % 3 ? n_history : (int)rng_below(&r, n_history + 1);
        p.dry_window = window == n_history || !window ? -1 : window;
        if (p.dry_window < 0) window = n_history;
        double right[16];
        for (int i = 0; i < n; i++) right[i] = (double)logits[i];
        ref_dry(right, history + n_history - window, window, 0.25, 1.0625, p.dry_allowed, breaks);
        assert_logits(p, logits, n, history, (size_t)n_history, right);
    }
}

/* The tokens DRY makes less likely after a history, as a string of '0' and '1', one a token. */
static void penalised(const sampler_texts *texts, int n, const char *const *breaks, size_t n_breaks,
                      const char *history, char *out) {
    float logits[16] = {0};
    int32_t ids[64];
    double got[16], largest = -INFINITY;
    size_t n_history = strlen(history);
    for (size_t i = 0; i < n_history; i++) ids[i] = history[i] - '0';
    sampler_params p = {.dry_multiplier = 1,
                        .dry_allowed = 1,
                        .dry_breaks = breaks,
                        .n_dry_breaks = n_breaks,
                        .texts = texts};
    changed_logits(p, logits, n, ids, n_history, got);
    for (int i = 0; i < n; i++) largest = fmax(largest, got[i]);
    for (int i = 0; i < n; i++) out[i] = got[i] < largest - 0.5 ? '1' : '0';
    out[n] = 0;
}

static void dry_breaks_are_found_in_the_text(void **state) {
    (void)state;
    /* 0 "a", 1 "b", 2 ".\n\n", 3 "<", 4 "us", 5 "er>!", 6 "", 7 "r" */
    const size_t first[] = {0, 1, 2, 5, 6, 8, 12, 12, 13};
    const sampler_texts texts = {"ab.\n\n<user>!r", first};
    const char *const line[] = {"\n"}, *const user[] = {"<user>", "zz"};
    static const struct {
        int which;
        const char *history, *right;
    } cases[] = {
        {0, "01010", "01000000"},   /* no break: "b" would repeat "ab" */
        {1, "0121012", "00000000"}, /* nothing since the break inside token 2 */
        {1, "0120012", "00000000"},
        {1, "201201", "00000000"}, /* what comes after "01" is a break, never less likely */
        {0, "201201", "00100000"},
        {2, "034510345", "00000000"}, /* "<" "us" "er>!" ends one */
        {2, "034650346", "00000000"}, /* ... and a token without text is no obstacle */
        {2, "0345103", "00001000"},   /* a beginning is none */
        {2, "034710347", "01000000"}, /* "<" "us" "r" is none */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char got[17];
        const char *const *breaks = cases[i].which == 1 ? line : user;
        penalised(&texts, 8, breaks, (size_t[]){0, 1, 2}[cases[i].which], cases[i].history, got);
        if (strcmp(got, cases[i].right) != 0)
            fail_msg("case %zu: %s, expected %s", i, got, cases[i].right);
    }
    const char *const empty[] = {"\n", ""};
    sampler_params p = {
        .dry_multiplier = 1, .dry_breaks = empty, .n_dry_breaks = 2, .texts = &texts};
    sampler *s;
    assert_fails(sampler_open(&p, 8, &s), WEFT_INVALID, "DRY break 1 is empty");
}

/* Whatever the filters, a mask that leaves one token gets that token, and one that leaves two gets
 * one of them. */
static void no_filter_removes_the_last_allowed_token(void **state) {
    (void)state;
    float logits[MAX_VOCAB];
    rng r = {21};
    int32_t history[40];
    for (int i = 0; i < 40; i++) history[i] = i % 5;
    const char *const none[] = {"\n"};
    static char bytes[MAX_VOCAB];
    static size_t first[MAX_VOCAB + 1];
    for (size_t i = 0; i <= MAX_VOCAB; i++) first[i] = i < MAX_VOCAB ? i : MAX_VOCAB;
    memset(bytes, 'x', sizeof bytes);
    const sampler_texts texts = {bytes, first};
    const sampler_params all[] = {
        {.temperature = 0},
        {.temperature = 1, .top_k = 1},
        {.temperature = 1, .top_p = 1e-6f},
        {.temperature = 1, .min_p = 1},
        {.temperature = 1, .typical_p = 1e-6f},
        {.temperature = 1, .top_n_sigma = 1e-6f},
        {.temperature = 1, .xtc_probability = 1, .xtc_threshold = 1e-9f},
        {.temperature = 1e-30f},
        {.temperature = 1, .temperature_range = 1},
        {.temperature = 1, .mirostat_tau = 1e-6f, .mirostat_eta = 100},
        {.temperature = 1, .repeat_penalty = 1e9f, .penalty_window = -1},
        {.temperature = 1,
         .presence_penalty = 1e9f,
         .frequency_penalty = 1e9f,
         .penalty_window = -1},
        {.temperature = 1,
         .dry_multiplier = 1e9f,
         .dry_base = 1e9f,
         .dry_allowed = 1,
         .dry_breaks = none,
         .n_dry_breaks = 1,
         .texts = &texts},
        {.temperature = 0, .dry_multiplier = 1e9f, .dry_base = 1e9f, .dry_allowed = 1},
    };
    for (size_t c = 0; c < sizeof all / sizeof *all; c++)
        for (int round = 0; round < 20; round++) {
            random_logits(&r, logits, MAX_VOCAB);
            uint32_t mask[(MAX_VOCAB + 31) / 32] = {0};
            int32_t only[2] = {(int32_t)rng_below(&r, round % 2 ? 5 : MAX_VOCAB),
                               (int32_t)rng_below(&r, MAX_VOCAB)};
            if (round < 10) only[1] = only[0];
            for (int i = 0; i < 2; i++) mask[only[i] / 32] |= 1u << (only[i] % 32);
            sampler_params p = all[c];
            p.seed = (uint64_t)round;
            sampler *s;
            assert_ok(sampler_open(&p, MAX_VOCAB, &s));
            sampler_set_mask(s, mask);
            for (int k = 0; k < 3; k++) {
                int32_t token;
                float log_prob;
                assert_ok(sampler_draw(s, logits, history, 40, &token, &log_prob));
                assert_true(token == only[0] || token == only[1]);
                assert_true(isfinite(log_prob) && log_prob <= 0);
            }
            sampler_close(s);
        }
}

static void mirostat_steers_to_its_surprise(void **state) {
    (void)state;
    float logits[MAX_VOCAB];
    for (int i = 0; i < MAX_VOCAB; i++) logits[i] = -1.1f * logf((float)(i + 1)); /* Zipf */
    ref e = ref_of(logits, MAX_VOCAB);
    double p[MAX_VOCAB];
    ref_softmax(&e, p);
    for (int k = 0; k < 3; k++) {
        double tau = 2.5 + k, mu = 2 * (double)(float)tau, sum = 0;
        sampler_params params = {
            .temperature = 1, .mirostat_tau = (float)tau, .mirostat_eta = 0.2f, .seed = 77};
        sampler *s;
        assert_ok(sampler_open(&params, MAX_VOCAB, &s));
        for (int i = 0; i < 2000; i++) {
            int32_t token;
            sample_choice c;
            size_t n = 0, n_right = 0;
            assert_ok(sampler_draw(s, logits, NULL, 0, &token, NULL));
            while (sampler_choice(s, n, &c)) n++;
            for (int v = 0; v < MAX_VOCAB; v++) n_right += v == 0 || -log2(p[v]) <= mu - 1e-4;
            assert_true(n >= n_right && n <= n_right + 1);
            mu -= 0.2 * (-log2(p[token]) - tau);
            if (i >= 200) sum += -log2(p[token]);
        }
        sampler_close(s);
        assert_true(fabs(sum / 1800 - tau) < 0.1);
    }
}

static void bias_and_mask_exclude(void **state) {
    (void)state;
    const float logits[] = {5, INFINITY, 1, 0};
    sampler_bias bias[] = {{1, -INFINITY}, {2, 10}};
    sampler_params p = {.bias = bias, .n_bias = 2};
    assert_int_equal(draw(p, logits, 4, NULL, 0, NULL), 2);
    uint32_t mask = 1u << 0 | 1u << 3;
    sampler *s;
    assert_ok(sampler_open(&p, 4, &s));
    sampler_set_mask(s, &mask);
    int32_t token;
    assert_ok(sampler_draw(s, logits, NULL, 0, &token, NULL));
    assert_int_equal(token, 0);
    mask = 0;
    assert_fails(sampler_draw(s, logits, NULL, 0, &token, NULL), WEFT_INVALID, "excluded");
    sampler_set_mask(s, NULL);
    assert_ok(sampler_draw(s, logits, NULL, 0, &token, NULL));
    assert_int_equal(token, 2);
    sampler_close(s);
    bias[0].id = 4;
    assert_fails(sampler_open(&p, 4, &s), WEFT_INDEX, "token 4");
    bias[0] = (sampler_bias){1, INFINITY};
    assert_fails(sampler_open(&p, 4, &s), WEFT_INVALID, "below infinity");
}

static void the_best_come_with_log_probabilities(void **state) {
    (void)state;
    const float logits[] = {0, 3, -INFINITY, 3, 1};
    sample_choice best[8], one = {.id = 4};
    assert_ok(sample_best(logits, 5, 3, best, &one));
    double sum = 2 * exp(3.0) + exp(1.0) + 1;
    assert_int_equal(best[0].id, 1);
    assert_int_equal(best[1].id, 3);
    assert_int_equal(best[2].id, 4);
    assert_true(fabs((double)best[0].log_prob - (3 - log(sum))) < 1e-6);
    assert_true(fabs((double)best[2].log_prob - (1 - log(sum))) < 1e-6);
    assert_true(one.log_prob == best[2].log_prob);
    one.id = 2;
    assert_ok(sample_best(logits, 5, 8, best, &one));
    assert_int_equal(best[3].id, 0);
    assert_int_equal(best[4].id, -1);
    assert_true(one.log_prob == -INFINITY);
    const float infinite[] = {INFINITY, 1, INFINITY}, bad[] = {0, NAN};
    assert_ok(sample_best(infinite, 3, 3, best, NULL));
    assert_int_equal(best[0].id, 0);
    assert_int_equal(best[1].id, 2);
    assert_true(fabs((double)best[1].log_prob + log(2.0)) < 1e-6);
    assert_fails(sample_best(bad, 2, 1, best, NULL), WEFT_INVALID, "token 1");
    assert_fails(sample_best(logits + 2, 1, 1, best, NULL), WEFT_INVALID, "-infinity");

    rng r = {31};
    for (int round = 0; round < 50; round++) { /* against the reference's order */
        float l[MAX_VOCAB];
        sample_choice got[MAX_VOCAB];
        double p[MAX_VOCAB];
        int n = 1 + (int)rng_below(&r, MAX_VOCAB), k = (int)rng_below(&r, n + 1), at = -1;
        random_logits(&r, l, n);
        for (int i = 0; i < n; i += 3) l[i] = l[n / 2]; /* equals, too */
        ref e = ref_of(l, n);
        ref_softmax(&e, p);
        assert_ok(sample_best(l, (size_t)n, (size_t)k, got, NULL));
        for (int i = 0; i < k; i++) {
            at = ref_next(&e, e.logit, at);
            assert_int_equal(got[i].id, at);
            assert_true(fabs((double)got[i].log_prob - log(p[at])) < 1e-5);
        }
    }
}

static void wrong_parameters_are_named(void **state) {
    (void)state;
    sampler *s;
    assert_fails(sampler_open(&(sampler_params){.temperature = NAN}, 4, &s), WEFT_INVALID,
                 "temperature");
    assert_fails(sampler_open(&(sampler_params){.top_k = -1}, 4, &s), WEFT_INVALID, "top_k");
    assert_fails(sampler_open(&(sampler_params){.min_p = 1.5f}, 4, &s), WEFT_INVALID, "min_p");
    assert_fails(sampler_open(&(sampler_params){.penalty_window = -2}, 4, &s), WEFT_INVALID,
                 "penalty_window");
    assert_fails(sampler_open(&(sampler_params){.top_k = 1}, 0, &s), WEFT_INVALID, "vocabulary");
    assert_null(s);
}

static void every_allocation_may_fail(void **state) {
    (void)state;
    const float logits[] = {1, 2, 3};
    const int32_t history[] = {0, 1, 2, 0, 1};
    sampler_bias bias[] = {{1, 1}};
    const char *const breaks[] = {"c", "xyz"};
    sampler_params p = {.dry_multiplier = 1,
                        .dry_breaks = breaks,
                        .n_dry_breaks = 2,
                        .texts = &letters,
                        .bias = bias,
                        .n_bias = 1};
    for (uint64_t k = 1;; k++) {
        sampler *s;
        int32_t token;
        mem_fail_at(k);
        weft_status status = sampler_open(&p, 3, &s);
        if (status == WEFT_OK) status = sampler_draw(s, logits, history, 5, &token, NULL);
        bool is_done = mem_fail_at(0) < k;
        sampler_close(s);
        if (is_done) break;
        assert_int_equal(status, WEFT_NO_MEMORY);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_filter_equals_its_reference),
        cmocka_unit_test(the_chain_is_in_its_documented_order),
        cmocka_unit_test(temperature_zero_is_argmax),
        cmocka_unit_test(penalties_follow_sign_count_and_window),
        cmocka_unit_test(filters_keep_what_the_reports_say),
        cmocka_unit_test(frequencies_are_the_probabilities),
        cmocka_unit_test(a_seed_reproduces),
        cmocka_unit_test(dry_equals_its_reference),
        cmocka_unit_test(dry_breaks_are_found_in_the_text),
        cmocka_unit_test(no_filter_removes_the_last_allowed_token),
        cmocka_unit_test(mirostat_steers_to_its_surprise),
        cmocka_unit_test(bias_and_mask_exclude),
        cmocka_unit_test(the_best_come_with_log_probabilities),
        cmocka_unit_test(wrong_parameters_are_named),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
