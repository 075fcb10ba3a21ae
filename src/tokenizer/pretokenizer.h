/* Splits text into words by the rows of pretokenizers.def, with PCRE2.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_TOKENIZER_PRETOKENIZER_H
#define WEFT_TOKENIZER_PRETOKENIZER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "tokenizer/pattern.h"

enum {
    PRE_WHOLE_WORDS = 1,    /* a word that is a token is not merged ("ignore_merges") */
    PRE_ADDS_BOS = 2,       /* BOS by default */
    PRE_CHARACTERS = 4,     /* merges over characters, U+2581 for a space, not over bytes */
    PRE_WHOLE_NEWLINES = 8, /* a run of newlines that is a token is not merged */
};

typedef struct pretokenizer pretokenizer;

/* The flags of a name; false when no row has it. */
bool pretokenizer_find(const char *name, int *flags);
/* Compiles the expressions of a name that pretokenizer_find knows; jit: see pattern_open. */
weft_status pretokenizer_open(const char *name, bool jit, pretokenizer **out);
void pretokenizer_close(pretokenizer *p);

typedef weft_status (*pre_word)(void *context, const char *word, size_t n);
/* Calls word() for every piece of text[0..n), in order; together they are the text. The text is
 * valid UTF-8. */
weft_status pretokenizer_split(const pretokenizer *p, pattern_work *w, const char *text, size_t n,
                               pre_word word, void *context);

/* GPT-2's expression, as the byte-level pre-tokenizer of a tokenizer.json has it built in. */
const char *pretokenizer_gpt2(void);
/* The first name whose rule cuts with these expressions as they are published (whose rows may spell
 * them otherwise) over bytes, and whose flag PRE_WHOLE_WORDS is that of `flags`; else NULL. */
const char *pretokenizer_match(const char *const *expressions, size_t n, int flags);

/* The i-th row, NULL past the end: its name and its expressions (for tests and listings). */
const char *pretokenizer_name(size_t i);

#endif
