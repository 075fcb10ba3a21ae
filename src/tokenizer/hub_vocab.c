/* The tokens of a tokenizer.json: the model's vocabulary ("vocab") and "added_tokens", with those
 * that only tokenizer_config.json has. An id is the file's: `tokenizers` numbers added tokens anew
 * where a file's numbers are not what it would give, here such a file is an error if they clash.
 * Ids that nobody uses become "[PADid]". See hub.h.
 * SPDX-License-Identifier: MIT */
#ifdef WEFT_HAVE_JANSSON
#include "tokenizer/hub.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_GAP = 65536 };

static weft_status put_added(hub_spec *s, const hub_added *a) {
    uint32_t known;
    if (map_get(&s->added_texts, a->text.data, a->text.n, &known)) {
        const hub_added *b = &s->added[known];
        REQUIRE(a->id == b->id || a->is_late, WEFT_FORMAT,
                "added_tokens: \"%.40s\" has the ids %d and %d", a->text.data, b->id, a->id);
        return WEFT_OK;
    }
    void *items = s->added;
    weft_status status = mem_reserve(&items, &s->added_capacity, s->n_added + 1, sizeof *s->added);
    s->added = items;
    TRY(status);
    TRY(map_set(&s->added_texts, a->text.data, a->text.n, (uint32_t)s->n_added));
    s->added[s->n_added++] = *a;
    return WEFT_OK;
}

static weft_status read_added_token(hub_spec *s, const json_t *token, hub_added *a) {
    REQUIRE(json_is_object(token), WEFT_FORMAT, "added_tokens: a token is no object");
    TRY(hub_text(token, "content", &a->text));
    REQUIRE(a->text.data, WEFT_FORMAT, "added_tokens: a token has no content");
    a->is_normalized = true;
    TRY(hub_bool(token, "special", &a->is_special));
    if (a->is_special) a->is_normalized = false;
    TRY(hub_bool(token, "single_word", &a->is_single_word));
    TRY(hub_bool(token, "lstrip", &a->strips_left));
    TRY(hub_bool(token, "rstrip", &a->strips_right));
    TRY(hub_bool(token, "normalized", &a->is_normalized));
    return a->text.n ? put_added(s, a) : WEFT_OK;
}

static weft_status read_added(hub_spec *s) {
    json_t *list;
    TRY(hub_list(s->root, "added_tokens", &list));
    for (size_t i = 0; i < json_array_size(list); i++) {
        hub_added a = {0};
        const json_t *token = json_array_get(list, i);
        TRY(hub_id(json_object_get(token, "id"), "added_tokens: an id", &a.id));
        TRY(read_added_token(s, token, &a));
    }
    return WEFT_OK;
}

/* The config's "added_tokens_decoder": {"id": token}. The file's own tokens are the ones that
 * count. */
static weft_status read_late(hub_spec *s) {
    json_t *late;
    TRY(hub_object(s->config, "added_tokens_decoder", &late));
    const char *key;
    json_t *token;
    json_object_foreach(late, key, token) {
        char *end;
        long id = strtol(key, &end, 10);
        REQUIRE(end != key && !*end && id >= 0 && id < HUB_MAX_TOKENS, WEFT_FORMAT,
                "tokenizer_config.json: added_tokens_decoder: \"%.40s\" is no token's id", key);
        hub_added a = {.id = (int32_t)id, .is_late = true};
        TRY(read_added_token(s, token, &a));
    }
    return WEFT_OK;
}

/* ---- the model's vocabulary -------------------------------------------------------------------
 */

typedef struct entry {
    token_text text;
    int32_t id;
    double score;
} entry;

/* {"text": id}, or for Unigram [["text", score]] where the place is the id. */
static weft_status read_scored(const json_t *list, entry *entries) {
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *pair = json_array_get(list, i), *text = json_array_get(pair, 0),
                     *score = json_array_get(pair, 1);
        REQUIRE(json_array_size(pair) == 2 && json_is_string(text) && json_is_number(score),
                WEFT_FORMAT, "model: vocab: entry %zu is no pair of a text and a score", i);
        entries[i] = (entry){{json_string_value(text), json_string_length(text)},
                             (int32_t)i,
                             json_number_value(score)};
        REQUIRE(isfinite(entries[i].score), WEFT_FORMAT,
                "model: vocab: the score of entry %zu is not a number", i);
    }
    return WEFT_OK;
}

static weft_status read_numbered(json_t *object, entry *entries) {
    size_t n = 0;
    for (void *at = json_object_iter(object); at; at = json_object_iter_next(object, at)) {
        entry *e = &entries[n++];
        e->text = (token_text){json_object_iter_key(at), json_object_iter_key_len(at)};
        const json_t *id = json_object_iter_value(at);
        weft_status status = hub_id(id, "the id", &e->id);
        if (status != WEFT_OK) return error_prefix(status, "model: vocab: \"%.40s\"", e->text.data);
    }
    return WEFT_OK;
}

static weft_status fill_model(hub_spec *s, const entry *entries, size_t n) {
    TRY(map_reserve(&s->ids, n));
    for (size_t i = 0; i < n; i++) {
        const entry *e = &entries[i];
        REQUIRE(!s->origin[e->id], WEFT_FORMAT,
                "model: vocab: \"%.40s\" and \"%.40s\" have the same id %d", s->texts[e->id].data,
                e->text.data, e->id);
        s->texts[e->id] = e->text;
        s->origin[e->id] = HUB_MODEL;
        if (s->scores) s->scores[e->id] = e->score;
        TRY(map_set(&s->ids, e->text.data, e->text.n, (uint32_t)e->id)); /* the last one counts */
    }
    return WEFT_OK;
}

