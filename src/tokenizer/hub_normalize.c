/* The normalizers of a tokenizer.json. Each step writes the whole text anew, but for those that
 * find nothing to do. Unicode's normal forms are utf8proc's tables with an ordering of our own: its
 * own takes quadratic time on long rows of marks. Source of the rules: huggingface/tokenizers,
 * src/normalizers and src/tokenizer/normalizer.rs. See hub_steps.h.
 * SPDX-License-Identifier: MIT */
#include <string.h>
#include <utf8proc.h>

#include "base/utf8.h"
#include "tokenizer/charsmap.h"
#include "tokenizer/hub_steps.h"
#include "tokenizer/letters.h"

typedef struct step {
    part part;
    token_text content, literal; /* copies of the part's */
    pattern *pattern;
    charsmap map;
} step;

struct hub_normalizer {
    step *steps;
    size_t n;
    mem_arena arena;
};

typedef struct run {
    const step *s;
    hub_normalize_work *w;
    hub_piece in;
    str *out;
    size_t first; /* leading bytes of `out` that come from the first character */
    size_t most;  /* bytes that `out` may have */
} run;

/* ---- patterns (Replace, and the splitter's Split)
 * ------------------------------------------------------ */

weft_status hub_compile(const part *p, pattern **out) {
    *out = NULL;
    if (!p->is_regex) return WEFT_OK;
    str text = {0};
    weft_status status = pattern_translate(p->pattern.data, p->pattern.n, &text);
    if (status == WEFT_OK) status = pattern_open(str_text(&text), text.n, true, out);
    str_free(&text);
    return status;
}

static size_t character_bytes(const char *text, size_t n, size_t at) {
    int32_t code;
    return at < n ? (size_t)utf8_decode(text + at, n - at, &code) : 1;
}

static void find_literal(token_text literal, const char *text, size_t n, size_t at, bool *found,
                         size_t *from, size_t *to) {
    *found = !literal.n;
    *from = *to = at;
    if (*found || at >= n) return;
    const char *place = memmem(text + at, n - at, literal.data, literal.n);
    *found = place != NULL;
    if (place) *from = (size_t)(place - text);
    *to = *from + literal.n;
}

weft_status hub_next_match(const pattern *pattern, token_text literal, const pattern_work *w,
                           const char *text, size_t n, size_t *at, size_t *last, bool *found,
                           size_t *from, size_t *to) {
    for (*found = false; *at <= n;) {
        if (pattern) TRY(pattern_find(pattern, w, text, n, *at, found, from, to));
        else find_literal(literal, text, n, *at, found, from, to);
        if (!*found) return WEFT_OK;
        if (*from < *to || *from != *last) {
            *at = *last = *to;
            return WEFT_OK;
        }
        *at += character_bytes(text, n, *at);
        *found = false;
    }
    return WEFT_OK;
}

weft_status hub_check_most(size_t n, size_t most) {
    REQUIRE(n <= most, WEFT_LIMIT, "tokenizer.json: its steps make the text longer than %zu bytes",
            most);
    return WEFT_OK;
}

weft_status hub_replace(const pattern *pattern, token_text literal, token_text content,
                        const pattern_work *w, hub_piece in, size_t most, str *out, size_t *first) {
    size_t at = 0, last = SIZE_MAX, from, to, done = 0;
    *first = 0;
    while (in.n) { /* nothing matches in an empty text, whatever the expression */
        bool found;
        TRY(hub_next_match(pattern, literal, w, in.text, in.n, &at, &last, &found, &from, &to));
        if (!found) from = to = in.n;
        size_t kept = from - done, kept_first = in.first > done ? in.first - done : 0;
        if (kept_first) *first = out->n + (kept_first < kept ? kept_first : kept);
        TRY(str_append(out, in.text + done, kept));
        done = to;
        if (!found) return WEFT_OK;
        TRY(str_append(out, content.data, content.n));
        if (in.first && (to ? to - 1 : 0) < in.first) *first = out->n; /* as its last byte */
        TRY(hub_check_most(out->n, most));
    }
    return WEFT_OK;
}

/* ---- Unicode's normal forms
 * ---------------------------------------------------------------------------- */

static bool is_ascii(const char *text, size_t n) {
    uint8_t all = 0;
    for (size_t i = 0; i < n; i++) all |= (uint8_t)text[i];
    return all < 0x80;
}

static int combining_class(int32_t c) {
    return c < 0x300 ? 0 : utf8proc_get_property(c)->combining_class;
}

static weft_status reserve_codes(hub_normalize_work *w, size_t n) {
    void *codes = w->codes;
    weft_status status = mem_reserve(&codes, &w->capacity, n, sizeof *w->codes);
    w->codes = codes;
    return status;
}

