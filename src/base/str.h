/* A growing byte string. All-zero is empty. `data` is always 0-terminated once anything was
 * appended; use str_text() for a C string that is never NULL. SPDX-License-Identifier: MIT */
#ifndef WEFT_BASE_STR_H
#define WEFT_BASE_STR_H

#include <stddef.h>

#include "base/error.h"

typedef struct str {
    char *data;
    size_t n, capacity;
} str;

weft_status str_append(str *s, const char *bytes, size_t n);
weft_status str_text_append(str *s, const char *text);
weft_status str_char(str *s, char c);
weft_status str_format(str *s, const char *format, ...) __attribute__((format(printf, 2, 3)));
const char *str_text(const str *s);
/* the C string, owned by the caller (mem_free); the str is empty afterwards */
char *str_take(str *s);
void str_clear(str *s); /* keeps the memory */
void str_free(str *s);

#endif
