/* BPE as a tokenizer.json has it. merge.c does the merging; this file finds what a word begins
 * with, in one of three ways:
 *
 * - bytes: byte-level BPE. Words come as bytes, and a byte is its letter's token.
 * - characters: SentencePiece-like BPE, all 256 byte tokens there for characters without a token.
 * - rows: anything else, as huggingface/tokenizers' models/bpe does it step by step: prefixes,
 *   suffixes, unknown tokens, fused or not, and bytes where some have no token.
 *
 * See hub_models.h.
 * SPDX-License-Identifier: MIT */
#include <string.h>

#include "base/utf8.h"
#include "tokenizer/hub_models.h"
#include "tokenizer/hub_steps.h"
#include "tokenizer/vocab.h"

typedef enum bpe_way { BY_BYTES, BY_CHARACTERS, BY_ROWS } bpe_way;

typedef struct bpe {
    merger merger;
    bpe_way way;
    bool lacks[256]; /* by bytes: no token for the letter */
    bool lacks_any;
    bool byte_fallback, fuses_unknown, ignores_merges;
    int32_t unknown, byte_ids[256];
    token_text prefix, suffix;
    map ids;   /* the vocabulary: text -> id */
    map words; /* by bytes, with ignore_merges: a token's bytes -> id */
    mem_arena arena;
} bpe;

static void model_close(void *model) {
    bpe *b = model;
    if (!b) return;
    merger_free(&b->merger);
    map_free(&b->ids);
    map_free(&b->words);
    arena_free(&b->arena);
    mem_free(b);
}

static weft_status copy_text(bpe *b, token_text text, token_text *out) {
    char *copy = arena_string(&b->arena, text.n ? text.data : "", text.n);
    if (!copy) return WEFT_NO_MEMORY;
    *out = (token_text){copy, text.n};
    return WEFT_OK;
}

static weft_status copy_vocabulary(bpe *b, const hub_spec *s) {
    TRY(map_reserve(&b->ids, s->n_tokens));
    for (size_t i = 0; i < s->n_tokens; i++) {
        token_text text;
        if (!(s->origin[i] & HUB_MODEL)) continue;
        TRY(copy_text(b, s->texts[i], &text));
        TRY(map_set(&b->ids, text.data, text.n, (uint32_t)i));
    }
    TRY(copy_text(b, s->prefix, &b->prefix));
    return copy_text(b, s->suffix, &b->suffix);
}

/* Of equal pairs the last one counts, so they are added from the end. */
static weft_status add_merges(bpe *b, const hub_spec *s) {
    merger *m = &b->merger;
    for (size_t i = s->n_merges; i-- > 0;) {
        const hub_merge *x = &s->merges[i];
        TRY(merge_add(m, (uint32_t)x->left, (uint32_t)x->right, (uint32_t)i, (uint32_t)x->merged));
        token_text left = s->texts[x->left], right = s->texts[x->right];
        bool space_left =
            left.n && (left.data[left.n - 1] == ' ' ||
                       (left.n >= 3 && !memcmp(left.data + left.n - 3, VOCAB_SPACE, 3)));
        bool space_right = right.n && (right.data[0] == ' ' ||
                                       (right.n >= 3 && !memcmp(right.data, VOCAB_SPACE, 3)));
        if (space_right && !space_left) m->joins_spaces = true;
    }
    return WEFT_OK;
}

/* ---- by bytes
 * ------------------------------------------------------------------------------------------ */

/* The bytes that a token of byte-level BPE stands for; *n = 0: it is not spelled in letters. */
static weft_status spelled_bytes(bpe *b, token_text text, char **bytes, size_t *n) {
    *n = 0;
    *bytes = arena_alloc(&b->arena, text.n + 1);
    if (!*bytes) return WEFT_NO_MEMORY;
    for (size_t at = 0; at < text.n;) {
        int32_t code;
        at += (size_t)utf8_decode(text.data + at, text.n - at, &code);
        int byte = byte_alphabet_byte(code);
        if (byte < 0) *n = 0;
        if (byte < 0) return WEFT_OK;
        (*bytes)[(*n)++] = (char)byte;
    }
    return WEFT_OK;
}

