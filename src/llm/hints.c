/* What a model's file recommends for drawing its tokens: the metadata keys general.sampling.*
 * (names and types as llama.cpp's converter writes them: src/llama-arch.cpp and gguf-py's
 * constants.py). penalty_last_n 0 and mirostat 0 mean off there; with Mirostat the filters do not
 * act, as there. A key that is absent recommends nothing.
 * SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "llm/llm.h"

static const struct {
    const char *name;
    size_t place; /* of a float in weft_sampling */
} reals[] = {
    {"temp", offsetof(weft_sampling, temperature)},
    {"top_p", offsetof(weft_sampling, top_p)},
    {"min_p", offsetof(weft_sampling, min_p)},
    {"xtc_probability", offsetof(weft_sampling, xtc_probability)},
    {"xtc_threshold", offsetof(weft_sampling, xtc_threshold)},
    {"penalty_repeat", offsetof(weft_sampling, repeat_penalty)},
};

typedef struct reader {
    const gguf_file *file;
    str *said;
} reader;

/* Finds general.sampling.NAME and says it; *found is false when the key is absent. */
static weft_status find_number(const reader *r, const char *name, double *value, bool *found) {
    char key[64];
    snprintf(key, sizeof key, "general.sampling.%s", name);
    const gguf_value *v = gguf_find(r->file, key);
    *found = v != NULL;
    if (!v) return WEFT_OK;
    bool is_number = v->type != GGUF_ARRAY && v->type != GGUF_STRING && v->type != GGUF_BOOL;
    *value = is_number ? gguf_number_at(v, 0) : NAN;
    REQUIRE(fabs(*value) < 1e9, WEFT_FORMAT, "%s is no number that makes sense", key);
    return str_format(r->said, "%s%s %g", r->said->n ? ", " : "", name, *value);
}

static weft_status find_whole(const reader *r, const char *name, int32_t *value, bool *found) {
    double number = 0;
    TRY(find_number(r, name, &number, found));
    REQUIRE(number == floor(number), WEFT_FORMAT, "general.sampling.%s is %g, no whole number",
            name, number);
    *value = (int32_t)number;
    return WEFT_OK;
}

static weft_status take_mirostat(const reader *r, weft_sampling *s) {
    int32_t version = 0;
    double tau = 5, eta = 0.1;
    bool found, ignored;
    TRY(find_whole(r, "mirostat", &version, &found));
    if (!found) return WEFT_OK;
    s->mirostat_tau = 0;
    if (!version) return WEFT_OK;
    REQUIRE(version == 2, WEFT_UNSUPPORTED,
            "general.sampling.mirostat is %d, but only version 2 is supported", version);
    TRY(find_number(r, "mirostat_tau", &tau, &ignored));
    TRY(find_number(r, "mirostat_eta", &eta, &ignored));
    s->mirostat_tau = (float)tau;
    s->mirostat_eta = (float)eta;
    s->top_k = 0;
    s->top_p = s->min_p = s->typical_p = s->top_n_sigma = s->xtc_probability = 0;
    s->order = NULL;
    return WEFT_OK;
}

static weft_status take_order(const reader *r, weft_sampling *s, str *order) {
    const char *key = "general.sampling.sequence";
    gguf_string text = {"", 0};
    weft_status status = WEFT_OK;
    if (!gguf_get_string(r->file, key, &text, &status) || !text.n) return status;
    str_clear(order);
    TRY(str_append(order, text.data, text.n));
    REQUIRE(strlen(str_text(order)) == text.n, WEFT_FORMAT, "%s has a zero byte in it", key);
    s->order = str_text(order);
    return str_format(r->said, "%ssequence %s", r->said->n ? ", " : "", gguf_show(text).text);
}

static weft_status take_all(const reader *r, weft_sampling *s, str *order) {
    bool found;
    int32_t window = 0;
    for (size_t i = 0; i < sizeof reals / sizeof *reals; i++) {
        double value = 0;
        TRY(find_number(r, reals[i].name, &value, &found));
        float real = (float)value;
        if (found) memcpy((char *)s + reals[i].place, &real, sizeof real);
    }
    TRY(find_whole(r, "top_k", &window, &found));
    if (found) s->top_k = window < 0 ? 0 : window;
    TRY(find_whole(r, "penalty_last_n", &window, &found));
    if (found) s->penalty_window = window < 0 ? 0 : window;
    if (found && !window) s->repeat_penalty = s->presence_penalty = s->frequency_penalty = 0;
    TRY(take_order(r, s, order));
    TRY(take_mirostat(r, s));
    weft_sampling alone = *s;
    alone.n_bias = 0;
    weft_status status = weft_check_sampling(NULL, &alone);
    if (status == WEFT_INVALID) return error_prefix(WEFT_FORMAT, "general.sampling");
    return status;
}

weft_status weft_model_sampling(weft_model *m, weft_sampling *sampling, const char **said) {
    if (said) *said = "";
    REQUIRE(sampling, WEFT_INVALID, "weft_model_sampling: sampling is NULL");
    TRY(model_enter(m));
    str_clear(&m->hints);
    weft_sampling changed = *sampling;
    weft_status status =
        m->file ? take_all(&(reader){m->file, &m->hints}, &changed, &m->hint_order) : WEFT_OK;
    if (status == WEFT_OK) *sampling = changed;
    if (status == WEFT_OK && said) *said = str_text(&m->hints);
    model_leave(m);
    return status;
}
