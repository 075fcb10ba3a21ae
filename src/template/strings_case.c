/* Methods of str that look at letters: changing case, and the is... questions.
 * SPDX-License-Identifier: MIT */
#include "base/utf8.h"
#include "template/strings.h"

weft_status string_lower(trun *R, tvalue self, const tvalue *a, tvalue *out) {
    (void)a;
    return tpl_change_case(R, self.s, CASE_LOWER, out);
}
weft_status string_upper(trun *R, tvalue self, const tvalue *a, tvalue *out) {
    (void)a;
    return tpl_change_case(R, self.s, CASE_UPPER, out);
}
weft_status string_casefold(trun *R, tvalue self, const tvalue *a, tvalue *out) {
    (void)a;
    return tpl_change_case(R, self.s, CASE_FOLD, out);
}

/* How the case of the next character follows from where it stands. */
typedef tpl_case choose_case(size_t at, int32_t code, bool after_cased);

static weft_status recase(trun *R, tvalue self, choose_case *choose, tvalue *out) {
    TRY(tpl_work(R, self.s->n * 8));
    str text = {0};
    weft_status status = WEFT_OK;
    bool cased = false;
    for (size_t at = 0, read; at < self.s->n && status == WEFT_OK; at += read) {
        int32_t code;
        utf8_decode(self.s->data + at, self.s->n - at, &code);
        status = tpl_map_case(self.s, at, choose(at, code, cased), &text, &read);
        cased = tpl_is_class(code, CLASS_CASED);
    }
    if (status == WEFT_OK) return tpl_from_str(&R->mem, &text, self.s->safe, out);
    str_free(&text);
    return status;
}

static tpl_case first_up(size_t at, int32_t code, bool after_cased) {
    (void)code;
    (void)after_cased;
    return at ? CASE_LOWER : CASE_TITLE;
}
static tpl_case words_up(size_t at, int32_t code, bool after_cased) {
    (void)at;
    (void)code;
    return after_cased ? CASE_LOWER : CASE_TITLE;
}
static tpl_case swapped(size_t at, int32_t code, bool after_cased) {
    (void)at;
    (void)after_cased;
    /* a character that is neither maps to itself in both */
    return tpl_is_class(code, CLASS_LOWER) ? CASE_UPPER : CASE_LOWER;
}

weft_status string_capitalize(trun *R, tvalue self, const tvalue *a, tvalue *out) {
    (void)a;
    return recase(R, self, first_up, out);
}
weft_status string_title(trun *R, tvalue self, const tvalue *a, tvalue *out) {
    (void)a;
    return recase(R, self, words_up, out);
}
weft_status string_swapcase(trun *R, tvalue self, const tvalue *a, tvalue *out) {
    (void)a;
    return recase(R, self, swapped, out);
}

static weft_status all_are(trun *R, tvalue self, tpl_class which, bool empty, tvalue *out) {
    const tstring *s = self.s;
    TRY(tpl_work(R, s->n * 4));
    bool all = s->n > 0 || empty;
    for (size_t i = 0; i < s->n && all;) {
        int32_t code;
        i += (size_t)utf8_decode(s->data + i, s->n - i, &code);
        all = tpl_is_class(code, which);
    }
    *out = tpl_bool(all);
    return WEFT_OK;
}

weft_status string_isalnum(trun *R, tvalue self, const tvalue *a, tvalue *out) {
    (void)a;
    return all_are(R, self, CLASS_ALNUM, false, out);
}
weft_status string_isalpha(trun *R, tvalue self, const tvalue *a, tvalue *out) {
    (void)a;
    return all_are(R, self, CLASS_ALPHA, false, out);
}
weft_status string_isdecimal(trun *R, tvalue self, const tvalue *a, tvalue *out) {
    (void)a;
    return all_are(R, self, CLASS_DECIMAL, false, out);
}
weft_status string_isdigit(trun *R, tvalue self, const tvalue *a, tvalue *out) {
    (void)a;
    return all_are(R, self, CLASS_DIGIT, false, out);
}
weft_status string_isnumeric(trun *R, tvalue self, const tvalue *a, tvalue *out) {
    (void)a;
    return all_are(R, self, CLASS_NUMERIC, false, out);
}
weft_status string_isspace(trun *R, tvalue self, const tvalue *a, tvalue *out) {
    (void)a;
    return all_are(R, self, CLASS_SPACE, false, out);
}
weft_status string_isprintable(trun *R, tvalue self, const tvalue *a, tvalue *out) {
    (void)a;
    return all_are(R, self, CLASS_PRINTABLE, true, out);
}
weft_status string_isascii(trun *R, tvalue self, const tvalue *a, tvalue *out) {
    (void)R;
    (void)a;
    *out = tpl_bool(true);
    for (size_t i = 0; i < self.s->n; i++)
        if ((unsigned char)self.s->data[i] >= 0x80) *out = tpl_bool(false);
    return WEFT_OK;
}

weft_status string_isidentifier(trun *R, tvalue self, const tvalue *a, tvalue *out) {
    (void)a;
    int32_t code = 0;
    if (self.s->n) utf8_decode(self.s->data, self.s->n, &code);
    TRY(all_are(R, self, CLASS_ID_CONTINUE, false, out));
    *out = tpl_bool(out->b && tpl_is_class(code, CLASS_ID_START));
    return WEFT_OK;
}

static weft_status one_case(trun *R, tvalue self, tpl_class wanted, tpl_class other, tvalue *out) {
    const tstring *s = self.s;
    bool found = false, clean = true;
    TRY(tpl_work(R, s->n * 8));
    for (size_t i = 0; i < s->n && clean;) {
        int32_t code;
        i += (size_t)utf8_decode(s->data + i, s->n - i, &code);
        clean = !tpl_is_class(code, other) && !tpl_is_class(code, CLASS_TITLE);
        found = found || tpl_is_class(code, wanted);
    }
    *out = tpl_bool(found && clean);
    return WEFT_OK;
}

weft_status string_islower(trun *R, tvalue self, const tvalue *a, tvalue *out) {
    (void)a;
    return one_case(R, self, CLASS_LOWER, CLASS_UPPER, out);
}
weft_status string_isupper(trun *R, tvalue self, const tvalue *a, tvalue *out) {
    (void)a;
    return one_case(R, self, CLASS_UPPER, CLASS_LOWER, out);
}

weft_status string_istitle(trun *R, tvalue self, const tvalue *a, tvalue *out) {
    (void)a;
    const tstring *s = self.s;
    bool after_cased = false, found = false, ok = true;
    TRY(tpl_work(R, s->n * 8));
    for (size_t i = 0; i < s->n && ok;) {
        int32_t code;
        i += (size_t)utf8_decode(s->data + i, s->n - i, &code);
        bool upper = tpl_is_class(code, CLASS_UPPER) || tpl_is_class(code, CLASS_TITLE);
        bool lower = tpl_is_class(code, CLASS_LOWER);
        if (upper) ok = !after_cased;
        else if (lower) ok = after_cased;
        after_cased = upper || lower;
        found = found || after_cased;
    }
    *out = tpl_bool(ok && found);
    return WEFT_OK;
}
