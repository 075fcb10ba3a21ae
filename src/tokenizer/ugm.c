/* SentencePiece's Unigram model ("t5"): the text is normalised by the file's own character map,
 * then covered by the sequence of tokens whose scores sum highest (Viterbi, one step a character).
 * Bytes that are no UTF-8 become U+FFFD after the map, as there.
 * Sources: google/sentencepiece, src/unigram_model.cc and normalizer.cc; the map is a Darts-clone
 * double array (s-yata/darts-clone, include/darts.h): a unit holds a label in bits 0-7 and 31, a
 * leaf flag in bit 8, and an offset. Not here: sampling of segmentations.
 * SPDX-License-Identifier: MIT */
#include <float.h>
#include <string.h>

#include "base/utf8.h"
#include "tokenizer/merge.h"
#include "tokenizer/vocab.h"

typedef struct ugm_state {
    trie tokens;
    double unknown_score;
    bool has_bytes;  /* all 256 byte tokens: what is unknown is spelled in bytes */
    uint32_t *units; /* the double array */
    size_t n_units;
    char *replacements; /* 0-terminated texts; the last byte is 0 */
    size_t n_replacements;
} ugm_state;

/* The best way to reach a place: by which token, from where. */
typedef struct step {
    double score;
    uint32_t from;
    int32_t id;
} step;

typedef struct ugm_work {
    str text;
    step *steps;
    size_t capacity;
} ugm_work;

weft_status ugm_configure(tokenizer *t, const tokenizer_desc *desc) {
    (void)desc;
    REQUIRE(t->scores, WEFT_FORMAT, "a Unigram vocabulary needs scores");
    REQUIRE(t->unk >= 0, WEFT_FORMAT, "a Unigram vocabulary needs an unknown token");
    t->marks_spaces = true;
    return WEFT_OK;
}

static weft_status copy_map(ugm_state *s, token_text map) {
    if (!map.n) return WEFT_OK;
    uint32_t bytes;
    REQUIRE(map.n > sizeof bytes, WEFT_FORMAT, "the precompiled character map is cut off");
    memcpy(&bytes, map.data, sizeof bytes);
    REQUIRE(bytes % 4 == 0 && bytes && bytes < map.n - sizeof bytes, WEFT_FORMAT,
            "the precompiled character map claims a trie of %u bytes in %zu", bytes, map.n);
    REQUIRE(map.data[map.n - 1] == 0, WEFT_FORMAT,
            "the precompiled character map does not end in a 0 byte");
    s->units = mem_copy(map.data + sizeof bytes, bytes);
    s->n_replacements = map.n - sizeof bytes - bytes;
    s->replacements = mem_copy(map.data + sizeof bytes + bytes, s->n_replacements);
    s->n_units = bytes / 4;
    return s->units && s->replacements ? WEFT_OK : WEFT_NO_MEMORY;
}

weft_status ugm_open(tokenizer *t, const tokenizer_desc *desc) {
    ugm_state *s = mem_alloc(sizeof *s);
    if (!s) return WEFT_NO_MEMORY;
    t->state = s;
    TRY(copy_map(s, desc->precompiled_charsmap));
    trie_key *keys = mem_array(t->n_tokens, sizeof *keys);
    if (!keys) return WEFT_NO_MEMORY;
    size_t n = 0;
    float lowest = FLT_MAX;
    for (size_t id = 0; id < t->n_tokens; id++) {
        if (!vocab_is_text(t, id) || !t->texts[id].n) continue;
        keys[n++] = (trie_key){t->texts[id].data, t->texts[id].n, (int32_t)id};
        if (t->kinds[id] == TOKEN_NORMAL && t->scores[id] < lowest) lowest = t->scores[id];
    }
    s->unknown_score = (double)lowest - 10.0; /* kUnkPenalty */
    s->has_bytes = true;
    for (int i = 0; i < 256; i++)
        s->has_bytes &= t->byte_ids[i] >= 0 && t->kinds[t->byte_ids[i]] == TOKEN_BYTE;
    weft_status status = trie_build(&s->tokens, keys, n);
    mem_free(keys);
    return status;
}

void ugm_close(tokenizer *t) {
    ugm_state *s = t->state;
    if (!s) return;
    trie_free(&s->tokens);
    mem_free(s->units);
    mem_free(s->replacements);
    mem_free(s);
}

weft_status ugm_begin(const tokenizer *t, size_t n, void **work) {
    (void)t;
    (void)n;
    *work = mem_alloc(sizeof(ugm_work));
    return *work ? WEFT_OK : WEFT_NO_MEMORY;
}

void ugm_end(void *work) {
    ugm_work *w = work;
    if (!w) return;
    str_free(&w->text);
    mem_free(w->steps);
    mem_free(w);
}

static uint32_t unit_offset(uint32_t unit) { return (unit >> 10) << ((unit & 1u << 9) >> 6); }

/* The longest entry of the character map that text[0..n) begins with: its length (0 = none) and
 * replacement. */
