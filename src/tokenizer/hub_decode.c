/* The decoders of a tokenizer.json: steps over a row of texts, first the tokens' own, in the end
 * one text after the other. Bytes stay bytes: where `tokenizers` puts U+FFFD for byte tokens that
 * are no UTF-8, the bytes themselves come out, as from every tokenizer here. Source of the rules:
 * huggingface/tokenizers, src/decoders. See hub_steps.h.
 * SPDX-License-Identifier: MIT */
#include <string.h>

#include "base/utf8.h"
#include "tokenizer/hub_steps.h"
#include "tokenizer/vocab.h"

typedef struct step {
    part part;
    token_text content, literal, delimiter;
    pattern *pattern;
    bool is_fused; /* what comes here is one text */
} step;

struct hub_decoder {
    step *steps;
    size_t n;
    bool joins_with_spaces; /* there is no decoder */
    mem_arena arena;
};

/* A row of texts, one behind the other in `text`. */
typedef struct row {
    str text;
    size_t *ends;
    size_t n, capacity;
} row;

static void row_free(row *r) {
    str_free(&r->text);
    mem_free(r->ends);
    *r = (row){0};
}

static weft_status row_end(row *r) {
    void *ends = r->ends;
    weft_status status = mem_reserve(&ends, &r->capacity, r->n + 1, sizeof *r->ends);
    r->ends = ends;
    TRY(status);
    r->ends[r->n++] = r->text.n;
    return WEFT_OK;
}

static token_text row_at(const row *r, size_t i) {
    size_t from = i ? r->ends[i - 1] : 0;
    return (token_text){str_text(&r->text) + from, r->ends[i] - from};
}

typedef struct run {
    const step *s;
    const row *in;
    row *out;
    const pattern_work *patterns;
    bool begins, ends; /* the row stands at the beginning, at the end of a text */
    size_t most;       /* bytes that the text may have */
} run;

static weft_status put(run *r, token_text text) {
    return str_append(&r->out->text, text.data, text.n);
}

/* Appends text[from..) with every `old` replaced; in place, as what it replaces is found before it
 * is written over. An empty `old` stands between all characters. */
static weft_status replace_tail(str *s, size_t from, token_text old, token_text new) {
    str copy = {0};
    size_t first;
    hub_piece in = {str_text(s) + from, s->n - from, 0};
    weft_status status = hub_replace(NULL, old, new, NULL, in, hub_most(in.n), &copy, &first);
    if (status == WEFT_OK) {
        s->n = from;
        status = str_append(s, str_text(&copy), copy.n);
    }
    str_free(&copy);
    return status;
}

/* ---- steps
 * --------------------------------------------------------------------------------------------- */

/* A token in the byte alphabet gives its bytes; one that is not all in it stays as it is. */
static weft_status byte_level(run *r) {
    for (size_t i = 0; i < r->in->n; i++) {
        token_text t = row_at(r->in, i);
        size_t begin = r->out->text.n;
        bool is_spelled = true;
        for (size_t at = 0; at < t.n && is_spelled;) {
            int32_t code;
            at += (size_t)utf8_decode(t.data + at, t.n - at, &code);
            int byte = byte_alphabet_byte(code);
            is_spelled = byte >= 0;
            if (is_spelled) TRY(str_char(&r->out->text, (char)byte));
        }
        if (is_spelled) continue;
        r->out->text.n = begin;
        TRY(put(r, t));
    }
    return row_end(r->out);
}

/* The mark is a space, but in a text's first token it is nothing. */
static weft_status metaspace(run *r) {
    token_text mark = r->s->content;
    for (size_t i = 0; i < r->in->n; i++) {
        token_text t = row_at(r->in, i);
        bool is_first = r->begins && i == 0 && r->s->part.scheme != PREPEND_NEVER;
        for (size_t at = 0; at < t.n;) {
            bool is_mark = t.n - at >= mark.n && !memcmp(t.data + at, mark.data, mark.n);
            if (!is_mark) TRY(str_char(&r->out->text, t.data[at]));
            else if (!is_first) TRY(str_char(&r->out->text, ' '));
            at += is_mark ? mark.n : 1;
        }
        TRY(row_end(r->out));
    }
    return WEFT_OK;
}

/* English as it was before words were cut: the list is that of `transformers`' clean-up. */
static weft_status clean_up(str *text, size_t from) {
    static const char *const pairs[][2] = {
        {" .", "."},   {" ?", "?"},     {" !", "!"},     {" ,", ","},
        {" ' ", "'"},  {" n't", "n't"}, {" 'm", "'m"},   {" do not", " don't"},
        {" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"},
    };
    if (!memchr(str_text(text) + from, ' ', text->n - from)) return WEFT_OK;
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        TRY(replace_tail(text, from, (token_text){pairs[i][0], strlen(pairs[i][0])},
                         (token_text){pairs[i][1], strlen(pairs[i][1])}));
    return WEFT_OK;
}

