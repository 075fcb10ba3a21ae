/* Characters as they are spelt inside JSON strings (RFC 8259, section 7).
 * SPDX-License-Identifier: MIT */
#include <string.h>

#include "grammar/regex.h"

/* f or g, where f may not exist yet. */
static weft_status add(nfa_builder *b, bool *has_any, nfa_frag *f, const nfa_frag *g) {
    if (*has_any) return nfa_either(b, f, g);
    *f = *g;
    *has_any = true;
    return WEFT_OK;
}

/* One hexadecimal digit of lo..hi, letters in either case. */
static weft_status hex_digit(nfa_builder *b, int lo, int hi, nfa_frag *f) {
    code_set digits = {0};
    weft_status status = WEFT_OK;
    if (lo < 10) status = code_set_add(&digits, '0' + lo, '0' + (hi < 10 ? hi : 9));
    int first = lo > 10 ? lo : 10;
    if (hi >= 10 && status == WEFT_OK)
        status = code_set_add(&digits, 'a' + first - 10, 'a' + hi - 10);
    if (hi >= 10 && status == WEFT_OK)
        status = code_set_add(&digits, 'A' + first - 10, 'A' + hi - 10);
    code_set_tidy(&digits);
    if (status == WEFT_OK) status = nfa_class(b, &digits, f);
    code_set_free(&digits);
    return status;
}

/* Four hexadecimal digits, each of its range, after a text. */
static weft_status hex_digits(nfa_builder *b, const char *before, const uint8_t lo[4],
                              const uint8_t hi[4], nfa_frag *f) {
    TRY(nfa_text(b, before, strlen(before), f));
    for (int i = 0; i < 4; i++) {
        nfa_frag digit = {0};
        TRY(hex_digit(b, lo[i], hi[i], &digit));
        nfa_concat(b, f, &digit);
    }
    return WEFT_OK;
}

static weft_status add_plain(nfa_builder *b, const code_set *s, bool *has_any, nfa_frag *f) {
    static const code_range plain[] = {{0x20, 0x21}, {0x23, 0x5B}, {0x5D, 0x10FFFF}};
    code_set kept = {0};
    weft_status status = WEFT_OK;
    for (size_t i = 0; i < s->n; i++)
        for (size_t k = 0; k < 3 && status == WEFT_OK; k++) {
            int32_t lo = s->ranges[i].lo, hi = s->ranges[i].hi;
            if (lo < plain[k].lo) lo = plain[k].lo;
            if (hi > plain[k].hi) hi = plain[k].hi;
            if (lo <= hi) status = code_set_add(&kept, lo, hi);
        }
    nfa_frag one = {0};
    if (status == WEFT_OK && kept.n) status = nfa_class(b, &kept, &one);
    if (status == WEFT_OK && kept.n) status = add(b, has_any, f, &one);
    code_set_free(&kept);
    return status;
}

static bool contains(const code_set *s, int32_t code) {
    for (size_t i = 0; i < s->n; i++)
        if (s->ranges[i].lo <= code && code <= s->ranges[i].hi) return true;
    return false;
}

static bool is_escaped(const code_set *s, int32_t code) {
    return (code < 0x20 || code == '"' || code == '\\') && contains(s, code);
}

/* The characters of the set that need an escape, which all begin with one backslash. */
static weft_status add_escaped(nfa_builder *b, const code_set *s, bool *has_any, nfa_frag *f) {
    static const char short_form[] = "\"\"\\\\\bb\ff\nn\rr\tt"; /* character, letter */
    nfa_frag backslash = {0}, one = {0}, letters = {0};
    bool has_letters = false, is_there = false;
    for (int32_t code = 0; code <= '\\'; code++) is_there |= is_escaped(s, code);
    if (!is_there) return WEFT_OK;
    TRY(nfa_text(b, "\\", 1, &backslash));
    for (int32_t code = 0; code <= '\\'; code++) {
        if (!is_escaped(s, code)) continue;
        char letter = 0;
        for (size_t i = 0; i + 1 < sizeof short_form; i += 2)
            if (short_form[i] == code) letter = short_form[i + 1];
        uint8_t digits[4] = {0, 0, (uint8_t)(code >> 4), (uint8_t)(code & 15)};
        if (letter) TRY(nfa_text(b, &letter, 1, &one));
        else TRY(hex_digits(b, "u", digits, digits, &one));
        TRY(add(b, &has_letters, &letters, &one));
    }
    nfa_concat(b, &backslash, &letters);
    return add(b, has_any, f, &backslash);
}

weft_status json_class(nfa_builder *b, const code_set *s, nfa_frag *f) {
    bool has_any = false;
    TRY(add_plain(b, s, &has_any, f));
    TRY(add_escaped(b, s, &has_any, f));
    return has_any ? WEFT_OK : nfa_fail(b, f);
}

weft_status json_any_char(nfa_builder *b, nfa_frag *f) {
    static const uint8_t ranges[][8] = {
        {0, 0, 0, 0, 12, 15, 15, 15}, {13, 0, 0, 0, 13, 7, 15, 15}, {14, 0, 0, 0, 15, 15, 15, 15}};
    static const uint8_t pair[][8] = {{13, 8, 0, 0, 13, 11, 15, 15},
                                      {13, 12, 0, 0, 13, 15, 15, 15}};
    code_set all = {0};
    nfa_frag one = {0}, two = {0};
    bool has_any = false;
    weft_status status = code_set_add(&all, 0, 0x10FFFF);
    if (status == WEFT_OK) status = add_plain(b, &all, &has_any, f);
    code_set_free(&all);
    TRY(status);
    nfa_frag backslash = {0}, escape = {0};
    TRY(nfa_text(b, "\\", 1, &backslash));
    has_any = false;
    for (const char *c = "\"\\/bfnrt"; *c; c++) {
        TRY(nfa_text(b, c, 1, &one));
        TRY(add(b, &has_any, &escape, &one));
    }
    for (int i = 0; i < 3; i++) {
        TRY(hex_digits(b, "u", ranges[i], ranges[i] + 4, &one));
        TRY(nfa_either(b, &escape, &one));
    }
    TRY(hex_digits(b, "u", pair[0], pair[0] + 4, &one));
    TRY(hex_digits(b, "\\u", pair[1], pair[1] + 4, &two));
    nfa_concat(b, &one, &two);
    TRY(nfa_either(b, &escape, &one));
    nfa_concat(b, &backslash, &escape);
    return nfa_either(b, f, &backslash);
}
