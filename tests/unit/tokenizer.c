/* tokenizer/: small vocabularies of each kind against plain references, and the published
 * vocabularies with their reference encodings and the public bug reports, where they are installed
 * (they are no part of the project).
 * SPDX-License-Identifier: MIT */
#include "tokenizer/tokenizer.h"

#include <math.h>
#include <time.h>

#include "base/mem.h"
#include "base/utf8.h"
#include "harness.h"
#include "llm/vocabulary.h"
#include "tokenizer/pretokenizer.h"

/* ---- small vocabularies ------------------------------------------------------------------------
 */

enum { MAX_TOKENS = 600 };
typedef struct vocab {
    tokenizer_desc desc;
    token_text tokens[MAX_TOKENS], merges[MAX_TOKENS];
    float scores[MAX_TOKENS];
    int32_t kinds[MAX_TOKENS];
    char text[MAX_TOKENS * 2][24];
    size_t n_text;
} vocab;

static void begin_vocab(vocab *v, const char *model) {
    memset(v, 0, sizeof *v);
    v->desc = (tokenizer_desc){.model = model,
                               .tokens = v->tokens,
                               .scores = v->scores,
                               .kinds = v->kinds,
                               .merges = v->merges,
                               .bos = -1,
                               .eos = -1,
                               .eot = -1,
                               .unk = -1,
                               .sep = -1,
                               .pad = -1,
                               .cls = -1,
                               .mask = -1,
                               .add_bos = -1,
                               .add_eos = -1,
                               .add_space_prefix = -1,
                               .remove_extra_whitespaces = -1};
}

static token_text keep_text(vocab *v, const char *text) {
    char *copy = v->text[v->n_text++];
    size_t n = strlen(text);
    assert_true(n < sizeof v->text[0]);
    memcpy(copy, text, n + 1);
    return (token_text){copy, n};
}

static int32_t add_token(vocab *v, const char *text, int32_t kind, float score) {
    size_t i = v->desc.n_tokens++;
    v->tokens[i] = keep_text(v, text);
    v->kinds[i] = kind;
    v->scores[i] = score;
    return (int32_t)i;
}

static void add_byte_tokens(vocab *v) {
    for (int i = 0; i < 256; i++) {
        char text[8];
        snprintf(text, sizeof text, "<0x%02X>", (unsigned)i);
        add_token(v, text, TOKEN_BYTE, 0);
    }
}

/* The 256 letters of GPT-2's byte alphabet, in the order of the bytes. */
static void add_byte_letters(vocab *v) {
    int32_t next = 256;
    for (int i = 0; i < 256; i++) {
        bool is_itself = (i >= '!' && i <= '~') || (i >= 0xA1 && i <= 0xAC) || i >= 0xAE;
        char text[5] = {0};
        utf8_encode(is_itself ? i : next++, text);
        add_token(v, text, TOKEN_NORMAL, 0);
    }
}

static void add_merge(vocab *v, const char *left, const char *right) {
    char both[64];
    snprintf(both, sizeof both, "%s%s", left, right);
    add_token(v, both, TOKEN_NORMAL, 0);
    snprintf(both, sizeof both, "%s %s", left, right);
    v->merges[v->desc.n_merges++] = keep_text(v, both);
}

static tokenizer *open_vocab(const vocab *v) {
    tokenizer *t;
    assert_ok(tokenizer_open(&v->desc, &t));
    return t;
}

static void assert_ids(const tokenizer *t, const char *text, size_t n, int flags,
                       const int32_t *ids, size_t n_ids) {
    token_list l = {0};
    assert_ok(tokenizer_encode(t, text, n, flags, &l));
    bool same = l.n == n_ids && (!n_ids || !memcmp(l.ids, ids, n_ids * sizeof *ids));
    if (!same) {
        str got = {0};
        for (size_t i = 0; i < l.n; i++) str_format(&got, " %d", l.ids[i]);
        fail_msg("\"%.*s\" gives%s", (int)(n < 60 ? n : 60), text, str_text(&got));
    }
    token_list_free(&l);
}

/* assert_encodes(t, "text", flags, ids...) */
#define assert_encodes(t, text, flags, ...)                                                        \
    do {                                                                                           \
        const int32_t ids_[] = {__VA_ARGS__};                                                      \
        assert_ids(t, text, strlen(text), flags, ids_, sizeof ids_ / sizeof *ids_);                \
    } while (0)
#define assert_encodes_nothing(t, text, flags) assert_ids(t, text, strlen(text), flags, NULL, 0)

static void assert_decodes(const tokenizer *t, const int32_t *ids, size_t n, bool special,
                           const char *text) {
    str got = {0};
    assert_ok(tokenizer_decode(t, ids, n, special, &got));
    assert_string_equal(str_text(&got), text);
    str_free(&got);
}

static void assert_round_trip(const tokenizer *t, const char *text, size_t n) {
    token_list l = {0};
    str back = {0};
    assert_ok(tokenizer_encode(t, text, n, 0, &l));
    assert_ok(tokenizer_decode(t, l.ids, l.n, false, &back));
    assert_int_equal(back.n, n);
    assert_memory_equal(str_text(&back), text, n);
    str_free(&back);
    token_list_free(&l);
}

static void assert_string_round_trip(const tokenizer *t, const char *text) {
    assert_round_trip(t, text, strlen(text));
}

/* ---- merging ------------------------------------------------------------------------------------
 */

