/* What all tokenizers have in common: the vocabulary, special tokens, beginning and end marks, and
 * decoding.
 *
 * Encoding: bytes that are no UTF-8 become U+FFFD; added tokens are found, leftmost and then
 * longest first, in a trie; the text between them goes to the kind (tokenizers.def). Decoding is a
 * table of pieces made at open. Not here: any tokenizer's own algorithm.
 * SPDX-License-Identifier: MIT */
#include <math.h>
#include <string.h>

#include "base/utf8.h"
#include "tokenizer/merge.h"
#include "tokenizer/vocab.h"

static const vocab_kind kinds[] = {
#define TOKENIZER(text, name, bos, eos, space, bad)                                                \
    {.model = text,                                                                                \
     .configure = name##_configure,                                                                \
     .open = name##_open,                                                                          \
     .close = name##_close,                                                                        \
     .begin = name##_begin,                                                                        \
     .encode = name##_encode,                                                                      \
     .end = name##_end,                                                                            \
     .adds_bos = bos,                                                                              \
     .adds_eos = eos,                                                                              \
     .adds_space = space,                                                                          \
     .sees_bad_bytes = bad},
#include "tokenizer/tokenizers.def"
#undef TOKENIZER
};

static const struct {
    const char *text;
    bool is_control; /* whatever the file says */
} endings[] = {
#define ENDING(text) {text, false},
#define END_MARKER(text) {text, true},
#include "tokenizer/endings.def"
#undef ENDING
#undef END_MARKER
};

int byte_alphabet_byte(int32_t code) {
    if ((code >= 33 && code <= 126) || (code >= 161 && code <= 172) || (code >= 174 && code <= 255))
        return code;
    if (code < 256 || code > 256 + 67) return -1;
    int k = code - 256;
    if (k < 33) return k;
    if (k < 33 + 34) return k - 33 + 127;
    return 173;
}

int32_t byte_alphabet_code(uint8_t byte) {
    if (byte < 33) return 256 + byte;
    if (byte < 127) return byte;
    if (byte < 161) return 256 + 33 + byte - 127;
    return byte == 173 ? 256 + 67 : byte;
}

bool vocab_is_text(const tokenizer *t, size_t id) {
    return t->kinds[id] != TOKEN_CONTROL && t->kinds[id] != TOKEN_UNKNOWN &&
           t->kinds[id] != TOKEN_BYTE;
}

static int hex_digit(char c) {
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
                                  : -1;
}

int byte_token(token_text text) {
    if (text.n != 6 || memcmp(text.data, "<0x", 3) || text.data[5] != '>') return -1;
    int high = hex_digit(text.data[3]), low = hex_digit(text.data[4]);
    return high < 0 || low < 0 ? -1 : high * 16 + low;
}

static weft_status copy_tokens(tokenizer *t, const tokenizer_desc *d) {
    size_t n = d->n_tokens;
    t->n_tokens = n;
    t->texts = mem_array(n, sizeof *t->texts);
    t->pieces = mem_array(n, sizeof *t->pieces);
    t->kinds = mem_array(n, 1);
    t->strips = mem_array(n, 1);
    t->ends = mem_array(n, 1);
    if (!t->texts || !t->pieces || !t->kinds || !t->strips || !t->ends) return WEFT_NO_MEMORY;
    if (d->scores) {
        t->scores = mem_array(n, sizeof *t->scores);
        if (!t->scores) return WEFT_NO_MEMORY;
    }
    TRY(map_reserve(&t->ids, n));
    for (size_t i = 0; i < n; i++) {
        char *text = arena_string(&t->arena, d->tokens[i].data, d->tokens[i].n);
        if (!text) return WEFT_NO_MEMORY;
        t->texts[i] = (token_text){text, d->tokens[i].n};
        t->kinds[i] = TOKEN_NORMAL;
        if (d->kinds && d->kinds[i] > 0 && d->kinds[i] <= TOKEN_BYTE)
            t->kinds[i] = (uint8_t)d->kinds[i];
        if (d->strips) t->strips[i] = d->strips[i];
        if (d->scores) {
            REQUIRE(!isnan(d->scores[i]), WEFT_FORMAT, "the score of token %zu is not a number", i);
            t->scores[i] = d->scores[i];
        }
        uint32_t known;
        if (!map_get(&t->ids, text, d->tokens[i].n, &known))
            TRY(map_set(&t->ids, text, d->tokens[i].n, (uint32_t)i));
    }
    return WEFT_OK;
}

