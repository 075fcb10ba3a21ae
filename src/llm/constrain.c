/* Answers that follow a grammar: the vocabulary as grammars see it, and the matcher that goes along
 * with one generation. The mask is the first step of the sampler chain, so whatever the sampler
 * draws keeps the answer possible.
 * SPDX-License-Identifier: MIT */
#include <string.h>

#include "grammar/grammar.h"
#include "llm/llm.h"
#include "llm/vocabulary.h"

/* The bytes of all tokens, control tokens without any; first[i] is where token i begins. */
static weft_status take_pieces(const tokenizer *t, str *bytes, size_t *first) {
    size_t n = tokenizer_n_tokens(t);
    for (size_t i = 0; i < n; i++) {
        first[i] = bytes->n;
        TRY(tokenizer_piece(t, (int32_t)i, false, bytes));
    }
    first[n] = bytes->n;
    return WEFT_OK;
}

static weft_status make_vocab(const str *bytes, const size_t *first, grammar_token *tokens,
                              const tokenizer *t, grammar_vocab **out) {
    size_t n = tokenizer_n_tokens(t), n_ends = 0;
    int32_t *ends = mem_array(n, sizeof *ends);
    if (!ends) return WEFT_NO_MEMORY;
    for (size_t i = 0; i < n; i++) {
        tokens[i] = (grammar_token){str_text(bytes) + first[i], first[i + 1] - first[i]};
        if (tokenizer_is_end(t, (int32_t)i)) ends[n_ends++] = (int32_t)i;
    }
    weft_status status = grammar_vocab_open(tokens, n, ends, n_ends, out);
    mem_free(ends);
    return status;
}

weft_status vocabulary_for_grammar(const tokenizer *t, grammar_vocab **out) {
    size_t n = tokenizer_n_tokens(t);
    str bytes = {0};
    size_t *first = mem_array(n + 1, sizeof *first);
    grammar_token *tokens = mem_array(n + 1, sizeof *tokens);
    weft_status status = first && tokens ? take_pieces(t, &bytes, first) : WEFT_NO_MEMORY;
    if (status == WEFT_OK) status = make_vocab(&bytes, first, tokens, t, out);
    str_free(&bytes);
    mem_free(first);
    mem_free(tokens);
    return status;
}

weft_status constraint_open(weft_model *m, const weft_generate_desc *desc, constraint *c) {
    *c = (constraint){0};
    const char *text = desc->grammar ? desc->grammar : desc->json_schema;
    if (!text) return WEFT_OK;
    REQUIRE(!desc->grammar || !desc->json_schema, WEFT_INVALID,
            "an answer follows a grammar or a JSON Schema, not both");
    REQUIRE(!desc->ignore_eos, WEFT_INVALID,
            "a grammar says where the text ends, so ignore_eos cannot go with it");
    if (desc->grammar) TRY(grammar_open_gbnf(text, strlen(text), &c->grammar));
    else TRY(grammar_open_json_schema(text, strlen(text), &c->grammar));
    if (!m->grammar_vocab) TRY(vocabulary_for_grammar(m->tok, &m->grammar_vocab));
    c->mask = mem_array((tokenizer_n_tokens(m->tok) + 31) / 32, sizeof *c->mask);
    if (!c->mask) return WEFT_NO_MEMORY;
    return grammar_matcher_open(c->grammar, m->grammar_vocab, &c->matcher);
}

weft_status constraint_mask(constraint *c, size_t n_vocab, sampler *s, bool *is_over) {
    *is_over = false;
    if (!c->matcher) return WEFT_OK;
    TRY(grammar_matcher_mask(c->matcher, c->mask));
    bool any = false;
    for (size_t i = 0; i < (n_vocab + 31) / 32; i++) any |= c->mask[i] != 0;
    *is_over = !any && grammar_matcher_may_end(c->matcher);
    REQUIRE(any || *is_over, WEFT_INVALID,
            "no token of the vocabulary can follow here, as the grammar has it");
    sampler_set_mask(s, c->mask);
    return WEFT_OK;
}

weft_status constraint_accept(constraint *c, int32_t id) {
    return c->matcher ? grammar_matcher_accept(c->matcher, id) : WEFT_OK;
}

void constraint_close(constraint *c) {
    grammar_matcher_close(c->matcher);
    grammar_close(c->grammar);
    mem_free(c->mask);
    *c = (constraint){0};
}