/* Byte-pair encoding by its definition: the earliest merge that applies, at its leftmost place. */
static size_t ref_merge(const vocab *v, token_text *parts, size_t n) {
    for (;;) {
        size_t best = SIZE_MAX, at = 0;
        for (size_t i = 0; i + 1 < n; i++) {
            for (size_t k = 0; k < v->desc.n_merges && k < best; k++) {
                const char *space = strchr(v->merges[k].data + 1, ' ');
                size_t n_left = (size_t)(space - v->merges[k].data);
                if (parts[i].n != n_left || parts[i + 1].n != v->merges[k].n - n_left - 1) continue;
                if (memcmp(parts[i].data, v->merges[k].data, n_left)) continue;
                if (memcmp(parts[i + 1].data, space + 1, parts[i + 1].n)) continue;
                best = k;
                at = i;
            }
        }
        if (best == SIZE_MAX) return n;
        parts[at].n += parts[at + 1].n;
        memmove(&parts[at + 1], &parts[at + 2], (n - at - 2) * sizeof *parts);
        n--;
    }
}

static void merging_equals_its_definition(void **state) {
    (void)state;
    static vocab v;
    static token_text parts[400];
    rng r = {1};
    for (int round = 0; round < 60; round++) {
        begin_vocab(&v, "gpt2");
        v.desc.pre = "gpt-2";
        add_byte_letters(&v);
        while (v.desc.n_merges < 40) { /* two earlier texts over "abc" */
            char left[24], right[24], both[48];
            size_t n = v.desc.n_merges;
            for (int side = 0; side < 2; side++) {
                size_t pick = (size_t)rng_below(&r, (int64_t)(n + 3));
                char letter[2] = {(char)('a' + pick), 0};
                snprintf(side ? right : left, 24, "%s",
                         pick < 3 ? letter : v.tokens[256 + pick - 3].data);
            }
            snprintf(both, sizeof both, "%s%s", left, right);
            bool is_new = strlen(both) < 12;
            for (size_t i = 256; i < v.desc.n_tokens; i++)
                is_new &= strcmp(v.tokens[i].data, both) != 0;
            if (is_new) add_merge(&v, left, right);
            else if (rng_below(&r, 50) == 0) break;
        }
        tokenizer *t = open_vocab(&v);
        for (int word = 0; word < 40; word++) {
            char text[400];
            size_t n = 1 + (size_t)rng_below(&r, word % 4 ? 30 : 399); /* short and long ways */
            for (size_t i = 0; i < n; i++) {
                text[i] = (char)('a' + rng_below(&r, 3));
                parts[i] = (token_text){text + i, 1};
            }
            size_t n_right = ref_merge(&v, parts, n);
            int32_t right[400];
            for (size_t i = 0; i < n_right; i++)
                right[i] = tokenizer_find(t, parts[i].data, parts[i].n);
            assert_ids(t, text, n, 0, right, n_right);
        }
        tokenizer_close(t);
    }
}

static void bytes_make_any_text(void **state) {
    (void)state;
    static vocab v;
    begin_vocab(&v, "gpt2");
    v.desc.pre = "gpt-2";
    add_byte_letters(&v);
    add_merge(&v, "h", "e");
    add_merge(&v, "\xC4\xA0", "he"); /* U+0120 is the space */
    tokenizer *t = open_vocab(&v);
    assert_encodes(t, "he he", 0, 256, 257);
    assert_encodes(t, "\xC3\xA9", 0, 0xC3, 0xA9);
    /* Bytes that are no UTF-8: U+FFFD for each. */
    assert_ids(t, "a\xFF\xE2\x82z", 5, 0,
               (const int32_t[]){'a', 0xEF, 0xBF, 0xBD, 0xEF, 0xBF, 0xBD, 0xEF, 0xBF, 0xBD, 'z'},
               11);
    char all[256];
    for (int i = 0; i < 128; i++) all[i] = (char)i;
    assert_round_trip(t, all, 128);
    assert_string_equal(tokenizer_warning(t), "");
    tokenizer_close(t);
    v.desc.pre = "no-such-one";
    t = open_vocab(&v);
    assert_non_null(strstr(tokenizer_warning(t), "no-such-one"));
    tokenizer_close(t);
    v.desc.pre = NULL;
    t = open_vocab(&v);
    assert_non_null(strstr(tokenizer_warning(t), "names no pre-tokenizer"));
    tokenizer_close(t);
}

static void whole_words_may_come_before_merges(void **state) {
    (void)state;
    static vocab v;
    begin_vocab(&v, "gpt2");
    v.desc.pre = "llama-bpe";
    add_byte_letters(&v);
    add_merge(&v, "a", "b");
    int32_t abc = add_token(&v, "abc", TOKEN_NORMAL, 0); /* no merge makes it */
    tokenizer *t = open_vocab(&v);
    assert_encodes(t, "abc", 0, abc);
    assert_encodes(t, "abcd", 0, 256, 'c', 'd');
    tokenizer_close(t);
    v.desc.pre = "gpt-2";
    t = open_vocab(&v);
    assert_encodes(t, "abc", 0, 256, 'c');
    tokenizer_close(t);
}

static void begin_spm(vocab *v) {
    begin_vocab(v, "llama");
    v->desc.unk = add_token(v, "<unk>", TOKEN_UNKNOWN, 0);
    v->desc.bos = add_token(v, "<s>", TOKEN_CONTROL, 0);
    v->desc.eos = add_token(v, "</s>", TOKEN_CONTROL, 0);
    add_byte_tokens(v); /* 3 ... 258 */
}

