/* A tokenizer.json, read: plain data without a trace of JSON but the texts, which stay where the
 * parser put them. From this a tokenizer is made (hub_open.c) or described (hub_describe.c).
 * Private to this folder.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_TOKENIZER_HUB_H
#define WEFT_TOKENIZER_HUB_H

#include "base/map.h"
#include "tokenizer/tokenizer_json.h"

struct json_t;

typedef enum part_stage { NORMALIZER, SPLITTER, PROCESSOR, DECODER, N_STAGES } part_stage;
typedef enum part_type {
#define PART(stage, type, name, read) type,
#include "tokenizer/hub_parts.def"
#undef PART
} part_type;

/* What becomes of the matches of a Split ("behavior"). */
typedef enum split_behavior {
    SPLIT_REMOVED,
    SPLIT_ISOLATED,
    SPLIT_WITH_PREVIOUS,
    SPLIT_WITH_NEXT,
    SPLIT_CONTIGUOUS
} split_behavior;

/* Before which texts Metaspace puts its mark ("prepend_scheme"). */
typedef enum prepend_scheme { PREPEND_ALWAYS, PREPEND_FIRST, PREPEND_NEVER } prepend_scheme;

/* Where a token comes from: nowhere (made up to fill a gap), the model's vocabulary, added_tokens
 * or both. */
enum { HUB_UNUSED = 0, HUB_MODEL = 1, HUB_ADDED = 2 };
enum { TEMPLATE_TEXT = -1 }; /* in a template's ids: here the text's own stand */

/* One step of a stage. Which fields count depends on its type. */
typedef struct part {
    part_type type;
    const char *name;   /* its type as the file spells it */
    token_text pattern; /* Split, Replace */
    bool is_regex;
    /* Replace: what is put instead; Prepend: the text; Metaspace: its mark; CharDelimiterSplit,
     * decoders' Strip: the character; WordPiece: the prefix; BPEDecoder: the suffix; CTC: the token
     * that separates; Precompiled: the map */
    token_text content;
    token_text delimiter; /* CTC */
    split_behavior behavior;
    prepend_scheme scheme;
    bool inverts, splits, adds_space, uses_regex, is_individual, left, right;
    bool cleans, separates_chinese, strips_accents, lowercases;
    size_t start, stop; /* decoders' Strip; FixedLength: start */
    int32_t *ids;       /* processors: the template */
    size_t n_ids;
} part;

typedef struct part_list {
    part *items;
    size_t n, capacity;
} part_list;

typedef struct hub_added {
    int32_t id;
    token_text text;
    bool is_special, is_single_word, strips_left, strips_right, is_normalized;
    bool is_late; /* from the config: counts only where the file leaves room for it */
} hub_added;

typedef struct hub_merge {
    int32_t left, right, merged;
} hub_merge;

typedef enum hub_model_type {
    MODEL_BPE,
    MODEL_WORDPIECE,
    MODEL_WORDLEVEL,
    MODEL_UNIGRAM
} hub_model_type;

typedef struct hub_spec {
    struct json_t *root, *config; /* hold the texts */
    mem_arena arena;              /* what is not there */
    part_list stages[N_STAGES];
    bool has_decoder; /* without one, decoding puts spaces between tokens */

    hub_model_type model;
    token_text prefix, suffix; /* continuing_subword_prefix, end_of_word_suffix */
    bool byte_fallback, fuses_unknown, ignores_merges;
    int32_t unknown;       /* -1 = none */
    token_text lost;       /* the unknown token's text when the vocabulary lacks it, else empty */
    size_t max_characters; /* of WordPiece's words */

    size_t n_tokens;   /* ids in all, unused ones included */
    token_text *texts; /* of every id */
    uint8_t *origin;   /* of every id: HUB_... */
    double *scores;    /* Unigram, else NULL */
    map ids;           /* the model's vocabulary: text -> id */
    hub_merge *merges;
    size_t n_merges;
    hub_added *added; /* in the order of the file */
    size_t n_added, added_capacity;
    map added_texts; /* text -> place in `added` */

    int32_t
        *around; /* what the post-processor makes of a text: ids and one TEMPLATE_TEXT or more */
    size_t n_around;

    /* special tokens, -1 = none, and the config's switches, -1 = it does not say */
    int32_t bos, eos, unk, sep, pad, cls, mask;
    int add_bos, add_eos;
} hub_spec;

/* Reads and checks both files. The spec is the caller's, to be freed also after a failure; the
 * memory of `text` must outlive it. */
weft_status hub_read(const tokenizer_json_text *text, hub_spec *out);
void hub_spec_free(hub_spec *s);
/* The id of a text, as the file's reader sees it: an added token, else one of the model; -1. */
int32_t hub_find(const hub_spec *s, token_text text);
/* The model's token "<0xNN>" for a byte, -1. */
int32_t hub_byte_token(const hub_spec *s, uint8_t byte);

#ifdef WEFT_HAVE_JANSSON
#include <jansson.h>

/* hub_fields.c: fields of an object with the type that is expected; a field that is absent or null
 * leaves *out as it is. Errors name the field. */
weft_status hub_bool(const json_t *object, const char *key, bool *out);
weft_status hub_text(const json_t *object, const char *key, token_text *out);
weft_status hub_count(const json_t *object, const char *key, size_t most, size_t *out);
weft_status hub_object(const json_t *object, const char *key, json_t **out);
weft_status hub_list(const json_t *object, const char *key, json_t **out);
/* A token id: a whole number, 0 <= id < HUB_MAX_TOKENS. */
enum { HUB_MAX_TOKENS = 1 << 22 };
weft_status hub_id(const json_t *value, const char *what, int32_t *out);
/* One of `names`, by its number. */
weft_status hub_choice(const json_t *object, const char *key, const char *const *names, int *out);

/* hub_parts.c, hub_vocab.c, hub_model.c, hub_config.c: what hub_read consists of, in this order. */
weft_status hub_read_parts(hub_spec *s);
weft_status hub_read_vocab(hub_spec *s, size_t n_vocab);
weft_status hub_read_model(hub_spec *s);
weft_status hub_read_config(hub_spec *s);
#endif

#endif
