/* What the tokenizer kinds (spm.c, bpe.c, wpm.c, ugm.c) share with tokenizer.c: the vocabulary
 * itself, and the functions that a row of tokenizers.def names. Private to this folder.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_TOKENIZER_VOCAB_H
#define WEFT_TOKENIZER_VOCAB_H

#include "base/map.h"
#include "base/mem.h"
#include "tokenizer/tokenizer.h"
#include "tokenizer/trie.h"

#define VOCAB_SPACE "\xE2\x96\x81" /* U+2581, SentencePiece's mark for a space */

typedef struct vocab_kind {
    const char *model;
    /* Reads what is the kind's own in `desc` and sets the style of the pieces; before them, so that
     * `open` finds pieces and byte_ids filled in. Either may be NULL. */
    weft_status (*configure)(tokenizer *t, const tokenizer_desc *desc);
    weft_status (*open)(tokenizer *t, const tokenizer_desc *desc);
    void (*close)(tokenizer *t);
    /* Scratch memory for the fragments of one text of n bytes. */
    weft_status (*begin)(const tokenizer *t, size_t n, void **work);
    /* Appends the ids of a fragment without special tokens, n >= 1 bytes of UTF-8.
     * follows_text: a fragment that is text, no special token, stands before it. */
    weft_status (*encode)(const tokenizer *t, void *work, const char *text, size_t n,
                          bool follows_text, token_list *out);
    void (*end)(void *work);
    /* In place of all of the above from `begin` on, and of tokenizer.c's own way to find added
     * tokens, put marks around a text and decode: for a kind with rules of its own (hub_open.c).
     * NULL for the others. */
    weft_status (*encode_whole)(const tokenizer *t, const char *text, size_t n, int flags,
                                token_list *out);
    weft_status (*decode_whole)(const tokenizer *t, const int32_t *ids, size_t n, bool with_special,
                                str *out);
    bool adds_bos, adds_eos, adds_space; /* defaults where the file says nothing */
    bool sees_bad_bytes;                 /* encode() gets them as they are, else U+FFFD for each */
} vocab_kind;

struct tokenizer {
    const vocab_kind *kind;
    mem_arena arena; /* texts and pieces */
    size_t n_tokens;
    token_text *texts;  /* the vocabulary's spelling */
    token_text *pieces; /* the bytes a token stands for */
    token_text *firsts; /* the same where a text begins with it; NULL: see tokenizer.c */
    float *scores;      /* NULL when there are none */
    uint8_t *kinds, *strips, *ends;
    map ids; /* text -> id: the first of equal texts */

    int32_t bos, eos, eot, unk, sep, pad, cls, mask;
    bool adds_bos, adds_eos, adds_space, removes_extra_spaces;
    bool is_byte_level; /* normal tokens are spelled in GPT-2's byte alphabet */
    bool marks_spaces;  /* normal tokens spell a space as U+2581 */
    int32_t byte_ids[256];
    trie user, special; /* user-defined tokens; those and control and unknown tokens */
    void *state;        /* the kind's own */
    str warning;
};

/* Makes a tokenizer of a kind that no GGUF has; `state` is its own from here on, also on failure.
 */
weft_status vocab_open(const vocab_kind *kind, void *state, const tokenizer_desc *desc,
                       tokenizer **out);

/* True when ordinary text may become this token. */
bool vocab_is_text(const tokenizer *t, size_t id);
/* GPT-2's byte alphabet (openai/gpt-2, encoder.py, bytes_to_unicode): bytes 33..126, 161..172 and
 * 174..255 stand for themselves, the other 68, in order, for U+0100, U+0101, ... Here: the byte of
 * a character, -1 for any other one. */
int byte_alphabet_byte(int32_t code);
int32_t byte_alphabet_code(uint8_t byte);
/* The byte of "<0x0A>", -1 for any other text. */
int byte_token(token_text text);

/* The functions of the rows of tokenizers.def; a kind's file says what each does. */
#define TOKENIZER_KIND(name)                                                                       \
    weft_status name##_configure(tokenizer *t, const tokenizer_desc *desc);                        \
    weft_status name##_open(tokenizer *t, const tokenizer_desc *desc);                             \
    void name##_close(tokenizer *t);                                                               \
    weft_status name##_begin(const tokenizer *t, size_t n, void **work);                           \
    weft_status name##_encode(const tokenizer *t, void *work, const char *text, size_t n,          \
                              bool follows_text, token_list *out);                                 \
    void name##_end(void *work);
TOKENIZER_KIND(spm)
TOKENIZER_KIND(bpe)
TOKENIZER_KIND(wpm)
TOKENIZER_KIND(ugm)
#undef TOKENIZER_KIND

#endif
