/* What a tokenizer.json's model has beside its vocabulary: merges, the unknown token, switches.
 * See hub.h.
 * SPDX-License-Identifier: MIT */
#ifdef WEFT_HAVE_JANSSON
#include "tokenizer/hub.h"

#include <string.h>

enum { MAX_CHARACTERS = 1 << 20 };

static weft_status find_part(const hub_spec *s, size_t rank, const char *text, size_t n,
                             int32_t *id) {
    uint32_t found;
    REQUIRE(map_get(&s->ids, text, n, &found), WEFT_FORMAT,
            "merge %zu: the vocabulary lacks \"%.*s\"", rank, (int)(n < 60 ? n : 60), text);
    *id = (int32_t)found;
    return WEFT_OK;
}

/* A merge is "left right" or ["left", "right"]. */
static weft_status read_merge(const hub_spec *s, const json_t *merge, size_t rank, str *whole,
                              hub_merge *out) {
    token_text left, right;
    const json_t *first = json_array_get(merge, 0), *second = json_array_get(merge, 1);
    if (json_array_size(merge) == 2 && json_is_string(first) && json_is_string(second)) {
        left = (token_text){json_string_value(first), json_string_length(first)};
        right = (token_text){json_string_value(second), json_string_length(second)};
    } else {
        const char *text = json_string_value(merge);
        size_t n = json_string_length(merge);
        const char *space = text ? memchr(text, ' ', n) : NULL;
        REQUIRE(space && !memchr(space + 1, ' ', (size_t)(text + n - space - 1)), WEFT_FORMAT,
                "merge %zu is not two texts", rank);
        left = (token_text){text, (size_t)(space - text)};
        right = (token_text){space + 1, n - left.n - 1};
    }
    TRY(find_part(s, rank, left.data, left.n, &out->left));
    TRY(find_part(s, rank, right.data, right.n, &out->right));
    REQUIRE(right.n >= s->prefix.n, WEFT_FORMAT, "merge %zu: \"%.60s\" lacks the prefix \"%.20s\"",
            rank, right.data, s->prefix.data);
    str_clear(whole);
    TRY(str_append(whole, left.data, left.n));
    TRY(str_append(whole, right.data + s->prefix.n, right.n - s->prefix.n));
    return find_part(s, rank, str_text(whole), whole->n, &out->merged);
}

static weft_status read_merges(hub_spec *s, const json_t *model) {
    json_t *list;
    TRY(hub_list(model, "merges", &list));
    REQUIRE(list, WEFT_FORMAT, "merges are missing");
    size_t n = json_array_size(list), first = 0;
    if (n) { /* "#version: 0.2", the head of the older merges.txt */
        const char *head = json_string_value(json_array_get(list, 0));
        first = head && !strncmp(head, "#version", 8);
    }
    s->merges = arena_alloc(&s->arena, (n + 1) * sizeof *s->merges);
    if (!s->merges) return WEFT_NO_MEMORY;
    str whole = {0};
    weft_status status = WEFT_OK;
    for (size_t i = first; i < n && status == WEFT_OK; i++)
        status = read_merge(s, json_array_get(list, i), i, &whole, &s->merges[s->n_merges++]);
    str_free(&whole);
    return status;
}

static weft_status read_unknown(hub_spec *s, const json_t *model) {
    token_text text = {0};
    TRY(hub_text(model, "unk_token", &text));
    uint32_t id;
    if (!text.data) return WEFT_OK;
    if (map_get(&s->ids, text.data, text.n, &id)) s->unknown = (int32_t)id;
    else s->lost = text;
    return WEFT_OK;
}

static weft_status read_bpe(hub_spec *s, const json_t *model) {
    const json_t *dropout = json_object_get(model, "dropout");
    bool has_dropout = dropout && !json_is_null(dropout) && !(json_number_value(dropout) == 0);
    REQUIRE(!has_dropout, WEFT_UNSUPPORTED, "dropout (merges left out at random) is not supported");
    TRY(read_unknown(s, model));
    TRY(hub_text(model, "continuing_subword_prefix", &s->prefix));
    TRY(hub_text(model, "end_of_word_suffix", &s->suffix));
    TRY(hub_bool(model, "fuse_unk", &s->fuses_unknown));
    TRY(hub_bool(model, "byte_fallback", &s->byte_fallback));
    TRY(hub_bool(model, "ignore_merges", &s->ignores_merges));
    return read_merges(s, model);
}

static weft_status read_wordpiece(hub_spec *s, const json_t *model) {
    s->prefix = (token_text){"##", 2};
    s->max_characters = 100;
    TRY(read_unknown(s, model));
    TRY(hub_text(model, "continuing_subword_prefix", &s->prefix));
    return hub_count(model, "max_input_chars_per_word", MAX_CHARACTERS, &s->max_characters);
}

static weft_status read_unigram(hub_spec *s, const json_t *model) {
    TRY(hub_bool(model, "byte_fallback", &s->byte_fallback));
    const json_t *id = json_object_get(model, "unk_id");
    if (!id || json_is_null(id)) return WEFT_OK;
    TRY(hub_id(id, "unk_id", &s->unknown));
    REQUIRE((size_t)s->unknown < s->n_tokens && s->origin[s->unknown] & HUB_MODEL, WEFT_FORMAT,
            "unk_id is %d, which is not in the vocabulary", s->unknown);
    return WEFT_OK;
}

weft_status hub_read_model(hub_spec *s) {
    const json_t *model = json_object_get(s->root, "model");
    weft_status status;
    s->unknown = -1;
    switch (s->model) {
    case MODEL_BPE: status = read_bpe(s, model); break;
    case MODEL_WORDPIECE: status = read_wordpiece(s, model); break;
    case MODEL_UNIGRAM: status = read_unigram(s, model); break;
    default: status = read_unknown(s, model); break;
    }
    return status == WEFT_OK ? WEFT_OK : error_prefix(status, "model");
}
#endif
