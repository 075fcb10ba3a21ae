/* See str.h. SPDX-License-Identifier: MIT */
#include "base/str.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"

static weft_status make_room(str *s, size_t more) {
    REQUIRE(more < PTRDIFF_MAX - s->n - 1, WEFT_NO_MEMORY, "a string of %zu bytes is too long",
            s->n);
    void *data = s->data;
    TRY(mem_reserve(&data, &s->capacity, s->n + more + 1, 1));
    s->data = data;
    return WEFT_OK;
}

weft_status str_append(str *s, const char *bytes, size_t n) {
    TRY(make_room(s, n));
    if (n) memcpy(s->data + s->n, bytes, n);
    s->n += n;
    s->data[s->n] = 0;
    return WEFT_OK;
}

weft_status str_text_append(str *s, const char *text) { return str_append(s, text, strlen(text)); }

weft_status str_char(str *s, char c) { return str_append(s, &c, 1); }

weft_status str_format(str *s, const char *format, ...) {
    va_list args;
    va_start(args, format);
    int n = vsnprintf(NULL, 0, format, args);
    va_end(args);
    REQUIRE(n >= 0, WEFT_INVALID, "a text could not be formatted");
    TRY(make_room(s, (size_t)n));
    va_start(args, format);
    vsnprintf(s->data + s->n, (size_t)n + 1, format, args);
    va_end(args);
    s->n += (size_t)n;
    return WEFT_OK;
}

const char *str_text(const str *s) { return s->data ? s->data : ""; }

char *str_take(str *s) {
    char *text = s->data ? s->data : mem_string("");
    *s = (str){0};
    return text;
}

void str_clear(str *s) {
    s->n = 0;
    if (s->data) s->data[0] = 0;
}

void str_free(str *s) {
    mem_free(s->data);
    *s = (str){0};
}
