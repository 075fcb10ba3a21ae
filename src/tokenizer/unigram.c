/* See unigram.h. SPDX-License-Identifier: MIT */
#include "tokenizer/unigram.h"

#include <float.h>

#include "base/mem.h"
#include "base/utf8.h"

enum { PENALTY = 10 }; /* kUnkPenalty */

void unigram_set_lowest(unigram *u, double lowest) { u->unknown_score = lowest - PENALTY; }

void unigram_free(unigram *u) {
    trie_free(&u->tokens);
    mem_free(u->scores);
    *u = (unigram){0};
}

void unigram_work_free(unigram_work *w) {
    mem_free(w->steps);
    *w = (unigram_work){0};
}

static bool offer(unigram_step *s, double score, size_t from, int32_t id) {
    if (score <= s->score) return false;
    *s = (unigram_step){score, (uint32_t)from, id};
    return true;
}

weft_status unigram_cover(const unigram *u, unigram_work *w, const char *text, size_t n) {
    REQUIRE(n < UINT32_MAX, WEFT_LIMIT, "a normalised text of %zu bytes is too long", n);
    void *block = w->steps;
    weft_status status = mem_reserve(&block, &w->capacity, n + 1, sizeof *w->steps);
    w->steps = block;
    TRY(status);
    unigram_step *steps = w->steps;
    for (size_t i = 0; i <= n; i++) steps[i] = (unigram_step){-DBL_MAX, 0, u->unknown};
    steps[0].score = 0;
    for (size_t at = 0; at < n;) {
        int32_t code;
        size_t bytes = (size_t)utf8_decode(text + at, n - at, &code);
        double score = steps[at].score;
        bool is_known = false;
        uint32_t node = 0;
        for (size_t end = at; end < n;) {
            node = trie_child(&u->tokens, node, (uint8_t)text[end++]);
            if (!node) break;
            int32_t id = u->tokens.nodes[node].value;
            if (id < 0) continue;
            is_known |= end - at == bytes;
            offer(&steps[end], score + u->scores[id], at, id);
        }
        if (!is_known && offer(&steps[at + bytes], score + u->unknown_score, at, u->unknown))
            REQUIRE(u->unknown >= 0, WEFT_FORMAT,
                    "the vocabulary has neither a token for \"%.*s\" nor an unknown token",
                    (int)bytes, text + at);
        at += bytes;
    }
    return WEFT_OK;
}
