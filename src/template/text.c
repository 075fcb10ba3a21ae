/* Characters as Python's str sees them: classes, and full case mapping (one character may become
 * three; a Greek sigma at the end of a word becomes another). Properties come from utf8proc,
 * what it lacks from unicode_tables.h. SPDX-License-Identifier: MIT */
#include <string.h>
#include <utf8proc.h>

#include "base/utf8.h"
#include "template/run.h"
#include "template/unicode_tables.h"

static bool in_ranges(const int32_t (*ranges)[2], size_t n, int32_t code) {
    size_t low = 0, high = n;
    while (low < high) {
        size_t mid = (low + high) / 2;
        if (code > ranges[mid][1]) low = mid + 1;
        else if (code < ranges[mid][0]) high = mid;
        else return true;
    }
    return false;
}

bool tpl_is_space(int32_t code) {
    if (code < 0x80) return code == ' ' || (code >= 9 && code <= 13) || (code >= 28 && code <= 31);
    return code == 0x85 || code == 0xA0 || code == 0x1680 || (code >= 0x2000 && code <= 0x200A) ||
           code == 0x2028 || code == 0x2029 || code == 0x202F || code == 0x205F || code == 0x3000;
}

static bool is_letter(int category) {
    return category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_LO;
}

static bool is_identifier(int32_t code, int category, bool first) {
    if (code == '_' || is_letter(category) || category == UTF8PROC_CATEGORY_NL) return true;
    return !first && (category == UTF8PROC_CATEGORY_MN || category == UTF8PROC_CATEGORY_MC ||
                      category == UTF8PROC_CATEGORY_ND || category == UTF8PROC_CATEGORY_PC);
}

static bool is_printable(int32_t code, int category) {
    switch (category) {
    case UTF8PROC_CATEGORY_CC:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_CS:
    case UTF8PROC_CATEGORY_CO:
    case UTF8PROC_CATEGORY_CN:
    case UTF8PROC_CATEGORY_ZL:
    case UTF8PROC_CATEGORY_ZP: return false;
    case UTF8PROC_CATEGORY_ZS: return code == ' ';
    default: return true;
    }
}

bool tpl_is_class(int32_t code, tpl_class which) {
    if (code < 0) return false;
    int category = (int)utf8proc_category(code);
    bool lower = category == UTF8PROC_CATEGORY_LL, upper = category == UTF8PROC_CATEGORY_LU;
    switch (which) {
    case CLASS_ALPHA: return is_letter(category);
    case CLASS_WORD:
    case CLASS_ALNUM:
        return is_letter(category) || category == UTF8PROC_CATEGORY_ND ||
               in_ranges(numeric_ranges, sizeof numeric_ranges / sizeof *numeric_ranges, code) ||
               (which == CLASS_WORD && code == '_');
    case CLASS_DECIMAL: return category == UTF8PROC_CATEGORY_ND;
    case CLASS_DIGIT:
        return category == UTF8PROC_CATEGORY_ND ||
               in_ranges(digit_ranges, sizeof digit_ranges / sizeof *digit_ranges, code);
    case CLASS_NUMERIC:
        return category == UTF8PROC_CATEGORY_ND ||
               in_ranges(numeric_ranges, sizeof numeric_ranges / sizeof *numeric_ranges, code);
    case CLASS_SPACE: return tpl_is_space(code);
    case CLASS_PRINTABLE: return is_printable(code, category);
    case CLASS_LOWER:
        return lower || in_ranges(lower_ranges, sizeof lower_ranges / sizeof *lower_ranges, code);
    case CLASS_UPPER:
        return upper || in_ranges(upper_ranges, sizeof upper_ranges / sizeof *upper_ranges, code);
    case CLASS_TITLE: return category == UTF8PROC_CATEGORY_LT;
    case CLASS_CASED:
        return lower || upper || category == UTF8PROC_CATEGORY_LT ||
               in_ranges(lower_ranges, sizeof lower_ranges / sizeof *lower_ranges, code) ||
               in_ranges(upper_ranges, sizeof upper_ranges / sizeof *upper_ranges, code);
    case CLASS_ID_START: return is_identifier(code, category, true);
    case CLASS_ID_CONTINUE: return is_identifier(code, category, false);
    }
    return false;
}

