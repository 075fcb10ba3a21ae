/* Methods of str: searching, cutting, filling. Offsets are code points to the template and bytes
 * inside. Safe text stays safe and escapes what is put into it, as Markup does.
 * SPDX-License-Identifier: MIT */
#include "template/strings.h"

#include <string.h>

#include "base/utf8.h"

static weft_status need_text(tvalue v, const char *what) {
    if (v.type == T_STRING) return WEFT_OK;
    return tpl_fail("%s must be a text, not '%s'", what, tpl_type_name(v));
}

static weft_status optional_int(tvalue v, int64_t missing, int64_t *out) {
    *out = missing;
    if (v.type == T_MISSING || v.type == T_NONE) return WEFT_OK;
    return tpl_as_int(v, out) ? WEFT_OK
                              : tpl_fail("an integer is needed, not '%s'", tpl_type_name(v));
}

static weft_status piece(trun *R, const tstring *s, size_t from, size_t to, tvalue *out) {
    return tpl_string_take(&R->mem, s->data + from, to - from, s->safe, out);
}

/* The next byte offset, and the character there. */
static size_t next_char(const tstring *s, size_t at, int32_t *code) {
    return at + (size_t)utf8_decode(s->data + at, s->n - at, code);
}

static size_t previous_char(const tstring *s, size_t at, int32_t *code) {
    size_t start = at - 1;
    while (start > 0 && ((unsigned char)s->data[start] & 0xC0) == 0x80) start--;
    utf8_decode(s->data + start, at - start, code);
    return start;
}

/* ---- strip ---- */

static bool in_set(const tstring *set, int32_t code) {
    if (!set) return tpl_is_space(code);
    for (size_t i = 0; i < set->n;) {
        int32_t c;
        i = next_char(set, i, &c);
        if (c == code) return true;
    }
    return false;
}

static weft_status strip(trun *R, tvalue self, tvalue chars, bool left, bool right, tvalue *out) {
    const tstring *s = self.s, *set = NULL;
    if (chars.type != T_MISSING && chars.type != T_NONE) {
        TRY(need_text(chars, "the characters to strip"));
        set = chars.s;
    }
    TRY(tpl_step(R, s->n / 64 + (set ? s->n / 64 * set->n : 0)));
    size_t from = 0, to = s->n;
    int32_t code;
    while (left && from < to) {
        size_t next = next_char(s, from, &code);
        if (!in_set(set, code)) break;
        from = next;
    }
    while (right && to > from) {
        size_t before = previous_char(s, to, &code);
        if (!in_set(set, code)) break;
        to = before;
    }
    return piece(R, s, from, to, out);
}

weft_status string_strip(trun *R, tvalue self, const tvalue *a, tvalue *out) {
    return strip(R, self, a[0], true, true, out);
}
weft_status string_lstrip(trun *R, tvalue self, const tvalue *a, tvalue *out) {
    return strip(R, self, a[0], true, false, out);
}
weft_status string_rstrip(trun *R, tvalue self, const tvalue *a, tvalue *out) {
    return strip(R, self, a[0], false, true, out);
}

/* ---- find ---- */

/* Byte bounds of [start:end] as given in characters; false when start lies behind the end. */
static weft_status bounds(const tstring *s, const tvalue *a, size_t *from, size_t *to,
                          bool *valid) {
    int64_t n = (int64_t)s->chars, start, end;
    TRY(optional_int(a[1], 0, &start));
    TRY(optional_int(a[2], n, &end));
    if (end > n) end = n;
    if (end < 0) end = end + n < 0 ? 0 : end + n;
    if (start < 0) start = start + n < 0 ? 0 : start + n;
    *valid = start <= end && start <= n;
    *from = *valid ? tpl_char_offset(s, (size_t)start) : 0;
    *to = *valid ? tpl_char_offset(s, (size_t)end) : 0;
    return WEFT_OK;
}

/* First (or last) place of `needle` in s[from, to), SIZE_MAX when it is not there. */
static size_t find_bytes(const tstring *s, const tstring *needle, size_t from, size_t to,
                         bool last) {
    if (needle->n > to - from) return SIZE_MAX;
    if (!last) {
        if (needle->n == 0) return from;
        const char *found = memmem(s->data + from, to - from, needle->data, needle->n);
        return found ? (size_t)(found - s->data) : SIZE_MAX;
    }
    for (size_t at = to - needle->n + 1; at-- > from;)
        if (needle->n == 0 || memcmp(s->data + at, needle->data, needle->n) == 0) return at;
    return SIZE_MAX;
}

