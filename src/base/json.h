/* JSON as text: what a reader with whole numbers of 64 bits needs first. No parser is here.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_BASE_JSON_H
#define WEFT_BASE_JSON_H

#include "base/str.h"

/* Appends text[0..n) to *out with ".0" after each whole number that int64_t cannot hold, so that it
 * is read as a real one. Such are usual: transformers writes 10^30 for "no limit"
 * ("model_max_length"). */
weft_status json_widen(const char *text, size_t n, str *out);

#endif
