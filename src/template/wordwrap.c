/* The filter wordwrap: what Python's textwrap makes of each line. A line falls into chunks
 * (white space, words, parts of hyphenated words, dashes between words), and chunks fill output
 * lines greedily. SPDX-License-Identifier: MIT */
#include <string.h>

#include "base/utf8.h"
#include "template/filters.h"
#include "template/strings.h"

typedef struct wrapper {
    trun *R;
    const char *text;
    const int32_t *codes;
    const size_t *offsets; /* of each character, and of the end */
    size_t n;
    int64_t width;
    bool break_words, break_hyphens;
    const tstring *newline;
    str *out;
    size_t lines;
} wrapper;

static bool is_blank(int32_t c) { return c == ' ' || (c >= 9 && c <= 13); }
static bool is_word(int32_t c) { return tpl_is_class(c, CLASS_WORD); }
static bool is_letter(int32_t c) { return is_word(c) && !tpl_is_class(c, CLASS_DECIMAL); }
static bool is_word_part(int32_t c) {
    return is_word(c) || (c && c < 128 && strchr("!\"'&.,?", c));
}

/* Two dashes or more at `at`, and a word behind them: the end of the dashes, else 0. */
static size_t dashes(const wrapper *w, size_t at) {
    size_t end = at;
    while (end < w->n && w->codes[end] == '-') end++;
    return end >= at + 2 && end < w->n && is_word(w->codes[end]) ? end : 0;
}

/* A hyphen at `at` where a word may be cut: two letters before it (a hyphen may be between), two
 * behind. */
static bool is_cut(const wrapper *w, size_t at) {
    const int32_t *c = w->codes;
    if (c[at] != '-') return false;
    bool before = (at >= 2 && is_letter(c[at - 1]) && is_letter(c[at - 2])) ||
                  (at >= 3 && is_letter(c[at - 1]) && c[at - 2] == '-' && is_letter(c[at - 3]));
    if (!before || at + 1 >= w->n || !is_letter(c[at + 1])) return false;
    size_t second = at + 2 < w->n && c[at + 2] == '-' ? at + 3 : at + 2;
    return second < w->n && is_letter(c[second]);
}

static size_t chunk_end(const wrapper *w, size_t from) {
    size_t end = from;
    if (is_blank(w->codes[from])) {
        while (end < w->n && is_blank(w->codes[end])) end++;
        return end;
    }
    if (!w->break_hyphens) {
        while (end < w->n && !is_blank(w->codes[end])) end++;
        return end;
    }
    if (from > 0 && is_word_part(w->codes[from - 1]) && dashes(w, from)) return dashes(w, from);
    for (end = from + 1; end < w->n && !is_blank(w->codes[end]); end++) {
        if (is_cut(w, end)) return end + 1;
        if (is_word_part(w->codes[end - 1]) && dashes(w, end)) return end;
    }
    return end;
}

static bool all_blank(const wrapper *w, size_t from, size_t to) {
    for (; from < to; from++)
        if (!tpl_is_space(w->codes[from])) return false;
    return true;
}

/* Where a chunk that is longer than a line is cut, `room` being left on it. */
static size_t cut(const wrapper *w, size_t from, size_t to, size_t room) {
    size_t end = from + room;
    if (!w->break_hyphens || to - from <= room) return end < to ? end : to;
    size_t hyphen = end;
    while (hyphen > from && w->codes[hyphen - 1] != '-') hyphen--;
    if (hyphen < from + 2) return end;
    for (size_t i = from; i + 1 < hyphen; i++)
        if (w->codes[i] != '-') return hyphen;
    return end;
}

static weft_status put_line(wrapper *w, size_t from, size_t to) {
    if (w->lines++) TRY(str_append(w->out, w->newline->data, w->newline->n));
    size_t n = w->offsets[to] - w->offsets[from];
    TRY(tpl_work(w->R, n + 64));
    TRY(str_append(w->out, w->text + w->offsets[from], n));
    REQUIRE(w->out->n <= TPL_MAX_STRING, WEFT_LIMIT, "a text is longer than the limit of %d bytes",
            (int)TPL_MAX_STRING);
    return WEFT_OK;
}

static weft_status wrap_line(wrapper *w) {
    size_t at = 0, end = w->n ? chunk_end(w, 0) : 0, width = (size_t)w->width;
    bool first = true;
    while (at < w->n) {
        TRY(tpl_step(w->R, 1));
        if (!first && all_blank(w, at, end)) {
            at = end;
            if (at >= w->n) break;
            end = chunk_end(w, at);
        }
        size_t from = at, last = at;
        while (at < w->n && end - from <= width) {
            last = at;
            at = end;
            if (at < w->n) end = chunk_end(w, at);
        }
        size_t to = at;
        if (at < w->n && end - at > width) {
            size_t stop = w->break_words ? cut(w, at, end, width - (at - from))
                          : at == from   ? end
                                         : at;
            if (stop > at || w->break_words) last = at;
            to = at = stop;
            if (at == end && at < w->n) end = chunk_end(w, at);
        }
        if (last < to && all_blank(w, last, to)) to = last;
        if (to > from) {
            TRY(put_line(w, from, to));
            first = false;
        }
    }
    return WEFT_OK;
}

static weft_status wrap_text(wrapper *w, const tstring *line) {
    int32_t *codes = tpl_array(&w->R->mem, line->chars + 1, sizeof *codes);
    if (!codes) return error_status();
    size_t *offsets = tpl_array(&w->R->mem, line->chars + 1, sizeof *offsets);
    if (!offsets) return error_status();
    size_t n = 0;
    for (size_t i = 0; i < line->n; n++) {
        offsets[n] = i;
        i += (size_t)utf8_decode(line->data + i, line->n - i, &codes[n]);
    }
    offsets[n] = line->n;
    w->text = line->data;
    w->codes = codes;
    w->offsets = offsets;
    w->n = n;
    w->lines = 0;
    return wrap_line(w);
}

weft_status filter_wordwrap(trun *R, tvalue v, const tvalue *args, tvalue *out) {
    static const tstring newline = {"\n", 1, 1, false};
    static const tvalue nothing[1];
    tvalue lines;
    str text = {0};
    wrapper w = {.R = R, .width = 79, .newline = &newline, .out = &text};
    if (v.type != T_STRING)
        return v.type == T_UNDEFINED ? tpl_undefined_fail(v) : tpl_fail("wordwrap needs a text");
    if (args[0].type != T_MISSING && !tpl_as_int(args[0], &w.width))
        return tpl_fail("wordwrap's width must be an integer");
    if (args[2].type == T_STRING) w.newline = args[2].s;
    w.break_words = args[1].type == T_MISSING || tpl_truth(args[1]);
    w.break_hyphens = args[3].type == T_MISSING || tpl_truth(args[3]);
    TRY(tpl_work(R, v.s->n * 16));
    TRY(string_splitlines(R, v, nothing, &lines));
    if (w.width <= 0 && lines.l->n) return tpl_fail("wordwrap's width must be more than 0");
    weft_status status = WEFT_OK;
    for (size_t i = 0; i < lines.l->n && status == WEFT_OK; i++) {
        if (i) status = str_append(&text, w.newline->data, w.newline->n);
        if (status == WEFT_OK) status = wrap_text(&w, lines.l->items[i].s);
    }
    if (status == WEFT_OK) return tpl_from_str(&R->mem, &text, false, out);
    str_free(&text);
    return status;
}
