/* The four stages of a tokenizer.json around its model: normalizer, pre_tokenizer, post_processor,
 * decoder. Each is nothing, one part, or a Sequence of parts, which is flattened: a Sequence inside
 * one means the same as its parts. Types are looked up in hub_parts.def. See hub.h.
 * SPDX-License-Identifier: MIT */
#ifdef WEFT_HAVE_JANSSON
#include "tokenizer/hub.h"

#include <string.h>

#include "base/utf8.h"

enum { MAX_PARTS = 64, MAX_NESTING = 16, MAX_TEMPLATE = 4096, MAX_LENGTH = 1 << 30 };

typedef struct reader {
    hub_spec *spec;
    const json_t *object;
    part *part;
} reader;

static weft_status read_nothing(reader *r) {
    (void)r;
    return WEFT_OK;
}

static weft_status read_sides(reader *r) {
    r->part->left = r->part->right = true;
    TRY(hub_bool(r->object, "strip_left", &r->part->left));
    return hub_bool(r->object, "strip_right", &r->part->right);
}

/* {"String": text} or {"Regex": text} */
static weft_status read_pattern(reader *r) {
    json_t *pattern;
    TRY(hub_object(r->object, "pattern", &pattern));
    REQUIRE(pattern, WEFT_FORMAT, "the pattern is missing");
    TRY(hub_text(pattern, "Regex", &r->part->pattern));
    r->part->is_regex = r->part->pattern.data != NULL;
    if (!r->part->is_regex) TRY(hub_text(pattern, "String", &r->part->pattern));
    REQUIRE(r->part->pattern.data, WEFT_UNSUPPORTED,
            "the pattern is neither a \"String\" nor a \"Regex\"");
    return WEFT_OK;
}

static weft_status read_content(reader *r, const char *key) {
    TRY(hub_text(r->object, key, &r->part->content));
    REQUIRE(r->part->content.data, WEFT_FORMAT, "%s is missing", key);
    return WEFT_OK;
}

static weft_status read_character(reader *r, const char *key) {
    TRY(read_content(r, key));
    int32_t code;
    token_text text = r->part->content;
    bool is_one = text.n && (size_t)utf8_decode(text.data, text.n, &code) == text.n;
    REQUIRE(is_one, WEFT_FORMAT, "%s is not one character", key);
    return WEFT_OK;
}

static weft_status read_replace(reader *r) {
    TRY(read_pattern(r));
    return read_content(r, "content");
}

static weft_status read_prepend(reader *r) { return read_content(r, "prepend"); }

static weft_status read_bert(reader *r) {
    part *p = r->part;
    p->cleans = p->separates_chinese = p->lowercases = true;
    TRY(hub_bool(r->object, "clean_text", &p->cleans));
    TRY(hub_bool(r->object, "handle_chinese_chars", &p->separates_chinese));
    TRY(hub_bool(r->object, "lowercase", &p->lowercases));
    p->strips_accents = p->lowercases;
    return hub_bool(r->object, "strip_accents", &p->strips_accents);
}

static int base64_digit(char c) {
    if (c >= 'A' && c <= 'Z') return c - 'A';
    if (c >= 'a' && c <= 'z') return c - 'a' + 26;
    if (c >= '0' && c <= '9') return c - '0' + 52;
    return c == '+' ? 62 : c == '/' ? 63 : -1;
}

static weft_status read_precompiled(reader *r) {
    const char *key = "precompiled_charsmap";
    TRY(read_content(r, key));
    token_text text = r->part->content;
    char *bytes = arena_alloc(&r->spec->arena, text.n / 4 * 3 + 3);
    if (!bytes) return WEFT_NO_MEMORY;
    size_t n = 0, n_digits = text.n;
    while (n_digits && text.data[n_digits - 1] == '=') n_digits--;
    uint32_t held = 0;
    for (size_t i = 0; i < n_digits; i++) {
        int digit = base64_digit(text.data[i]);
        REQUIRE(digit >= 0, WEFT_FORMAT, "%s is no base64", key);
        held = held << 6 | (uint32_t)digit;
        if (i % 4) bytes[n++] = (char)(held >> (6 - 2 * (i % 4)));
    }
    REQUIRE(text.n % 4 == 0, WEFT_FORMAT, "%s is no base64", key);
    r->part->content = (token_text){bytes, n};
    return WEFT_OK;
}

static weft_status read_behavior(reader *r) {
    static const char *const names[] = {"Removed",        "Isolated",   "MergedWithPrevious",
                                        "MergedWithNext", "Contiguous", NULL};
    int behavior = SPLIT_ISOLATED;
    TRY(hub_choice(r->object, "behavior", names, &behavior));
    r->part->behavior = (split_behavior)behavior;
    return WEFT_OK;
}