static weft_status find(trun *R, tvalue self, const tvalue *a, bool last, bool must, tvalue *out) {
    size_t from, to, at = SIZE_MAX;
    bool valid;
    TRY(need_text(a[0], "what is looked for"));
    TRY(bounds(self.s, a, &from, &to, &valid));
    TRY(tpl_work(R, self.s->n * (last ? 1 + a[0].s->n / 16 : 1)));
    if (valid) at = find_bytes(self.s, a[0].s, from, to, last);
    if (at == SIZE_MAX && must) return tpl_fail("the text looked for is not there");
    *out = tpl_int(at == SIZE_MAX ? -1 : (int64_t)tpl_count_chars(self.s->data, at));
    return WEFT_OK;
}

weft_status string_find(trun *R, tvalue self, const tvalue *a, tvalue *out) {
    return find(R, self, a, false, false, out);
}
weft_status string_rfind(trun *R, tvalue self, const tvalue *a, tvalue *out) {
    return find(R, self, a, true, false, out);
}
weft_status string_index(trun *R, tvalue self, const tvalue *a, tvalue *out) {
    return find(R, self, a, false, true, out);
}
weft_status string_rindex(trun *R, tvalue self, const tvalue *a, tvalue *out) {
    return find(R, self, a, true, true, out);
}

weft_status string_count(trun *R, tvalue self, const tvalue *a, tvalue *out) {
    size_t from, to;
    bool valid;
    int64_t n = 0;
    TRY(need_text(a[0], "what is counted"));
    TRY(bounds(self.s, a, &from, &to, &valid));
    TRY(tpl_work(R, self.s->n));
    if (valid && a[0].s->n == 0) n = (int64_t)tpl_count_chars(self.s->data + from, to - from) + 1;
    else if (valid) {
        for (size_t at; (at = find_bytes(self.s, a[0].s, from, to, false)) != SIZE_MAX;
             from = at + a[0].s->n)
            n++;
    }
    *out = tpl_int(n);
    return WEFT_OK;
}

static weft_status matches(const tstring *s, tvalue affix, size_t from, size_t to, bool end,
                           bool *out) {
    if (affix.type == T_TUPLE) {
        *out = false;
        for (size_t i = 0; i < affix.l->n && !*out; i++) {
            TRY(need_text(affix.l->items[i], "a prefix or suffix"));
            TRY(matches(s, affix.l->items[i], from, to, end, out));
        }
        return WEFT_OK;
    }
    TRY(need_text(affix, "a prefix or suffix"));
    size_t n = affix.s->n;
    *out = n <= to - from &&
           (n == 0 || memcmp(s->data + (end ? to - n : from), affix.s->data, n) == 0);
    return WEFT_OK;
}

static weft_status has_affix(tvalue self, const tvalue *a, bool end, tvalue *out) {
    size_t from, to;
    bool valid, result = false;
    TRY(bounds(self.s, a, &from, &to, &valid));
    TRY(matches(self.s, a[0], from, to, end, &result));
    *out = tpl_bool(valid && result);
    return WEFT_OK;
}

weft_status string_startswith(trun *R, tvalue self, const tvalue *a, tvalue *out) {
    TRY(tpl_work(R, self.s->n));
    return has_affix(self, a, false, out);
}
weft_status string_endswith(trun *R, tvalue self, const tvalue *a, tvalue *out) {
    TRY(tpl_work(R, self.s->n));
    return has_affix(self, a, true, out);
}

weft_status string_removeprefix(trun *R, tvalue self, const tvalue *a, tvalue *out) {
    TRY(need_text(a[0], "a prefix"));
    const tstring *s = self.s, *p = a[0].s;
    bool has = p->n <= s->n && (p->n == 0 || memcmp(s->data, p->data, p->n) == 0);
    return piece(R, s, has ? p->n : 0, s->n, out);
}
weft_status string_removesuffix(trun *R, tvalue self, const tvalue *a, tvalue *out) {
    TRY(need_text(a[0], "a suffix"));
    const tstring *s = self.s, *p = a[0].s;
    bool has = p->n <= s->n && (p->n == 0 || memcmp(s->data + s->n - p->n, p->data, p->n) == 0);
    return piece(R, s, 0, has ? s->n - p->n : s->n, out);
}

