/* Reads a tokenizer.json with its tokenizer_config.json: the order of the steps, the special
 * tokens, and what stands around a text. See hub.h.
 * SPDX-License-Identifier: MIT */
#include "tokenizer/hub.h"

#include <stdio.h>
#include <string.h>

#include "base/json.h"

void hub_spec_free(hub_spec *s) {
#ifdef WEFT_HAVE_JANSSON
    json_decref(s->root);
    json_decref(s->config);
#endif
    for (int i = 0; i < N_STAGES; i++) mem_free(s->stages[i].items);
    mem_free(s->added);
    map_free(&s->ids);
    map_free(&s->added_texts);
    arena_free(&s->arena);
    *s = (hub_spec){0};
}

int32_t hub_find(const hub_spec *s, token_text text) {
    uint32_t id;
    if (map_get(&s->added_texts, text.data, text.n, &id) && id < s->n_added &&
        s->added[id].text.n == text.n && !memcmp(s->added[id].text.data, text.data, text.n))
        return s->added[id].id;
    return map_get(&s->ids, text.data, text.n, &id) ? (int32_t)id : -1;
}

int32_t hub_byte_token(const hub_spec *s, uint8_t byte) {
    char text[8];
    int n = snprintf(text, sizeof text, "<0x%02X>", (unsigned)byte);
    uint32_t id;
    return map_get(&s->ids, text, (size_t)n, &id) ? (int32_t)id : -1;
}

#ifdef WEFT_HAVE_JANSSON
enum { MAX_AROUND = 1 << 16 };

/* A special token is a text or {"content": text}. One that no token spells is none. */
static weft_status read_special(const hub_spec *s, const char *key, int32_t *id) {
    const json_t *value = json_object_get(s->config, key);
    token_text text = {0};
    *id = -1;
    if (json_is_object(value)) TRY(hub_text(value, "content", &text));
    else TRY(hub_text(s->config, key, &text));
    if (text.data) *id = hub_find(s, text);
    return WEFT_OK;
}

static weft_status read_switch(const hub_spec *s, const char *key, int *out) {
    bool value = false;
    const json_t *field = json_object_get(s->config, key);
    TRY(hub_bool(s->config, key, &value));
    *out = field && !json_is_null(field) ? value : -1;
    return WEFT_OK;
}

/* Applies a processor's template to what the ones before it made. */
static weft_status wrap(hub_spec *s, const part *p) {
    size_t n = 0;
    for (size_t i = 0; i < p->n_ids; i++) n += p->ids[i] == TEMPLATE_TEXT ? s->n_around : 1;
    REQUIRE(n <= MAX_AROUND, WEFT_LIMIT, "%s: %zu tokens stand around a text", p->name, n);
    int32_t *ids = arena_alloc(&s->arena, (n + 2) * sizeof *ids);
    if (!ids) return WEFT_NO_MEMORY;
    n = 0;
    for (size_t i = 0; i < p->n_ids; i++) {
        int32_t id = p->ids[i];
        REQUIRE(id < (int64_t)s->n_tokens, WEFT_FORMAT, "%s: the id %d is not among the %zu tokens",
                p->name, id, s->n_tokens);
        if (id != TEMPLATE_TEXT) ids[n++] = id;
        for (size_t k = 0; id == TEMPLATE_TEXT && k < s->n_around; k++) ids[n++] = s->around[k];
    }
    s->around = ids;
    s->n_around = n;
    return WEFT_OK;
}

static weft_status make_around(hub_spec *s) {
    s->around = arena_alloc(&s->arena, 3 * sizeof *s->around);
    if (!s->around) return WEFT_NO_MEMORY;
    s->around[s->n_around++] = TEMPLATE_TEXT;
    for (size_t i = 0; i < s->stages[PROCESSOR].n; i++) {
        const part *p = &s->stages[PROCESSOR].items[i];
        weft_status status = p->ids ? wrap(s, p) : WEFT_OK;
        if (status != WEFT_OK) return error_prefix(status, "post_processor");
    }
    return WEFT_OK;
}

