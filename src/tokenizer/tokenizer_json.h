/* Tokenizers from a tokenizer.json, the file of Hugging Face's `tokenizers` library, and the
 * description of one for a GGUF. docs/tokenizers.md says what of that file is supported.
 *
 * A tokenizer_config.json may be given beside it: it names the special tokens (bos_token, ...) and
 * may switch the begin and end marks (add_bos_token, add_eos_token). Without it the begin and end
 * tokens are those that the file's post-processor puts around a text. Settings for truncation and
 * padding are read over. Neither text is kept.
 *
 * Failure: what is no such file is WEFT_FORMAT, a part that is not supported WEFT_UNSUPPORTED; both
 * name the part ("tokenizer.json: pre_tokenizer: ...").
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_TOKENIZER_TOKENIZER_JSON_H
#define WEFT_TOKENIZER_TOKENIZER_JSON_H

#include "base/mem.h"
#include "tokenizer/tokenizer.h"

typedef struct tokenizer_json_text {
    const char *json; /* tokenizer.json */
    size_t n;
    const char *config; /* tokenizer_config.json, NULL = none */
    size_t n_config;
    size_t n_vocab; /* rows of the model's embedding: ids up to there that the file does not use
                       are unused tokens "[PADid]"; 0 = as many as the file has */
    const int32_t *ends; /* more tokens that end a text, as generation_config.json names them */
    size_t n_ends;
} tokenizer_json_text;

/* Makes the tokenizer; the caller closes it. It encodes and decodes as `tokenizers` does, but for
 * the differences that docs/tokenizers.md names. */
weft_status tokenizer_open_json(const tokenizer_json_text *text, tokenizer **out);

/* A description and the memory that it points into. */
typedef struct tokenizer_description {
    tokenizer_desc desc;
    mem_arena arena;
} tokenizer_description;

/* Describes the tokenizer as a GGUF can: desc.model is tokenizer.ggml.model, desc.pre
 * tokenizer.ggml.pre, and so on, key by key as in llm/vocabulary.c; ids that are -1 and switches
 * that are -1 have no key. tokenizer_open makes a tokenizer of it that encodes a text as the one of
 * tokenizer_open_json does. A tokenizer that no GGUF can describe so is WEFT_UNSUPPORTED, with the
 * reason. `out` is the caller's, to be freed also after a failure. */
weft_status tokenizer_describe_json(const tokenizer_json_text *text, tokenizer_description *out);
void tokenizer_description_free(tokenizer_description *d);

#endif
