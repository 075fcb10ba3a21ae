/* SentencePiece's precompiled character map: which short texts become which others before
 * tokenizing. The map is a Darts-clone double array (s-yata/darts-clone, include/darts.h), where a
 * unit holds a label in bits 0-7 and 31, a leaf flag in bit 8 and an offset, and the replacements,
 * texts that end in a 0 byte.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_TOKENIZER_CHARSMAP_H
#define WEFT_TOKENIZER_CHARSMAP_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "tokenizer/tokenizer.h"

/* All-zero replaces nothing. */
typedef struct charsmap {
    uint32_t *units;
    size_t n_units;
    char *replacements; /* the last byte is 0 */
    size_t n_replacements;
} charsmap;

/* Checks and copies the bytes of tokenizer.ggml.precompiled_charsmap; none make an empty map. */
weft_status charsmap_open(charsmap *m, token_text bytes);
void charsmap_close(charsmap *m);

/* An entry that text[0..n) begins with, the longest or the shortest: its length (0 = none) and its
 * replacement. */
size_t charsmap_find(const charsmap *m, const char *text, size_t n, bool shortest,
                     const char **replacement);

#endif