/* Sorts a row of marks by their class, equal ones as they stood: by counting, as a row may be as
 * long as the text. `scratch` has room for n more. */
static void order_marks(int32_t *codes, size_t n, int32_t *scratch) {
    enum { SHORT = 8 };
    for (size_t i = 1; i < n && n <= SHORT; i++) {
        int32_t code = codes[i];
        size_t k = i;
        for (; k && combining_class(codes[k - 1]) > combining_class(code); k--)
            codes[k] = codes[k - 1];
        codes[k] = code;
    }
    if (n <= SHORT) return;
    size_t begin[257] = {0};
    for (size_t i = 0; i < n; i++) begin[combining_class(codes[i]) + 1]++;
    for (int i = 0; i < 256; i++) begin[i + 1] += begin[i];
    for (size_t i = 0; i < n; i++) scratch[begin[combining_class(codes[i])]++] = codes[i];
    memcpy(codes, scratch, n * sizeof *codes);
}

/* w->codes becomes the decomposition of the text; *n_codes its length. */
static weft_status decompose(hub_normalize_work *w, const char *text, size_t n, bool is_compatible,
                             size_t *n_codes) {
    utf8proc_option_t options =
        UTF8PROC_STABLE | UTF8PROC_DECOMPOSE | (is_compatible ? UTF8PROC_COMPAT : 0);
    size_t count = 0, marks = 0; /* marks: where the last row of them begins */
    for (size_t at = 0; at < n;) {
        int32_t code;
        at += (size_t)utf8_decode(text + at, n - at, &code);
        enum { MOST = 32 }; /* the longest decomposition has 18 */
        TRY(reserve_codes(w, 2 * count + 4 * MOST));
        utf8proc_ssize_t m =
            code < 0x80 ? 0 : utf8proc_decompose_char(code, w->codes + count, MOST, options, NULL);
        if (m <= 0 || m > MOST) {
            w->codes[count] = code;
            m = 1;
        }
        for (utf8proc_ssize_t i = 0; i < m; i++, count++) {
            if (combining_class(w->codes[count])) continue;
            if (count > marks + 1)
                order_marks(w->codes + marks, count - marks, w->codes + count + MOST);
            marks = count + 1;
        }
    }
    TRY(reserve_codes(w, 2 * count + 1));
    if (count > marks + 1) order_marks(w->codes + marks, count - marks, w->codes + count);
    *n_codes = count;
    return WEFT_OK;
}

static weft_status put_code(str *out, int32_t code) {
    char bytes[4];
    return str_append(out, bytes, (size_t)utf8_encode(code, bytes));
}

/* The codes of a normal form. */
static weft_status normal_codes(hub_normalize_work *w, const char *text, size_t n, bool composes,
                                bool is_compatible, size_t *n_codes) {
    TRY(decompose(w, text, n, is_compatible, n_codes));
    if (!composes || !*n_codes) return WEFT_OK;
    utf8proc_ssize_t m = utf8proc_normalize_utf32(w->codes, (utf8proc_ssize_t)*n_codes,
                                                  UTF8PROC_STABLE | UTF8PROC_COMPOSE);
    if (m >= 0) *n_codes = (size_t)m;
    return WEFT_OK;
}

static weft_status normal_form(run *r, bool composes, bool is_compatible) {
    size_t n, n_first = 0;
    if (r->in.first && r->in.first < r->in.n)
        TRY(normal_codes(r->w, r->in.text, r->in.first, composes, is_compatible, &n_first));
    TRY(normal_codes(r->w, r->in.text, r->in.n, composes, is_compatible, &n));
    if (r->in.first == r->in.n) n_first = n;
    for (size_t i = 0; i < n; i++) {
        TRY(put_code(r->out, r->w->codes[i]));
        if (i < n_first) r->first = r->out->n;
    }
    return WEFT_OK;
}

/* ---- character by character
 * ---------------------------------------------------------------------------- */

/* How one character is written: appends nothing, itself or others. */
typedef weft_status (*writer)(const part *p, int32_t code, str *out);

static weft_status write_each(run *r, writer write) {
    for (size_t at = 0; at < r->in.n;) {
        int32_t code;
        size_t from = at;
        at += (size_t)utf8_decode(r->in.text + at, r->in.n - at, &code);
        TRY(write(&r->s->part, code, r->out));
        if (from < r->in.first) r->first = r->out->n;
    }
    return WEFT_OK;
}

static weft_status write_lower(const part *p, int32_t code, str *out) {
    (void)p;
    int32_t small[2];
    int n = letter_lower(code, small);
    for (int i = 0; i < n; i++) TRY(put_code(out, small[i]));
    return WEFT_OK;
}

static weft_status write_no_mark(const part *p, int32_t code, str *out) {
    (void)p;
    return letter_is_mark(code) ? WEFT_OK : put_code(out, code);
}