static weft_status check_id(const tokenizer *t, const char *what, int32_t id) {
    REQUIRE(id >= -1 && id < (int64_t)t->n_tokens, WEFT_FORMAT,
            "the %s token's id %d is not among the %zu tokens", what, id, t->n_tokens);
    return WEFT_OK;
}

static weft_status copy_special(tokenizer *t, const tokenizer_desc *d) {
    TRY(check_id(t, "BOS", t->bos = d->bos));
    TRY(check_id(t, "EOS", t->eos = d->eos));
    TRY(check_id(t, "EOT", t->eot = d->eot));
    TRY(check_id(t, "unknown", t->unk = d->unk));
    TRY(check_id(t, "separator", t->sep = d->sep));
    TRY(check_id(t, "padding", t->pad = d->pad));
    TRY(check_id(t, "CLS", t->cls = d->cls));
    TRY(check_id(t, "mask", t->mask = d->mask));
    t->adds_bos = d->add_bos < 0 ? t->kind->adds_bos : d->add_bos;
    t->adds_eos = d->add_eos < 0 ? t->kind->adds_eos : d->add_eos;
    t->adds_space = d->add_space_prefix < 0 ? t->kind->adds_space : d->add_space_prefix;
    t->removes_extra_spaces = d->remove_extra_whitespaces != 0;
    return WEFT_OK;
}

static void find_ends(tokenizer *t) {
    bool has_call = false, has_return = false;
    for (size_t k = 0; k < sizeof endings / sizeof *endings; k++) {
        uint32_t id;
        const char *text = endings[k].text;
        if (!map_get(&t->ids, text, strlen(text), &id)) continue;
        bool is_added = t->kinds[id] == TOKEN_USER || endings[k].is_control;
        if (is_added) t->kinds[id] = TOKEN_CONTROL;
        if (t->kinds[id] == TOKEN_CONTROL) t->ends[id] = 1;
        has_call |= !strcmp(text, "<|call|>") || !strcmp(text, "<|calls|>");
        has_return |= !strcmp(text, "<|return|>") || !strcmp(text, "<|flush|>");
    }
    int32_t end = tokenizer_find(t, "<|end|>", 7);
    if (has_call && has_return && end >= 0)
        t->ends[end] = 0; /* gpt-oss: ends a message, not the turn */
    if (t->eos >= 0) t->ends[t->eos] = 1;
    if (t->eot >= 0) t->ends[t->eot] = 1;
}

/* Undoes GPT-2's byte alphabet; a character outside it stays as it is. */
static size_t undo_bytes(token_text text, char *out) {
    size_t n = 0, bytes;
    for (size_t at = 0; at < text.n; at += bytes) {
        int32_t code;
        bytes = (size_t)utf8_decode(text.data + at, text.n - at, &code);
        int byte = byte_alphabet_byte(code);
        if (byte >= 0) {
            out[n++] = (char)byte;
        } else {
            memcpy(out + n, text.data + at, bytes);
            n += bytes;
        }
    }
    return n;
}

static size_t undo_spaces(token_text text, char *out) {
    size_t n = 0;
    for (size_t at = 0; at < text.n;) {
        bool is_space = text.n - at >= 3 && !memcmp(text.data + at, VOCAB_SPACE, 3);
        out[n++] = is_space ? ' ' : text.data[at];
        at += is_space ? 3 : 1;
    }
    return n;
}

static weft_status make_pieces(tokenizer *t) {
    for (int i = 0; i < 256; i++) t->byte_ids[i] = -1;
    for (size_t id = 0; id < t->n_tokens; id++) {
        token_text text = t->texts[id];
        int kind = t->kinds[id], byte = byte_token(text);
        t->pieces[id] = text;
        if (byte >= 0 && kind == TOKEN_BYTE) {
            char *one = arena_string(&t->arena, (const char[]){(char)byte}, 1);
            if (!one) return WEFT_NO_MEMORY;
            t->pieces[id] = (token_text){one, 1};
        }
        /* Without kinds, a byte token is known by its spelling alone. */
        if (byte >= 0 && !t->is_byte_level && t->byte_ids[byte] < 0)
            t->byte_ids[byte] = (int32_t)id;
        bool is_plain = kind == TOKEN_NORMAL || kind == TOKEN_UNUSED;
        bool undo =
            t->is_byte_level ? is_plain : t->marks_spaces && (is_plain || kind == TOKEN_USER);
        if (!undo) continue;
        char *piece = arena_alloc(&t->arena, text.n + 1);
        if (!piece) return WEFT_NO_MEMORY;
        size_t n = t->is_byte_level ? undo_bytes(text, piece) : undo_spaces(text, piece);
        t->pieces[id] = (token_text){piece, n};
    }
    for (int i = 0; i < 256 && t->is_byte_level; i++) {
        char letter[4];
        int n = utf8_encode(byte_alphabet_code((uint8_t)i), letter);
        t->byte_ids[i] = tokenizer_find(t, letter, (size_t)n);
    }
    return WEFT_OK;
}