static void scores_decide_in_spm(void **state) {
    (void)state;
    static vocab v;
    begin_spm(&v);
    int32_t space = add_token(&v, "\xE2\x96\x81", TOKEN_NORMAL, -10);
    int32_t a = add_token(&v, "a", TOKEN_NORMAL, -11), b = add_token(&v, "b", TOKEN_NORMAL, -12);
    int32_t ab = add_token(&v, "ab", TOKEN_NORMAL, -3), ba = add_token(&v, "ba", TOKEN_NORMAL, -2);
    int32_t space_a = add_token(&v,
                                "\xE2\x96\x81"
                                "a",
                                TOKEN_NORMAL, -4);
    int32_t user = add_token(&v, "[x]", TOKEN_USER, 0);
    tokenizer *t = open_vocab(&v);
    assert_encodes(t, "ab", 0, space, ab); /* ab (-3) goes before the space and a (-4) */
    assert_encodes(t, "aba", 0, space_a, ba);
    assert_encodes(t, "a  a", 0, space_a, space, space_a);
    assert_encodes(t, "bb", 0, space, b, b);
    assert_encodes(t, "\xC3\xA9", 0, space, 3 + 0xC3, 3 + 0xA9);
    assert_encodes(t, "a[x]a", 0, space_a, user, space_a); /* a space again after a special one */
    assert_encodes(t, "</s>", 0, space, 3 + '<', 3 + '/', 3 + 's', 3 + '>');
    assert_encodes(t, "a</s>", ENCODE_PARSE_SPECIAL, space_a, 2);
    assert_encodes(t, "a", ENCODE_ADD_SPECIAL, 1, space_a);
    assert_encodes(t, "<s>a", ENCODE_ADD_SPECIAL | ENCODE_PARSE_SPECIAL, 1, space_a);
    assert_encodes(t, "", ENCODE_ADD_SPECIAL, 1);
    assert_encodes_nothing(t, "", 0);
    const int32_t ids[] = {1, space_a, a, 3 + 0xC3, 3 + 0xA9, space, 2};
    assert_decodes(t, ids, 7, false, "aa\xC3\xA9 ");
    assert_decodes(t, ids, 7, true, "<s> aa\xC3\xA9 </s>");
    assert_true(tokenizer_is_end(t, 2));
    assert_false(tokenizer_is_end(t, 1));
    assert_int_equal(tokenizer_kind(t, 2), TOKEN_CONTROL);
    assert_true(tokenizer_adds_bos(t));
    tokenizer_close(t);
    v.desc.add_space_prefix = 0;
    v.desc.bos = -1; /* none is invented */
    t = open_vocab(&v);
    assert_encodes(t, "ab", ENCODE_ADD_SPECIAL, ab);
    assert_decodes(t, (const int32_t[]){space_a}, 1, false, " a");
    assert_false(tokenizer_adds_bos(t));
    tokenizer_close(t);
}

static void added_tokens_are_found_leftmost_and_longest(void **state) {
    (void)state;
    static vocab v;
    static uint8_t strips[MAX_TOKENS];
    begin_vocab(&v, "gpt2");
    v.desc.pre = "gpt-2";
    add_byte_letters(&v);
    int32_t one = add_token(&v, "<|a|>", TOKEN_CONTROL, 0),
            two = add_token(&v, "<|a|><|b|>", TOKEN_CONTROL, 0);
    int32_t user = add_token(&v, "=>", TOKEN_USER, 0), longer = add_token(&v, "=>>", TOKEN_USER, 0);
    int32_t end = add_token(&v, "<|im_end|>", TOKEN_NORMAL, 0); /* as some converters write it */
    int32_t eos = add_token(&v, "</s>", TOKEN_USER, 0);
    int32_t left = add_token(&v, "<l>", TOKEN_CONTROL, 0),
            right = add_token(&v, "<r>", TOKEN_CONTROL, 0);
    strips[left] = TOKEN_STRIPS_LEFT;
    strips[right] = TOKEN_STRIPS_RIGHT;
    v.desc.strips = strips;
    tokenizer *t = open_vocab(&v);
    assert_encodes(t, "x<|a|><|b|>", ENCODE_PARSE_SPECIAL, 'x', two);
    assert_encodes(t, "<|a|><|a|>", ENCODE_PARSE_SPECIAL, one, one);
    assert_encodes(t, "=>>=>", 0, longer, user);
    assert_encodes(t, "<|a|>", 0, '<', '|', 'a', '|', '>');
    assert_encodes(t, "a \n<l> b", ENCODE_PARSE_SPECIAL, 'a', left, ' ', 'b');
    assert_encodes(t, "a <r> \nb", ENCODE_PARSE_SPECIAL, 'a', ' ', right, 'b');
    assert_encodes(t, "<r> \n", ENCODE_PARSE_SPECIAL, right);
    assert_true(tokenizer_is_end(t, end));
    assert_true(tokenizer_is_end(t, eos));
    assert_encodes(t, "</s>", 0, '<', '/', 's',
                   '>'); /* user-defined in the file, yet no plain text */
    assert_decodes(t, (const int32_t[]){'a', user, one, end}, 4, false, "a=>");
    assert_decodes(t, (const int32_t[]){'a', user, one, end}, 4, true, "a=><|a|><|im_end|>");
    tokenizer_close(t);
}

