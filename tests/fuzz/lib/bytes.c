/* See bytes.h. SPDX-License-Identifier: MIT */
#include "lib/bytes.h"

#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct bytes {
    char *data;
    size_t n;
} bytes;

static bool put(bytes *b, const void *data, size_t n) {
    char *grown = realloc(b->data, b->n + n + 1);
    if (!grown) return false;
    b->data = grown;
    if (n) memcpy(grown + b->n, data, n);
    b->n += n;
    return true;
}

static int hex(const char *at) {
    char digits[3] = {at[0], at[0] ? at[1] : (char)0, 0};
    if (!isxdigit((unsigned char)digits[0]) || !isxdigit((unsigned char)digits[1])) return -1;
    return (int)strtol(digits, NULL, 16);
}

/* After the opening quote; returns what follows the closing one, NULL when there is none. */
static const char *put_quoted(bytes *b, const char *at, bool has_length) {
    size_t start = b->n;
    uint64_t n = 0;
    if (has_length) put(b, &n, sizeof n);
    for (; *at && *at != '"'; at++) {
        char c = *at;
        if (c == '\\') {
            c = *++at;
            if (!c) return NULL;
            if (c == 'n') c = '\n';
            else if (c == 'x') {
                int value = hex(at + 1);
                if (value < 0) return NULL;
                c = (char)value;
                at += 2;
            }
        }
        put(b, &c, 1);
    }
    n = b->n - start - sizeof n;
    if (has_length) memcpy(b->data + start, &n, sizeof n);
    return *at ? at + 1 : NULL;
}

static bool put_zeros(bytes *b, unsigned long n) {
    if (n > 65536) return false;
    for (; n > 0; n--)
        if (!put(b, "", 1)) return false;
    return true;
}

/* A word with a colon; false when it is none of those known. */
static bool put_number(bytes *b, const char *word) {
    const char *text = strchr(word, ':');
    if (!text) return false;
    text++;
    size_t n = (size_t)(text - word);
    uint64_t whole = text[0] == '-' ? (uint64_t)strtoll(text, NULL, 0) : strtoull(text, NULL, 0);
    double d = strtod(text, NULL);
    float f = (float)d;
    if (!strncmp(word, "u8:", n)) return put(b, &whole, 1);
    if (!strncmp(word, "u16:", n)) return put(b, &whole, 2);
    if (!strncmp(word, "u32:", n)) return put(b, &whole, 4);
    if (!strncmp(word, "u64:", n)) return put(b, &whole, 8);
    if (!strncmp(word, "f32:", n)) return put(b, &f, sizeof f);
    if (!strncmp(word, "f64:", n)) return put(b, &d, sizeof d);
    if (!strncmp(word, "zeros:", n)) return put_zeros(b, whole);
    if (!strncmp(word, "pad:", n)) return put_zeros(b, whole ? (whole - b->n % whole) % whole : 0);
    return false;
}

static bool put_hex(bytes *b, const char *word) {
    for (; *word; word += 2) {
        int value = hex(word);
        char c = (char)value;
        if (value < 0 || !put(b, &c, 1)) return false;
    }
    return true;
}

/* The word at `at`; returns what follows it. */
static const char *put_word(bytes *b, const char *at) {
    char word[256];
    if (*at == '"') return put_quoted(b, at + 1, false);
    if (at[0] == 's' && at[1] == '"') return put_quoted(b, at + 2, true);
    size_t n = strcspn(at, " \t\r\n");
    if (n >= sizeof word) return NULL;
    memcpy(word, at, n);
    word[n] = 0;
    return put_number(b, word) || put_hex(b, word) ? at + n : NULL;
}

char *bytes_read(const char *text, size_t n, size_t *n_out) {
    bytes b = {0};
    char *copy = malloc(n + 1);
    bool ok = copy && put(&b, "", 0);
    const char *at = copy, *word = copy;
    if (ok) {
        memcpy(copy, text, n);
        copy[n] = 0;
    }
    while (ok && *(at += strspn(at, " \t\r\n"))) {
        word = at;
        at = *word == '#' ? word + strcspn(word, "\n") : put_word(&b, word);
        ok = at;
    }
    *n_out = ok ? b.n : (size_t)(word - copy);
    free(copy);
    if (ok) return b.data;
    free(b.data);
    return NULL;
}
