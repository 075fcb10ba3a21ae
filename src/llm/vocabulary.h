/* The bridge from a GGUF's tokenizer.ggml.* keys to a tokenizer.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_LLM_VOCABULARY_H
#define WEFT_LLM_VOCABULARY_H

#include "gguf/gguf.h"
#include "grammar/grammar.h"
#include "tokenizer/tokenizer.h"

/* Makes the file's tokenizer; the caller closes it, and it does not keep the file. A missing or
 * wrong key is WEFT_FORMAT, an unknown kind of tokenizer WEFT_UNSUPPORTED; both name the key. A
 * file without a key for a special token has none: no BOS is invented. */
weft_status vocabulary_open(const gguf_file *f, tokenizer **out);

/* Whether a path is a tokenizer.json (a file whose name ends in .json), or a folder that has one
 * and no model. */
bool vocabulary_is_json(const char *path);
/* Makes the tokenizer of such a path, with the tokenizer_config.json beside it if there is one. */
weft_status vocabulary_open_json(const char *path, tokenizer **out);

/* The tokenizer's tokens as grammars see them: by the bytes they stand for (constrain.c). */
weft_status vocabulary_for_grammar(const tokenizer *t, grammar_vocab **out);

#endif
