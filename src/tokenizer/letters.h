/* Properties of characters that tokenizers ask for, over utf8proc's categories. A code may also be
 * UTF8_BAD, which has none.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_TOKENIZER_LETTERS_H
#define WEFT_TOKENIZER_LETTERS_H

#include <stdbool.h>
#include <stdint.h>

bool letter_is_space(int32_t c);       /* White_Space */
bool letter_is_word(int32_t c);        /* \w of Rust's regex: letters, marks, digits, connectors */
bool letter_is_number(int32_t c);      /* categories N* */
bool letter_is_mark(int32_t c);        /* categories M* */
bool letter_is_punctuation(int32_t c); /* categories P*, and ASCII's symbols */
/* Chinese ideographs, and what BERT's cleaning drops: control, format and private characters, 0
 * and U+FFFD (huggingface/tokenizers, normalizers/bert.rs; BERT itself also drops those that its
 * version of Unicode does not know). */
bool letter_is_chinese(int32_t c);
bool letter_is_dropped(int32_t c);
/* Lower case: one character, or two for U+0130. Returns how many. */
int letter_lower(int32_t c, int32_t out[2]);

#endif