/* Case_Ignorable: marks, modifiers, format characters and the word-internal punctuation of
 * Word_Break. */
static bool is_ignorable(int32_t code) {
    static const int32_t inside[] = {0x27,   0x2E,   0x3A,   0xB7,   0x387,  0x55F,
                                     0x5F4,  0x2018, 0x2019, 0x2024, 0x2027, 0xFE13,
                                     0xFE52, 0xFE55, 0xFF07, 0xFF0E, 0xFF1A};
    for (size_t i = 0; i < sizeof inside / sizeof *inside; i++)
        if (inside[i] == code) return true;
    switch (utf8proc_category(code)) {
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_ME:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_SK: return true;
    default: return false;
    }
}

/* Unicode's Final_Sigma: a cased letter before, none behind, ignorable characters skipped. */
static bool is_final_sigma(const tstring *s, size_t at) {
    bool before = false;
    for (size_t i = at; i > 0 && !before;) {
        do i--;
        while (i > 0 && ((unsigned char)s->data[i] & 0xC0) == 0x80);
        int32_t code;
        utf8_decode(s->data + i, at - i, &code);
        if (is_ignorable(code)) continue;
        if (!tpl_is_class(code, CLASS_CASED)) return false;
        before = true;
    }
    for (size_t i = at + 2; i < s->n;) {
        int32_t code;
        i += (size_t)utf8_decode(s->data + i, s->n - i, &code);
        if (is_ignorable(code)) continue;
        return before && !tpl_is_class(code, CLASS_CASED);
    }
    return before;
}

static weft_status append_code(str *out, int32_t code) {
    char text[4];
    return str_append(out, text, (size_t)utf8_encode(code, text));
}

weft_status tpl_map_case(const tstring *s, size_t at, tpl_case to, str *out, size_t *read) {
    int32_t code;
    *read = (size_t)utf8_decode(s->data + at, s->n - at, &code);
    if (code < 0x80) {
        bool up = to == CASE_UPPER || to == CASE_TITLE;
        if (up && code >= 'a' && code <= 'z') code -= 32;
        if (!up && code >= 'A' && code <= 'Z') code += 32;
        return str_char(out, (char)code);
    }
    if (to == CASE_LOWER) {
        if (code == 0x3A3) return append_code(out, is_final_sigma(s, at) ? 0x3C2 : 0x3C3);
        if (code == 0x130) return str_text_append(out, "i\xCC\x87");
        return append_code(out, utf8proc_tolower(code));
    }
    if (to == CASE_FOLD) {
        int32_t folded[8];
        int last = 0;
        utf8proc_ssize_t n = utf8proc_decompose_char(code, folded, 8, UTF8PROC_CASEFOLD, &last);
        for (utf8proc_ssize_t i = 0; i < n && i < 8; i++) TRY(append_code(out, folded[i]));
        return WEFT_OK;
    }
    for (size_t i = 0; i < sizeof special_case / sizeof *special_case; i++) {
        if (special_case[i][0] != code) continue;
        const int32_t *mapped = special_case[i] + (to == CASE_UPPER ? 1 : 4);
        for (int k = 0; k < 3 && mapped[k]; k++) TRY(append_code(out, mapped[k]));
        return WEFT_OK;
    }
    return append_code(out, to == CASE_UPPER ? utf8proc_toupper(code) : utf8proc_totitle(code));
}

weft_status tpl_change_case(trun *R, const tstring *s, tpl_case to, tvalue *out) {
    TRY(tpl_work(R, s->n * 4));
    str text = {0};
    weft_status status = WEFT_OK;
    for (size_t at = 0, read; at < s->n && status == WEFT_OK; at += read)
        status = tpl_map_case(s, at, to, &text, &read);
    if (status == WEFT_OK) return tpl_from_str(&R->mem, &text, s->safe, out);
    str_free(&text);
    return status;
}
