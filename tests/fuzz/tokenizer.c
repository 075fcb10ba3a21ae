/* libFuzzer target: a small vocabulary, and a text that it encodes and decodes.
 *
 *   gpt2 llama-bpe gb      model, pre-tokenizer ("-": none), switches (see `switches`)
 *   1Ahe                   a token: its kind, its score (a letter, 'A' the best), its text
 *   ====
 *   h e                    merges; with the switch m the bytes of a UGM charsmap
 *   ====
 *   the text
 * Held: ids are in range, the text of the ids is that of their pieces, the stream gives the same
 * text, and a vocabulary that has every byte and takes nothing away gives back what it was given.
 * SPDX-License-Identifier: MIT */
#include "tokenizer/tokenizer.h"

#include <stdio.h>

#include "base/utf8.h"
#include "lib/fuzz.h"
#include "tokenizer/pretokenizer.h"

enum { MOST_TOKENS = 700, N_BYTES = 256, MOST_NAME = 40 };

typedef struct vocab {
    tokenizer_desc desc;
    char model[MOST_NAME], pre[MOST_NAME];
    token_text tokens[MOST_TOKENS], merges[MOST_TOKENS];
    float scores[MOST_TOKENS];
    int32_t kinds[MOST_TOKENS];
    uint8_t strips[MOST_TOKENS];
    bool has_bytes;
} vocab;

static bool take_line(fuzz_text *text, fuzz_text *line) {
    const char *end = text->n ? memchr(text->data, '\n', text->n) : NULL;
    *line = *text;
    if (end) line->n = (size_t)(end - text->data);
    size_t used = line->n + (end ? 1 : 0);
    text->data += used;
    text->n -= used;
    return used > 0;
}

static void take_name(fuzz_text *line, char name[MOST_NAME]) {
    size_t n = 0;
    for (; line->n && *line->data != ' '; line->data++, line->n--)
        if (n < MOST_NAME - 1) name[n++] = *line->data;
    name[n] = 0;
    if (line->n) line->data++, line->n--;
}

/* What a letter of the first line switches. */
static void switches(vocab *v, char c) {
    tokenizer_desc *d = &v->desc;
    switch (c) {
    case 'g': v->has_bytes = true; break; /* a token for each byte */
    case 'b': d->add_bos = 1; break;
    case 'B': d->add_bos = 0; break;
    case 'e': d->add_eos = 1; break;
    case 'E': d->add_eos = 0; break;
    case 's': d->add_space_prefix = 1; break;
    case 'S': d->add_space_prefix = 0; break;
    case 'r': d->remove_extra_whitespaces = 1; break;
    case 'R': d->remove_extra_whitespaces = 0; break;
    case 'c': d->keeps_case = true; break;
    case 'a': d->keeps_accents = true; break;
    case 'l': d->strips = v->strips; break; /* user tokens swallow spaces */
    case 'k': d->kinds = NULL; break;
    case 'x': d->eot = (int32_t)d->n_tokens + 5; break; /* out of range */
    default: break;
    }
}

static void add_token(vocab *v, const char *text, size_t n, int32_t kind, float score) {
    static const char *const names[] = {"<s>",   "</s>",  "<unk>", "[CLS]",
                                        "[SEP]", "<pad>", "<mask>"};
    tokenizer_desc *d = &v->desc;
    int32_t *ids[] = {&d->bos, &d->eos, &d->unk, &d->cls, &d->sep, &d->pad, &d->mask};
    if (d->n_tokens == MOST_TOKENS) return;
    int32_t id = (int32_t)d->n_tokens++;
    v->tokens[id] = (token_text){text, n};
    v->kinds[id] = kind;
    v->scores[id] = score;
    v->strips[id] = kind == TOKEN_USER ? (uint8_t)(1 + n % 3) : 0;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (n == strlen(names[i]) && !memcmp(text, names[i], n)) *ids[i] = id;
}

/* GPT-2's letters for bytes, or SentencePiece's <0xNN> and its space (as bytes it would not become
 * a space again). */
static void add_bytes(vocab *v) {
    static char letters[N_BYTES][4], names[N_BYTES][8];
    bool is_bpe = !strcmp(v->model, "gpt2");
    int32_t next = 0x100;
    if (!is_bpe) add_token(v, "\xE2\x96\x81", 3, TOKEN_NORMAL, 0);
    for (int i = 0; i < N_BYTES; i++) {
        bool is_itself = (i >= 33 && i <= 126) || (i >= 161 && i <= 172) || i >= 174;
        snprintf(names[i], sizeof names[i], "<0x%02X>", (unsigned)i);
        size_t n = (size_t)utf8_encode(is_itself ? i : next++, letters[i]);
        if (is_bpe) add_token(v, letters[i], n, TOKEN_NORMAL, 0);
        else add_token(v, names[i], 6, TOKEN_BYTE, 0);
    }
}

static void read_vocab(vocab *v, fuzz_text *text) {
    fuzz_text rest = fuzz_cut(text), line;
    v->desc = (tokenizer_desc){.model = v->model,
                               .pre = v->pre,
                               .tokens = v->tokens,
                               .scores = v->scores,
                               .kinds = v->kinds,
                               .merges = v->merges};
    tokenizer_desc *d = &v->desc;
    d->bos = d->eos = d->eot = d->unk = d->sep = d->pad = d->cls = d->mask = -1;
    d->add_bos = d->add_eos = d->add_space_prefix = d->remove_extra_whitespaces = -1;
    take_line(&rest, &line);
    take_name(&line, v->model);
    take_name(&line, v->pre);
    if (!strcmp(v->pre, "-")) d->pre = NULL;
    fuzz_text flags = line;
    bool has_map = false;
    for (size_t i = 0; i < flags.n; i++) has_map |= flags.data[i] == 'm';
    while (take_line(&rest, &line))
        if (line.n >= 2)
            add_token(v, line.data + 2, line.n - 2, line.data[0] - '0',
                      (float)('A' - line.data[1]));
    for (size_t i = 0; i < flags.n; i++) switches(v, flags.data[i]);
    if (v->has_bytes) add_bytes(v);
    rest = fuzz_cut(text);
    if (has_map) d->precompiled_charsmap = (token_text){rest.data, rest.n};
    while (!has_map && take_line(&rest, &line) && d->n_merges < MOST_TOKENS)
        v->merges[d->n_merges++] = (token_text){line.data, line.n};
}