static weft_status check_added(const hub_spec *s, const hub_added *a) {
    uint32_t known;
    if (s->origin[a->id] & HUB_ADDED)
        return error_set(WEFT_FORMAT, "added_tokens: \"%.40s\" and \"%.40s\" have the same id %d",
                         s->texts[a->id].data, a->text.data, a->id);
    if (!map_get(&s->ids, a->text.data, a->text.n, &known)) {
        REQUIRE(!s->origin[a->id], WEFT_FORMAT,
                "added_tokens: \"%.40s\" has the id %d, which is \"%.40s\" in the vocabulary",
                a->text.data, a->id, s->texts[a->id].data);
        return WEFT_OK;
    }
    REQUIRE(known == (uint32_t)a->id, WEFT_FORMAT,
            "added_tokens: \"%.40s\" has the id %d, but %u in the vocabulary", a->text.data, a->id,
            known);
    return WEFT_OK;
}

static weft_status fill_added(hub_spec *s) {
    size_t n = 0;
    for (size_t i = 0; i < s->n_added; i++) {
        hub_added *a = &s->added[i];
        weft_status status = check_added(s, a);
        if (status != WEFT_OK && a->is_late) continue;
        TRY(status);
        s->texts[a->id] = a->text;
        s->origin[a->id] |= HUB_ADDED;
        TRY(map_set(&s->added_texts, a->text.data, a->text.n, (uint32_t)n));
        s->added[n++] = *a;
    }
    s->n_added = n;
    return WEFT_OK;
}

static weft_status fill_gaps(hub_spec *s) {
    for (size_t i = 0; i < s->n_tokens; i++) {
        if (s->origin[i]) continue;
        char text[32];
        int n = snprintf(text, sizeof text, "[PAD%zu]", i);
        char *copy = arena_string(&s->arena, text, (size_t)n);
        if (!copy) return WEFT_NO_MEMORY;
        s->texts[i] = (token_text){copy, (size_t)n};
    }
    return WEFT_OK;
}

static weft_status fill(hub_spec *s, const entry *entries, size_t n, size_t n_vocab) {
    size_t n_ids = 0;
    for (size_t i = 0; i < n; i++)
        if ((size_t)entries[i].id >= n_ids) n_ids = (size_t)entries[i].id + 1;
    for (size_t i = 0; i < s->n_added; i++)
        if ((size_t)s->added[i].id >= n_ids) n_ids = (size_t)s->added[i].id + 1;
    REQUIRE(n_ids, WEFT_FORMAT, "model: the vocabulary is empty");
    REQUIRE(n_ids <= 2 * (n + s->n_added) + MAX_GAP, WEFT_LIMIT,
            "model: vocab: %zu tokens have ids up to %zu", n + s->n_added, n_ids - 1);
    s->n_tokens = n_ids < n_vocab ? n_vocab : n_ids;
    s->texts = arena_alloc(&s->arena, s->n_tokens * sizeof *s->texts);
    s->origin = arena_alloc(&s->arena, s->n_tokens);
    if (s->model == MODEL_UNIGRAM)
        s->scores = arena_alloc(&s->arena, s->n_tokens * sizeof *s->scores);
    if (!s->texts || !s->origin || (s->model == MODEL_UNIGRAM && !s->scores)) return WEFT_NO_MEMORY;
    TRY(fill_model(s, entries, n));
    TRY(fill_added(s));
    return fill_gaps(s);
}

/* The type of the model: older files leave it to what fields there are. */
static weft_status find_model(hub_spec *s, const json_t **model) {
    static const char *const names[] = {"BPE", "WordPiece", "WordLevel", "Unigram", NULL};
    json_t *object;
    TRY(hub_object(s->root, "model", &object));
    REQUIRE(object, WEFT_FORMAT, "model is missing");
    int type = json_object_get(object, "merges")                      ? MODEL_BPE
               : json_is_array(json_object_get(object, "vocab"))      ? MODEL_UNIGRAM
               : json_object_get(object, "continuing_subword_prefix") ? MODEL_WORDPIECE
                                                                      : MODEL_WORDLEVEL;
    weft_status status = hub_choice(object, "type", names, &type);
    if (status != WEFT_OK) return error_prefix(status, "model");
    s->model = (hub_model_type)type;
    *model = object;
    return WEFT_OK;
}

weft_status hub_read_vocab(hub_spec *s, size_t n_vocab) {
    const json_t *model = NULL;
    TRY(find_model(s, &model));
    TRY(read_added(s));
    if (s->config) TRY(read_late(s));
    json_t *vocab = json_object_get(model, "vocab");
    bool is_list = s->model == MODEL_UNIGRAM;
    REQUIRE(is_list ? json_is_array(vocab) : json_is_object(vocab), WEFT_FORMAT,
            "model: vocab is no %s", is_list ? "list" : "object");
    size_t n = is_list ? json_array_size(vocab) : json_object_size(vocab);
    REQUIRE(n < HUB_MAX_TOKENS && n_vocab <= HUB_MAX_TOKENS, WEFT_LIMIT,
            "model: vocab: more than %d tokens", HUB_MAX_TOKENS);
    entry *entries = mem_array(n, sizeof *entries);
    if (!entries) return WEFT_NO_MEMORY;
    weft_status status = is_list ? read_scored(vocab, entries) : read_numbered(vocab, entries);
    if (status == WEFT_OK) status = fill(s, entries, n, n_vocab);
    mem_free(entries);
    return status;
}
#endif