static void words_are_covered_by_the_longest_pieces(void **state) {
    (void)state;
    static vocab v;
    begin_vocab(&v, "bert");
    int32_t unk = add_token(&v, "[UNK]", TOKEN_CONTROL, 0),
            cls = add_token(&v, "[CLS]", TOKEN_CONTROL, 0);
    int32_t sep = add_token(&v, "[SEP]", TOKEN_CONTROL, 0);
    int32_t un = add_token(&v, "\xE2\x96\x81un", TOKEN_NORMAL, 0),
            aff = add_token(&v, "aff", TOKEN_NORMAL, 0);
    int32_t able = add_token(&v, "able", TOKEN_NORMAL, 0),
            dot = add_token(&v, "\xE2\x96\x81.", TOKEN_NORMAL, 0);
    int32_t cafe = add_token(&v,
                             "\xE2\x96\x81"
                             "cafe",
                             TOKEN_NORMAL, 0);
    int32_t east = add_token(&v, "\xE2\x96\x81\xE6\x9D\xB1", TOKEN_NORMAL, 0);
    int32_t jamo = add_token(&v, "\xE2\x96\x81\xE1\x84\x80", TOKEN_NORMAL, 0),
            vowel = add_token(&v, "\xE1\x85\xA1", TOKEN_NORMAL, 0);
    tokenizer *t = open_vocab(&v);
    assert_encodes(t, "Unaffable.", 0, un, aff, able, dot);
    assert_encodes(t, "unaffablex un", 0, unk, un);
    assert_encodes(t, "CAF\xC3\x89\xE6\x9D\xB1 cafe\xCC\x81", 0, cafe, east, cafe);
    assert_encodes(t, "\xEA\xB0\x80", 0, jamo, vowel); /* Hangul falls apart under NFD */
    assert_encodes(t,
                   "un\x01\xE2\x80\x8B\xEF\xBF\xBD"
                   "able\t.",
                   0, un, able, dot);
    assert_encodes(t, "un", ENCODE_ADD_SPECIAL, cls, un, sep);
    assert_encodes(t, "", ENCODE_ADD_SPECIAL, cls, sep);
    char word[104] = "un";
    for (int i = 0; i < 25; i++) memcpy(word + 2 + 4 * i, "able", 5);
    assert_encodes(t, word, 0, unk); /* 102 characters */
    tokenizer_close(t);
    v.desc.keeps_case = v.desc.keeps_accents = true;
    t = open_vocab(&v);
    assert_encodes(t, "Un un caf\xC3\xA9", 0, unk, un, unk);
    tokenizer_close(t);
}

/* A character map with two entries, "A" -> "a" and "\t" -> " ", as a double array made by hand: a
 * unit's offset is relative to its place by exclusive or, and leads to its children and its value.
 */
static size_t make_charsmap(char *out) {
    uint32_t units[256] = {0};
    units[0] = 128u << 10;                        /* children at 128 ^ byte */
    units[128 ^ 'A'] = 'A' | 1u << 8 | 16u << 10; /* a leaf; value at 128 ^ 'A' ^ 16 */
    units[128 ^ 'A' ^ 16] = 1u << 31 | 0;
    units[128 ^ '\t'] = '\t' | 1u << 8 | 32u << 10;
    units[128 ^ '\t' ^ 32] = 1u << 31 | 2;
    uint32_t bytes = sizeof units;
    memcpy(out, &bytes, 4);
    memcpy(out + 4, units, sizeof units);
    memcpy(out + 4 + sizeof units, "a\0 ", 4);
    return 4 + sizeof units + 4;
}

static void begin_ugm(vocab *v) {
    begin_vocab(v, "t5");
    v->desc.pad = add_token(v, "<pad>", TOKEN_CONTROL, 0);
    v->desc.eos = add_token(v, "</s>", TOKEN_CONTROL, 0);
    v->desc.unk = add_token(v, "<unk>", TOKEN_UNKNOWN, 0);
}

static void unigram_takes_the_best_sum(void **state) {
    (void)state;
    static vocab v;
    static char map[2048];
    begin_ugm(&v);
    int32_t space = add_token(&v, "\xE2\x96\x81", TOKEN_NORMAL, -2),
            a = add_token(&v, "a", TOKEN_NORMAL, -3);
    int32_t b = add_token(&v, "b", TOKEN_NORMAL, -3), ab = add_token(&v, "ab", TOKEN_NORMAL, -7);
    int32_t space_ab = add_token(&v,
                                 "\xE2\x96\x81"
                                 "ab",
                                 TOKEN_NORMAL, -7.5f);
    tokenizer *t = open_vocab(&v);
    assert_encodes(t, "ab", 0, space_ab);        /* -7.5 against -2-3-3 */
    assert_encodes(t, "aab", 0, space, a, a, b); /* a, b: -6 against ab: -7 */
    assert_encodes(t, "  b   b ", 0, space, b, space, b);
    assert_encodes(t,
                   "\xC3\xA9\xC3\xA9"
                   "a",
                   0, space, 2, a); /* a run of unknowns is one */
    assert_encodes(t, "a", ENCODE_ADD_SPECIAL, space, a, 1);
    assert_encodes_nothing(t, "   ", 0);
    assert_encodes(t, "A\t", 0, space, 2);
    tokenizer_close(t);
    v.desc.precompiled_charsmap = (token_text){map, make_charsmap(map)};
    t = open_vocab(&v);
    assert_encodes(t, "AA\tb", 0, space, a, a, space, b);
    assert_encodes(t,
                   "\xFF\xE2\x82"
                   "A",
                   0, space, 2, a); /* bad bytes: an unknown U+FFFD each */
    tokenizer_close(t);
    v.desc.remove_extra_whitespaces = 0;
    t = open_vocab(&v);
    assert_encodes(t, "a  b ", 0, space, a, space, space, b, space);
    tokenizer_close(t);
    (void)ab;
    tokenizer *bad;
    for (size_t n = 1; n <= 1028; n += 27) {
        v.desc.precompiled_charsmap.n = n;
        assert_fails(tokenizer_open(&v.desc, &bad), WEFT_FORMAT, "character map");
    }
    rng r = {5}; /* a broken map must not lead outside */
    v.desc.precompiled_charsmap.n = make_charsmap(map);
    for (int i = 0; i < 300; i++) {
        map[4 + rng_below(&r, 1024)] = (char)rng_next(&r);
        token_list l = {0};
        if (tokenizer_open(&v.desc, &bad) != WEFT_OK) continue;
        assert_ok(tokenizer_encode(bad, "AbA\tcA\x80zzz", 11, 0, &l));
        token_list_free(&l);
        tokenizer_close(bad);
    }
}

