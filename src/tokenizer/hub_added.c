/* The leftmost match counts, of those that begin there the longest, and what a match covers is
 * gone even where it then does not count (a special token that is not to be parsed, one inside a
 * word that must be a word of its own, one in white space that another took).
 * Source of the rules: huggingface/tokenizers, src/tokenizer/added_vocabulary.rs. See hub_added.h.
 * SPDX-License-Identifier: MIT */
#include "tokenizer/hub_added.h"

#include <string.h>

#include "base/utf8.h"
#include "tokenizer/letters.h"

static weft_status copy_items(hub_added_tokens *a, const hub_spec *s) {
    a->items = arena_alloc(&a->arena, (s->n_added + 1) * sizeof *a->items);
    a->normal_texts = arena_alloc(&a->arena, (s->n_added + 1) * sizeof *a->normal_texts);
    if (!a->items || !a->normal_texts) return WEFT_NO_MEMORY;
    for (int special = 1; special >= 0; special--)
        for (size_t i = 0; i < s->n_added; i++) {
            if (s->added[i].is_special != special) continue;
            hub_added *x = &a->items[a->n++];
            *x = s->added[i];
            x->text.data = arena_string(&a->arena, x->text.data, x->text.n);
            if (!x->text.data) return WEFT_NO_MEMORY;
        }
    return WEFT_OK;
}

/* A token that is looked for in normal forms is looked for by its own. */
static weft_status normal_text(hub_added_tokens *a, const hub_normalizer *n, token_text *text,
                               hub_normalize_work *w) {
    hub_piece piece = {text->data, text->n, 0};
    TRY(hub_normalize(n, w, &piece));
    char *copy = arena_string(&a->arena, piece.text, piece.n);
    if (!copy) return WEFT_NO_MEMORY;
    *text = (token_text){copy, piece.n};
    return WEFT_OK;
}

static weft_status fill(hub_added_tokens *a, const hub_normalizer *n, trie_key *keys,
                        hub_normalize_work *w) {
    size_t n_raw = 0, n_normal = 0;
    for (size_t i = 0; i < a->n; i++) {
        hub_added *x = &a->items[i];
        if (!x->is_normalized) keys[n_raw++] = (trie_key){x->text.data, x->text.n, (int32_t)i};
    }
    TRY(trie_build(&a->raw, keys, n_raw));
    for (size_t i = 0; i < a->n; i++) {
        token_text *text = &a->normal_texts[i];
        if (!a->items[i].is_normalized) continue;
        *text = a->items[i].text;
        TRY(normal_text(a, n, text, w));
        if (text->n) keys[n_normal++] = (trie_key){text->data, text->n, (int32_t)i};
    }
    return trie_build(&a->normal, keys, n_normal);
}

weft_status hub_added_open(hub_added_tokens *a, const hub_spec *s, const hub_normalizer *n) {
    TRY(copy_items(a, s));
    pattern_work *patterns;
    TRY(pattern_work_open(&patterns));
    hub_normalize_work w = {.patterns = patterns};
    trie_key *keys = mem_array(a->n, sizeof *keys);
    weft_status status = keys ? fill(a, n, keys, &w) : WEFT_NO_MEMORY;
    mem_free(keys);
    hub_normalize_work_free(&w);
    pattern_work_close(patterns);
    return status;
}

void hub_added_close(hub_added_tokens *a) {
    trie_free(&a->raw);
    trie_free(&a->normal);
    arena_free(&a->arena);
    *a = (hub_added_tokens){0};
}

/* Where the character before text[at] begins. */
static size_t before(const char *text, size_t at) {
    size_t from = at - 1;
    while (from && ((uint8_t)text[from] & 0xC0) == 0x80) from--;
    return from;
}

static bool is_word_at(const char *text, size_t n, size_t at) {
    int32_t code;
    if (at >= n) return false;
    utf8_decode(text + at, n - at, &code);
    return letter_is_word(code);
}

static size_t skip_spaces_left(const char *text, size_t at, size_t least) {
    while (at > least) {
        int32_t code;
        size_t from = before(text, at);
        utf8_decode(text + from, at - from, &code);
        if (!letter_is_space(code)) break;
        at = from;
    }
    return at > least ? at : least;
}

static size_t skip_spaces_right(const char *text, size_t n, size_t at) {
    while (at < n) {
        int32_t code;
        size_t bytes = (size_t)utf8_decode(text + at, n - at, &code);
        if (!letter_is_space(code)) break;
        at += bytes;
    }
    return at;
}

static weft_status put_text(const hub_added_sink *sink, hub_piece whole, size_t from, size_t to) {
    if (from >= to) return WEFT_OK;
    size_t first = whole.first > from ? whole.first - from : 0;
    return sink->text(sink->context, (hub_piece){whole.text + from, to - from,
                                                 first < to - from ? first : to - from});
}

weft_status hub_added_cut(const hub_added_tokens *a, const trie *among, bool parse_special,
                          hub_piece whole, const hub_added_sink *sink) {
    const char *text = whole.text;
    size_t n = whole.n, begin = 0;
    if (!among->n_nodes) return put_text(sink, whole, 0, n);
    for (size_t at = 0; at < n;) {
        int32_t place;
        size_t length =
            among->root[(uint8_t)text[at]] ? trie_longest(among, text + at, n - at, &place) : 0;
        if (!length) {
            at++;
            continue;
        }
        const hub_added *x = &a->items[place];
        size_t from = at, to = at + length;
        at = to;
        if (x->is_special && !parse_special) continue;
        if (x->is_single_word &&
            (is_word_at(text, n, to) || (from && is_word_at(text, n, before(text, from)))))
            continue;
        /* What stripped on its right may reach past `from`, and past `to`. */
        if (x->strips_left) from = skip_spaces_left(text, from, begin);
        if (x->strips_right) to = skip_spaces_right(text, n, to);
        TRY(put_text(sink, whole, begin, from));
        if (from < to) TRY(sink->token(sink->context, x->id));
        begin = to;
    }
    return put_text(sink, whole, begin, n);
}
