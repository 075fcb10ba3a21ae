/* Hugging Face folders as models: config.json, the tokenizer's files and safetensors become a GGUF
 * file in memory, so that loading, info, converting and quantising know one thing only. Weights
 * stay in the mapped files; those whose rows GGUF wants in another order or place are gathered when
 * they are asked for. docs/formats.md says what is read.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_CHECKPOINT_CHECKPOINT_H
#define WEFT_CHECKPOINT_CHECKPOINT_H

#include "gguf/gguf.h"
#include "tokenizer/tokenizer.h"

/* Opens a folder; gguf_close closes it. A file or key that is missing, or asks for what is not
 * supported, is an error that names it. A tokenizer that GGUF cannot describe is none: the
 * file is without tokenizer keys then, and *tokenizer_problem (CHECKPOINT_PROBLEM bytes, "" = none)
 * says why. */
enum { CHECKPOINT_PROBLEM = 512 };
weft_status checkpoint_open(const char *folder, char *tokenizer_problem, gguf_file **out);

/* The same for a path that may also be a GGUF file; the path is in the message. */
weft_status checkpoint_open_path(const char *path, char *tokenizer_problem, gguf_file **out);

/* The same without weights and sizes, whatever the architecture: the tokenizer, chat templates and
 * what is recommended. A folder needs no more than tokenizer.json for it; a GGUF file is opened as
 * it is. */
weft_status checkpoint_open_vocabulary(const char *path, char *tokenizer_problem, gguf_file **out);

/* The folder's tokenizer, for a model with n_vocab rows in its embedding (0: not known). */
weft_status checkpoint_open_tokenizer(const char *folder, size_t n_vocab, tokenizer **out);

#endif
