/* The sampler chain through the public interface: each parameter of weft_sampling seen in what is
 * drawn, seeds, sessions that begin anew, log-probabilities, grammars together with each sampler,
 * and what a model's file recommends. What each sampler computes exactly is tests/unit/sample.c.
 * SPDX-License-Identifier: MIT */
#include <math.h>

#include "tiny_model.h"
#include "weft/llm.h"

enum { N_VOCAB = 259 };

static weft_device *dev;
static weft_model *model; /* random weights */
static weft_session *session;

static int open_all(void **state) {
    (void)state;
    tiny_model m = {.seed = 3, .has_output = true, .eos = 1 + 1};
    dev = tiny_model_device();
    model = weft_model_load(dev, tiny_model_file(&m), (weft_model_desc){0});
    session = weft_session_open(model, (weft_session_desc){.precision = WEFT_EXACT});
    return session ? 0 : -1;
}

static int close_all(void **state) {
    (void)state;
    weft_session_close(session);
    weft_model_free(model);
    weft_close(dev);
    return 0;
}

/* ---- each parameter -------------------------------------------------------------------------- */

/* The state the draws below start from: a context, its logits, and all tokens, best first. */
static const int32_t context[] = {104, 7, 8, 9, 104, 7, 8};
static float logits[N_VOCAB];
static weft_token_prob best[N_VOCAB];

static void take_state(void) {
    weft_session_reset(session);
    assert_ok(weft_session_sync(session, context, 7));
    assert_ok(weft_logits(session, logits, N_VOCAB));
    assert_ok(weft_best(session, N_VOCAB, best));
}

/* Draws 300 tokens; seen[id] counts them. */
static void draw_many(weft_sampling s, int *seen) {
    memset(seen, 0, N_VOCAB * sizeof *seen);
    for (int i = 0; i < 300; i++) {
        int32_t id;
        float log_prob;
        assert_ok(weft_sample(session, s, &id, &log_prob));
        assert_true(id >= 0 && id < N_VOCAB && isfinite(log_prob) && log_prob <= 0);
        seen[id]++;
    }
}

/* Only the first n of `best` were drawn, and more than one of them unless n is 1. */
static void only_the_best(weft_sampling s, int n) {
    int seen[N_VOCAB], n_seen = 0, n_drawn = 0;
    draw_many(s, seen);
    for (int i = 0; i < n; i++) {
        n_drawn += seen[best[i].id];
        n_seen += seen[best[i].id] > 0;
    }
    if (n_drawn != 300 || (n > 1 && n_seen < 2))
        fail_msg("%d of 300 draws among the %d best, %d different", n_drawn, n, n_seen);
}

static void filters_leave_what_they_say(void **state) {
    (void)state;
    take_state();
    double mean = 0, square = 0, sum = 0, most = exp((double)best[0].log_prob);
    int n_p = 0, n_min = 0, n_sigma = 0;
    for (int i = 0; i < N_VOCAB; i++) mean += (double)logits[i] / N_VOCAB;
    for (int i = 0; i < N_VOCAB; i++) square += pow((double)logits[i] - mean, 2) / N_VOCAB;
    for (; sum < 0.1; n_p++) sum += exp((double)best[n_p].log_prob);
    while (exp((double)best[n_min].log_prob) >= 0.6 * most) n_min++;
    while (best[0].log_prob - best[n_sigma].log_prob <= (float)sqrt(square)) n_sigma++;
    assert_true(n_p > 2 && n_min > 2 && n_sigma > 2 && n_sigma < N_VOCAB / 2);
    only_the_best((weft_sampling){.temperature = 1, .top_k = 3}, 3);
    only_the_best((weft_sampling){.temperature = 1, .top_p = 0.1f}, n_p);
    only_the_best((weft_sampling){.temperature = 1, .min_p = 0.6f}, n_min);
    only_the_best((weft_sampling){.temperature = 1, .top_n_sigma = 1}, n_sigma);
    only_the_best((weft_sampling){.temperature = 1, .mirostat_tau = 1e-3f, .mirostat_eta = 1e-6f},
                  1);
    only_the_best((weft_sampling){.temperature = 1e-6f}, 1);
    /* XTC: of the tokens that are likely enough the least alone is left. */
    int seen[N_VOCAB], n_likely = 0;
    float threshold = expf(best[9].log_prob) * 0.9999f;
    while (expf(best[n_likely].log_prob) >= threshold) n_likely++;
    weft_sampling xtc = {.temperature = 1, .xtc_probability = 1, .xtc_threshold = threshold};
    draw_many(xtc, seen);
    for (int i = 0; i < n_likely - 1; i++) assert_int_equal(seen[best[i].id], 0);
    xtc.xtc_threshold = 0; /* 0.1: no two here are that likely, so nothing goes */
    draw_many(xtc, seen);
    int n_best_seen = 0;
    for (int i = 0; i < n_likely - 1; i++) n_best_seen += seen[best[i].id];
    assert_true(n_best_seen > 3);
    /* Typical: the tokens whose surprise is nearest the mean one, here not the likeliest. */
    draw_many((weft_sampling){.temperature = 1, .typical_p = 0.05f}, seen);
    assert_int_equal(seen[best[0].id], 0);
    /* Another order: one likeliest token, then nothing; or what is not named is off. */
    weft_sampling ordered = {.temperature = 100, .min_p = 0.95f, .top_k = 1, .order = "temp;min-p"};
    draw_many(ordered, seen);
    int n_seen = 0;
    for (int i = 0; i < N_VOCAB; i++) n_seen += seen[i] > 0;
    assert_true(n_seen > 20);
    ordered.order = "top_k";
    only_the_best(ordered, 1);
}