static weft_status write_no_accent(const part *p, int32_t code, str *out) {
    (void)p;
    bool is_accent = code >= 0x80 && utf8proc_category(code) == UTF8PROC_CATEGORY_MN;
    return is_accent ? WEFT_OK : put_code(out, code);
}

static weft_status write_bytes(const part *p, int32_t code, str *out) {
    (void)p;
    char bytes[4];
    return hub_spell_bytes(bytes, (size_t)utf8_encode(code, bytes), out);
}

/* SentencePiece's nmt rules, without the map. */
static weft_status write_nmt(const part *p, int32_t c, str *out) {
    (void)p;
    bool is_dropped = (c >= 1 && c <= 8) || c == 0xB || (c >= 0xE && c <= 0x1F) || c == 0x7F ||
                      c == 0x8F || c == 0x9F;
    bool is_space = c == '\t' || c == '\n' || c == '\f' || c == '\r' || c == 0x1680 ||
                    (c >= 0x200B && c <= 0x200F) || c == 0x2028 || c == 0x2029 || c == 0x2581 ||
                    c == 0xFEFF || c == 0xFFFD;
    if (is_dropped) return WEFT_OK;
    return is_space ? str_char(out, ' ') : put_code(out, c);
}

static weft_status write_clean(const part *p, int32_t c, str *out) {
    bool is_space = letter_is_space(c), is_break = c == '\t' || c == '\n' || c == '\r';
    if (p->cleans && !is_break && letter_is_dropped(c)) return WEFT_OK;
    bool is_chinese = p->separates_chinese && letter_is_chinese(c);
    if (is_chinese) TRY(str_char(out, ' '));
    TRY(put_code(out, p->cleans && is_space ? ' ' : c));
    return is_chinese ? str_char(out, ' ') : WEFT_OK;
}

/* ---- whole texts
 * --------------------------------------------------------------------------------------- */

static weft_status strip(run *r) {
    size_t begin = 0, end = r->in.n, bytes;
    int32_t code;
    for (; r->s->part.left && begin < end; begin += bytes) {
        bytes = (size_t)utf8_decode(r->in.text + begin, end - begin, &code);
        if (!letter_is_space(code)) break;
    }
    for (; r->s->part.right && end > begin; end -= bytes) {
        bytes = 1;
        while (bytes < end - begin && ((uint8_t)r->in.text[end - bytes] & 0xC0) == 0x80) bytes++;
        utf8_decode(r->in.text + end - bytes, bytes, &code);
        if (!letter_is_space(code)) break;
    }
    r->first = r->in.first <= begin ? 0 : r->in.first < end ? r->in.first - begin : end - begin;
    return str_append(r->out, r->in.text + begin, end - begin);
}

static weft_status prepend(run *r) {
    size_t n = r->in.n ? r->s->content.n : 0;
    TRY(str_append(r->out, r->s->content.data, n));
    TRY(str_append(r->out, r->in.text, r->in.n));
    r->first = r->in.first ? r->in.first + n : 0;
    return WEFT_OK;
}

static weft_status put_mapped(run *r, const char *text, size_t n) {
    const char *replacement;
    size_t length = charsmap_find(&r->s->map, text, n, true, &replacement);
    return length ? str_append(r->out, replacement, strlen(replacement))
                  : str_append(r->out, text, n);
}

/* As the `spm_precompiled` crate does it: a short cluster of characters is replaced as a whole by
 * the first entry that it begins with; else each of its characters is. */
static weft_status put_cluster(run *r, const char *text, size_t n) {
    enum { SHORT = 6 };
    const char *replacement;
    if (n < SHORT && charsmap_find(&r->s->map, text, n, true, &replacement))
        return put_mapped(r, text, n);
    for (size_t at = 0, bytes; at < n; at += bytes) {
        bytes = character_bytes(text, n, at);
        TRY(put_mapped(r, text + at, bytes));
    }
    return WEFT_OK;
}

static weft_status precompiled(run *r) {
    size_t begin = 0, bytes;
    int32_t previous = 0, code, state = 0;
    for (size_t at = 0; at < r->in.n; at += bytes) {
        bytes = (size_t)utf8_decode(r->in.text + at, r->in.n - at, &code);
        if (at && utf8proc_grapheme_break_stateful(previous, code, &state)) {
            TRY(put_cluster(r, r->in.text + begin, at - begin));
            if (begin < r->in.first) r->first = r->out->n;
            begin = at;
        }
        previous = code;
    }
    TRY(put_cluster(r, r->in.text + begin, r->in.n - begin));
    if (begin < r->in.first) r->first = r->out->n;
    return WEFT_OK;
}