static weft_status add_words(bpe *b, const hub_spec *s) {
    for (size_t i = 0; i < s->n_tokens; i++) {
        char *bytes;
        size_t n;
        if (!(s->origin[i] & HUB_MODEL)) continue;
        TRY(spelled_bytes(b, s->texts[i], &bytes, &n));
        if (n) TRY(map_set(&b->words, bytes, n, (uint32_t)i));
    }
    return WEFT_OK;
}

static weft_status open_bytes(bpe *b, const hub_spec *s) {
    b->way = BY_BYTES;
    b->merger.is_byte_level = true;
    for (int i = 0; i < 256; i++) {
        char letter[4];
        size_t n = (size_t)utf8_encode(byte_alphabet_code((uint8_t)i), letter);
        b->merger.byte_symbols[i] = MERGE_NONE;
        b->lacks[i] = !map_get(&b->ids, letter, n, &b->merger.byte_symbols[i]);
        b->lacks_any |= b->lacks[i];
    }
    return s->ignores_merges ? add_words(b, s) : WEFT_OK;
}

/* ---- by characters
 * ------------------------------------------------------------------------------------- */

static bool has_all_bytes(const bpe *b) {
    for (int i = 0; i < 256; i++)
        if (b->byte_ids[i] < 0) return false;
    return b->byte_fallback;
}

/* Byte tokens are put in once merging is over, so no merge may want them. */
static bool merges_bytes(const bpe *b, const hub_spec *s) {
    for (size_t i = 0; i < s->n_merges; i++) {
        int left = byte_token(s->texts[s->merges[i].left]),
            right = byte_token(s->texts[s->merges[i].right]);
        if ((left >= 0 && b->byte_ids[left] == s->merges[i].left) ||
            (right >= 0 && b->byte_ids[right] == s->merges[i].right))
            return true;
    }
    return false;
}

static weft_status open_characters(bpe *b, const hub_spec *s) {
    merger *m = &b->merger;
    b->way = BY_CHARACTERS;
    memcpy(m->byte_ids, b->byte_ids, sizeof m->byte_ids);
    for (int i = 0; i < 256; i++) {
        char byte = (char)i;
        m->byte_symbols[i] = MERGE_NONE;
        if (i < 0x80) map_get(&b->ids, &byte, 1, &m->byte_symbols[i]);
    }
    for (size_t i = 0; i < s->n_tokens; i++) {
        token_text text;
        int32_t code;
        if (!(s->origin[i] & HUB_MODEL) || s->texts[i].n < 2 || s->texts[i].n > 4) continue;
        if ((size_t)utf8_decode(s->texts[i].data, s->texts[i].n, &code) != s->texts[i].n) continue;
        TRY(copy_text(b, s->texts[i], &text));
        TRY(map_set(&m->char_symbols, text.data, text.n, (uint32_t)i));
    }
    return WEFT_OK;
}

/* ---- by rows
 * ------------------------------------------------------------------------------------------- */

/* A row of symbols in the making. An unknown character waits, as the next may be fused with it; it
 * stands where the next known one begins, bytes in between stand before it: so do they there. */
typedef struct row {
    const bpe *b;
    hub_model_work *w;
    size_t n;
    bool has_unknown;
} row;

static weft_status put(row *r, uint32_t symbol) {
    void *symbols = r->w->symbols;
    weft_status status = mem_reserve(&symbols, &r->w->capacity, r->n + 1, sizeof *r->w->symbols);
    r->w->symbols = symbols;
    TRY(status);
    r->w->symbols[r->n++] = symbol;
    return WEFT_OK;
}

static weft_status put_unknown(row *r) {
    if (!r->has_unknown) return WEFT_OK;
    r->has_unknown = false;
    return put(r, (uint32_t)r->b->unknown);
}

static weft_status put_missing(row *r, const char *text, size_t n) {
    const bpe *b = r->b;
    bool has_bytes = b->byte_fallback;
    for (size_t i = 0; i < n; i++) has_bytes &= b->byte_ids[(uint8_t)text[i]] >= 0;
    for (size_t i = 0; i < n && has_bytes; i++)
        TRY(put(r, (uint32_t)b->byte_ids[(uint8_t)text[i]]));
    if (has_bytes || b->unknown == -1) return WEFT_OK; /* without an unknown token it is left out */
    REQUIRE(b->unknown >= 0, WEFT_FORMAT,
            "the vocabulary has neither a token for \"%.*s\" nor the unknown token it names",
            (int)(n < 40 ? n : 40), text);
    if (!b->fuses_unknown) TRY(put_unknown(r));
    r->has_unknown = true;
    return WEFT_OK;
}

