/* libFuzzer target: any bytes as a regular expression; what opens is followed, along the text after
 * a line "====" and along what the masks allow. Where both notations mean the same, PCRE2 says of
 * both texts what the grammar says. SPDX-License-Identifier: MIT */
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "lib/fuzz.h"

/* Of ECMA-262 and PCRE2 alike: no dot and no \s (other characters), no escapes but a few, no POSIX
 * classes. */
static bool is_common(fuzz_text re) {
    for (size_t i = 0; i < re.n; i++) {
        char next = i + 1 < re.n ? re.data[i + 1] : (char)0;
        if (re.data[i] == '.' || (uint8_t)re.data[i] < ' ') return false;
        if (re.data[i] == '[' && next && strchr(":.=", next)) return false;
        if (re.data[i] != '\\') continue;
        if (!next || !strchr("dwDWbB-/^$*+?()[]{}|\\", next)) return false;
        i++;
    }
    return true;
}

/* 1: PCRE2 matches the whole text, 0: it does not, -1: it does not say. */
static int matches(fuzz_text re, fuzz_text text) {
    int error, found = -1;
    size_t at;
    char *whole = malloc(re.n + 16);
    if (!whole) return -1;
    memcpy(whole, "\\A(?:", 5);
    memcpy(whole + 5, re.data, re.n);
    memcpy(whole + 5 + re.n, ")\\z", 3);
    pcre2_code *code = pcre2_compile((PCRE2_SPTR)whole, re.n + 8,
                                     PCRE2_UTF | PCRE2_ALLOW_EMPTY_CLASS | PCRE2_DOLLAR_ENDONLY,
                                     &error, &at, NULL);
    pcre2_match_data *data = code ? pcre2_match_data_create_from_pattern(code, NULL) : NULL;
    pcre2_match_context *limits = pcre2_match_context_create(NULL);
    if (data && limits) {
        pcre2_set_match_limit(limits, 100000);
        int n = pcre2_match(code, (PCRE2_SPTR)text.data, text.n, 0, 0, data, limits);
        found = n > 0 ? 1 : n == PCRE2_ERROR_NOMATCH ? 0 : -1;
    }
    pcre2_match_context_free(limits);
    pcre2_match_data_free(data);
    pcre2_code_free(code);
    free(whole);
    return found;
}

static void compare(fuzz_text re, fuzz_text text, const fuzz_followed *f) {
    if (!is_common(re)) return;
    int whole = f->is_known ? matches(re, text) : -1;
    fuzz_require(whole < 0 || whole == f->fits, "PCRE2 says something else of the text");
    if (f->has_ended)
        fuzz_require(matches(re, (fuzz_text){f->made, f->n_made}) != 0,
                     "PCRE2 does not match what was made");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    fuzz_followed followed = {0};
    fuzz_input in = fuzz_begin(data, n);
    fuzz_text text = {in.data, in.n}, source = fuzz_cut(&text);
    grammar *g = NULL;
    fuzz_arm(&in);
    weft_status status = grammar_open_regex(source.data, source.n, &g);
    if (fuzz_status(status, fuzz_disarm(&in), FUZZ_FILE)) {
        fuzz_follow(g, &in, text, &followed);
        compare(source, text, &followed);
    } else {
        fuzz_require(!g, "a grammar that failed is there");
    }
    grammar_close(g);
    fuzz_end(&in);
    return 0;
}
