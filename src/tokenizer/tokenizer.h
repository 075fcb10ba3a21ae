/* Text to token ids and back. A tokenizer is made from a plain description (filled from a GGUF by
 * llm/) or from a tokenizer.json (tokenizer_json.h). It copies what it keeps.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_TOKENIZER_TOKENIZER_H
#define WEFT_TOKENIZER_TOKENIZER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/str.h"

/* Kinds of tokens: the numbers of tokenizer.ggml.token_type. */
enum { TOKEN_NORMAL = 1, TOKEN_UNKNOWN, TOKEN_CONTROL, TOKEN_USER, TOKEN_UNUSED, TOKEN_BYTE };
/* White space that an added token swallows on its left and right. */
enum { TOKEN_STRIPS_LEFT = 1, TOKEN_STRIPS_RIGHT = 2 };

typedef struct token_text {
    const char *data;
    size_t n;
} token_text;

typedef struct tokenizer_desc {
    /* tokenizer.ggml.model: "llama" (SPM), "gpt2" (byte-level BPE), "bert", "t5" */
    const char *model;
    const char *pre; /* tokenizer.ggml.pre, NULL when absent */
    size_t n_tokens;
    const token_text *tokens;
    const float *scores;  /* n_tokens, or NULL */
    const int32_t *kinds; /* n_tokens, or NULL (all normal) */
    size_t n_merges;
    const token_text *merges;                        /* "left right" */
    int32_t bos, eos, eot, unk, sep, pad, cls, mask; /* -1 = none */
    /* 1, 0, or -1 = the model's default */
    int add_bos, add_eos, add_space_prefix, remove_extra_whitespaces;
    token_text precompiled_charsmap; /* UGM */
    const uint8_t *strips;           /* n_tokens of TOKEN_STRIPS_*, or NULL */
    bool keeps_case, keeps_accents;  /* WPM: off = text is lower-cased and loses its accents */
} tokenizer_desc;

typedef struct tokenizer tokenizer;

weft_status tokenizer_open(const tokenizer_desc *desc, tokenizer **out);
void tokenizer_close(tokenizer *t);

typedef struct token_list {
    int32_t *ids;
    size_t n, capacity; /* all-zero is empty; free with token_list_free */
} token_list;
void token_list_free(token_list *l);

enum {
    ENCODE_ADD_SPECIAL = 1,   /* BOS/EOS/CLS/SEP as the model wants them; never a second BOS */
    ENCODE_PARSE_SPECIAL = 2, /* control tokens' texts in the input become those tokens */
};
/* Appends the ids of text[0..n) to `out`, which is left as it was when this fails. Any bytes will
 * do: every byte that is no part of a well-formed UTF-8 character counts as U+FFFD. */
weft_status tokenizer_encode(const tokenizer *t, const char *text, size_t n, int flags,
                             token_list *out);

/* The bytes of one token as they appear in text (byte-level BPE undone, SPM's space mark a space).
 * Control tokens give nothing unless with_special. An id out of range is WEFT_INDEX. */
weft_status tokenizer_piece(const tokenizer *t, int32_t id, bool with_special, str *out);
/* A whole list; SPM's dummy leading space is dropped at the beginning. The bytes may end inside a
 * character. */
weft_status tokenizer_decode(const tokenizer *t, const int32_t *ids, size_t n, bool with_special,
                             str *out);

/* A streaming decoder: feed ids, get only whole UTF-8 characters; bytes that can no longer become
 * one come out as U+FFFD. All-zero is the start of a text. */
typedef struct token_stream {
    char held[4];
    int n_held;
    bool is_started;
} token_stream;
weft_status token_stream_feed(const tokenizer *t, token_stream *s, int32_t id, bool with_special,
                              str *out);
weft_status token_stream_end(token_stream *s, str *out);

size_t tokenizer_n_tokens(const tokenizer *t);
int32_t tokenizer_kind(const tokenizer *t, int32_t id);
/* the vocabulary's own spelling */
token_text tokenizer_raw(const tokenizer *t, int32_t id);
int32_t tokenizer_find(const tokenizer *t, const char *text, size_t n); /* -1 when absent */
/* True for every token that ends a text: eos, eot, and control tokens whose text is a known
 * end-of-turn marker. */
bool tokenizer_is_end(const tokenizer *t, int32_t id);
int32_t tokenizer_bos(const tokenizer *t);
int32_t tokenizer_eos(const tokenizer *t);
bool tokenizer_adds_bos(const tokenizer *t);
/* A warning for the user ("unknown pre-tokenizer X, ..."), "" when there is none. */
const char *tokenizer_warning(const tokenizer *t);

#endif
