/* A compiled regular expression (PCRE2, over UTF-8 with Unicode's meanings), read-only and shared
 * by threads; what a thread needs beside it is its pattern_work.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_TOKENIZER_PATTERN_H
#define WEFT_TOKENIZER_PATTERN_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/str.h"

/* White_Space of Unicode's PropList.txt, as the inside of a character class: PCRE2's own \s knows
 * U+180E, which is no white space since Unicode 6.3. */
#define PATTERN_SPACES                                                                             \
    "\\t-\\r\\x20\\x85\\xA0\\x{1680}\\x{2000}-\\x{200A}\\x{2028}\\x{2029}\\x{202F}\\x{205F}\\x{"   \
    "3000}"

typedef struct pattern pattern;
typedef struct pattern_work pattern_work;

/* Compiles an expression of PCRE2's. Machine code only with `jit`, where the machine has it, and
 * without WEFT_JIT=off in the environment (for systems that forbid new code, and for valgrind); the
 * result is the same. One that PCRE2 refuses is WEFT_UNSUPPORTED. */
weft_status pattern_open(const char *expression, size_t n, bool jit, pattern **out);
void pattern_close(pattern *p);
weft_status pattern_work_open(pattern_work **out);
void pattern_work_close(pattern_work *w);

/* Finds the first match in text[at..n), valid UTF-8; what stands before `at` is seen by
 * look-behind. */
weft_status pattern_find(const pattern *p, const pattern_work *w, const char *text, size_t n,
                         size_t at, bool *found, size_t *from, size_t *to);

/* Turns an expression of Oniguruma (its Ruby syntax, which `tokenizers` uses) into one of PCRE2
 * that means the same. What has no such one is WEFT_UNSUPPORTED, named in the message. */
weft_status pattern_translate(const char *expression, size_t n, str *out);
/* Appends a text as an expression that matches just it. */
weft_status pattern_quote(const char *text, size_t n, str *out);

#endif