static size_t find_replacement(const ugm_state *s, const char *text, size_t n,
                               const char **replacement) {
    if (!s->n_units) return 0;
    size_t longest = 0;
    uint32_t at = unit_offset(s->units[0]);
    for (size_t i = 0; i < n && text[i]; i++) {
        uint8_t byte = (uint8_t)text[i];
        at ^= byte;
        if (at >= s->n_units || (s->units[at] & (1u << 31 | 0xFF)) != byte) break;
        bool is_leaf = s->units[at] >> 8 & 1;
        at ^= unit_offset(s->units[at]);
        if (!is_leaf) continue;
        if (at >= s->n_units) break;
        uint32_t value = s->units[at] & 0x7FFFFFFFu;
        if (value >= s->n_replacements) break;
        longest = i + 1;
        *replacement = s->replacements + value;
    }
    return longest;
}

typedef struct spaces {
    bool adds, merges;      /* a space in front; runs of spaces become one, none at the ends */
    bool in_word, has_word; /* where we are */
} spaces;

static weft_status put_normalised(ugm_work *w, spaces *s, const char *text, size_t n) {
    for (size_t i = 0; i < n; i++) {
        if (text[i] == ' ') {
            s->in_word = false;
            if (!s->merges) TRY(str_append(&w->text, VOCAB_SPACE, 3));
            continue;
        }
        bool begins = !s->in_word && (s->merges ? s->adds || s->has_word : s->adds && !s->has_word);
        if (begins) TRY(str_append(&w->text, VOCAB_SPACE, 3));
        s->in_word = s->has_word = true;
        TRY(str_char(&w->text, text[i]));
    }
    return WEFT_OK;
}

static weft_status normalise(const tokenizer *t, ugm_work *w, const char *text, size_t n) {
    str_clear(&w->text);
    spaces s = {.adds = t->adds_space, .merges = t->removes_extra_spaces};
    for (size_t at = 0; at < n;) {
        const char *replacement = text + at;
        size_t length = find_replacement(t->state, text + at, n - at, &replacement);
        size_t n_replacement = length ? strlen(replacement) : 0;
        if (!length) {
            int32_t code;
            length = n_replacement = (size_t)utf8_decode(text + at, n - at, &code);
            if (code == UTF8_BAD) { /* not looked up in the map: it may turn U+FFFD into a space */
                replacement = "\xEF\xBF\xBD";
                n_replacement = 3;
            }
        }
        TRY(put_normalised(w, &s, replacement, n_replacement));
        at += length;
    }
    return WEFT_OK;
}

static void offer(step *s, double score, size_t from, int32_t id) {
    if (score > s->score) *s = (step){score, (uint32_t)from, id};
}

/* Fills w->steps: the best way to every place of the normalised text. */
static void find_best(const tokenizer *t, ugm_work *w) {
    const ugm_state *s = t->state;
    size_t n = w->text.n;
    for (size_t i = 0; i <= n; i++) w->steps[i] = (step){-DBL_MAX, 0, t->unk};
    w->steps[0].score = 0;
    for (size_t at = 0; at < n;) {
        int32_t code;
        size_t bytes = (size_t)utf8_decode(w->text.data + at, n - at, &code);
        double score = w->steps[at].score;
        bool is_known = false;
        uint32_t node = 0;
        for (size_t end = at; end < n;) {
            node = trie_child(&s->tokens, node, (uint8_t)w->text.data[end++]);
            if (!node) break;
            int32_t id = s->tokens.nodes[node].value;
            if (id < 0) continue;
            is_known |= end - at == bytes;
            offer(&w->steps[end],
                  score + (t->kinds[id] == TOKEN_USER ? 0.0 : (double)t->scores[id]), at, id);
        }
        if (!is_known) offer(&w->steps[at + bytes], score + s->unknown_score, at, t->unk);
        at += bytes;
    }
}

/* Appends a piece's ids, last first: unknown ones as bytes, or a run of them as one unknown token.
 */
static weft_status put_backwards(const tokenizer *t, const ugm_work *w, const step *s, size_t to,
                                 bool after_unknown, token_list *out) {
    const ugm_state *state = t->state;
    if (s->id != t->unk) return token_list_add(out, s->id);
    if (!state->has_bytes) return after_unknown ? WEFT_OK : token_list_add(out, t->unk);
    for (size_t i = to; i-- > s->from;)
        TRY(token_list_add(out, t->byte_ids[(uint8_t)w->text.data[i]]));
    return WEFT_OK;
}

weft_status ugm_encode(const tokenizer *t, void *work, const char *text, size_t n,
                       bool follows_text, token_list *out) {
    (void)follows_text;
    ugm_work *w = work;
    TRY(normalise(t, w, text, n));
    if (!w->text.n) return WEFT_OK;
    REQUIRE(w->text.n < UINT32_MAX, WEFT_LIMIT, "a normalised text of %zu bytes is too long",
            w->text.n);
    void *steps = w->steps;
    weft_status status = mem_reserve(&steps, &w->capacity, w->text.n + 1, sizeof *w->steps);
    w->steps = steps;
    TRY(status);
    find_best(t, w);
    size_t first = out->n;
    bool after_unknown = false;
    for (size_t at = w->text.n; at;) {
        const step *s = &w->steps[at];
        TRY(put_backwards(t, w, s, at, after_unknown, out));
        after_unknown = s->id == t->unk;
        at = s->from;
    }
    for (size_t i = first, k = out->n; i + 1 < k;) {
        int32_t id = out->ids[i];
        out->ids[i++] = out->ids[--k];
        out->ids[k] = id;
    }
    return WEFT_OK;
}