/* The text as it should come back: bytes that are no character as U+FFFD. */
static void append_tidy(str *out, fuzz_text text) {
    for (size_t at = 0; at < text.n;) {
        int32_t code;
        size_t n = (size_t)utf8_decode(text.data + at, text.n - at, &code);
        if (code == UTF8_BAD) str_text_append(out, "\xEF\xBF\xBD");
        else str_append(out, text.data + at, n);
        at += n;
    }
}

/* Whether the vocabulary gives back what it gets: every byte has its token, nothing swallows or
 * rewrites, and no token of another kind stands for other bytes. */
static bool is_exact(const vocab *v, fuzz_text text) {
    bool is_bpe = !strcmp(v->model, "gpt2");
    int flags = 0;
    pretokenizer_find(v->pre, &flags);
    if (flags & PRE_CHARACTERS) return false; /* no bytes: characters, and U+2581 for a space */
    if (!v->has_bytes || !v->desc.kinds || v->desc.strips || v->desc.pre != v->pre) return false;
    if (v->desc.n_tokens == MOST_TOKENS || (!is_bpe && strcmp(v->model, "llama") != 0))
        return false;
    for (size_t i = 0; i < v->desc.n_tokens; i++) {
        bool is_plain = v->kinds[i] == TOKEN_NORMAL || v->kinds[i] == TOKEN_BYTE;
        if (!is_plain || v->tokens[i].n == 0) return false;
    }
    return is_bpe || !text.n || !memmem(text.data, text.n, "\xE2\x96\x81", 3);
}

static void check_back(const tokenizer *t, const token_list *ids, const vocab *v, fuzz_text text) {
    str whole = {0}, pieces = {0}, streamed = {0}, tidy = {0};
    token_stream s = {0};
    fuzz_status(tokenizer_decode(t, ids->ids, ids->n, true, &whole), false, 0);
    for (size_t i = 0; i < ids->n; i++) {
        fuzz_require(ids->ids[i] >= 0 && (size_t)ids->ids[i] < tokenizer_n_tokens(t),
                     "an id is out of range");
        fuzz_status(tokenizer_piece(t, ids->ids[i], true, &pieces), false, 0);
        fuzz_status(token_stream_feed(t, &s, ids->ids[i], true, &streamed), false, 0);
    }
    fuzz_status(token_stream_end(&s, &streamed), false, 0);
    fuzz_require(whole.n <= pieces.n && whole.n + 1 >= pieces.n &&
                     !memcmp(str_text(&whole), str_text(&pieces) + (pieces.n - whole.n), whole.n),
                 "a list's text is not that of its pieces");
    append_tidy(&tidy, (fuzz_text){str_text(&whole), whole.n});
    fuzz_require(tidy.n == streamed.n && !memcmp(str_text(&tidy), str_text(&streamed), tidy.n),
                 "the stream gives another text");
    str_clear(&tidy);
    append_tidy(&tidy, text);
    if (is_exact(v, text))
        fuzz_require(tidy.n == whole.n && !memcmp(str_text(&tidy), str_text(&whole), tidy.n),
                     "a text does not come back");
    str_free(&whole);
    str_free(&pieces);
    str_free(&streamed);
    str_free(&tidy);
}

static void encode(const tokenizer *t, fuzz_input *in, const vocab *v, fuzz_text text, int flags) {
    token_list ids = {0}, again = {0};
    fuzz_arm(in);
    weft_status status = tokenizer_encode(t, text.data, text.n, flags, &ids);
    bool has_failed = fuzz_disarm(in) && status == WEFT_NO_MEMORY;
    if (!fuzz_status(status, has_failed, 0)) {
        fuzz_require(!ids.n, "what failed left ids behind");
        fuzz_status(tokenizer_encode(t, text.data, text.n, flags, &ids), false, 0);
    }
    fuzz_status(tokenizer_encode(t, text.data, text.n, flags, &again), false, 0);
    fuzz_require(ids.n == again.n &&
                     (!ids.n || !memcmp(ids.ids, again.ids, ids.n * sizeof *ids.ids)),
                 "the same text gives other ids");
    if (!flags) check_back(t, &ids, v, text);
    token_list_free(&ids);
    token_list_free(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    static vocab v;
    fuzz_input in = fuzz_begin(data, n);
    fuzz_text text = {in.data, in.n};
    tokenizer *t;
    v.has_bytes = false;
    read_vocab(&v, &text);
    fuzz_arm(&in);
    weft_status status = tokenizer_open(&v.desc, &t);
    bool has_failed = fuzz_disarm(&in) && status == WEFT_NO_MEMORY; /* PCRE2 may do without */
    if (fuzz_status(status, has_failed, FUZZ_FILE)) {
        encode(t, &in, &v, text, 0);
        encode(t, &in, &v, text, ENCODE_ADD_SPECIAL | ENCODE_PARSE_SPECIAL);
    } else {
        fuzz_require(!t, "a tokenizer that failed is there");
    }
    tokenizer_close(t);
    fuzz_end(&in);
    return 0;
}
