/* The thread-local message and the texts of errors.def. The message is cut at a character boundary,
 * so that a long file name cannot leave half a UTF-8 character for a JSON writer to trip over.
 * SPDX-License-Identifier: MIT */
#include "base/error.h"
#undef error_set /* see error.h: macros for static analysis alone */
#undef error_prefix
#undef error_status

#include <stdio.h>
#include <string.h>

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

weft_status error_set_v(weft_status status, const char *format, va_list args) {
    char text[MESSAGE_BYTES];
    vsnprintf(text, sizeof text, format, args);
    cut_at_character(text, sizeof text);
    memcpy(message, text, sizeof text);
    last_status = status;
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
    text[MESSAGE_BYTES - 1] = 0;
    cut_at_character(text, MESSAGE_BYTES);
    memcpy(message, text, MESSAGE_BYTES);
    last_status = status;
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