static void the_temperature_is_as_documented(void **state) {
    (void)state;
    take_state();
    double entropy = 0;
    for (int i = 0; i < N_VOCAB; i++)
        entropy -= exp((double)best[i].log_prob) * (double)best[i].log_prob;
    const weft_sampling cases[] = {
        {.temperature = 0.7f},
        {.temperature = 0.7f, .temperature_range = 0.4f},
        {.temperature = 0.7f, .temperature_range = 0.9f, .temperature_exponent = 3},
    };
    for (int c = 0; c < 3; c++) {
        double t = (double)cases[c].temperature, range = (double)cases[c].temperature_range,
               sum = 0;
        double exponent = c == 2 ? 3 : 1, low = fmax(t - range, 0);
        if (range > 0) t = low + (t + range - low) * pow(entropy / log(N_VOCAB), exponent);
        for (int i = 0; i < N_VOCAB; i++) sum += exp((double)best[i].log_prob / t);
        for (int k = 0; k < 20; k++) {
            int32_t id;
            float log_prob;
            int at = 0;
            assert_ok(weft_sample(session, cases[c], &id, &log_prob));
            while (best[at].id != id) at++;
            assert_true(fabs((double)log_prob - ((double)best[at].log_prob / t - log(sum))) < 1e-4);
        }
    }
}

static int32_t draw_one(weft_sampling s) {
    int32_t id = -1;
    assert_ok(weft_sample(session, s, &id, NULL));
    return id;
}

static void penalties_and_biases_change_the_best(void **state) {
    (void)state;
    take_state();
    int32_t first = best[0].id, second = best[1].id;
    assert_int_equal(draw_one((weft_sampling){0}), first);
    weft_logit_bias bias[] = {{first, -INFINITY}, {best[5].id, 100}};
    assert_int_equal(draw_one((weft_sampling){.bias = bias, .n_bias = 1}), second);
    assert_int_equal(draw_one((weft_sampling){.bias = bias, .n_bias = 2}), best[5].id);
    bias[1].bias = -100; /* the same list with other contents is another sampling */
    assert_int_equal(draw_one((weft_sampling){.bias = bias, .n_bias = 2}), second);

    int32_t ids[] = {first, 7, first}; /* now the best is in the context */
    assert_ok(weft_session_sync(session, ids, 3));
    bias[0] = (weft_logit_bias){first, 50};
    weft_sampling s = {.bias = bias, .n_bias = 1};
    assert_int_equal(draw_one(s), first);
    s.presence_penalty = 1000;
    assert_true(draw_one(s) != first);
    s.presence_penalty = 0;
    s.frequency_penalty = 30; /* twice */
    assert_true(draw_one(s) != first);
    s.penalty_window = 1; /* once */
    assert_int_equal(draw_one(s), first);
    s.frequency_penalty = 0;
    s.repeat_penalty = 1e6f;
    assert_true(draw_one(s) != first);
}

