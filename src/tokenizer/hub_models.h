/* The models of a tokenizer.json: each turns one word, as the pre-tokenizer cut it, into ids.
 * Private to this folder.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_TOKENIZER_HUB_MODELS_H
#define WEFT_TOKENIZER_HUB_MODELS_H

#include "tokenizer/hub.h"
#include "tokenizer/merge.h"
#include "tokenizer/unigram.h"

/* Scratch memory of one encode call. All-zero is ready, but for the merges' cache. */
typedef struct hub_model_work {
    merge_work merge;
    unigram_work cover;
    str text;
    uint32_t *symbols;
    size_t capacity;
} hub_model_work;
void hub_model_work_free(hub_model_work *w);

typedef struct hub_model {
    /* keeps_bytes: words come as bytes, where the pre-tokenizer's last step is ByteLevel. */
    weft_status (*open)(const hub_spec *s, bool keeps_bytes, void **out);
    void (*close)(void *model); /* NULL is fine */
    /* Appends the ids of a word, n >= 1 bytes of UTF-8. */
    weft_status (*encode)(const void *model, hub_model_work *w, const char *word, size_t n,
                          token_list *out);
} hub_model;

extern const hub_model hub_bpe, hub_wordpiece, hub_wordlevel, hub_unigram;

/* An id for what no token has, or the error that there is none. */
weft_status hub_add_unknown(int32_t unknown, const char *text, size_t n, token_list *out);

#endif