static weft_status wordpiece(run *r) {
    token_text prefix = r->s->content;
    for (size_t i = 0; i < r->in->n; i++) {
        token_text t = row_at(r->in, i);
        size_t begin = r->out->text.n;
        bool is_first = r->begins && i == 0;
        bool is_inside = t.n >= prefix.n && !memcmp(t.data, prefix.data, prefix.n);
        if (!is_first && is_inside) t = (token_text){t.data + prefix.n, t.n - prefix.n};
        else if (!is_first) TRY(str_char(&r->out->text, ' '));
        TRY(put(r, t));
        if (r->s->part.cleans) TRY(clean_up(&r->out->text, begin));
        TRY(row_end(r->out));
    }
    return WEFT_OK;
}

static weft_status bpe(run *r) {
    for (size_t i = 0; i < r->in->n; i++) {
        size_t begin = r->out->text.n;
        bool is_last = r->ends && i + 1 == r->in->n;
        TRY(put(r, row_at(r->in, i)));
        TRY(replace_tail(&r->out->text, begin, r->s->content,
                         is_last ? (token_text){"", 0} : (token_text){" ", 1}));
        TRY(row_end(r->out));
    }
    return WEFT_OK;
}

/* Ends a row of byte tokens that began at `from`: one text, or where it is no UTF-8, one for each
 * byte. */
static weft_status end_bytes(row *out, size_t from) {
    bool is_valid = true;
    for (size_t at = from; at < out->text.n && is_valid;) {
        int32_t code;
        at += (size_t)utf8_decode(out->text.data + at, out->text.n - at, &code);
        is_valid = code != UTF8_BAD;
    }
    size_t end = out->text.n;
    for (size_t at = from + 1; at < end && !is_valid; at++) {
        out->text.n = at;
        TRY(row_end(out));
    }
    out->text.n = end;
    return end > from ? row_end(out) : WEFT_OK;
}

static weft_status bytes(run *r) {
    size_t from = 0; /* where the row of bytes begins */
    for (size_t i = 0; i < r->in->n; i++) {
        token_text t = row_at(r->in, i);
        int byte = byte_token(t);
        if (byte >= 0) {
            TRY(str_char(&r->out->text, (char)byte));
            continue;
        }
        TRY(end_bytes(r->out, from));
        TRY(put(r, t));
        TRY(row_end(r->out));
        from = r->out->text.n;
    }
    return end_bytes(r->out, from);
}

static weft_status fuse(run *r) {
    TRY(str_append(&r->out->text, str_text(&r->in->text), r->in->text.n));
    return row_end(r->out);
}

/* Takes the character off both ends, at most so often. Of a text that was fused, only where that
 * text begins or ends. */
static weft_status strip(run *r) {
    token_text c = r->s->content;
    bool is_fused = r->s->is_fused;
    for (size_t i = 0; i < r->in->n; i++) {
        token_text t = row_at(r->in, i);
        size_t start = is_fused && !r->begins ? 0 : r->s->part.start;
        size_t stop = is_fused && !r->ends ? 0 : r->s->part.stop;
        for (; start && t.n >= c.n && !memcmp(t.data, c.data, c.n); start--)
            t = (token_text){t.data + c.n, t.n - c.n};
        for (; stop && t.n >= c.n && !memcmp(t.data + t.n - c.n, c.data, c.n); stop--) t.n -= c.n;
        TRY(put(r, t));
        TRY(row_end(r->out));
    }
    return WEFT_OK;
}

/* An expression sees UTF-8 only: before it, bytes that are none become U+FFFD, one for each
 * beginning of a character (Rust's from_utf8_lossy). */
static weft_status make_valid(token_text t, str *out) {
    for (size_t at = 0; at < t.n;) {
        int32_t code;
        size_t n = (size_t)utf8_decode(t.data + at, t.n - at, &code);
        if (code == UTF8_BAD) {
            for (size_t k = 2; k <= 3 && at + k <= t.n && !utf8_complete(t.data + at, k); k++)
                n = k;
            TRY(str_append(out, "\xEF\xBF\xBD", 3));
        } else {
            TRY(str_append(out, t.data + at, n));
        }
        at += n;
    }
    return WEFT_OK;
}

static weft_status replace_text(run *r, token_text t) {
    size_t first;
    const step *s = r->s;
    if (!s->pattern)
        return hub_replace(NULL, s->literal, s->content, NULL, (hub_piece){t.data, t.n, 0}, r->most,
                           &r->out->text, &first);
    str valid = {0};
    weft_status status = make_valid(t, &valid);
    if (status == WEFT_OK)
        status =
            hub_replace(s->pattern, s->literal, s->content, r->patterns,
                        (hub_piece){str_text(&valid), valid.n, 0}, r->most, &r->out->text, &first);
    str_free(&valid);
    return status;
}

static weft_status replace(run *r) {
    for (size_t i = 0; i < r->in->n; i++) {
        TRY(replace_text(r, row_at(r->in, i)));
        TRY(row_end(r->out));
    }
    return WEFT_OK;
}