/* Makes the output of one pass the input of the next. */
static void turn(run *r) {
    r->out = r->out == &r->w->text[0] ? &r->w->text[1] : &r->w->text[0];
    str *done = r->out == &r->w->text[0] ? &r->w->text[1] : &r->w->text[0];
    r->in = (hub_piece){str_text(done), done->n, r->first};
    r->first = 0;
    str_clear(r->out);
}

static weft_status bert(run *r) {
    const part *p = &r->s->part;
    TRY(write_each(r, write_clean));
    if (p->strips_accents) {
        turn(r);
        TRY(normal_form(r, false, false));
        turn(r);
        TRY(write_each(r, write_no_accent));
    }
    if (p->lowercases) {
        turn(r);
        TRY(write_each(r, write_lower));
    }
    return WEFT_OK;
}

/* False where the step leaves the text as it is. */
static bool has_effect(const run *r) {
    switch (r->s->part.type) {
    case NORM_NFC:
    case NORM_NFD:
    case NORM_NFKC:
    case NORM_NFKD:
    case NORM_STRIP_ACCENTS: return !is_ascii(r->in.text, r->in.n);
    default: return true;
    }
}

static weft_status run_step(run *r) {
    switch (r->s->part.type) {
    case NORM_NFC: return normal_form(r, true, false);
    case NORM_NFD: return normal_form(r, false, false);
    case NORM_NFKC: return normal_form(r, true, true);
    case NORM_NFKD: return normal_form(r, false, true);
    case NORM_LOWERCASE: return write_each(r, write_lower);
    case NORM_STRIP_ACCENTS: return write_each(r, write_no_mark);
    case NORM_STRIP: return strip(r);
    case NORM_REPLACE:
        return hub_replace(r->s->pattern, r->s->literal, r->s->content, r->w->patterns, r->in,
                           r->most, r->out, &r->first);
    case NORM_PREPEND: return prepend(r);
    case NORM_BERT: return bert(r);
    case NORM_BYTE_LEVEL: return write_each(r, write_bytes);
    case NORM_NMT: return write_each(r, write_nmt);
    default: return precompiled(r);
    }
}

weft_status hub_normalize(const hub_normalizer *n, hub_normalize_work *w, hub_piece *piece) {
    run r = {.w = w, .in = *piece, .out = &w->text[0], .most = hub_most(piece->n)};
    for (size_t i = 0; i < n->n; i++) {
        r.s = &n->steps[i];
        if (!has_effect(&r)) continue;
        str_clear(r.out);
        TRY(run_step(&r));
        TRY(hub_check_most(r.out->n, r.most));
        turn(&r);
    }
    *piece = r.in;
    return WEFT_OK;
}

static weft_status copy_text(mem_arena *arena, token_text text, token_text *out) {
    char *copy = arena_string(arena, text.n ? text.data : "", text.n);
    if (!copy) return WEFT_NO_MEMORY;
    *out = (token_text){copy, text.n};
    return WEFT_OK;
}

static weft_status open_step(hub_normalizer *n, const part *p) {
    step *s = &n->steps[n->n++];
    s->part = *p;
    if (p->type == NORM_PRECOMPILED) return charsmap_open(&s->map, p->content);
    TRY(copy_text(&n->arena, p->content, &s->content));
    TRY(copy_text(&n->arena, p->pattern, &s->literal));
    return p->type == NORM_REPLACE ? hub_compile(p, &s->pattern) : WEFT_OK;
}

weft_status hub_normalizer_open(const part_list *parts, hub_normalizer **out) {
    *out = NULL;
    hub_normalizer *n = mem_alloc(sizeof *n);
    if (!n) return WEFT_NO_MEMORY;
    n->steps = mem_array(parts->n, sizeof *n->steps);
    weft_status status = n->steps ? WEFT_OK : WEFT_NO_MEMORY;
    for (size_t i = 0; i < parts->n && status == WEFT_OK; i++) {
        status = open_step(n, &parts->items[i]);
        if (status != WEFT_OK) error_prefix(status, "normalizer: %s", parts->items[i].name);
    }
    if (status != WEFT_OK) {
        hub_normalizer_close(n);
        return status;
    }
    *out = n;
    return WEFT_OK;
}

void hub_normalizer_close(hub_normalizer *n) {
    if (!n) return;
    for (size_t i = 0; n->steps && i < n->n; i++) {
        pattern_close(n->steps[i].pattern);
        charsmap_close(&n->steps[i].map);
    }
    mem_free(n->steps);
    arena_free(&n->arena);
    mem_free(n);
}

void hub_normalize_work_free(hub_normalize_work *w) {
    str_free(&w->text[0]);
    str_free(&w->text[1]);
    mem_free(w->codes);
    *w = (hub_normalize_work){0};
}