static bool is_utf8(token_text text) {
    int32_t code = 0;
    for (size_t at = 0; at < text.n && code != UTF8_BAD;)
        at += (size_t)utf8_decode(text.data + at, text.n - at, &code);
    return code != UTF8_BAD;
}

/* Whether a text is searched for the token. One that is no UTF-8 would cut characters in two, and
 * what encodes the pieces relies on whole ones. */
static bool is_added(const tokenizer *t, size_t id) {
    int kind = t->kinds[id];
    return (kind == TOKEN_USER || kind == TOKEN_CONTROL || kind == TOKEN_UNKNOWN) &&
           t->pieces[id].n && is_utf8(t->pieces[id]);
}

static weft_status make_tries(tokenizer *t) {
    size_t n = 0, n_user = 0;
    trie_key *keys = mem_array(t->n_tokens, sizeof *keys);
    if (!keys) return WEFT_NO_MEMORY;
    for (size_t id = 0; id < t->n_tokens; id++)
        if (t->kinds[id] == TOKEN_USER && is_added(t, id))
            keys[n_user++] = (trie_key){t->pieces[id].data, t->pieces[id].n, (int32_t)id};
    weft_status status = trie_build(&t->user, keys, n_user);
    for (size_t id = 0; id < t->n_tokens; id++)
        if (is_added(t, id))
            keys[n++] = (trie_key){t->pieces[id].data, t->pieces[id].n, (int32_t)id};
    if (status == WEFT_OK) status = trie_build(&t->special, keys, n);
    mem_free(keys);
    return status;
}

static weft_status open_parts(tokenizer *t, const tokenizer_desc *desc) {
    TRY(copy_tokens(t, desc));
    TRY(copy_special(t, desc));
    if (t->kind->configure) TRY(t->kind->configure(t, desc));
    find_ends(t);
    TRY(make_pieces(t));
    TRY(make_tries(t));
    return t->kind->open(t, desc);
}

weft_status tokenizer_open(const tokenizer_desc *desc, tokenizer **out) {
    *out = NULL;
    REQUIRE(desc->model, WEFT_INVALID, "a tokenizer needs the name of its kind");
    const vocab_kind *kind = NULL;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (!strcmp(kinds[i].model, desc->model)) kind = &kinds[i];
    REQUIRE(kind, WEFT_UNSUPPORTED, "tokenizer kind \"%.40s\" is not supported", desc->model);
    REQUIRE(desc->n_tokens && desc->n_tokens < INT32_MAX, WEFT_FORMAT,
            "a vocabulary of %zu tokens is none", desc->n_tokens);
    return vocab_open(kind, NULL, desc, out);
}

weft_status vocab_open(const vocab_kind *kind, void *state, const tokenizer_desc *desc,
                       tokenizer **out) {
    *out = NULL;
    tokenizer closing = {.state = state}, *t = mem_alloc(sizeof *t);
    if (!t) {
        kind->close(&closing);
        return WEFT_NO_MEMORY;
    }
    t->kind = kind;
    t->state = state;
    weft_status status = open_parts(t, desc);
    if (status != WEFT_OK) {
        tokenizer_close(t);
        return status;
    }
    *out = t;
    return WEFT_OK;
}

void tokenizer_close(tokenizer *t) {
    if (!t) return;
    t->kind->close(t);
    trie_free(&t->user);
    trie_free(&t->special);
    map_free(&t->ids);
    str_free(&t->warning);
    mem_free(t->texts);
    mem_free(t->pieces);
    mem_free(t->firsts);
    mem_free(t->scores);
    mem_free(t->kinds);
    mem_free(t->strips);
    mem_free(t->ends);
    arena_free(&t->arena);
    mem_free(t);
}

