/* Follows a grammar and checks it against itself, for the targets that make one:
 *  - a mask allows something as long as the text has not ended;
 *  - a token can be accepted exactly when the mask allows it, and then its bytes can too;
 *  - the end tokens are allowed exactly where the text may end;
 *  - going back gives the same mask again, a clone the mask of its original, and a failed
 *    allocation changes nothing.
 * SPDX-License-Identifier: MIT */
#include "lib/fuzz.h"

#define PIECE(text)                                                                                \
    { text, sizeof(text) - 1 }

static const grammar_token pieces[] = {
    PIECE("ab"),         PIECE("root"),       PIECE("true"),     PIECE("null"),     PIECE("\":"),
    PIECE("{\""),        PIECE("\"}"),        PIECE("}}"),       PIECE("0."),       PIECE("12"),
    PIECE("\\u00"),      PIECE("\\\""),       PIECE("\n  "),     PIECE(", "),       PIECE("e-"),
    PIECE("@b.c"),       PIECE("\xC3\xA4"),   PIECE("\xE2\x82"), PIECE("\x82\xAC"), PIECE("a\xF0"),
    PIECE("2026-12-01"), PIECE("T12:34:56Z"), PIECE("://"),      PIECE(""),
};

enum {
    N_PIECES = sizeof pieces / sizeof *pieces,
    N_TOKENS = 256 + N_PIECES + 2, /* the last two end a text */
    END = N_TOKENS - 2,
    N_WORDS = (N_TOKENS + 31) / 32,
    N_STEPS = 40
};

typedef struct walk {
    grammar_matcher *m;
    fuzz_input *in;
    uint32_t mask[N_WORDS];
} walk;

static const grammar_vocab *vocabulary(void) {
    static grammar_vocab *v;
    static char bytes[256];
    static grammar_token tokens[N_TOKENS];
    if (v) return v;
    for (size_t i = 0; i < 256; i++) {
        bytes[i] = (char)i;
        tokens[i] = (grammar_token){&bytes[i], 1};
    }
    memcpy(tokens + 256, pieces, sizeof pieces);
    weft_status status = grammar_vocab_open(tokens, N_TOKENS, (int32_t[]){END, END + 1}, 2, &v);
    fuzz_require(status == WEFT_OK, "the vocabulary does not open");
    return v;
}

static bool allows(const walk *w, int32_t token) { return w->mask[token / 32] >> (token % 32) & 1; }

/* The mask here; when an allocation fails, again. False when a limit was met. */
static bool take_mask(walk *w) {
    fuzz_arm(w->in);
    weft_status status = grammar_matcher_mask(w->m, w->mask);
    if (!fuzz_status(status, fuzz_disarm(w->in), 1U << WEFT_LIMIT)) {
        if (status != WEFT_NO_MEMORY) return false;
        status = grammar_matcher_mask(w->m, w->mask);
        if (!fuzz_status(status, false, 1U << WEFT_LIMIT)) return false;
    }
    bool is_empty = true;
    for (size_t i = 0; i < N_WORDS; i++) is_empty &= !w->mask[i];
    fuzz_require(!is_empty, "a mask allows nothing");
    fuzz_require(grammar_matcher_may_end(w->m) == allows(w, END) &&
                     allows(w, END) == allows(w, END + 1),
                 "the mask and may_end disagree about the end");
    return true;
}

/* Accepts a token (or says that it is not allowed), and goes back. False when a limit was met. */
static bool try_token(walk *w, int32_t token) {
    size_t steps = grammar_matcher_steps(w->m);
    fuzz_arm(w->in);
    weft_status status = grammar_matcher_accept(w->m, token);
    bool has_failed = fuzz_disarm(w->in);
    if (has_failed) {
        fuzz_status(status, true, 0);
        fuzz_require(grammar_matcher_steps(w->m) == steps, "a failed step was counted");
        status = grammar_matcher_accept(w->m, token);
    }
    fuzz_status(status, false, 1U << WEFT_INVALID | 1U << WEFT_LIMIT);
    if (status == WEFT_LIMIT) return false;
    fuzz_require((status == WEFT_OK) == allows(w, token), "the mask and the step disagree");
    fuzz_require(grammar_matcher_rollback(w->m, steps) == WEFT_OK, "there is no way back");
    if (token >= 256 + N_PIECES || (token >= 256 && !pieces[token - 256].n)) return true;
    char byte = (char)token;
    grammar_token bytes = token < 256 ? (grammar_token){&byte, 1} : pieces[token - 256];
    for (size_t i = 0; i < bytes.n && status != WEFT_LIMIT; i++) {
        status = grammar_matcher_accept_bytes(w->m, bytes.data + i, 1);
        fuzz_status(status, false, 1U << WEFT_INVALID | 1U << WEFT_LIMIT);
        if (status != WEFT_OK) break;
    }
    if (status != WEFT_LIMIT)
        fuzz_require((status == WEFT_OK) == allows(w, token), "the mask and the bytes disagree");
    fuzz_require(grammar_matcher_rollback(w->m, steps) == WEFT_OK, "there is no way back");
    return status != WEFT_LIMIT;
}

