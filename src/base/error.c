/* The thread-local message and the texts of errors.def. Messages quote files and users, so each is
 * made fit to be shown: valid UTF-8 (also where a long one is cut) without control characters, for
 * a terminal that would obey them and a JSON writer that would trip over half a character.
 * SPDX-License-Identifier: MIT */
#include "base/error.h"
#undef error_set /* see error.h: macros for static analysis alone */
#undef error_prefix
#undef error_status

#include <stdio.h>
#include <string.h>

#include "base/utf8.h"

enum { MESSAGE_BYTES = 512 };

static _Thread_local char message[MESSAGE_BYTES];
static _Thread_local weft_status last_status;

static void cut_at_character(char *text, size_t capacity) {
    size_t n = strlen(text);
    if (n + 1 < capacity) return;
    while (n > 0 && ((unsigned char)text[n - 1] & 0xC0) == 0x80) n--;
    if (n > 0 && (unsigned char)text[n - 1] >= 0xC0) n--;
    text[n] = 0;
}

/* Fits a formatted text into the message. */
static void keep(char *text, weft_status status) {
    text[MESSAGE_BYTES - 1] = 0;
    cut_at_character(text, MESSAGE_BYTES);
    utf8_tidy(text);
    memcpy(message, text, strlen(text) + 1);
    last_status = status;
}

weft_status error_set_v(weft_status status, const char *format, va_list args) {
    char text[MESSAGE_BYTES];
    vsnprintf(text, sizeof text, format, args);
    keep(text, status);
    return status;
}

weft_status error_set(weft_status status, const char *format, ...) {
    va_list args;
    va_start(args, format);
    error_set_v(status, format, args);
    va_end(args);
    return status;
}

weft_status error_prefix(weft_status status, const char *format, ...) {
    char prefix[MESSAGE_BYTES], text[2 * MESSAGE_BYTES + 2];
    va_list args;
    va_start(args, format);
    vsnprintf(prefix, sizeof prefix, format, args);
    va_end(args);
    snprintf(text, sizeof text, "%s: %s", prefix, message);
    keep(text, status);
    return status;
}

const char *error_message(void) { return message; }

weft_status error_status(void) { return last_status; }

const char *error_text(weft_status status) {
    switch (status) {
#define WEFT_STATUS(name, value, text)                                                             \
    case WEFT_##name:                                                                              \
        return text;
#include "weft/errors.def"
#undef WEFT_STATUS
    }
    return "unknown status";
}