void token_list_free(token_list *l) {
    mem_free(l->ids);
    *l = (token_list){0};
}

/* Copies text with U+FFFD for every byte that is no part of a character; *copy stays empty when
 * nothing is wrong. */
static weft_status replace_bad_bytes(const char *text, size_t n, str *copy) {
    size_t good = 0; /* copied up to here */
    for (size_t at = 0; at < n;) {
        if ((uint8_t)text[at] < 0x80) {
            at++;
            continue;
        }
        int32_t code;
        size_t bytes = (size_t)utf8_decode(text + at, n - at, &code);
        if (code == UTF8_BAD) {
            TRY(str_append(copy, text + good, at - good));
            TRY(str_append(copy, "\xEF\xBF\xBD", 3));
            good = at + 1;
        }
        at += bytes;
    }
    return copy->n ? str_append(copy, text + good, n - good) : WEFT_OK;
}

typedef struct encoding {
    const tokenizer *t;
    void *work;
    token_list *out;
    bool follows_text;
} encoding;

static weft_status encode_text(encoding *e, const char *text, size_t n) {
    if (!n) return WEFT_OK;
    TRY(e->t->kind->encode(e->t, e->work, text, n, e->follows_text, e->out));
    e->follows_text = true;
    return WEFT_OK;
}

static bool is_ascii_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

/* Cuts the text at added tokens: leftmost first, the longest of those that begin at one place. */
static weft_status encode_fragments(encoding *e, const trie *added, const char *text, size_t n) {
    const tokenizer *t = e->t;
    size_t begin = 0, at = 0;
    while (at < n) {
        int32_t id;
        size_t length =
            added->root[(uint8_t)text[at]] ? trie_longest(added, text + at, n - at, &id) : 0;
        if (!length) {
            at++;
            continue;
        }
        size_t end = at;
        if (t->strips[id] & TOKEN_STRIPS_LEFT)
            while (end > begin && is_ascii_space(text[end - 1])) end--;
        TRY(encode_text(e, text + begin, end - begin));
        TRY(token_list_add(e->out, id));
        e->follows_text = false;
        at += length;
        if (t->strips[id] & TOKEN_STRIPS_RIGHT)
            while (at < n && is_ascii_space(text[at])) at++;
        begin = at;
    }
    return encode_text(e, text + begin, n - begin);
}

static weft_status encode_valid(const tokenizer *t, const char *text, size_t n, int flags,
                                token_list *out) {
    size_t first = out->n;
    bool is_marked = flags & ENCODE_ADD_SPECIAL;
    if (is_marked && t->adds_bos && t->bos >= 0) TRY(token_list_add(out, t->bos));
    size_t body = out->n;
    if (n) {
        encoding e = {t, NULL, out, false};
        weft_status status = t->kind->begin(t, n, &e.work);
        if (status == WEFT_OK)
            status = encode_fragments(&e, flags & ENCODE_PARSE_SPECIAL ? &t->special : &t->user,
                                      text, n);
        t->kind->end(e.work);
        TRY(status);
    }
    if (body > first && out->n > body && out->ids[body] == t->bos) { /* the text brought its own */
        memmove(out->ids + first, out->ids + body, (out->n - body) * sizeof *out->ids);
        out->n--;
    }
    if (is_marked && t->adds_eos && t->eos >= 0) TRY(token_list_add(out, t->eos));
    return WEFT_OK;
}

weft_status tokenizer_encode(const tokenizer *t, const char *text, size_t n, int flags,
                             token_list *out) {
    REQUIRE(n <= INT32_MAX / 4, WEFT_LIMIT, "a text of %zu bytes is too long to encode at once", n);
    str copy = {0};
    size_t before = out->n;
    weft_status status = WEFT_OK;
    if (!t->kind->sees_bad_bytes) status = replace_bad_bytes(text, n, &copy);
    if (copy.n) {
        text = copy.data;
        n = copy.n;
    }
    if (status == WEFT_OK)
        status = t->kind->encode_whole ? t->kind->encode_whole(t, text, n, flags, out)
                                       : encode_valid(t, text, n, flags, out);
    str_free(&copy);
    if (status != WEFT_OK) out->n = before;
    return status;
}

