/* One pass: strings are stepped over, and what begins as a number is a number; whether the text is
 * JSON at all is for the reader to say. SPDX-License-Identifier: MIT */
#include "base/json.h"

#include <string.h>

static bool is_number(char c) { return (c >= '0' && c <= '9') || strchr("+-.eE", c) != NULL; }

/* The end of the string that begins at text[at]. */
static size_t string_end(const char *text, size_t n, size_t at) {
    for (at++; at < n && text[at] != '"'; at++)
        if (text[at] == '\\') at++;
    return at < n ? at + 1 : n;
}

/* Digits alone, and more than INT64_MAX or less than INT64_MIN. */
static bool is_too_big(const char *number, size_t n) {
    bool is_negative = number[0] == '-';
    const char *digits = number + is_negative, *most = "9223372036854775807";
    n -= is_negative;
    for (size_t i = 0; i < n; i++)
        if (digits[i] < '0' || digits[i] > '9') return false;
    if (n != strlen(most)) return n > strlen(most);
    return memcmp(digits, is_negative ? "9223372036854775808" : most, n) > 0;
}

weft_status json_widen(const char *text, size_t n, str *out) {
    size_t copied = 0;
    for (size_t at = 0; at < n;) {
        size_t begin = at;
        if (text[at] == '"') {
            at = string_end(text, n, at);
        } else if (text[at] == '-' || (text[at] >= '0' && text[at] <= '9')) {
            while (at < n && text[at] && is_number(text[at])) at++;
            if (!is_too_big(text + begin, at - begin)) continue;
            TRY(str_append(out, text + copied, at - copied));
            TRY(str_append(out, ".0", 2));
            copied = at;
        } else {
            at++;
        }
    }
    return str_append(out, text + copied, n - copied);
}