/* A prompt's tokens are penalised, also those that a session still has from the last time. */
static void penalties_count_a_cached_prompt(void **state) { /* G4-02 */
    (void)state;
    int32_t first[64];
    size_t n_first = 0;
    weft_session_reset(session);
    for (int turn = 0; turn < 2; turn++) {
        weft_generation g;
        weft_generate_desc desc = {.max_tokens = 12,
                                   .ignore_eos = true,
                                   .sampling = {.presence_penalty = 1000},
                                   .result = &g};
        assert_ok(weft_generate(session, "abcdefgh", desc));
        assert_true(turn == 0 ? g.n_cached == 0 : g.n_cached > 0);
        assert_int_equal(g.n_generated, 12);
        size_t n;
        const int32_t *ids = weft_session_tokens(session, &n);
        assert_in_range(n, (size_t)g.n_prompt + 11, 64);
        for (size_t i = (size_t)g.n_prompt; i < n; i++)
            for (size_t k = 0; k < i; k++) assert_int_not_equal(ids[i], ids[k]);
        if (turn == 0) {
            n_first = n;
            memcpy(first, ids, n * sizeof *ids);
        }
        assert_int_equal(n, n_first);
        assert_memory_equal(ids, first, n * sizeof *ids);
    }
}

/* ---- DRY ------------------------------------------------------------------------------------- */

static int run_of(weft_session *s, char c, weft_sampling sampling) {
    char prompt[] = {c, 0};
    weft_generate_desc desc = {.max_tokens = 40, .sampling = sampling};
    assert_ok(weft_generate(s, prompt, desc));
    char what[] = {c, 0};
    return (int)strspn(weft_session_text(s), what);
}

static void dry_ends_a_loop_but_not_at_breaks(void **state) {
    (void)state;
    static const char text[] = {'x', '\n'};
    for (int i = 0; i < 2; i++) { /* a model that says one thing for ever */
        tiny_model m = {.eos = 1 + 1};
        const int32_t chain[] = {tiny_model_byte(&m, (unsigned char)text[i])};
        m.chain = chain;
        m.n_chain = 1;
        weft_model *loops = weft_model_load(dev, tiny_model_file(&m), (weft_model_desc){0});
        weft_session *s = weft_session_open(loops, (weft_session_desc){0});
        const char *const own[] = {"zz", "xx"}, *const none[] = {"zz"};
        weft_sampling dry = {.dry_multiplier = 1e4f};
        assert_int_equal(run_of(s, text[i], (weft_sampling){0}), 40);
        /* "\n" is one of the usual breaks. Free are repetitions below dry_allowed, 2. */
        assert_int_equal(run_of(s, text[i], dry), i == 0 ? 2 : 40);
        dry.dry_breaks = none;
        assert_int_equal(run_of(s, text[i], dry), 2); /* an empty list: no breaks */
        dry.dry_breaks = own;                         /* no token, but in the text */
        dry.n_dry_breaks = 2;
        assert_int_equal(run_of(s, text[i], dry), i == 0 ? 40 : 2);
        dry.dry_breaks = none;
        dry.n_dry_breaks = 1;
        dry.dry_allowed = 5;
        assert_int_equal(run_of(s, text[i], dry), 5);
        dry.dry_window = 4;
        assert_int_equal(run_of(s, text[i], dry), 40);
        dry = (weft_sampling){.dry_multiplier = 1, .dry_base = 1e9f, .dry_breaks = none};
        assert_in_range(run_of(s, text[i], dry), 2, 5);
        weft_session_close(s);
        weft_model_free(loops);
    }
}

/* ---- seeds ----------------------------------------------------------------------------------- */

static const weft_logit_bias liked[] = {{40, 1}, {50, -INFINITY}};
static const char *const some_breaks[] = {"\n", "ab"};

/* Everything on at once. */
static weft_sampling everything(uint64_t seed) {
    return (weft_sampling){
        .temperature = 1.2f,
        .top_k = 200,
        .top_p = 0.99f,
        .min_p = 0.001f,
        .repeat_penalty = 1.1f,
        .presence_penalty = 0.1f,
        .frequency_penalty = 0.1f,
        .penalty_window = 20,
        .seed = seed,
        .temperature_range = 0.5f,
        .temperature_exponent = 1.5f,
        .typical_p = 0.98f,
        .top_n_sigma = 4,
        .xtc_probability = 0.5f,
        .xtc_threshold = 0.004f,
        .dry_multiplier = 0.8f,
        .dry_base = 1.5f,
        .dry_allowed = 1,
        .dry_window = 30,
        .dry_breaks = some_breaks,
        .n_dry_breaks = 2,
        .mirostat_tau = 7,
        .mirostat_eta = 0.2f,
        .bias = liked,
        .n_bias = 2,
        .order = "top_n_sigma,top_k,typical,top_p,min_p,xtc,temperature,mirostat",
    };
}

