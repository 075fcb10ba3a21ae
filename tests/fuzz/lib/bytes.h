/* Binary inputs written as text, so that they can be read and kept in git (files *.bytes), and so
 * that a change of the text leaves lengths right.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_FUZZ_BYTES_H
#define WEFT_FUZZ_BYTES_H

#include <stdbool.h>
#include <stddef.h>

/* Words between white space, each some bytes, little-endian:
 *   "text"      with \n, \\, \" and \xHH        s"text"    its length as u64, then the text
 *   u8:1 u16:1 u32:1 u64:1 (also negative)      f32:1.5    f64:1.5
 *   pad:32      zeros to a multiple of 32       zeros:5    five zeros (most: 65536)
 *   0aff        bytes in hexadecimal            #          the rest of the line is a comment
 * The result is malloc'd. A word that is none of these gives NULL, and *n_out is where it is. */
char *bytes_read(const char *text, size_t n, size_t *n_out);

#endif