static void a_stream_never_breaks_a_character(void **state) { /* G5-01 */
    (void)state;
    static vocab v;
    begin_vocab(&v, "gpt2");
    v.desc.pre = "gpt-2";
    add_byte_letters(&v);
    tokenizer *t = open_vocab(&v);
    const char *text = "a\xF0\x9F\x98\xB8\xE8\xB5\x8B\xC3\xA9z";
    str all = {0}, delta = {0};
    token_stream s = {0};
    for (size_t i = 0; text[i]; i++) {
        str_clear(&delta);
        assert_ok(token_stream_feed(t, &s, (uint8_t)text[i], false, &delta));
        assert_int_equal(utf8_complete(str_text(&delta), delta.n), delta.n);
        assert_null(strstr(str_text(&delta), "\xEF\xBF\xBD"));
        str_append(&all, str_text(&delta), delta.n);
    }
    assert_ok(token_stream_end(&s, &all));
    assert_string_equal(str_text(&all), text);
    str_clear(&all);
    const uint8_t broken[] = {'a', 0xF0, 0x9F, 'b', 0x98, 0xC3, 0xE2, 0x82};
    for (size_t i = 0; i < sizeof broken; i++)
        assert_ok(token_stream_feed(t, &s, broken[i], false, &all));
    assert_ok(token_stream_end(&s, &all));
    assert_string_equal(str_text(&all), "a\xEF\xBF\xBD\xEF\xBF\xBD"
                                        "b\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD");
    assert_fails(token_stream_feed(t, &s, 256, false, &all), WEFT_INDEX, "token 256");
    assert_fails(tokenizer_piece(t, -1, false, &all), WEFT_INDEX, "token -1");
    str_free(&all);
    str_free(&delta);
    tokenizer_close(t);
}

/* A text would be cut inside a character, and what is left read past its end. */
static void added_tokens_that_are_no_text_are_not_looked_for(void **state) {
    (void)state;
    static vocab v;
    begin_vocab(&v, "gpt2");
    add_byte_letters(&v);
    add_token(&v, "\xA4", TOKEN_USER, 0);
    add_token(&v, "\xC3", TOKEN_CONTROL, 0);
    int32_t whole = add_token(&v, "\xC3\xB6", TOKEN_USER, 0);
    tokenizer *t = open_vocab(&v);
    assert_encodes(t, "\xC3\xA4\xC3\xB6", 0, 0xC3, 0xA4, whole);
    assert_encodes(t, "\xC3\xA4", ENCODE_PARSE_SPECIAL, 0xC3, 0xA4);
    tokenizer_close(t);
}

static void wrong_vocabularies_are_named(void **state) {
    (void)state;
    static vocab v;
    tokenizer *t;
    begin_vocab(&v, "rwkv");
    assert_fails(tokenizer_open(&v.desc, &t), WEFT_UNSUPPORTED, "\"rwkv\"");
    begin_vocab(&v, "gpt2");
    assert_fails(tokenizer_open(&v.desc, &t), WEFT_FORMAT, "0 tokens");
    add_byte_letters(&v);
    v.desc.eos = 256;
    assert_fails(tokenizer_open(&v.desc, &t), WEFT_FORMAT, "EOS");
    v.desc.eos = -1;
    v.merges[v.desc.n_merges++] = (token_text){"ab", 2};
    assert_fails(tokenizer_open(&v.desc, &t), WEFT_FORMAT, "merge 0");
    begin_spm(&v);
    v.desc.scores = NULL;
    assert_fails(tokenizer_open(&v.desc, &t), WEFT_FORMAT, "scores");
    begin_spm(&v);
    v.scores[7] = NAN;
    assert_fails(tokenizer_open(&v.desc, &t), WEFT_FORMAT, "token 7");
    begin_vocab(&v, "bert");
    add_token(&v, "a", TOKEN_NORMAL, 0);
    assert_fails(tokenizer_open(&v.desc, &t), WEFT_FORMAT, "unknown token");
    assert_null(t);
}

static void every_allocation_may_fail(void **state) {
    (void)state;
    static vocab v;
    static char map[2048];
    for (int kind = 0; kind < 5; kind++) {
        if (kind == 4) setenv("WEFT_JIT", "off", 1);
        if (kind % 4 == 0)
            begin_vocab(&v, "gpt2"), add_byte_letters(&v), add_merge(&v, "a", "b"),
                v.desc.pre = "deepseek-llm";
        if (kind == 1) begin_spm(&v), add_token(&v, "\xE2\x96\x81", TOKEN_NORMAL, -1);
        if (kind == 2)
            begin_vocab(&v, "bert"), add_token(&v, "[UNK]", TOKEN_CONTROL, 0),
                add_token(&v,
                          "\xE2\x96\x81"
                          "a",
                          1, 0);
        if (kind == 3) {
            begin_ugm(&v);
            add_token(&v, "\xE2\x96\x81", TOKEN_NORMAL, -1);
            v.desc.precompiled_charsmap = (token_text){map, make_charsmap(map)};
        }
        add_token(&v, "<u>", TOKEN_USER, 0);
        uint64_t k = 0;
        for (bool is_done = false; !is_done;) {
            tokenizer *t;
            token_list l = {0};
            mem_fail_at(++k);
            weft_status status = tokenizer_open(&v.desc, &t);
            if (status == WEFT_OK)
                status = tokenizer_encode(t, "aba<u>b \xFF a", 11, ENCODE_ADD_SPECIAL, &l);
            is_done = mem_fail_at(0) < k;
            /* PCRE2 may do without its machine code when memory is short: then nothing failed. */
            assert_true(status == WEFT_NO_MEMORY || status == WEFT_OK);
            token_list_free(&l);
            tokenizer_close(t);
        }
        assert_true(k > 10);
    }
    unsetenv("WEFT_JIT");
}

