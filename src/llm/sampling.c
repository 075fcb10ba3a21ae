/* From a weft_sampling to a sampler: defaults, checks, the texts that DRY's breaks are found in,
 * and when a sampler may go on drawing (its parameters, lists and strings included, are the same).
 * Also what callers are told of the likeliest tokens.
 * SPDX-License-Identifier: MIT */
#include <string.h>

#include "base/mem.h"
#include "llm/llm.h"

static const char *const usual_breaks[] = {"\n", ":", "\"", "*"};

static sampler_params params_of(const weft_sampling *s) {
    bool has_list = s->dry_breaks != NULL;
    return (sampler_params){
        .temperature = s->temperature,
        .top_k = s->top_k,
        .top_p = s->top_p,
        .min_p = s->min_p,
        .repeat_penalty = s->repeat_penalty,
        .presence_penalty = s->presence_penalty,
        .frequency_penalty = s->frequency_penalty,
        .penalty_window = s->penalty_window ? s->penalty_window : -1,
        .seed = s->seed,
        .temperature_range = s->temperature_range,
        .temperature_exponent = s->temperature_exponent,
        .typical_p = s->typical_p,
        .top_n_sigma = s->top_n_sigma,
        .xtc_probability = s->xtc_probability,
        .xtc_threshold = s->xtc_threshold,
        .dry_multiplier = s->dry_multiplier,
        .dry_base = s->dry_base,
        .dry_allowed = s->dry_allowed,
        .dry_window = s->dry_window,
        .dry_breaks = has_list ? s->dry_breaks : usual_breaks,
        .n_dry_breaks = has_list ? s->n_dry_breaks : sizeof usual_breaks / sizeof *usual_breaks,
        .mirostat_tau = s->mirostat_tau,
        .mirostat_eta = s->mirostat_eta,
        .n_bias = s->n_bias,
        .order = s->order,
    };
}

/* Either checks the parameters (out is NULL) or opens a sampler. */
static weft_status open_sampler(const weft_sampling *s, const sampler_texts *texts, size_t n_vocab,
                                sampler **out) {
    REQUIRE(!s->n_bias || s->bias, WEFT_INVALID, "the list of logit biases is NULL");
    sampler_params params = params_of(s);
    params.texts = texts;
    sampler_bias *bias = mem_array(s->n_bias, sizeof *bias);
    if (!bias) return WEFT_NO_MEMORY;
    for (size_t i = 0; i < s->n_bias; i++) bias[i] = (sampler_bias){s->bias[i].id, s->bias[i].bias};
    params.bias = bias;
    weft_status status =
        out ? sampler_open(&params, n_vocab, out) : sampler_check(&params, n_vocab);
    mem_free(bias);
    return status;
}

weft_status weft_check_sampling(weft_model *m, const weft_sampling *s) {
    REQUIRE(s, WEFT_INVALID, "weft_check_sampling: sampling is NULL");
    return open_sampler(s, NULL, m ? tokenizer_n_tokens(m->tok) : 0, NULL);
}

/* Everything that makes two samplings the same, as bytes. */
static weft_status sampling_key(const weft_sampling *s, str *out) {
    sampler_params p = params_of(s);
    const float reals[] = {
        p.temperature,     p.top_p,         p.min_p,
        p.repeat_penalty,  p.typical_p,     p.presence_penalty,
        p.top_n_sigma,     p.xtc_threshold, p.frequency_penalty,
        p.xtc_probability, p.dry_base,      p.temperature_range,
        p.dry_multiplier,  p.mirostat_tau,  p.temperature_exponent,
        p.mirostat_eta,
    };
    const int32_t wholes[] = {p.top_k, p.penalty_window, p.dry_allowed, p.dry_window};
    const uint64_t sizes[] = {p.seed, p.n_bias, p.n_dry_breaks, p.order != NULL};
    TRY(str_append(out, (const char *)reals, sizeof reals));
    TRY(str_append(out, (const char *)wholes, sizeof wholes));
    TRY(str_append(out, (const char *)sizes, sizeof sizes));
    for (size_t i = 0; s->bias && i < s->n_bias; i++) {
        TRY(str_append(out, (const char *)&s->bias[i].id, sizeof s->bias[i].id));
        TRY(str_append(out, (const char *)&s->bias[i].bias, sizeof s->bias[i].bias));
    }
    for (size_t i = 0; i < p.n_dry_breaks; i++) {
        const char *text = p.dry_breaks[i] ? p.dry_breaks[i] : "";
        TRY(str_append(out, text, strlen(text) + 1));
    }
    return p.order ? str_text_append(out, p.order) : WEFT_OK;
}