static weft_status fill_row(row *r, const char *word, size_t n) {
    str *text = &r->w->text;
    for (size_t at = 0, bytes; at < n; at += bytes) {
        int32_t code;
        uint32_t id;
        bytes = (size_t)utf8_decode(word + at, n - at, &code);
        str_clear(text);
        if (at) TRY(str_append(text, r->b->prefix.data, r->b->prefix.n));
        TRY(str_append(text, word + at, bytes));
        if (at + bytes == n) TRY(str_append(text, r->b->suffix.data, r->b->suffix.n));
        if (map_get(&r->b->ids, text->data, text->n, &id)) {
            TRY(put_unknown(r));
            TRY(put(r, id));
        } else {
            TRY(put_missing(r, text->data, text->n));
        }
    }
    return put_unknown(r);
}

static weft_status encode_row(const bpe *b, hub_model_work *w, const char *word, size_t n,
                              token_list *out) {
    row r = {b, w, 0, false};
    TRY(fill_row(&r, word, n));
    return merge_symbols(&b->merger, &w->merge, w->symbols, r.n, out);
}

static weft_status encode_cached_row(const bpe *b, hub_model_work *w, const char *word, size_t n,
                                     token_list *out) {
    bool found;
    TRY(merge_recall(&w->merge, word, n, out, &found));
    if (found) return WEFT_OK;
    size_t first = out->n;
    TRY(encode_row(b, w, word, n, out));
    if (out->n > first) merge_remember(&w->merge, word, n, out->ids + first, out->n - first);
    return WEFT_OK;
}

/* A word with a byte whose letter has no token, which the merger by bytes cannot do. The cache
 * knows words as bytes, so this one, in letters, stays out of it. */
static weft_status encode_spelled(const bpe *b, hub_model_work *w, const char *word, size_t n,
                                  token_list *out) {
    str letters = {0};
    weft_status status = hub_spell_bytes(word, n, &letters);
    if (status == WEFT_OK) status = encode_row(b, w, str_text(&letters), letters.n, out);
    str_free(&letters);
    return status;
}

static bool lacks_a_byte(const bpe *b, const char *word, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (b->lacks[(uint8_t)word[i]]) return true;
    return false;
}

static weft_status model_encode(const void *model, hub_model_work *w, const char *word, size_t n,
                                token_list *out) {
    const bpe *b = model;
    uint32_t id;
    if (b->ignores_merges && map_get(b->way == BY_BYTES ? &b->words : &b->ids, word, n, &id))
        return token_list_add(out, (int32_t)id);
    if (b->way == BY_ROWS) return encode_cached_row(b, w, word, n, out);
    if (b->lacks_any && lacks_a_byte(b, word, n)) return encode_spelled(b, w, word, n, out);
    return merge_encode(&b->merger, &w->merge, word, n, out);
}

static weft_status open_parts(bpe *b, const hub_spec *s, bool keeps_bytes) {
    b->byte_fallback = s->byte_fallback;
    b->fuses_unknown = s->fuses_unknown;
    b->ignores_merges = s->ignores_merges;
    b->unknown = s->lost.data ? -2 : s->unknown;
    b->merger.n_tokens = (uint32_t)s->n_tokens;
    b->merger.unknown = -1;
    for (int i = 0; i < 256; i++) {
        b->byte_ids[i] = hub_byte_token(s, (uint8_t)i);
        b->merger.byte_ids[i] = -1;
        b->merger.byte_symbols[i] = MERGE_NONE;
    }
    TRY(copy_vocabulary(b, s));
    TRY(add_merges(b, s));
    b->way = BY_ROWS;
    if (keeps_bytes) return open_bytes(b, s);
    bool is_plain = !s->prefix.n && !s->suffix.n;
    return is_plain && has_all_bytes(b) && !merges_bytes(b, s) ? open_characters(b, s) : WEFT_OK;
}

static weft_status model_open(const hub_spec *s, bool keeps_bytes, void **out) {
    bpe *b = mem_alloc(sizeof *b);
    if (!b) return WEFT_NO_MEMORY;
    weft_status status = open_parts(b, s, keeps_bytes);
    if (status == WEFT_OK) *out = b;
    else model_close(b);
    return status;
}

const hub_model hub_bpe = {model_open, model_close, model_encode};