/* ---- pre-tokenizers
 * ------------------------------------------------------------------------------ */

typedef struct cuts {
    size_t at[4096], n;
    const char *text;
} cuts;

static weft_status note_cut(void *context, const char *word, size_t n) {
    cuts *c = context;
    assert_true(n > 0 && c->n < 4096);
    assert_ptr_equal(word, c->text + (c->n ? c->at[c->n - 1] : 0)); /* no gap, no overlap */
    c->at[c->n++] = (size_t)(word - c->text) + n;
    return WEFT_OK;
}

static void split_with(const char *name, bool jit, const char *text, size_t n, cuts *c) {
    pretokenizer *p;
    pattern_work *w;
    assert_ok(pretokenizer_open(name, jit, &p));
    assert_ok(pattern_work_open(&w));
    c->n = 0;
    c->text = text;
    assert_ok(pretokenizer_split(p, w, text, n, note_cut, c));
    assert_int_equal(c->n ? c->at[c->n - 1] : 0, n);
    pattern_work_close(w);
    pretokenizer_close(p);
}

static void pretokenizers_cut_alike_with_and_without_jit(void **state) {
    (void)state;
    static cuts a, b;
    const int32_t ranges[] = {
        0x20,    0x7F,    0x20,    0x7F,   9,      13,     0xA0,   0x24F,  0x370,  0x52F,  0x5D0,
        0x6FF,   0x900,   0x97F,   0xE00,  0xE5B,  0x1100, 0x11FF, 0x1680, 0x1680, 0x180E, 0x180E,
        0x2000,  0x206F,  0x3040,  0x30FF, 0x4E00, 0x4FFF, 0xAC00, 0xACFF, 0xFF00, 0xFFEF, 0x1F600,
        0x1F64F, 0x20000, 0x20010, '0',    '9',    ' ',    ' ',    '\'',   '\''};
    rng r = {21};
    for (size_t i = 0; pretokenizer_name(i); i++) {
        for (int round = 0; round < 4; round++) {
            char text[2048];
            size_t n = 0;
            while (n < sizeof text - 4) {
                size_t k = 2 * (size_t)rng_below(&r, sizeof ranges / sizeof *ranges / 2);
                int32_t code = ranges[k] + (int32_t)rng_below(&r, ranges[k + 1] - ranges[k] + 1);
                for (int64_t run = rng_below(&r, 4); run >= 0 && n < sizeof text - 4; run--)
                    n += (size_t)utf8_encode(code, text + n);
            }
            split_with(pretokenizer_name(i), true, text, n, &a);
            split_with(pretokenizer_name(i), false, text, n, &b);
            assert_int_equal(a.n, b.n);
            assert_memory_equal(a.at, b.at, a.n * sizeof *a.at);
        }
    }
}

static void assert_cuts(const char *name, const char *text, const char *right) {
    static cuts c;
    str got = {0};
    split_with(name, true, text, strlen(text), &c);
    for (size_t i = 0, from = 0; i < c.n; from = c.at[i++])
        str_format(&got, "%s%.*s", i ? "|" : "", (int)(c.at[i] - from), text + from);
    assert_string_equal(str_text(&got), right);
    str_free(&got);
}

static void pretokenizers_cut_as_published(void **state) {
    (void)state;
    assert_cuts("gpt-2", "I'll go  WE'RE 2024!", "I|'ll| go| | WE|'|RE| 2024|!");
    assert_cuts("llama-bpe", "I'LL 12345 a\n\n b", "I|'LL| |123|45| a|\n\n| b");
    assert_cuts("qwen2", "123", "1|2|3");
    assert_cuts("gpt-4o", "HelloWorld don't", "Hello|World| don't");
    assert_cuts("tekken",
                "HelloWorld \xC3\x89"
                "COLEa",
                "Hello|World| \xC3\x89"
                "COLEa");
    assert_cuts("deepseek-v3", "a1234b \xE6\x9D\xB1x", "a|123|4|b| |\xE6\x9D\xB1|x");
    assert_cuts("kimi-k2",
                "a\xE6\x9D\xB1"
                "b 12345",
                "a|\xE6\x9D\xB1|b| |123|45");
    assert_cuts("tiny_aya", "1234567 12345a", "1|234|567| |123|45|a");
    assert_cuts("superbpe", "ab 1234567 c", "ab |1|234|567| c");
    assert_cuts("afmoe", "x12345", "x|12|345");
    assert_cuts("falcon", "12345", "123|45");
    assert_cuts("bloom", "a b,c", "a| b|,|c");
    assert_cuts("viking", "a12", "a|1|2");
    assert_cuts("jais-2", "a       b", "a|    |  | b");
    assert_cuts("gemma4", "a b\n\nc", "a b|\n\n|c");
    assert_cuts("exaone-moe", "a b c d", "a b c d");
}

/* ---- published vocabularies
 * ---------------------------------------------------------------------- */