/* ---- replace, join ---- */

static weft_status replace_into(const tstring *s, const tstring *old, const tstring *new,
                                int64_t count, str *text) {
    size_t from = 0;
    for (; count != 0; count--) {
        size_t at = old->n ? find_bytes(s, old, from, s->n, false) : from;
        if (at == SIZE_MAX) break;
        TRY(str_append(text, s->data + from, at - from));
        TRY(str_append(text, new->data, new->n));
        REQUIRE(text->n <= TPL_MAX_STRING, WEFT_LIMIT,
                "a text is longer than the limit of %d bytes", (int)TPL_MAX_STRING);
        from = at + old->n;
        if (old->n) continue;
        if (from >= s->n)
            break; /* an empty text is found between all characters, and at both ends */
        int32_t code;
        size_t next = next_char(s, from, &code);
        TRY(str_append(text, s->data + from, next - from));
        from = next;
    }
    return str_append(text, s->data + from, s->n - from);
}

weft_status string_replace(trun *R, tvalue self, const tvalue *a, tvalue *out) {
    int64_t count;
    tvalue new = a[1];
    TRY(need_text(a[0], "the old text"));
    TRY(need_text(a[1], "the new text"));
    TRY(optional_int(a[2], -1, &count));
    if (self.s->safe) TRY(tpl_escape(R, new, &new));
    TRY(tpl_work(R, self.s->n));
    str text = {0};
    weft_status status = replace_into(self.s, a[0].s, new.s, count, &text);
    if (status == WEFT_OK) status = tpl_work(R, text.n);
    if (status == WEFT_OK) return tpl_from_str(&R->mem, &text, self.s->safe, out);
    str_free(&text);
    return status;
}

weft_status string_join(trun *R, tvalue self, const tvalue *a, tvalue *out) {
    tbuilder items = {0};
    str text = {0};
    TRY(tpl_items(R, a[0], &items));
    weft_status status = WEFT_OK;
    for (size_t i = 0; i < items.n && status == WEFT_OK; i++) {
        tvalue item = items.items[i];
        if (self.s->safe) status = tpl_escape(R, item, &item);
        else status = need_text(item, "an item to join");
        if (status == WEFT_OK && i) status = str_append(&text, self.s->data, self.s->n);
        if (status == WEFT_OK) status = str_append(&text, item.s->data, item.s->n);
        if (status == WEFT_OK) status = tpl_work(R, item.s->n + self.s->n);
        if (status == WEFT_OK && text.n > TPL_MAX_STRING)
            status = error_set(WEFT_LIMIT, "a text is longer than the limit of %d bytes",
                               (int)TPL_MAX_STRING);
    }
    if (status == WEFT_OK) return tpl_from_str(&R->mem, &text, self.s->safe, out);
    str_free(&text);
    return status;
}

/* ---- split ---- */

static weft_status push_piece(trun *R, const tstring *s, size_t from, size_t to, tbuilder *b) {
    tvalue v;
    TRY(tpl_step(R, 1));
    TRY(piece(R, s, from, to, &v));
    return tpl_push(&R->mem, b, v);
}

static weft_status split_space(trun *R, const tstring *s, int64_t limit, tbuilder *b) {
    size_t at = 0;
    for (int32_t code;;) {
        while (at < s->n) {
            size_t next = next_char(s, at, &code);
            if (!tpl_is_space(code)) break;
            at = next;
        }
        if (at == s->n) return WEFT_OK;
        if (limit == 0) break;
        limit--;
        size_t from = at;
        while (at < s->n) {
            size_t next = next_char(s, at, &code);
            if (tpl_is_space(code)) break;
            at = next;
        }
        TRY(push_piece(R, s, from, at, b));
    }
    return push_piece(R, s, at, s->n, b);
}