static weft_status read_byte_level(reader *r) {
    r->part->adds_space = r->part->uses_regex = true;
    TRY(hub_bool(r->object, "add_prefix_space", &r->part->adds_space));
    return hub_bool(r->object, "use_regex", &r->part->uses_regex);
}

static weft_status read_split(reader *r) {
    TRY(read_pattern(r));
    REQUIRE(json_object_get(r->object, "behavior"), WEFT_FORMAT, "behavior is missing");
    TRY(read_behavior(r));
    return hub_bool(r->object, "invert", &r->part->inverts);
}

static weft_status read_metaspace(reader *r) {
    static const char *const names[] = {"always", "first", "never", NULL};
    int scheme = PREPEND_ALWAYS;
    bool adds = true; /* older files' way to say "never" */
    TRY(read_character(r, "replacement"));
    TRY(hub_choice(r->object, "prepend_scheme", names, &scheme));
    TRY(hub_bool(r->object, "add_prefix_space", &adds));
    r->part->splits = true;
    r->part->scheme = adds ? (prepend_scheme)scheme : PREPEND_NEVER;
    return hub_bool(r->object, "split", &r->part->splits);
}

static weft_status read_digits(reader *r) {
    return hub_bool(r->object, "individual_digits", &r->part->is_individual);
}

static weft_status read_punctuation(reader *r) { return read_behavior(r); }
static weft_status read_delimiter(reader *r) { return read_character(r, "delimiter"); }

static weft_status read_length(reader *r) {
    r->part->start = 5;
    TRY(hub_count(r->object, "length", MAX_LENGTH, &r->part->start));
    REQUIRE(r->part->start, WEFT_FORMAT, "length is 0");
    return WEFT_OK;
}

static weft_status read_wordpiece(reader *r) {
    r->part->content = (token_text){"##", 2};
    r->part->cleans = true;
    TRY(hub_text(r->object, "prefix", &r->part->content));
    return hub_bool(r->object, "cleanup", &r->part->cleans);
}

static weft_status read_suffix(reader *r) {
    r->part->content = (token_text){"</w>", 4};
    return hub_text(r->object, "suffix", &r->part->content);
}

static weft_status read_strip(reader *r) {
    TRY(read_character(r, "content"));
    TRY(hub_count(r->object, "start", MAX_LENGTH, &r->part->start));
    return hub_count(r->object, "stop", MAX_LENGTH, &r->part->stop);
}

static weft_status read_ctc(reader *r) {
    r->part->content = (token_text){"<pad>", 5};
    r->part->delimiter = (token_text){"|", 1};
    r->part->cleans = true;
    TRY(hub_text(r->object, "pad_token", &r->part->content));
    TRY(hub_text(r->object, "word_delimiter_token", &r->part->delimiter));
    return hub_bool(r->object, "cleanup", &r->part->cleans);
}

static weft_status add_template_id(part *p, int32_t id) {
    REQUIRE(p->n_ids < MAX_TEMPLATE, WEFT_LIMIT, "more than %d tokens stand around a text",
            MAX_TEMPLATE);
    p->ids[p->n_ids++] = id;
    return WEFT_OK;
}

/* {"id": "[CLS]", "ids": [101], "tokens": ["[CLS]"]} of the template's special_tokens */
static weft_status add_template_token(part *p, const json_t *tokens, token_text name) {
    const json_t *token = json_object_get(tokens, name.data);
    REQUIRE(json_is_object(token), WEFT_FORMAT, "special_tokens lacks \"%.40s\"", name.data);
    json_t *ids;
    TRY(hub_list(token, "ids", &ids));
    REQUIRE(ids, WEFT_FORMAT, "special_tokens: \"%.40s\" has no ids", name.data);
    for (size_t i = 0; i < json_array_size(ids); i++) {
        int32_t id;
        TRY(hub_id(json_array_get(ids, i), "special_tokens: an id", &id));
        TRY(add_template_id(p, id));
    }
    return WEFT_OK;
}