static tokenizer *open_published(const char *name) {
    char relative[64];
    snprintf(relative, sizeof relative, "vocab/%s.gguf", name);
    const char *path = text_data(relative);
    if (!path) return NULL;
    gguf_file *f;
    tokenizer *t;
    assert_ok(gguf_open(path, &f));
    assert_ok(vocabulary_open(f, &t));
    gguf_close(f);
    return t;
}

static char *read_text(const char *name, const char *ending) {
    char relative[64], *data;
    size_t n;
    snprintf(relative, sizeof relative, "vocab/%s.%s", name, ending);
    assert_ok(file_read(text_data(relative), 1 << 20, &data, &n));
    return data;
}

static void check_published(const char *name) {
    tokenizer *t = open_published(name);
    char *in = read_text(name, "inp"), *out = read_text(name, "out"), *line = out;
    const char *separator = "\n__ggml_vocab_test__\n";
    int n_lines = 0;
    for (char *text = in, *end; (end = strstr(text, separator)); text = end + strlen(separator)) {
        int32_t ids[4096];
        size_t n = 0;
        char *eol = strchr(line, '\n'), *after;
        assert_non_null(eol);
        *eol = 0;
        for (long id = strtol(line, &after, 10); after != line; id = strtol(line, &after, 10)) {
            assert_true(n < 4096);
            ids[n++] = (int32_t)id;
            line = after;
        }
        assert_ids(t, text, (size_t)(end - text), 0, ids, n);
        line = eol + 1;
        n_lines++;
    }
    assert_true(n_lines >= 40);
    mem_free(in);
    mem_free(out);
    tokenizer_close(t);
}

static void published_vocabularies_agree_line_by_line(void **state) {
    (void)state;
    static const char *const names[] = {"bert-bge",  "command-r", "deepseek-coder", "deepseek-llm",
                                        "falcon",    "gemma-4",   "gpt-2",          "llama-bpe",
                                        "llama-spm", "mpt",       "phi-3",          "qwen2",
                                        "qwen35",    "refact",    "starcoder"};
    if (!text_data("vocab/gpt-2.gguf"))
        skip_because(false, "the published vocabularies are not installed");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) check_published(names[i]);
}

static void reports_about_spm_are_right(void **state) { /* G3-01, G3-09 */
    (void)state;
    tokenizer *t = open_published("llama-spm");
    if (!t) skip_because(false, "vocab/llama-spm.gguf is not installed");
    const int special = ENCODE_PARSE_SPECIAL, both = ENCODE_PARSE_SPECIAL | ENCODE_ADD_SPECIAL;
    assert_encodes(t, "This is \xF0\x9F\xA6\x99.cpp", 0, 910, 338, 29871, 243, 162, 169, 156, 29889,
                   8223);
    assert_encodes(t, "The train is moving very fast!", 0, 450, 7945, 338, 8401, 1407, 5172, 29991);
    assert_encodes(t, "I like Paris.\n```", 0, 306, 763, 3681, 29889, 13, 28956);
    assert_encodes_nothing(t, "", 0);
    assert_encodes(t, "", ENCODE_ADD_SPECIAL, 1);
    assert_ids(t, "\0", 1, 0, (const int32_t[]){29871, 3}, 2);
    assert_encodes(t, "</s>", 0, 1533, 29879, 29958);
    assert_encodes(t, "<s>", 0, 529, 29879, 29958);
    assert_encodes(t, "a.</s>", 0, 263, 21106, 29879, 29958);
    assert_encodes(t, "a.</s>", special, 263, 29889, 2);
    assert_encodes(t, "<s>The", both, 1, 450);
    assert_encodes(t, "The", both, 1, 450);
    assert_string_round_trip(t, "This is \xF0\x9F\xA6\x99.cpp  and\n\tmore ");
    tokenizer_close(t);
}

static void reports_about_bpe_are_right(void **state) { /* G3-03, G3-05 */
    (void)state;
    tokenizer *t = open_published("gpt-2");
    if (!t) skip_because(false, "vocab/gpt-2.gguf is not installed");
    assert_encodes(t, "I'll don't WE'RE it'S", 0, 40, 1183, 836, 470, 12887, 6, 2200, 340, 6, 50);
    assert_encodes(t, "In 2024 it cost $1,234.56", 0, 818, 48609, 340, 1575, 720, 16, 11, 24409, 13,
                   3980);
    assert_encodes(t, "  two  spaces  ", 0, 220, 734, 220, 9029, 220, 220);
    assert_encodes(t, "don\xE2\x80\x99t", 0, 9099, 447, 247, 83);
    assert_encodes(t, "trailing ", 0, 9535, 4386, 220);
    assert_string_round_trip(t, "  two  spaces , and . more  ");
    str out = {0};
    token_stream s = {0};
    const int32_t cats[] = {47249, 116, 164, 113, 233};
    for (int i = 0; i < 5; i++) assert_ok(token_stream_feed(t, &s, cats[i], false, &out));
    assert_ok(token_stream_end(&s, &out));
    assert_string_equal(str_text(&out), "\xF0\x9F\x98\xB8\xE8\xB5\x8B");
    str_free(&out);
    assert_true(tokenizer_is_end(t, 50256));
    tokenizer_close(t);
    t = open_published("llama-bpe");
    assert_encodes(t, "3333", 0, 8765, 18);
    assert_encodes(t, "33333333", 0, 8765, 8765, 1644);
    assert_encodes(t,
                   "C\xE1\xBB\xAD"
                   "a Vi\xE1\xBB\x87t",
                   0, 34, 91163, 101798);
    assert_true(tokenizer_adds_bos(t));
    assert_true(tokenizer_is_end(t, 128009)); /* <|eot_id|> */
    tokenizer_close(t);
    t = open_published("qwen2");
    assert_encodes(t, "3333", 0, 18, 18, 18, 18);
    assert_false(tokenizer_adds_bos(t));
    assert_true(tokenizer_is_end(t, tokenizer_find(t, "<|im_end|>", 10)));
    tokenizer_close(t);
    t = open_published("deepseek-coder");
    assert_encodes(t,
                   "F\xC3\xBC"
                   "hrer",
                   0, 37, 32009, 71, 6247);
    tokenizer_close(t);
    t = open_published("deepseek-llm");
    assert_encodes(t,
                   "F\xC3\xBC"
                   "hrer",
                   0, 37, 100014, 71, 6245);
    tokenizer_close(t);
    t = open_published("falcon");
    assert_encodes(t, " this is \xF0\x9F\xA6\x99.cpp", 0, 414, 304, 3346, 111, 231, 25, 29247);
    assert_encodes(t, "3333", 0, 22287, 30);
    tokenizer_close(t);
}