static weft_status rsplit_space(trun *R, const tstring *s, int64_t limit, tbuilder *b) {
    size_t at = s->n;
    for (int32_t code;;) {
        while (at > 0) {
            size_t before = previous_char(s, at, &code);
            if (!tpl_is_space(code)) break;
            at = before;
        }
        if (at == 0) return WEFT_OK;
        if (limit == 0) break;
        limit--;
        size_t to = at;
        while (at > 0) {
            size_t before = previous_char(s, at, &code);
            if (tpl_is_space(code)) break;
            at = before;
        }
        TRY(push_piece(R, s, at, to, b));
    }
    return push_piece(R, s, 0, at, b);
}

static weft_status split_by(trun *R, const tstring *s, const tstring *by, int64_t limit, bool right,
                            tbuilder *b) {
    if (by->n == 0) return tpl_fail("the separator is empty");
    size_t from = 0, to = s->n;
    for (; limit != 0; limit--) {
        size_t at = find_bytes(s, by, from, to, right);
        if (at == SIZE_MAX) break;
        TRY(right ? push_piece(R, s, at + by->n, to, b) : push_piece(R, s, from, at, b));
        if (right) to = at;
        else from = at + by->n;
    }
    return push_piece(R, s, from, to, b);
}

static void reverse(tbuilder *b) {
    for (size_t i = 0; i < b->n / 2; i++) {
        tvalue swap = b->items[i];
        b->items[i] = b->items[b->n - 1 - i];
        b->items[b->n - 1 - i] = swap;
    }
}

static weft_status split(trun *R, tvalue self, const tvalue *a, bool right, tvalue *out) {
    int64_t limit;
    tbuilder b = {0};
    TRY(optional_int(a[1], -1, &limit));
    TRY(tpl_work(R, self.s->n * (right ? 4 : 1)));
    if (a[0].type != T_MISSING && a[0].type != T_NONE) {
        TRY(need_text(a[0], "a separator"));
        TRY(split_by(R, self.s, a[0].s, limit, right, &b));
    } else TRY(right ? rsplit_space(R, self.s, limit, &b) : split_space(R, self.s, limit, &b));
    if (right) reverse(&b);
    return tpl_build(&R->mem, &b, T_LIST, out);
}

weft_status string_split(trun *R, tvalue self, const tvalue *a, tvalue *out) {
    return split(R, self, a, false, out);
}
weft_status string_rsplit(trun *R, tvalue self, const tvalue *a, tvalue *out) {
    return split(R, self, a, true, out);
}

static bool is_line_end(int32_t c) {
    return (c >= 10 && c <= 13) || (c >= 0x1C && c <= 0x1E) || c == 0x85 || c == 0x2028 ||
           c == 0x2029;
}

weft_status string_splitlines(trun *R, tvalue self, const tvalue *a, tvalue *out) {
    const tstring *s = self.s;
    bool keep = tpl_truth(a[0]);
    tbuilder b = {0};
    size_t from = 0;
    TRY(tpl_work(R, s->n));
    for (size_t at = 0; at < s->n;) {
        int32_t code;
        size_t next = next_char(s, at, &code);
        if (is_line_end(code)) {
            if (code == '\r' && next < s->n && s->data[next] == '\n') next++;
            TRY(push_piece(R, s, from, keep ? next : at, &b));
            from = next;
        }
        at = next;
    }
    if (from < s->n) TRY(push_piece(R, s, from, s->n, &b));
    return tpl_build(&R->mem, &b, T_LIST, out);
}

static weft_status partition(trun *R, tvalue self, const tvalue *a, bool last, tvalue *out) {
    TRY(need_text(a[0], "a separator"));
    const tstring *s = self.s, *by = a[0].s;
    if (by->n == 0) return tpl_fail("the separator is empty");
    TRY(tpl_work(R, s->n * (last ? 1 + by->n / 16 : 1)));
    size_t at = find_bytes(s, by, 0, s->n, last);
    tbuilder b = {0};
    bool found = at != SIZE_MAX;
    size_t first = found ? at : last ? 0 : s->n, second = found ? at + by->n : first;
    TRY(push_piece(R, s, 0, first, &b));
    TRY(push_piece(R, s, first, second, &b));
    TRY(push_piece(R, s, second, s->n, &b));
    return tpl_build(&R->mem, &b, T_TUPLE, out);
}

weft_status string_partition(trun *R, tvalue self, const tvalue *a, tvalue *out) {
    return partition(R, self, a, false, out);
}
weft_status string_rpartition(trun *R, tvalue self, const tvalue *a, tvalue *out) {
    return partition(R, self, a, true, out);
}