/* The config's switches have the last word, as they have in `transformers`. The list has room for
 * two more. */
static void apply_switches(hub_spec *s) {
    bool has_bos = s->n_around && s->around[0] == s->bos,
         has_eos = s->n_around && s->around[s->n_around - 1] == s->eos;
    if (s->bos >= 0 && s->add_bos == 1 && !has_bos) {
        memmove(s->around + 1, s->around, s->n_around * sizeof *s->around);
        s->around[0] = s->bos;
        s->n_around++;
    } else if (s->bos >= 0 && s->add_bos == 0 && has_bos) {
        memmove(s->around, s->around + 1, --s->n_around * sizeof *s->around);
    }
    if (s->eos >= 0 && s->add_eos == 1 && !has_eos) s->around[s->n_around++] = s->eos;
    else if (s->eos >= 0 && s->add_eos == 0 && has_eos) s->n_around--;
}

weft_status hub_read_config(hub_spec *s) {
    TRY(read_special(s, "bos_token", &s->bos));
    TRY(read_special(s, "eos_token", &s->eos));
    TRY(read_special(s, "unk_token", &s->unk));
    TRY(read_special(s, "sep_token", &s->sep));
    TRY(read_special(s, "pad_token", &s->pad));
    TRY(read_special(s, "cls_token", &s->cls));
    TRY(read_special(s, "mask_token", &s->mask));
    TRY(read_switch(s, "add_bos_token", &s->add_bos));
    TRY(read_switch(s, "add_eos_token", &s->add_eos));
    if (s->unk < 0) s->unk = s->unknown;
    if (s->bos < 0 && s->n_around) s->bos = s->around[0]; /* TEMPLATE_TEXT is "none" */
    if (s->eos < 0 && s->n_around) s->eos = s->around[s->n_around - 1];
    apply_switches(s);
    return WEFT_OK;
}

static weft_status parse(const char *text, size_t n, const char *name, json_t **out) {
    json_error_t why;
    *out = json_loadb(text, n, JSON_ALLOW_NUL, &why);
    if (!*out && json_error_code(&why) == json_error_numeric_overflow) {
        str wide = {0};
        weft_status status = json_widen(text, n, &wide);
        if (status == WEFT_OK) *out = json_loadb(wide.data, wide.n, JSON_ALLOW_NUL, &why);
        str_free(&wide);
        TRY(status);
    }
    if (!*out && json_error_code(&why) == json_error_out_of_memory) return WEFT_NO_MEMORY;
    REQUIRE(*out, WEFT_FORMAT, "%s is no JSON: line %d, column %d: %s", name, why.line, why.column,
            why.text);
    REQUIRE(json_is_object(*out), WEFT_FORMAT, "%s is no JSON object", name);
    return WEFT_OK;
}

static weft_status read_root(hub_spec *s, size_t n_vocab) {
    TRY(hub_read_parts(s));
    TRY(hub_read_vocab(s, n_vocab));
    TRY(hub_read_model(s));
    return make_around(s);
}

weft_status hub_read(const tokenizer_json_text *text, hub_spec *s) {
    *s = (hub_spec){0};
    TRY(parse(text->json, text->n, "tokenizer.json", &s->root));
    if (text->config) TRY(parse(text->config, text->n_config, "tokenizer_config.json", &s->config));
    weft_status status = read_root(s, text->n_vocab);
    if (status != WEFT_OK) return error_prefix(status, "tokenizer.json");
    status = hub_read_config(s);
    return status == WEFT_OK ? WEFT_OK : error_prefix(status, "tokenizer_config.json");
}
#else
weft_status hub_read(const tokenizer_json_text *text, hub_spec *s) {
    (void)text;
    *s = (hub_spec){0};
    return error_set(WEFT_UNSUPPORTED,
                     "this build has no JSON library (jansson), so tokenizer.json cannot be read");
}
#endif