static weft_status renew(weft_session *s, const weft_sampling *sampling) {
    sampler_texts texts = {0};
    sampler_close(s->sampler);
    s->sampler = NULL;
    if (sampling->dry_multiplier > 0) TRY(model_texts(s->model, &texts));
    return open_sampler(sampling, &texts, (size_t)s->model->net->p.n_vocab, &s->sampler);
}

weft_status session_open_sampler(weft_session *s, const weft_sampling *sampling,
                                 bool may_continue) {
    str key = {0};
    weft_status status = sampling_key(sampling, &key);
    bool is_same = status == WEFT_OK && s->sampler && key.n == s->sampling.n &&
                   !memcmp(key.data, s->sampling.data, key.n);
    if (is_same && !may_continue) sampler_reset(s->sampler, sampling->seed);
    if (!is_same && status == WEFT_OK) status = renew(s, sampling);
    str_free(&s->sampling);
    s->sampling = key;
    return status;
}

/* ---- what the tokens stand for --------------------------------------------------------------- */

static weft_status take_texts(const tokenizer *t, str *bytes, size_t *first) {
    size_t n = tokenizer_n_tokens(t);
    for (size_t i = 0; i < n; i++) {
        first[i] = bytes->n;
        TRY(tokenizer_piece(t, (int32_t)i, true, bytes));
    }
    first[n] = bytes->n;
    return WEFT_OK;
}

weft_status model_texts(weft_model *m, sampler_texts *out) {
    if (!m->text_first) {
        str bytes = {0};
        size_t *first = mem_array(tokenizer_n_tokens(m->tok) + 1, sizeof *first);
        weft_status status = first ? take_texts(m->tok, &bytes, first) : WEFT_NO_MEMORY;
        if (status != WEFT_OK) {
            str_free(&bytes);
            mem_free(first);
            return status;
        }
        m->text_bytes = bytes;
        m->text_first = first;
    }
    *out = (sampler_texts){str_text(&m->text_bytes), m->text_first};
    return WEFT_OK;
}

static weft_token_prob describe(const sampler_texts *texts, sample_choice c) {
    weft_token_prob p = {.id = c.id, .log_prob = c.log_prob, .text = ""};
    if (c.id < 0) return p;
    p.text = texts->bytes + texts->first[c.id];
    p.n = texts->first[c.id + 1] - texts->first[c.id];
    return p;
}

weft_status model_best(weft_model *m, const float *logits, size_t n, weft_token_prob *best,
                       weft_token_prob *one) {
    sampler_texts texts;
    TRY(model_texts(m, &texts));
    size_t n_vocab = (size_t)m->net->p.n_vocab, found = n < n_vocab ? n : n_vocab;
    sample_choice *choices = mem_array(found, sizeof *choices);
    sample_choice drawn = {one ? one->id : 0, 0};
    weft_status status =
        choices ? sample_best(logits, n_vocab, found, choices, &drawn) : WEFT_NO_MEMORY;
    for (size_t i = 0; i < n && status == WEFT_OK; i++)
        best[i] = describe(&texts, i < found ? choices[i] : (sample_choice){-1, 0});
    if (one && status == WEFT_OK) *one = describe(&texts, drawn);
    mem_free(choices);
    return status;
}
