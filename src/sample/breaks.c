/* DRY's sequence breakers: strings that are looked for in the text, whatever tokens it is made of.
 * A tokenizer spells one string in many ways ("\n" alone, inside ".\n\n", ":" after a word), so
 * lists of tokens miss most of them. What can be known of a token by itself is found out once for
 * the whole vocabulary; only for the few tokens that begin with the end of a longer string is the
 * text before them looked at.
 * SPDX-License-Identifier: MIT */
#include <string.h>

#include "base/mem.h"
#include "sample/chain.h"

enum {
    HOLDS_ONE = 1, /* a whole string is in the token */
    MAY_END = 2,   /* it begins with the end of one */
};

typedef struct piece {
    const char *text;
    size_t n;
} piece;

struct sample_breaks {
    piece *strings; /* own copies */
    size_t n_strings;
    sampler_texts texts;
    uint8_t *kinds; /* (n_vocab) of the above */
};

static piece text_of(const struct sample_breaks *b, int32_t id) {
    const size_t *first = b->texts.first + id;
    return (piece){b->texts.bytes + first[0], first[1] - first[0]};
}

/* Whether the last n bytes of `string` are the first n of `token`, all of `string` not needed. */
static bool ends_with(piece string, size_t n, piece token) {
    return !memcmp(string.text + string.n - n, token.text, n);
}

static size_t most_of(piece string, piece token) {
    return token.n < string.n - 1 ? token.n : string.n - 1;
}

static uint8_t kind_of(const struct sample_breaks *b, int32_t id) {
    piece token = text_of(b, id);
    uint8_t kind = 0;
    for (size_t i = 0; i < b->n_strings; i++) {
        piece string = b->strings[i];
        if (memmem(token.text, token.n, string.text, string.n)) return HOLDS_ONE;
        for (size_t n = 1; n <= most_of(string, token); n++)
            if (ends_with(string, n, token)) kind = MAY_END;
    }
    return kind;
}

static weft_status fill(struct sample_breaks *b, const sampler_params *p, size_t n_vocab) {
    b->texts = *p->texts;
    b->strings = mem_array(p->n_dry_breaks, sizeof *b->strings);
    b->kinds = mem_array(n_vocab, 1);
    if (!b->strings || !b->kinds) return WEFT_NO_MEMORY;
    for (; b->n_strings < p->n_dry_breaks; b->n_strings++) {
        char *copy = mem_string(p->dry_breaks[b->n_strings]);
        if (!copy) return WEFT_NO_MEMORY;
        b->strings[b->n_strings] = (piece){copy, strlen(copy)};
    }
    for (size_t i = 0; i < n_vocab; i++) b->kinds[i] = kind_of(b, (int32_t)i);
    return WEFT_OK;
}

weft_status breaks_open(const sampler_params *p, size_t n_vocab, struct sample_breaks **out) {
    *out = NULL;
    if (!p->n_dry_breaks) return WEFT_OK;
    REQUIRE(p->texts && p->dry_breaks, WEFT_INVALID, "DRY's breaks need a list and the texts");
    struct sample_breaks *b = mem_alloc(sizeof *b);
    if (!b) return WEFT_NO_MEMORY;
    weft_status status = fill(b, p, n_vocab);
    if (status == WEFT_OK) *out = b;
    else breaks_close(b);
    return status;
}

void breaks_close(struct sample_breaks *b) {
    if (!b) return;
    for (size_t i = 0; i < b->n_strings; i++) mem_free((void *)(uintptr_t)b->strings[i].text);
    mem_free(b->strings);
    mem_free(b->kinds);
    mem_free(b);
}

/* Whether the text of history[0..n) ends with text[0..left). */
static bool text_ends_with(const struct sample_breaks *b, const int32_t *history, size_t n,
                           const char *text, size_t left) {
    while (left && n) {
        piece token = text_of(b, history[--n]);
        size_t k = token.n < left ? token.n : left;
        if (memcmp(text + left - k, token.text + token.n - k, k)) return false;
        left -= k;
    }
    return !left;
}

bool breaks_end_in(const struct sample_breaks *b, const int32_t *history, size_t n, int32_t id) {
    if (!b || !b->kinds[id]) return false;
    if (b->kinds[id] == HOLDS_ONE) return true;
    piece token = text_of(b, id);
    for (size_t i = 0; i < b->n_strings; i++) {
        piece string = b->strings[i];
        for (size_t k = 1; k <= most_of(string, token); k++)
            if (ends_with(string, k, token) &&
                text_ends_with(b, history, n, string.text, string.n - k))
                return true;
    }
    return false;
}
