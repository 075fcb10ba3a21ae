/* What schema_check.py drives: for each line of standard input, {"schema": S, "texts": [T ...],
 * "seed": N, "draws": K}, one line is written, {"error": message or null, "follow": [bool ...],
 * "made": [text ...]}: which texts follow the schema's grammar, and K texts drawn from it, byte by
 * byte, ending where they may.
 * SPDX-License-Identifier: MIT */
#include "harness.h"

#ifdef WEFT_HAVE_JANSSON
#include <jansson.h>

#include "base/error.h"
#include "grammar/grammar.h"

enum { MOST_BYTES = 3000, END = 256, N_WORDS = 9 };

/* Draws one text: printable bytes first, and its end more and more likely; NULL when it got too
 * long. */
static json_t *draw(grammar_matcher *m, rng *r) {
    char text[MOST_BYTES];
    size_t n = 0;
    assert_ok(grammar_matcher_rollback(m, 0));
    for (; n < MOST_BYTES;) {
        uint32_t mask[N_WORDS];
        int allowed[END], k = 0;
        assert_ok(grammar_matcher_mask(m, mask));
        if (mask[END / 32] & 1 && rng_below(r, 3) == 0) return json_stringn(text, n);
        for (int byte = 0; byte < END; byte++) {
            if (!(mask[byte / 32] >> (byte % 32) & 1)) continue;
            int copies = byte == '"' || byte == '}' || byte == ']' ? 12 : byte < 0x80 ? 2 : 1;
            if (byte == '"' || k + copies < END)
                for (int c = 0; c < copies && k < END; c++) allowed[k++] = byte;
        }
        if (!k) return mask[END / 32] & 1 ? json_stringn(text, n) : NULL;
        int byte = allowed[rng_below(r, k)];
        assert_ok(grammar_matcher_accept(m, byte));
        text[n++] = (char)byte;
    }
    return NULL;
}

static void answer(const json_t *in, const grammar_vocab *v) {
    json_t *given = json_object_get(in, "schema"); /* a text: the schema's own, not parsed here */
    char *schema = json_is_string(given) ? strdup(json_string_value(given))
                                         : json_dumps(given, JSON_ENCODE_ANY);
    grammar *g = NULL;
    grammar_matcher *m = NULL;
    json_t *out = json_pack("{s:n,s:[],s:[]}", "error", "follow", "made"), *text;
    size_t i;
    if (grammar_open_json_schema(schema, strlen(schema), &g) != WEFT_OK)
        json_object_set_new(out, "error", json_string(weft_message()));
    else {
        assert_ok(grammar_matcher_open(g, v, &m));
        json_array_foreach(json_object_get(in, "texts"), i, text) {
            assert_ok(grammar_matcher_rollback(m, 0));
            bool ok = grammar_matcher_accept_bytes(m, json_string_value(text),
                                                   json_string_length(text)) == WEFT_OK &&
                      grammar_matcher_may_end(m);
            json_array_append_new(json_object_get(out, "follow"), json_boolean(ok));
        }
        rng r = {(uint64_t)json_integer_value(json_object_get(in, "seed"))};
        for (i = (size_t)json_integer_value(json_object_get(in, "draws")); i > 0; i--) {
            json_t *made = draw(m, &r);
            if (made) json_array_append_new(json_object_get(out, "made"), made);
        }
    }
    json_dumpf(out, stdout, JSON_COMPACT);
    puts("");
    json_decref(out);
    grammar_matcher_close(m);
    grammar_close(g);
    free(schema);
}

int main(void) {
    static char line[1 << 24];
    static char bytes[END];
    static grammar_token tokens[END + 1];
    grammar_vocab *v;
    for (int i = 0; i < END; i++) {
        bytes[i] = (char)i;
        tokens[i] = (grammar_token){&bytes[i], 1};
    }
    if (grammar_vocab_open(tokens, END + 1, (int32_t[]){END}, 1, &v) != WEFT_OK) return 1;
    while (fgets(line, sizeof line, stdin)) {
        json_t *in = json_loads(line, JSON_ALLOW_NUL, NULL);
        if (!in) return 1;
        answer(in, v);
        json_decref(in);
    }
    grammar_vocab_close(v);
    return 0;
}
#else
int main(void) { return 77; }
#endif