static weft_status ctc(run *r) {
    for (size_t i = 0; i < r->in->n; i++) {
        token_text t = row_at(r->in, i), before = i ? row_at(r->in, i - 1) : (token_text){0};
        if (i && t.n == before.n && !memcmp(t.data, before.data, t.n)) continue;
        size_t begin = r->out->text.n;
        TRY(put(r, t));
        TRY(replace_tail(&r->out->text, begin, r->s->content, (token_text){"", 0}));
        if (r->s->part.cleans) {
            TRY(clean_up(&r->out->text, begin));
            TRY(replace_tail(&r->out->text, begin, r->s->delimiter, (token_text){" ", 1}));
        }
        if (r->out->text.n > begin) TRY(row_end(r->out));
    }
    return WEFT_OK;
}

static weft_status run_step(run *r) {
    switch (r->s->part.type) {
    case DECODE_BYTE_LEVEL: return byte_level(r);
    case DECODE_METASPACE: return metaspace(r);
    case DECODE_WORDPIECE: return wordpiece(r);
    case DECODE_BPE: return bpe(r);
    case DECODE_BYTES: return bytes(r);
    case DECODE_FUSE: return fuse(r);
    case DECODE_STRIP: return strip(r);
    case DECODE_REPLACE: return replace(r);
    default: return ctc(r);
    }
}

/* ---- the whole
 * ----------------------------------------------------------------------------------------- */

static weft_status fill(const hub_decoder *d, const token_text *tokens, size_t n, bool begins,
                        row *out) {
    for (size_t i = 0; i < n; i++) {
        if (d->joins_with_spaces && (i || !begins)) TRY(str_char(&out->text, ' '));
        TRY(str_append(&out->text, tokens[i].data, tokens[i].n));
        TRY(row_end(out));
    }
    return WEFT_OK;
}

static weft_status run_steps(const hub_decoder *d, run *r, row rows[2]) {
    r->most = hub_most(rows[0].text.n);
    for (size_t i = 0; i < d->n; i++) {
        r->s = &d->steps[i];
        r->in = &rows[i % 2];
        r->out = &rows[(i + 1) % 2];
        str_clear(&r->out->text);
        r->out->n = 0;
        TRY(run_step(r));
        TRY(hub_check_most(r->out->text.n, r->most));
    }
    return WEFT_OK;
}

weft_status hub_decode(const hub_decoder *d, const token_text *tokens, size_t n, bool begins,
                       bool ends, str *out) {
    row rows[2] = {{.n = 0}, {.n = 0}};
    pattern_work *patterns = NULL;
    bool needs_patterns = false;
    for (size_t i = 0; i < d->n; i++) needs_patterns |= d->steps[i].pattern != NULL;
    weft_status status = needs_patterns ? pattern_work_open(&patterns) : WEFT_OK;
    run r = {.patterns = patterns, .begins = begins, .ends = ends};
    if (status == WEFT_OK) status = fill(d, tokens, n, begins, &rows[0]);
    if (status == WEFT_OK && n) status = run_steps(d, &r, rows);
    const str *text = &rows[d->n % 2].text;
    if (status == WEFT_OK && n) status = str_append(out, str_text(text), text->n);
    row_free(&rows[0]);
    row_free(&rows[1]);
    pattern_work_close(patterns);
    return status;
}

static weft_status copy_text(mem_arena *arena, token_text text, token_text *out) {
    char *copy = arena_string(arena, text.n ? text.data : "", text.n);
    if (!copy) return WEFT_NO_MEMORY;
    *out = (token_text){copy, text.n};
    return WEFT_OK;
}

static weft_status open_step(hub_decoder *d, const part *p) {
    bool is_fused =
        d->n && (d->steps[d->n - 1].is_fused || d->steps[d->n - 1].part.type == DECODE_FUSE ||
                 d->steps[d->n - 1].part.type == DECODE_BYTE_LEVEL);
    step *s = &d->steps[d->n++];
    s->part = *p;
    s->is_fused = is_fused;
    TRY(copy_text(&d->arena, p->content, &s->content));
    TRY(copy_text(&d->arena, p->pattern, &s->literal));
    TRY(copy_text(&d->arena, p->delimiter, &s->delimiter));
    return p->type == DECODE_REPLACE ? hub_compile(p, &s->pattern) : WEFT_OK;
}

weft_status hub_decoder_open(const hub_spec *s, hub_decoder **out) {
    const part_list *parts = &s->stages[DECODER];
    *out = NULL;
    hub_decoder *d = mem_alloc(sizeof *d);
    if (!d) return WEFT_NO_MEMORY;
    d->joins_with_spaces = !s->has_decoder;
    d->steps = mem_array(parts->n, sizeof *d->steps);
    weft_status status = d->steps ? WEFT_OK : WEFT_NO_MEMORY;
    for (size_t i = 0; i < parts->n && status == WEFT_OK; i++) {
        status = open_step(d, &parts->items[i]);
        if (status != WEFT_OK) error_prefix(status, "decoder: %s", parts->items[i].name);
    }
    if (status != WEFT_OK) {
        hub_decoder_close(d);
        return status;
    }
    *out = d;
    return WEFT_OK;
}

void hub_decoder_close(hub_decoder *d) {
    if (!d) return;
    for (size_t i = 0; d->steps && i < d->n; i++) pattern_close(d->steps[i].pattern);
    mem_free(d->steps);
    arena_free(&d->arena);
    mem_free(d);
}
