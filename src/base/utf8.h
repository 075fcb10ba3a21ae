/* UTF-8: one decoder with one rule for bad bytes. Every byte that does not belong to a well-formed
 * character (overlong forms, surrogates and values above U+10FFFF included) stands alone as
 * UTF8_BAD.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_BASE_UTF8_H
#define WEFT_BASE_UTF8_H

#include <stddef.h>
#include <stdint.h>

enum { UTF8_BAD = -1 };

/* Decodes the character at text[0..n), n >= 1: stores the code point or UTF8_BAD and returns its
 * length in bytes (1 for a bad byte). */
int utf8_decode(const char *text, size_t n, int32_t *code);
/* Writes a code point (0..0x10FFFF, no surrogate) as 1 to 4 bytes; returns the count. */
int utf8_encode(int32_t code, char out[4]);
/* The length of the longest prefix of text[0..n) that does not end inside a character that more
 * bytes could still complete. A prefix with bad bytes counts them as complete. */
size_t utf8_complete(const char *text, size_t n);
/* Makes a 0-terminated text fit to be shown, in place: bytes that are no character, and control
 * characters other than tab and newline, become '?'. */
void utf8_tidy(char *text);

#endif
