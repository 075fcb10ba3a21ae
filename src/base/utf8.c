/* Table 3-7 of the Unicode standard (well-formed byte sequences) as range checks.
 * SPDX-License-Identifier: MIT */
#include "base/utf8.h"

#include <stdbool.h>
#include <string.h>

/* Length a lead byte announces (0 = no lead), and the range its second byte must lie in. */
static int lead(unsigned char c, unsigned char *low, unsigned char *high) {
    *low = 0x80;
    *high = 0xBF;
    if (c < 0x80) return 1;
    if (c < 0xC2 || c > 0xF4) return 0;
    if (c < 0xE0) return 2;
    if (c == 0xE0) *low = 0xA0;
    if (c == 0xED) *high = 0x9F;
    if (c < 0xF0) return 3;
    if (c == 0xF0) *low = 0x90;
    if (c == 0xF4) *high = 0x8F;
    return 4;
}

/* How many of the first bytes fit a well-formed character; *want is its full length (0 for no lead
 * byte). */
static int fitting(const unsigned char *p, size_t n, int *want) {
    unsigned char low, high;
    *want = lead(p[0], &low, &high);
    int good = *want ? 1 : 0;
    while (good > 0 && good < *want && (size_t)good < n) {
        if (p[good] < low || p[good] > high) break;
        low = 0x80;
        high = 0xBF;
        good++;
    }
    return good;
}

int utf8_decode(const char *text, size_t n, int32_t *code) {
    const unsigned char *p = (const unsigned char *)text;
    int want, good = fitting(p, n, &want);
    if (!want || good < want) {
        *code = UTF8_BAD;
        return 1;
    }
    int32_t c = want == 1 ? p[0] : p[0] & (0xFF >> (want + 1));
    for (int i = 1; i < want; i++) c = c << 6 | (p[i] & 0x3F);
    *code = c;
    return want;
}

int utf8_encode(int32_t code, char out[4]) {
    if (code < 0x80) {
        out[0] = (char)code;
        return 1;
    }
    int n = code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    for (int i = n - 1; i > 0; i--) {
        out[i] = (char)(0x80 | (code & 0x3F));
        code >>= 6;
    }
    out[0] = (char)((0xF00 >> n & 0xFF) | code);
    return n;
}

size_t utf8_complete(const char *text, size_t n) {
    const unsigned char *p = (const unsigned char *)text;
    for (size_t back = 1; back <= 3 && back <= n; back++) {
        unsigned char c = p[n - back];
        if ((c & 0xC0) == 0x80) continue;
        int want, good = fitting(p + n - back, back, &want);
        return want > (int)back && good == (int)back ? n - back : n;
    }
    return n;
}

static bool is_shown(int32_t code) {
    if (code == '\t' || code == '\n') return true;
    return code >= ' ' && (code < 0x7F || code > 0x9F);
}

void utf8_tidy(char *text) {
    for (size_t n = strlen(text), at = 0; at < n;) {
        int32_t code;
        size_t length = (size_t)utf8_decode(text + at, n - at, &code);
        if (!is_shown(code)) memset(text + at, '?', length);
        at += length;
    }
}
