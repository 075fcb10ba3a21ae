/* What the files that describe a tokenizer.json for a GGUF share. Private to this folder.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_TOKENIZER_HUB_DESCRIBE_H
#define WEFT_TOKENIZER_HUB_DESCRIBE_H

#include "tokenizer/hub.h"

typedef struct describer {
    const hub_spec *s;
    tokenizer_desc *desc;
    mem_arena *arena;
    token_text *tokens; /* desc->tokens and desc->kinds, to be changed */
    int32_t *kinds;
} describer;

bool hub_text_is(token_text t, const char *text);
/* Makes the 256 byte tokens of that kind; false when the vocabulary lacks one. */
bool hub_mark_bytes(const describer *d);

/* hub_describe_words.c: WordPiece as "bert", Unigram as "t5". */
weft_status hub_describe_wordpiece(describer *d);
weft_status hub_describe_unigram(describer *d);

#endif