static void seeds_reproduce_every_chain(void **state) {
    (void)state;
    char text[3][512];
    for (int i = 0; i < 3; i++) {
        weft_generate_desc desc = {.max_tokens = 40, .ignore_eos = true};
        desc.sampling = everything(i == 2 ? 6 : 5);
        assert_ok(weft_generate(session, "hello hello", desc));
        snprintf(text[i], sizeof text[i], "%s", weft_session_text(session));
    }
    assert_string_equal(text[0], text[1]);
    assert_string_not_equal(text[0], text[2]);
    /* Step by step: one stream of draws (Mirostat's state goes along) until the session is reset
     * or a list has other contents. */
    int32_t draws[3][12];
    weft_logit_bias bias[] = {{40, 1}};
    for (int round = 0; round < 3; round++) {
        weft_sampling s = everything(5);
        s.bias = bias;
        s.n_bias = 1;
        if (round == 2) { /* once with another list: then anew, without a reset */
            bias[0].bias = 2;
            draw_one(s);
            bias[0].bias = 1;
        } else {
            take_state();
        }
        for (int i = 0; i < 12; i++) draws[round][i] = draw_one(s);
    }
    assert_memory_equal(draws[0], draws[1], sizeof draws[0]);
    assert_memory_equal(draws[0], draws[2], sizeof draws[0]);
    bool differ = false;
    for (int i = 1; i < 12; i++) differ = differ || draws[0][i] != draws[0][0];
    assert_true(differ);
}

/* ---- log-probabilities ----------------------------------------------------------------------- */

typedef struct told {
    int n, refuse_at, n_best;
    int32_t ids[64];
    double log_probs[64], drawn[64], best_log_prob[64];
    int32_t best_id[64];
    char text[512];
    size_t n_text;
    bool is_text_early; /* on_text had text of a token before on_token told of it */
    size_t n_shown;
} told;

static bool on_token(void *user, const weft_token *t) {
    told *h = user;
    assert_int_equal(t->n_best, h->n_best);
    for (size_t i = 1; i < t->n_best; i++)
        assert_true(t->best[i].log_prob <= t->best[i - 1].log_prob && t->best[i].id >= 0);
    h->ids[h->n] = t->token.id;
    h->log_probs[h->n] = (double)t->token.log_prob;
    h->drawn[h->n] = (double)t->drawn_log_prob;
    if (t->n_best) {
        h->best_id[h->n] = t->best[0].id;
        h->best_log_prob[h->n] = (double)t->best[0].log_prob;
    }
    memcpy(h->text + h->n_text, t->token.text, t->token.n);
    h->n_text += t->token.n;
    return ++h->n != h->refuse_at;
}

static bool on_text(void *user, const char *text, size_t n) {
    told *h = user;
    (void)text;
    h->n_shown += n;
    if (h->n_shown > h->n_text) h->is_text_early = true;
    return true;
}

