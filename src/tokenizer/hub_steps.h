/* The steps of a tokenizer.json, compiled: normalizer, splitter (its pre-tokenizer) and decoder.
 * Each is read-only; a call's scratch memory is apart. Private to this folder.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_TOKENIZER_HUB_STEPS_H
#define WEFT_TOKENIZER_HUB_STEPS_H

#include "tokenizer/hub.h"
#include "tokenizer/pattern.h"

/* A text on its way. `first`: how many of its leading bytes come from the first character of the
 * whole input; Metaspace asks whether there are any ("prepend_scheme": "first"). */
typedef struct hub_piece {
    const char *text;
    size_t n, first;
} hub_piece;

/* ---- hub_normalize.c ---- */
typedef struct hub_normalizer hub_normalizer;
weft_status hub_normalizer_open(const part_list *parts, hub_normalizer **out);
void hub_normalizer_close(hub_normalizer *n);
/* All-zero is ready but for the pattern_work, which is borrowed. */
typedef struct hub_normalize_work {
    str text[2];
    int32_t *codes;
    size_t capacity;
    const pattern_work *patterns;
} hub_normalize_work;
void hub_normalize_work_free(hub_normalize_work *w);
/* Replaces the piece by its normal form, which lives in the work or where the piece was. */
weft_status hub_normalize(const hub_normalizer *n, hub_normalize_work *w, hub_piece *piece);

/* How long a text of n bytes may become on its way: steps that replace can each make it longer. */
static inline size_t hub_most(size_t n) {
    return n > (SIZE_MAX - 1024) / 64 ? SIZE_MAX : 64 * n + 1024;
}
weft_status hub_check_most(size_t n, size_t most);
/* Appends text[0..n) with every match replaced, until `out` has more than `most` bytes, which is
 * WEFT_LIMIT. Matches are those of the pattern, or, where it is NULL, the occurrences of `literal`.
 */
weft_status hub_replace(const pattern *pattern, token_text literal, token_text content,
                        const pattern_work *w, hub_piece in, size_t most, str *out, size_t *first);
/* The next match at or after *at, as the `onig` crate's iterator gives them: an empty one right
 * after a match does not count. *last: where the last match ended, SIZE_MAX before the first. */
weft_status hub_next_match(const pattern *pattern, token_text literal, const pattern_work *w,
                           const char *text, size_t n, size_t *at, size_t *last, bool *found,
                           size_t *from, size_t *to);
/* Compiles a part's pattern; a literal text has none (NULL). */
weft_status hub_compile(const part *p, pattern **out);

/* ---- hub_split.c ---- */
typedef struct hub_splitter hub_splitter;
/* keeps_bytes: the last step is a ByteLevel, and its words are wanted as they were before it spells
 * them in GPT-2's byte alphabet. */
weft_status hub_splitter_open(const part_list *parts, bool keeps_bytes, hub_splitter **out);
void hub_splitter_close(hub_splitter *s);
typedef struct hub_split_work {
    str *scratch; /* two for every step */
    const pattern_work *patterns;
} hub_split_work;
weft_status hub_split_work_open(const hub_splitter *s, hub_split_work *w);
void hub_split_work_close(const hub_splitter *s, hub_split_work *w);
typedef weft_status (*hub_word)(void *context, const char *word, size_t n);
/* Calls word() for every word of the piece, in order. */
weft_status hub_split(const hub_splitter *s, hub_split_work *w, hub_piece piece, hub_word word,
                      void *context);
/* Appends text[0..n) in GPT-2's byte alphabet. */
weft_status hub_spell_bytes(const char *text, size_t n, str *out);

/* ---- hub_decode.c ---- */
typedef struct hub_decoder hub_decoder;
weft_status hub_decoder_open(const hub_spec *s, hub_decoder **out);
void hub_decoder_close(hub_decoder *d);
/* Appends what a row of tokens' texts stands for. begins, ends: whether it is the beginning and the
 * end of a text. */
weft_status hub_decode(const hub_decoder *d, const token_text *tokens, size_t n, bool begins,
                       bool ends, str *out);

#endif