/* One that the mask allows: an end now and then, else the next one from a random place on. */
static int32_t choose(walk *w) {
    if (allows(w, END) && fuzz_below(w->in, 8) == 0) return END;
    size_t at = fuzz_below(w->in, 4) ? fuzz_below(w->in, 128) : fuzz_below(w->in, N_TOKENS);
    for (size_t i = 0; i < N_TOKENS; i++) {
        int32_t token = (int32_t)((at + i) % N_TOKENS);
        if (allows(w, token)) return token;
    }
    return END;
}

static void check_clone(walk *w) {
    walk copy = {.in = w->in};
    fuzz_arm(w->in);
    weft_status status = grammar_matcher_clone(w->m, &copy.m);
    if (!fuzz_status(status, fuzz_disarm(w->in), 0)) return;
    if (take_mask(w) && take_mask(&copy))
        fuzz_require(!memcmp(w->mask, copy.mask, sizeof w->mask), "a clone has another mask");
    grammar_matcher_close(copy.m);
}

static bool wander(walk *w, fuzz_followed *out) {
    uint32_t first[N_WORDS];
    for (int step = 0; step < N_STEPS; step++) {
        if (!take_mask(w)) return false;
        if (step == 0) memcpy(first, w->mask, sizeof first);
        if (!try_token(w, (int32_t)fuzz_below(w->in, N_TOKENS))) return false;
        int32_t token = choose(w);
        if (!try_token(w, token) || grammar_matcher_accept(w->m, token) != WEFT_OK) return false;
        if (token >= END) {
            fuzz_require(grammar_matcher_may_end(w->m), "an ended text may not end");
            return true;
        }
        if (token < 256) out->made[out->n_made++] = (char)token;
        for (size_t i = 0; token >= 256 && i < pieces[token - 256].n; i++)
            out->made[out->n_made++] = pieces[token - 256].data[i];
    }
    bool may_end = grammar_matcher_may_end(w->m);
    check_clone(w);
    fuzz_require(grammar_matcher_rollback(w->m, 0) == WEFT_OK, "there is no way back");
    if (take_mask(w))
        fuzz_require(!memcmp(first, w->mask, sizeof first), "going back gives another mask");
    return may_end;
}

void fuzz_follow(const grammar *g, fuzz_input *in, fuzz_text text, fuzz_followed *out) {
    walk w = {.in = in};
    out->is_known = out->fits = out->has_ended = false;
    out->n_made = 0;
    const grammar_vocab *v = vocabulary();
    fuzz_arm(in);
    weft_status status = grammar_matcher_open(g, v, &w.m);
    if (!fuzz_status(status, fuzz_disarm(in), 1U << WEFT_LIMIT)) return;
    weft_status whole = grammar_matcher_accept_bytes(w.m, text.data, text.n);
    fuzz_status(whole, false, 1U << WEFT_INVALID | 1U << WEFT_LIMIT);
    bool may_end = grammar_matcher_may_end(w.m);
    fuzz_require(grammar_matcher_rollback(w.m, 0) == WEFT_OK, "there is no way back");
    for (size_t i = 0; i < text.n && status == WEFT_OK; i++)
        status = grammar_matcher_accept_bytes(w.m, text.data + i, 1);
    out->is_known = status != WEFT_LIMIT && whole != WEFT_LIMIT;
    out->fits = whole == WEFT_OK && may_end;
    if (out->is_known) {
        fuzz_require(status == whole, "a text byte by byte is not the text as a whole");
        fuzz_require(whole != WEFT_OK || may_end == grammar_matcher_may_end(w.m),
                     "a text byte by byte ends otherwise");
    }
    if (whole == WEFT_OK && text.n) take_mask(&w);
    fuzz_require(grammar_matcher_rollback(w.m, 0) == WEFT_OK, "there is no way back");
    out->has_ended = wander(&w, out);
    grammar_matcher_close(w.m);
}