static void tokens_are_told_with_log_probabilities(void **state) {
    (void)state;
    for (int is_greedy = 0; is_greedy < 2; is_greedy++) {
        told h = {.n_best = 5};
        weft_generation g;
        weft_generate_desc desc = {.max_tokens = 30,
                                   .ignore_eos = true,
                                   .on_token = on_token,
                                   .on_text = on_text,
                                   .user = &h,
                                   .n_best = 5,
                                   .result = &g};
        if (!is_greedy) desc.sampling = (weft_sampling){.temperature = 2, .top_k = 20, .seed = 4};
        int32_t prompt[40] = {10, 20, 30};
        assert_ok(weft_generate_tokens(session, prompt, 3, desc));
        assert_int_equal(h.n, g.n_generated);
        /* The same from the logits of the whole text. */
        for (int i = 0; i < h.n; i++) prompt[3 + i] = h.ids[i];
        static float rows[33][N_VOCAB];
        assert_ok(weft_score(session, prompt, 33, 0, rows[0], sizeof rows / sizeof(float)));
        for (int i = 0; i < h.n; i++) {
            double sum = 0;
            const float *l = rows[2 + i];
            for (int v = 0; v < N_VOCAB; v++) sum += exp((double)l[v]);
            assert_true(fabs((double)l[h.ids[i]] - log(sum) - h.log_probs[i]) < 1e-3);
            assert_true(h.log_probs[i] <= h.best_log_prob[i]);
            if (is_greedy) {
                assert_int_equal(h.best_id[i], h.ids[i]);
                assert_true(fabs(h.drawn[i] - h.log_probs[i]) < 1e-5);
            }
        }
    }
    /* None asked for, more than there are, and an end by the callback. */
    told h = {0};
    weft_generation g;
    weft_generate_desc desc = {
        .max_tokens = 8, .ignore_eos = true, .on_token = on_token, .user = &h, .result = &g};
    assert_ok(weft_generate(session, "ab", desc));
    assert_int_equal(h.n, 8);
    h = (told){.n_best = N_VOCAB};
    desc.n_best = 100000;
    assert_ok(weft_generate(session, "ab", desc));
    h = (told){.n_best = 2, .refuse_at = 3};
    desc.n_best = 2;
    assert_ok(weft_generate(session, "ab", desc));
    assert_int_equal(g.finish, WEFT_FINISH_CANCELLED);
    assert_int_equal(g.n_generated, 3);
    desc.n_best = -1;
    assert_fails(weft_generate(session, "ab", desc), WEFT_INVALID, "n_best is -1");
    weft_token_prob three[N_VOCAB + 2];
    assert_ok(weft_best(session, N_VOCAB + 2, three));
    assert_int_equal(three[N_VOCAB].id, -1);
    assert_int_equal(three[N_VOCAB - 1].n, 1);
    assert_fails(weft_best(session, 1, NULL), WEFT_INVALID, "out is NULL");
    weft_session_reset(session);
    assert_fails(weft_best(session, 1, three), WEFT_INVALID, "no logits");
}

static void the_told_text_is_the_answer(void **state) {
    (void)state;
    static const char *const pieces[] = {"Hel", "lo\xE2\x82", NULL};
    tiny_model m = {.pieces = pieces, .eos = 1 + 1};
    const int32_t chain[] = {tiny_model_byte(&m, '>'), tiny_model_piece(&m, 0),
                             tiny_model_piece(&m, 1), tiny_model_byte(&m, 0xAC), 1};
    m.chain = chain;
    m.n_chain = 5;
    weft_model *says = weft_model_load(dev, tiny_model_file(&m), (weft_model_desc){0});
    weft_session *s = weft_session_open(says, (weft_session_desc){0});
    told h = {.n_best = 1};
    weft_generate_desc desc = {.on_token = on_token, .on_text = on_text, .user = &h, .n_best = 1};
    assert_ok(weft_generate(s, ">", desc));
    assert_int_equal(h.n, 3); /* not the token that ends the text */
    assert_string_equal(h.text, "Hello\xE2\x82\xAC");
    assert_string_equal(weft_session_text(s), h.text);
    assert_false(h.is_text_early);
    weft_token_prob end;
    assert_ok(weft_best(s, 1, &end));
    assert_int_equal(end.id, 1);
    assert_memory_equal(end.text, "</s>", 4);
    assert_int_equal(end.n, 4);
    weft_session_close(s);
    weft_model_free(says);
}

/* ---- grammars -------------------------------------------------------------------------------- */