/* ---- filling ---- */

static weft_status pad(trun *R, tvalue self, int64_t left, int64_t right, tvalue fill,
                       tvalue *out) {
    tvalue side;
    *out = self;
    if (fill.type == T_MISSING) TRY(tpl_string(&R->mem, " ", 1, &fill));
    TRY(need_text(fill, "the fill character"));
    if (self.s->safe) TRY(tpl_escape(R, fill, &fill));
    if (fill.s->chars != 1) return tpl_fail("the fill character must be one character");
    if (left > 0) {
        TRY(tpl_repeat(R, fill, left, &side));
        TRY(tpl_concat(&R->mem, side.s, out->s, out));
    }
    if (right > 0) {
        TRY(tpl_repeat(R, fill, right, &side));
        TRY(tpl_concat(&R->mem, out->s, side.s, out));
    }
    return WEFT_OK;
}

static weft_status width(tvalue self, tvalue v, int64_t *out) {
    if (!tpl_as_int(v, out)) return tpl_fail("a width must be an integer");
    if (*out < 0) *out = 0;
    *out = *out > (int64_t)self.s->chars ? *out - (int64_t)self.s->chars : 0;
    return WEFT_OK;
}

weft_status string_ljust(trun *R, tvalue self, const tvalue *a, tvalue *out) {
    int64_t n;
    TRY(width(self, a[0], &n));
    return pad(R, self, 0, n, a[1], out);
}
weft_status string_rjust(trun *R, tvalue self, const tvalue *a, tvalue *out) {
    int64_t n;
    TRY(width(self, a[0], &n));
    return pad(R, self, n, 0, a[1], out);
}
weft_status string_center(trun *R, tvalue self, const tvalue *a, tvalue *out) {
    int64_t n;
    TRY(width(self, a[0], &n));
    int64_t left = n / 2 + (n & (n + (int64_t)self.s->chars) & 1);
    return pad(R, self, left, n - left, a[1], out);
}

weft_status string_zfill(trun *R, tvalue self, const tvalue *a, tvalue *out) {
    int64_t n;
    tvalue zero, sign, rest;
    TRY(width(self, a[0], &n));
    *out = self;
    if (n == 0) return WEFT_OK;
    bool has_sign = self.s->n && (self.s->data[0] == '+' || self.s->data[0] == '-');
    TRY(tpl_string(&R->mem, "0", 1, &zero));
    TRY(tpl_repeat(R, zero, n, &zero));
    TRY(piece(R, self.s, 0, has_sign, &sign));
    TRY(piece(R, self.s, has_sign, self.s->n, &rest));
    TRY(tpl_concat(&R->mem, sign.s, zero.s, out));
    return tpl_concat(&R->mem, out->s, rest.s, out);
}

weft_status string_expandtabs(trun *R, tvalue self, const tvalue *a, tvalue *out) {
    int64_t size, column = 0;
    str text = {0};
    TRY(optional_int(a[0], 8, &size));
    if (size > 1000) return tpl_fail("tabs of more than 1000 columns are not supported");
    TRY(tpl_work(R, self.s->n * (size > 0 ? (size_t)size : 1)));
    weft_status status = WEFT_OK;
    for (size_t at = 0; at < self.s->n && status == WEFT_OK;) {
        int32_t code;
        size_t next = next_char(self.s, at, &code);
        if (code == '\t') {
            int64_t n = size > 0 ? size - column % size : 0;
            column += n;
            for (; n > 0 && status == WEFT_OK; n--) status = str_char(&text, ' ');
        } else {
            status = str_append(&text, self.s->data + at, next - at);
            column = code == '\n' || code == '\r' ? 0 : column + 1;
        }
        if (text.n > TPL_MAX_STRING)
            status = error_set(WEFT_LIMIT, "a text is longer than the limit of %d bytes",
                               (int)TPL_MAX_STRING);
        at = next;
    }
    if (status == WEFT_OK) return tpl_from_str(&R->mem, &text, self.s->safe, out);
    str_free(&text);
    return status;
}

weft_status string_format(trun *R, tvalue self, const targs *args, tvalue *out) {
    return tpl_str_format(R, self.s, args, out);
}