static weft_status find_piece(const tokenizer *t, int32_t id, bool with_special,
                              token_text *piece) {
    REQUIRE(id >= 0 && (size_t)id < t->n_tokens, WEFT_INDEX, "token %d is not among the %zu tokens",
            id, t->n_tokens);
    bool is_hidden = t->kinds[id] == TOKEN_CONTROL || t->kinds[id] == TOKEN_UNKNOWN;
    *piece = is_hidden && !with_special ? (token_text){"", 0} : t->pieces[id];
    return WEFT_OK;
}

weft_status tokenizer_piece(const tokenizer *t, int32_t id, bool with_special, str *out) {
    token_text piece = {0};
    TRY(find_piece(t, id, with_special, &piece));
    return str_append(out, piece.data, piece.n);
}

/* As find_piece, without the space that encoding put before the text. */
static weft_status next_piece(const tokenizer *t, int32_t id, bool with_special, bool *is_started,
                              token_text *piece) {
    TRY(find_piece(t, id, with_special, piece));
    if (!piece->n) return WEFT_OK;
    if (t->firsts && !*is_started) *piece = t->firsts[id];
    bool drops = !*is_started && t->adds_space && t->marks_spaces && t->kinds[id] == TOKEN_NORMAL &&
                 piece->data[0] == ' ';
    *is_started = true;
    if (drops) *piece = (token_text){piece->data + 1, piece->n - 1};
    return WEFT_OK;
}

weft_status tokenizer_decode(const tokenizer *t, const int32_t *ids, size_t n, bool with_special,
                             str *out) {
    if (t->kind->decode_whole) return t->kind->decode_whole(t, ids, n, with_special, out);
    bool is_started = false;
    for (size_t i = 0; i < n; i++) {
        token_text piece = {0};
        TRY(next_piece(t, ids[i], with_special, &is_started, &piece));
        TRY(str_append(out, piece.data, piece.n));
    }
    return WEFT_OK;
}

/* Emits what s->held holds of whole characters, and U+FFFD for bytes that can no longer become one.
 */
static weft_status flush_held(token_stream *s, bool is_end, str *out) {
    int at = 0;
    while (at < s->n_held) {
        size_t left = (size_t)(s->n_held - at);
        int32_t code;
        int bytes = utf8_decode(s->held + at, left, &code);
        if (code == UTF8_BAD) {
            if (!is_end && utf8_complete(s->held + at, left) == 0) break;
            TRY(str_append(out, "\xEF\xBF\xBD", 3));
        } else {
            TRY(str_append(out, s->held + at, (size_t)bytes));
        }
        at += bytes;
    }
    s->n_held -= at;
    memmove(s->held, s->held + at, (size_t)s->n_held);
    return WEFT_OK;
}

weft_status token_stream_feed(const tokenizer *t, token_stream *s, int32_t id, bool with_special,
                              str *out) {
    token_text piece = {0};
    TRY(next_piece(t, id, with_special, &s->is_started, &piece));
    for (size_t i = 0; i < piece.n; i++) {
        s->held[s->n_held++] = piece.data[i];
        TRY(flush_held(s, false, out));
    }
    return WEFT_OK;
}

weft_status token_stream_end(token_stream *s, str *out) {
    weft_status status = flush_held(s, true, out);
    *s = (token_stream){0};
    return status;
}

size_t tokenizer_n_tokens(const tokenizer *t) { return t->n_tokens; }

int32_t tokenizer_kind(const tokenizer *t, int32_t id) {
    return id < 0 || (size_t)id >= t->n_tokens ? 0 : t->kinds[id];
}

token_text tokenizer_raw(const tokenizer *t, int32_t id) {
    return id < 0 || (size_t)id >= t->n_tokens ? (token_text){"", 0} : t->texts[id];
}

int32_t tokenizer_find(const tokenizer *t, const char *text, size_t n) {
    uint32_t id;
    return map_get(&t->ids, text, n, &id) ? (int32_t)id : -1;
}

bool tokenizer_is_end(const tokenizer *t, int32_t id) {
    return id >= 0 && (size_t)id < t->n_tokens && t->ends[id];
}

int32_t tokenizer_bos(const tokenizer *t) { return t->bos; }
int32_t tokenizer_eos(const tokenizer *t) { return t->eos; }
bool tokenizer_adds_bos(const tokenizer *t) { return t->adds_bos && t->bos >= 0; }
const char *tokenizer_warning(const tokenizer *t) { return str_text(&t->warning); }