static void grammars_hold_with_every_sampler(void **state) {
    (void)state;
    static const char *const any[] = {"zz"};
    const weft_sampling all[] = {
        {0},
        {.temperature = 1, .top_k = 1},
        {.temperature = 1, .top_p = 1e-6f},
        {.temperature = 1, .min_p = 1},
        {.temperature = 1, .typical_p = 1e-6f},
        {.temperature = 1, .top_n_sigma = 1e-6f},
        {.temperature = 1, .xtc_probability = 1, .xtc_threshold = 1e-9f},
        {.temperature = 1, .temperature_range = 1},
        {.temperature = 1, .mirostat_tau = 1e-6f, .mirostat_eta = 10},
        {.temperature = 1, .repeat_penalty = 1e9f},
        {.temperature = 1, .presence_penalty = 1e9f, .frequency_penalty = 1e9f},
        {.temperature = 1, .dry_multiplier = 1e9f, .dry_base = 1e9f, .dry_allowed = 1},
        {.dry_multiplier = 1e9f, .dry_base = 1e9f, .dry_allowed = 1, .dry_breaks = any},
        {.temperature = 1, .bias = liked, .n_bias = 2},
        everything(9),
    };
    /* One token allowed at each step; then two at some. */
    static const char *const grammars[] = {"root ::= \"abababababababab\"",
                                           "root ::= (\"ab\" | \"ba\"){8}"};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        for (int k = 0; k < 2; k++)
            for (uint64_t seed = 0; seed < 3; seed++) {
                told h = {.n_best = 3};
                weft_generation g;
                weft_generate_desc desc = {.grammar = grammars[k],
                                           .sampling = all[i],
                                           .on_token = on_token,
                                           .user = &h,
                                           .n_best = 3,
                                           .result = &g};
                desc.sampling.seed = seed;
                assert_ok(weft_generate(session, "abab", desc));
                const char *text = weft_session_text(session);
                assert_int_equal(g.finish, WEFT_FINISH_STOP);
                assert_int_equal(strlen(text), 16);
                for (int at = 0; at < 16; at += 2)
                    assert_true(!memcmp(text + at, "ab", 2) || (k && !memcmp(text + at, "ba", 2)));
                for (int t = 0; t < h.n; t++) assert_true(isfinite(h.drawn[t]));
            }
    /* Only a ban leaves nothing: that is said. */
    weft_logit_bias ban = {tiny_model_byte(&(tiny_model){0}, 'b'), -INFINITY};
    weft_generate_desc desc = {.grammar = grammars[0], .sampling = {.bias = &ban, .n_bias = 1}};
    assert_fails(weft_generate(session, "abab", desc), WEFT_INVALID, "excluded all");
}

/* ---- what is wrong, and what a file recommends ----------------------------------------------- */