static void reports_about_wordpiece_are_right(void **state) { /* G3-06 */
    (void)state;
    tokenizer *t = open_published("bert-bge");
    if (!t) skip_because(false, "vocab/bert-bge.gguf is not installed");
    assert_encodes(t, "Gospi\xC4\x87", 0, 2175, 13102, 2594);
    assert_encodes(t, "Gospi\xC4\x87", ENCODE_ADD_SPECIAL, 101, 2175, 13102, 2594, 102);
    assert_encodes(t, "Caf\xC3\xA9-\xC3\x85ngstr\xC3\xB6m", 0, 7668, 1011, 17076, 15687);
    assert_encodes(t, "na\xC3\xAFve \xE6\x9D\xB1 x", 0, 15743, 1879, 1060);
    assert_encodes(t, "$5.00+tax", 0, 1002, 1019, 1012, 4002, 1009, 4171);
    assert_encodes(t, "Ti\xE1\xBA\xBFng Vi\xE1\xBB\x87t", 0, 5495, 3070, 19710);
    tokenizer_close(t);
}

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static char *repeat(const char *unit, size_t n) {
    size_t n_unit = strlen(unit);
    char *text = mem_alloc(n + 1);
    for (size_t i = 0; i + n_unit <= n; i += n_unit) memcpy(text + i, unit, n_unit);
    return text;
}

/* The time limit is a guard against more than linear costs (G3-08 asks for less than 5 s a MB). */
static void check_run(const tokenizer *t, const char *unit, size_t n, bool comes_back) {
    n -= n % strlen(unit);
    char *text = repeat(unit, n);
    token_list l = {0};
    double start = seconds();
    assert_ok(tokenizer_encode(t, text, n, 0, &l));
    assert_true(seconds() - start < 30);
    assert_true(l.n > 0 || !comes_back);
    if (comes_back) assert_round_trip(t, text, n);
    token_list_free(&l);
    mem_free(text);
}

static void long_runs_are_no_trouble(void **state) { /* G3-08 */
    (void)state;
    static const char *const names[] = {"gpt-2",   "llama-bpe", "deepseek-llm",  "llama-spm",
                                        "gemma-4", "bert-bge",  "nomic-bert-moe"};
    static const char *const units[] = {"A",  " ", "ab",  "\xE6\x9D\xB1", "!",
                                        "\n", "1", " \n", "\xE0\xB8\x81", "'"};
    tokenizer *t = open_published("gpt-2");
    if (!t) skip_because(false, "the published vocabularies are not installed");
    char *text = repeat("A", 8 * 500);
    int32_t ids[1000];
    for (int i = 0; i < 1000; i++) ids[i] = 43488;
    assert_ids(t, text, 8 * 125, 0, ids, 125);
    assert_ids(t, text, 8 * 500, 0, ids, 500);
    mem_free(text);
    text = repeat("ab", 1000);
    for (int i = 0; i < 1000; i++) ids[i] = 397;
    assert_ids(t, text, 1000, 0, ids, 500);
    mem_free(text);
    text = repeat(" ", 1000);
    for (int i = 0; i < 1000; i++) ids[i] = 220;
    assert_ids(t, text, 1000, 0, ids, 1000);
    mem_free(text);
    tokenizer_close(t);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        t = open_published(names[i]);
        bool comes_back = strcmp(names[i], "bert-bge") && strcmp(names[i], "nomic-bert-moe");
        size_t n = getenv("WEFT_TEST_CHECKED") ? 20000 : 200000;
        for (size_t k = 0; k < sizeof units / sizeof *units; k++)
            check_run(t, units[k], n, comes_back);
        tokenizer_close(t);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(merging_equals_its_definition),
        cmocka_unit_test(bytes_make_any_text),
        cmocka_unit_test(whole_words_may_come_before_merges),
        cmocka_unit_test(scores_decide_in_spm),
        cmocka_unit_test(added_tokens_are_found_leftmost_and_longest),
        cmocka_unit_test(words_are_covered_by_the_longest_pieces),
        cmocka_unit_test(unigram_takes_the_best_sum),
        cmocka_unit_test(a_stream_never_breaks_a_character),
        cmocka_unit_test(added_tokens_that_are_no_text_are_not_looked_for),
        cmocka_unit_test(wrong_vocabularies_are_named),
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(pretokenizers_cut_alike_with_and_without_jit),
        cmocka_unit_test(pretokenizers_cut_as_published),
        cmocka_unit_test(published_vocabularies_agree_line_by_line),
        cmocka_unit_test(reports_about_spm_are_right),
        cmocka_unit_test(reports_about_bpe_are_right),
        cmocka_unit_test(reports_about_wordpiece_are_right),
        cmocka_unit_test(long_runs_are_no_trouble),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