static weft_status read_template(reader *r) {
    json_t *pieces, *tokens;
    part *p = r->part;
    TRY(hub_list(r->object, "single", &pieces));
    REQUIRE(pieces, WEFT_FORMAT, "single is missing");
    TRY(hub_object(r->object, "special_tokens", &tokens));
    p->ids = arena_alloc(&r->spec->arena, MAX_TEMPLATE * sizeof *p->ids);
    if (!p->ids) return WEFT_NO_MEMORY;
    for (size_t i = 0; i < json_array_size(pieces); i++) {
        json_t *text, *special;
        token_text id = {0};
        const json_t *piece = json_array_get(pieces, i);
        TRY(hub_object(piece, "Sequence", &text));
        TRY(hub_object(piece, "SpecialToken", &special));
        REQUIRE(text || special, WEFT_UNSUPPORTED,
                "single: a piece is neither a \"Sequence\" nor a \"SpecialToken\"");
        TRY(hub_text(text ? text : special, "id", &id));
        REQUIRE(id.data, WEFT_FORMAT, "single: a piece has no id");
        REQUIRE(!text || (id.n == 1 && *id.data == 'A'), WEFT_UNSUPPORTED,
                "single: there is no text \"%.20s\"", id.data);
        if (text) TRY(add_template_id(p, TEMPLATE_TEXT));
        else TRY(add_template_token(p, tokens, id));
    }
    return WEFT_OK;
}

/* "cls": ["[CLS]", 101] */
static weft_status read_mark(reader *r, const char *key, int32_t *id) {
    json_t *pair;
    TRY(hub_list(r->object, key, &pair));
    REQUIRE(pair && json_array_size(pair) == 2, WEFT_FORMAT, "%s is no pair of a text and an id",
            key);
    return hub_id(json_array_get(pair, 1), key, id);
}

static weft_status read_cls_sep(reader *r) {
    part *p = r->part;
    p->ids = arena_alloc(&r->spec->arena, 3 * sizeof *p->ids);
    if (!p->ids) return WEFT_NO_MEMORY;
    TRY(read_mark(r, "cls", &p->ids[0]));
    p->ids[1] = TEMPLATE_TEXT;
    TRY(read_mark(r, "sep", &p->ids[2]));
    p->n_ids = 3;
    return WEFT_OK;
}

static const struct {
    part_stage stage;
    part_type type;
    const char *name;
    weft_status (*read)(reader *r);
} kinds[] = {
#define PART(stage, type, name, read) {stage, type, name, read},
#include "tokenizer/hub_parts.def"
#undef PART
};

static const struct {
    const char *key, *sequence; /* in the file; of a Sequence */
} stages[N_STAGES] = {{"normalizer", "normalizers"},
                      {"pre_tokenizer", "pretokenizers"},
                      {"post_processor", "processors"},
                      {"decoder", "decoders"}};

static weft_status add_part(hub_spec *s, part_stage stage, const json_t *object, token_text name) {
    part_list *l = &s->stages[stage];
    REQUIRE(l->n < MAX_PARTS, WEFT_LIMIT, "more than %d parts", MAX_PARTS);
    void *items = l->items;
    weft_status status = mem_reserve(&items, &l->capacity, l->n + 1, sizeof *l->items);
    l->items = items;
    TRY(status);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (kinds[i].stage != stage || strcmp(kinds[i].name, name.data) != 0) continue;
        part *p = &l->items[l->n];
        *p = (part){.type = kinds[i].type, .name = kinds[i].name};
        status = kinds[i].read(&(reader){s, object, p});
        if (status != WEFT_OK) return error_prefix(status, "%s", p->name);
        l->n++;
        return WEFT_OK;
    }
    return error_set(WEFT_UNSUPPORTED, "the type \"%.60s\" is not supported", name.data);
}

/* The depth of the recursion is bounded by MAX_NESTING. */
static weft_status read_stage(hub_spec *s, part_stage stage, const json_t *object, int depth) {
    REQUIRE(json_is_object(object), WEFT_FORMAT, "a part is no object");
    token_text name = {0};
    TRY(hub_text(object, "type", &name));
    REQUIRE(name.data, WEFT_FORMAT, "a part has no type");
    if (strcmp(name.data, "Sequence") != 0) return add_part(s, stage, object, name);
    REQUIRE(depth < MAX_NESTING, WEFT_LIMIT, "Sequences are nested deeper than %d", MAX_NESTING);
    json_t *list;
    TRY(hub_list(object, stages[stage].sequence, &list));
    REQUIRE(list, WEFT_FORMAT, "Sequence: %s is missing", stages[stage].sequence);
    for (size_t i = 0; i < json_array_size(list); i++)
        TRY(read_stage(s, stage, json_array_get(list, i), depth + 1));
    return WEFT_OK;
}

weft_status hub_read_parts(hub_spec *s) {
    for (part_stage stage = 0; stage < N_STAGES; stage++) {
        const json_t *object = json_object_get(s->root, stages[stage].key);
        if (!object || json_is_null(object)) continue;
        weft_status status = read_stage(s, stage, object, 0);
        if (status != WEFT_OK) return error_prefix(status, "%s", stages[stage].key);
        if (stage == DECODER) s->has_decoder = true;
    }
    return WEFT_OK;
}
#endif