static void wrong_samplings_are_named(void **state) {
    (void)state;
    const char *const empty[] = {"a", ""};
    weft_logit_bias outside = {N_VOCAB, 1}, infinite = {3, INFINITY};
    const struct {
        weft_sampling s;
        weft_status status;
        const char *says;
        bool needs_model;
    } cases[] = {
        {{.temperature = NAN}, WEFT_INVALID, "temperature", false},
        {{.top_k = -1}, WEFT_INVALID, "top_k is -1", false},
        {{.top_p = -0.1f}, WEFT_INVALID, "top_p is -0.1", false},
        {{.min_p = 2}, WEFT_INVALID, "min_p is 2, outside 0 to 1", false},
        {{.typical_p = -1}, WEFT_INVALID, "typical_p", false},
        {{.top_n_sigma = -1}, WEFT_INVALID, "top_n_sigma", false},
        {{.xtc_probability = 1.5f}, WEFT_INVALID, "xtc_probability is 1.5, outside 0 to 1", false},
        {{.xtc_threshold = -1}, WEFT_INVALID, "xtc_threshold", false},
        {{.dry_multiplier = -1}, WEFT_INVALID, "dry_multiplier", false},
        {{.dry_multiplier = 1, .dry_allowed = -1}, WEFT_INVALID, "dry_allowed", false},
        {{.dry_multiplier = 1, .dry_window = -2}, WEFT_INVALID, "dry_window", false},
        {{.dry_multiplier = 1, .dry_breaks = empty, .n_dry_breaks = 2},
         WEFT_INVALID,
         "break 1",
         false},
        {{.temperature_range = -1}, WEFT_INVALID, "temperature_range", false},
        {{.temperature_exponent = -1}, WEFT_INVALID, "temperature_exponent", false},
        {{.mirostat_tau = -1}, WEFT_INVALID, "mirostat_tau", false},
        {{.mirostat_eta = -1}, WEFT_INVALID, "mirostat_eta", false},
        {{.penalty_window = -2}, WEFT_INVALID, "penalty_window", false},
        {{.order = "top_k;speed"}, WEFT_INVALID, "order: there is no sampler \"speed\"", false},
        {{.order = "top_k;dry"}, WEFT_INVALID, "order: dry comes before", false},
        {{.n_bias = 1}, WEFT_INVALID, "biases is NULL", false},
        {{.bias = &outside, .n_bias = 1}, WEFT_INDEX, "token 259, of 259", true},
        {{.bias = &infinite, .n_bias = 1}, WEFT_INVALID, "token 3 is inf", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        weft_sampling s = cases[i].s;
        weft_status right = cases[i].status;
        assert_fails(weft_check_sampling(model, &s), right, cases[i].says);
        if (!cases[i].needs_model)
            assert_fails(weft_check_sampling(NULL, &s), right, cases[i].says);
        weft_generate_desc desc = {.max_tokens = 1, .sampling = s};
        assert_fails(weft_generate(session, "x", desc), right, cases[i].says);
    }
    weft_sampling fine = everything(1);
    assert_ok(weft_check_sampling(model, &fine));
    assert_ok(weft_check_sampling(NULL, &fine));
    assert_fails(weft_check_sampling(NULL, NULL), WEFT_INVALID, "NULL");
}

static weft_status hints_of(const char *keys, weft_sampling *s, char *said) {
    tiny_model m = {.seed = 1, .sampling = keys};
    weft_model *hinted =
        weft_model_load(NULL, tiny_model_file(&m), (weft_model_desc){.vocabulary_only = true});
    const char *text;
    weft_status status = weft_model_sampling(hinted, s, &text);
    if (status == WEFT_OK) assert_ok(weft_check_sampling(hinted, s));
    snprintf(said, 200, "%s|%s", text, s->order ? s->order : "");
    s->order = NULL; /* the model's */
    weft_model_free(hinted);
    return status;
}

static void a_file_may_recommend_a_sampling(void **state) {
    (void)state;
    char said[200];
    weft_sampling s = {.temperature = 0.7f, .top_k = 40, .top_p = 0.95f, .min_p = 0.05f};
    assert_ok(hints_of(NULL, &s, said));
    assert_string_equal(said, "|");
    assert_true(s.top_k == 40 && s.temperature == 0.7f);
    assert_ok(hints_of("temp=0.5 top_k=20 penalty_last_n=-1 penalty_repeat=1.25 "
                       "sequence=penalties;top_k;temperature xtc_probability=0.5",
                       &s, said));
    assert_string_equal(said, "temp 0.5, xtc_probability 0.5, penalty_repeat 1.25, top_k 20, "
                              "penalty_last_n -1, sequence penalties;top_k;temperature|"
                              "penalties;top_k;temperature");
    assert_true(s.temperature == 0.5f && s.top_k == 20 && s.repeat_penalty == 1.25f);
    assert_true(s.xtc_probability == 0.5f && s.penalty_window == 0 && s.top_p == 0.95f);
    assert_ok(hints_of("mirostat=2 mirostat_tau=3.5", &s, said));
    assert_true(s.mirostat_tau == 3.5f && s.mirostat_eta == 0.1f && s.top_k == 0 && s.min_p == 0);
    assert_ok(hints_of("mirostat=0 penalty_last_n=0", &s, said));
    assert_true(s.mirostat_tau == 0 && s.repeat_penalty == 0);
    weft_sampling before = s;
    assert_fails(hints_of("temp=0.5 mirostat=1", &s, said), WEFT_UNSUPPORTED, "version 2");
    assert_fails(hints_of("temp=0.5 min_p=3.5", &s, said), WEFT_FORMAT, "min_p is 3.5");
    assert_fails(hints_of("temp=hot", &s, said), WEFT_FORMAT, "general.sampling.temp");
    assert_fails(hints_of("top_k=2.5", &s, said), WEFT_FORMAT, "top_k is 2.5");
    assert_fails(hints_of("sequence=top_k;fast", &s, said), WEFT_FORMAT, "fast");
    assert_memory_equal(&s, &before, sizeof s);
    assert_fails(weft_model_sampling(NULL, &s, NULL), WEFT_INVALID, "no model");
    assert_fails(weft_model_sampling(model, NULL, NULL), WEFT_INVALID, "NULL");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(filters_leave_what_they_say),
        cmocka_unit_test(the_temperature_is_as_documented),
        cmocka_unit_test(penalties_and_biases_change_the_best),
        cmocka_unit_test(penalties_count_a_cached_prompt),
        cmocka_unit_test(dry_ends_a_loop_but_not_at_breaks),
        cmocka_unit_test(seeds_reproduce_every_chain),
        cmocka_unit_test(tokens_are_told_with_log_probabilities),
        cmocka_unit_test(the_told_text_is_the_answer),
        cmocka_unit_test(grammars_hold_with_every_sampler),
        cmocka_unit_test(wrong_samplings_are_named),
        cmocka_unit_test(a_file_may_recommend_a_sampling),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
