/* Grammars: GBNF and the automaton. Masks are held against brute force: a slow Earley recogniser
 * here, which shares no code with the library, says for every token whether the text followed by it
 * can still be completed, over a thousand random grammars (WEFT_GRAMMARS=N: over N).
 * SPDX-License-Identifier: MIT */
#include "harness.h"

#include "base/mem.h"
#include "base/str.h"
#include "grammar/grammar.h"

/* ---- a recogniser for comparison ------------------------------------------------------------- */

/* Symbols: a nonterminal, or RANGE + 256 lo + hi for a byte. */
enum { RANGE = 1 << 16, MOST_PRODUCTIONS = 600, MOST_SYMBOLS = 8, MOST_TEXT = 80 };
enum { MOST_ITEMS = 1200, MOST_NONTERMINALS = 600 };

typedef struct cfg {
    struct production {
        int left, n, symbols[MOST_SYMBOLS], item; /* item: the number of its first dot */
    } p[MOST_PRODUCTIONS];
    int n, n_nonterminals, n_items;
    int by_left[MOST_PRODUCTIONS], first[MOST_NONTERMINALS + 1]; /* the productions of each left */
    bool is_too_big, is_productive[MOST_NONTERMINALS], is_nullable[MOST_NONTERMINALS];
} cfg;

typedef struct chart {
    struct item {
        short production, dot, origin;
    } set[MOST_TEXT + 1][MOST_ITEMS * 4];
    int n[MOST_TEXT + 1], n_text;
    uint32_t seen[MOST_TEXT + 1][MOST_ITEMS], stamp;
} chart;

static int new_nonterminal(cfg *g) {
    if (g->n_nonterminals + 1 >= MOST_NONTERMINALS) g->is_too_big = true;
    else g->n_nonterminals++;
    return g->n_nonterminals - 1;
}

static void produce(cfg *g, int left, int n, const int *symbols) {
    if (g->n == MOST_PRODUCTIONS || g->n_items + n + 1 >= MOST_ITEMS) {
        g->is_too_big = true;
        return;
    }
    struct production *p = &g->p[g->n++];
    p->left = left;
    p->n = n;
    p->item = g->n_items;
    for (int i = 0; i < n; i++) p->symbols[i] = symbols[i];
    g->n_items += n + 1;
}

static void drop_unproductive(cfg *g) {
    for (bool grew = true; grew;) {
        grew = false;
        for (int i = 0; i < g->n; i++) {
            bool all = !g->is_productive[g->p[i].left];
            for (int k = 0; k < g->p[i].n; k++)
                all &= g->p[i].symbols[k] >= RANGE || g->is_productive[g->p[i].symbols[k]];
            if (all) g->is_productive[g->p[i].left] = grew = true;
        }
    }
    int kept = 0;
    for (int i = 0; i < g->n; i++) {
        bool all = true;
        for (int k = 0; k < g->p[i].n; k++)
            all &= g->p[i].symbols[k] >= RANGE || g->is_productive[g->p[i].symbols[k]];
        if (all) g->p[kept++] = g->p[i];
    }
    g->n = kept;
}

/* Lists the productions by their left sides, and finds what may be empty. */
static void index_cfg(cfg *g) {
    int n = 0;
    for (int left = 0; left < g->n_nonterminals; left++) {
        g->first[left] = n;
        for (int i = 0; i < g->n; i++)
            if (g->p[i].left == left) g->by_left[n++] = i;
    }
    g->first[g->n_nonterminals] = n;
    for (bool grew = true; grew;) {
        grew = false;
        for (int i = 0; i < g->n; i++) {
            bool all = !g->is_nullable[g->p[i].left];
            for (int k = 0; k < g->p[i].n; k++)
                all &= g->p[i].symbols[k] < RANGE && g->is_nullable[g->p[i].symbols[k]];
            if (all) g->is_nullable[g->p[i].left] = grew = true;
        }
    }
}

static void put_item(const cfg *g, chart *c, int at, int production, int dot, int origin) {
    uint32_t *seen = &c->seen[origin][g->p[production].item + dot];
    if (*seen == c->stamp) return;
    *seen = c->stamp;
    assert_true(c->n[at] < MOST_ITEMS * 4);
    c->set[at][c->n[at]++] = (struct item){(short)production, (short)dot, (short)origin};
}

/* Predicts and completes. What may be empty is also passed over when it is predicted, so one pass
 * is enough (Aycock and Horspool, 2002). */
static void complete(const cfg *g, chart *c, int at) {
    for (int i = 0; i < c->n[at]; i++) {
        struct item it = c->set[at][i];
        const struct production *p = &g->p[it.production];
        if (it.dot < p->n && p->symbols[it.dot] < RANGE) {
            int left = p->symbols[it.dot];
            for (int k = g->first[left]; k < g->first[left + 1]; k++)
                put_item(g, c, at, g->by_left[k], 0, at);
            if (g->is_nullable[left]) put_item(g, c, at, it.production, it.dot + 1, it.origin);
        } else if (it.dot == p->n && it.origin != at) {
            for (int k = 0; k < c->n[it.origin]; k++) {
                struct item up = c->set[it.origin][k];
                const struct production *q = &g->p[up.production];
                if (up.dot < q->n && q->symbols[up.dot] == p->left)
                    put_item(g, c, at, up.production, up.dot + 1, up.origin);
            }
        }
    }
}

static void chart_begin(const cfg *g, chart *c) {
    c->n_text = 0;
    c->n[0] = 0;
    c->stamp++;
    for (int k = 0; k < g->n; k++)
        if (g->p[k].left == 0) put_item(g, c, 0, k, 0, 0);
    complete(g, c, 0);
}

/* One byte more; false when nothing can follow. */
static bool chart_feed(const cfg *g, chart *c, int byte) {
    int at = ++c->n_text;
    assert_true(at > 0 && at <= MOST_TEXT);
    c->n[at] = 0;
    c->stamp++;
    for (int i = 0; i < c->n[at - 1]; i++) {
        struct item it = c->set[at - 1][i];
        const struct production *p = &g->p[it.production];
        if (it.dot == p->n || p->symbols[it.dot] < RANGE) continue;
        int symbol = p->symbols[it.dot] - RANGE;
        if (byte >= symbol / 256 && byte <= symbol % 256)
            put_item(g, c, at, it.production, it.dot + 1, it.origin);
    }
    complete(g, c, at);
    return c->n[at] > 0;
}

static bool chart_may_end(const cfg *g, const chart *c) {
    for (int i = 0; i < c->n[c->n_text]; i++) {
        struct item it = c->set[c->n_text][i];
        if (g->p[it.production].left == 0 && it.origin == 0 && it.dot == g->p[it.production].n)
            return true;
    }
    return false;
}

/* ---- random grammars, as text and as productions --------------------------------------------- */

static int range_symbol(int lo, int hi) { return RANGE + 256 * lo + hi; }

static const char *const letters[] = {
    "a", "b", "c", "\xC3\xA9", "\xE2\x82\xAC", "\xF0\x9F\x98\x80"};

static int literal(cfg *g, const char *text) {
    int symbols[MOST_SYMBOLS], n = 0;
    for (; text[n]; n++) symbols[n] = range_symbol((uint8_t)text[n], (uint8_t)text[n]);
    int left = new_nonterminal(g);
    produce(g, left, n, symbols);
    return left;
}

/* Sets of characters: how they are written, and the ASCII ranges; `is_wide` has all that is past
 * ASCII too. */
static const struct {
    const char *text;
    bool is_wide;
    uint8_t ranges[6];
} sets[] = {
    {".", true, {0, 0x7F}},
    {".", true, {0, 0x7F}},
    {"[^a-b]", true, {0, 'a' - 1, 'c', 0x7F}},
    {"[^\\x00-\\x1F\\\"\\\\]", true, {' ', '!', '#', '[', ']', 0x7F}},
    {"[a-f]", false, {'a', 'f'}},
    {"[a-z0-9]", false, {'a', 'z', '0', '9'}},
    {"[a-zA-Z0-9 \\x80-\\U0010FFFF]", true, {'0', '9', 'A', 'Z', 'a', 'z'}},
};

static int one_of_set(cfg *g, int set) {
    static const uint8_t chains[][8] = {
        {0xC2, 0xDF, 0x80, 0xBF},
        {0xE0, 0xE0, 0xA0, 0xBF, 0x80, 0xBF},
        {0xE1, 0xEC, 0x80, 0xBF, 0x80, 0xBF},
        {0xED, 0xED, 0x80, 0x9F, 0x80, 0xBF},
        {0xEE, 0xEF, 0x80, 0xBF, 0x80, 0xBF},
        {0xF0, 0xF0, 0x90, 0xBF, 0x80, 0xBF, 0x80, 0xBF},
        {0xF1, 0xF3, 0x80, 0xBF, 0x80, 0xBF, 0x80, 0xBF},
        {0xF4, 0xF4, 0x80, 0x8F, 0x80, 0xBF, 0x80, 0xBF},
    };
    int left = new_nonterminal(g);
    for (int i = 0; i < 6 && sets[set].ranges[i + 1]; i += 2)
        produce(g, left, 1, (int[]){range_symbol(sets[set].ranges[i], sets[set].ranges[i + 1])});
    if (strchr(sets[set].text, 'Z')) produce(g, left, 1, (int[]){range_symbol(' ', ' ')});
    if (!sets[set].is_wide) return left;
    for (size_t i = 0; i < sizeof chains / sizeof *chains; i++) {
        int symbols[4], n = 0;
        for (; n < 4 && chains[i][2 * n]; n++)
            symbols[n] = range_symbol(chains[i][2 * n], chains[i][2 * n + 1]);
        produce(g, left, n, symbols);
    }
    return left;
}

static int random_body(rng *r, cfg *g, str *out, int n_rules, int depth);

static int random_repeat(rng *r, cfg *g, str *out, int n_rules, int depth) {
    static const struct {
        const char *text;
        int least, most;
    } kinds[] = {{"*", 0, -1},    {"+", 1, -1},    {"?", 0, 1},   {"{2}", 2, 2},
                 {"{1,3}", 1, 3}, {"{2,}", 2, -1}, {"{0}", 0, 0}, {"{0,9}", 0, 9}};
    str_text_append(out, "(");
    int item = random_body(r, g, out, n_rules, depth - 1), k = (int)rng_below(r, 8);
    str_format(out, ")%s", kinds[k].text);
    int left = new_nonterminal(g), next = left;
    for (int i = 0; i < kinds[k].least; i++) {
        int after = new_nonterminal(g);
        produce(g, next, 2, (int[]){item, after});
        next = after;
    }
    produce(g, next, 0, NULL);
    if (kinds[k].most < 0) produce(g, next, 2, (int[]){item, next});
    for (int i = kinds[k].least; i < kinds[k].most; i++) {
        int after = new_nonterminal(g);
        produce(g, next, 2, (int[]){item, after});
        produce(g, after, 0, NULL);
        next = after;
    }
    return left;
}

static int random_item(rng *r, cfg *g, str *out, int n_rules, int depth) {
    int64_t kind = rng_below(r, depth > 0 ? 9 : 6);
    if (kind < 2) {
        const char *letter = letters[rng_below(r, 6)];
        str_format(out, "\"%s\"", letter);
        return literal(g, letter);
    }
    if (kind == 2) {
        const char *one = letters[rng_below(r, 6)], *two = letters[rng_below(r, 6)];
        str_format(out, "[%s%s]", one, two);
        int left = new_nonterminal(g);
        produce(g, left, 1, (int[]){literal(g, one)});
        produce(g, left, 1, (int[]){literal(g, two)});
        return left;
    }
    if (kind == 3) {
        int set = (int)rng_below(r, sizeof sets / sizeof *sets);
        str_text_append(out, sets[set].text);
        return one_of_set(g, set);
    }
    if (kind < 6) {
        int rule = (int)rng_below(r, n_rules);
        if (rule) str_format(out, "r%d", rule);
        else str_text_append(out, "root");
        return rule;
    }
    if (kind < 8) return random_repeat(r, g, out, n_rules, depth);
    str_text_append(out, "(");
    int item = random_body(r, g, out, n_rules, depth - 1);
    str_text_append(out, ")");
    return item;
}

static int random_body(rng *r, cfg *g, str *out, int n_rules, int depth) {
    int left = new_nonterminal(g);
    for (int64_t a = rng_below(r, 3); a >= 0; a--) {
        int symbols[MOST_SYMBOLS], n = 0;
        for (int64_t k = rng_below(r, 4); k > 0; k--) {
            symbols[n++] = random_item(r, g, out, n_rules, depth);
            str_text_append(out, " ");
        }
        if (!n) str_text_append(out, "\"\" ");
        produce(g, left, n, symbols);
        if (a) str_text_append(out, "| ");
    }
    return left;
}

static void random_grammar(rng *r, cfg *g, str *out) {
    memset(g, 0, sizeof *g);
    int n_rules = 1 + (int)rng_below(r, 4);
    for (int i = 0; i < n_rules; i++) new_nonterminal(g);
    for (int i = 0; i < n_rules; i++) {
        if (i) str_format(out, "r%d ::= ", i);
        else str_text_append(out, "root ::= ");
        int body = random_body(r, g, out, n_rules, 2);
        produce(g, i, 1, &body);
        str_text_append(out, "\n");
    }
    drop_unproductive(g);
    index_cfg(g);
}

/* ---- a small vocabulary ---------------------------------------------------------------------- */

static const char *const pieces[] = {"a",
                                     "b",
                                     "c",
                                     "\xC3",
                                     "\xA9",
                                     "\xE2",
                                     "\x82",
                                     "\xAC",
                                     "\xF0",
                                     "\x9F",
                                     "\x98",
                                     "\x80",
                                     "",
                                     "ab",
                                     "ba",
                                     "aa",
                                     "abc",
                                     "cab",
                                     "a\xC3",
                                     "\251b",
                                     "\xE2\x82",
                                     "\x82\xAC",
                                     "\xC3\xA9",
                                     "\xE2\x82\xAC",
                                     "\xAC\xE2",
                                     "\xA9\xC3",
                                     "\xF0\x9F",
                                     "\x98\x80",
                                     "\x98\200a",
                                     "\xF0\x9F\x98\x80",
                                     "bb",
                                     "cc",
                                     "aaaa",
                                     "a",
                                     "\xFF",
                                     "bc\xC3\xA9",
                                     "z",
                                     "\"",
                                     "a\"b",
                                     "abcab",
                                     "abcabcabc\"",
                                     "zz0",
                                     "fa",
                                     "b c",
                                     "\xE2\x82\xACz\xC3\xA9",
                                     "\xC3\xA9\xC3\xA9\xC3\xA9",
                                     "\xC3\xA9\xC3\xA9\xC3",
                                     "cccccccccccccccccccccccccccccccccccc",
                                     "abababababababababababababababababababab\"",
                                     "</s>"};
enum { N_PIECES = sizeof pieces / sizeof *pieces, END = N_PIECES - 1 };
enum { SHORT = 10, LONG = 40 };

/* Pieces of more than `longest` bytes are left empty, so they can never come. */
static grammar_vocab *small_vocab(size_t longest) {
    grammar_token tokens[N_PIECES];
    for (int i = 0; i < N_PIECES; i++) {
        tokens[i] = (grammar_token){pieces[i], strlen(pieces[i])};
        if (tokens[i].n > longest) tokens[i].n = 0;
    }
    grammar_vocab *v;
    assert_ok(grammar_vocab_open(tokens, N_PIECES, (int32_t[]){END}, 1, &v));
    return v;
}

static bool is_set(const uint32_t *mask, int id) { return mask[id / 32] >> (id % 32) & 1; }

/* What brute force says of one token after the chart's text. */
static bool can_follow(const cfg *g, chart *c, int id, size_t longest) {
    if (id == END) return chart_may_end(g, c);
    int n_text = c->n_text;
    bool ok = pieces[id][0] && strlen(pieces[id]) <= longest;
    for (const char *p = pieces[id]; *p && ok; p++) ok = chart_feed(g, c, (uint8_t)*p);
    c->n_text = n_text;
    return ok;
}

/* Follows random texts of one grammar; every mask must be brute force's. */
static void compare_masks(rng *r, const cfg *g, chart *c, const char *text, grammar_matcher *m,
                          size_t longest) {
    chart_begin(g, c);
    int most = longest == LONG ? 60 : 200; /* items: very ambiguous texts take both too long */
    for (int step = 0; step < 9 && c->n_text < MOST_TEXT - 42; step++) {
        if (c->n[c->n_text] > most) return;
        uint32_t mask[(N_PIECES + 31) / 32];
        assert_ok(grammar_matcher_mask(m, mask));
        int allowed[N_PIECES], n = 0;
        for (int id = 0; id < N_PIECES; id++) {
            bool expected = can_follow(g, c, id, longest);
            if (is_set(mask, id) != expected)
                fail_msg("step %d, token %d (%s): %d, brute force says %d, in\n%s", step, id,
                         pieces[id], is_set(mask, id), expected, text);
            if (expected && id != END && strlen(pieces[id]) <= SHORT) allowed[n++] = id;
        }
        assert_int_equal(grammar_matcher_may_end(m), is_set(mask, END));
        if (!n) return;
        int id = allowed[rng_below(r, n)];
        assert_ok(grammar_matcher_accept(m, id));
        for (const char *p = pieces[id]; *p; p++) chart_feed(g, c, (uint8_t)*p);
    }
}

static void masks_equal_brute_force(void **state) {
    (void)state;
    static cfg g;
    static chart c;
    grammar_vocab *v = small_vocab(SHORT), *v_long = small_vocab(LONG);
    rng r = {7};
    int n_compared = 0, n_empty = 0;
    const char *wanted = getenv("WEFT_GRAMMARS");
    int n = wanted ? atoi(wanted) : 1300;
    for (int i = 0; i < n; i++) {
        str text = {0};
        grammar *made = NULL;
        random_grammar(&r, &g, &text);
        weft_status status =
            g.is_too_big ? WEFT_LIMIT : grammar_open_gbnf(text.data, text.n, &made);
        if (status == WEFT_FORMAT) {
            assert_false(g.is_productive[0]);
            n_empty++;
        } else if (status == WEFT_OK) {
            grammar_matcher *m;
            size_t longest = i % 32 == 5 ? LONG : SHORT;
            assert_true(g.is_productive[0]);
            assert_ok(grammar_matcher_open(made, longest == LONG ? v_long : v, &m));
            for (int k = 0; k < 2; k++) {
                assert_ok(grammar_matcher_rollback(m, 0));
                compare_masks(&r, &g, &c, text.data, m, longest);
            }
            grammar_matcher_close(m);
            n_compared++;
        }
        grammar_close(made);
        str_free(&text);
    }
    grammar_vocab_close(v);
    grammar_vocab_close(v_long);
    printf("%d grammars compared, %d without a text\n", n_compared, n_empty);
    assert_true(n_compared >= n * 4 / 5);
}

/* ---- a larger vocabulary --------------------------------------------------------------------- */

/* Random tokens of letters, marks, spaces and characters past ASCII, some cut off inside one. */
enum { N_MANY = 3000 };

static grammar_vocab *large_vocab(rng *r, str *texts, grammar_token *tokens) {
    static const char *const parts[] = {"a",
                                        "b",
                                        "e",
                                        "s",
                                        "t",
                                        "the",
                                        "ing",
                                        "on",
                                        " ",
                                        " ",
                                        "A",
                                        "T",
                                        "0",
                                        "1",
                                        "42",
                                        "_",
                                        "-",
                                        ",",
                                        ".",
                                        "\"",
                                        "\\",
                                        "'",
                                        "\n",
                                        "\t",
                                        ":",
                                        "{",
                                        "}",
                                        "\xC3\xA9",
                                        "\xE6\x97\xA5",
                                        "\xF0\x9F\x98\x80"};
    size_t ends[N_MANY];
    for (int i = 0; i < N_MANY; i++) {
        for (int64_t n = 1 + rng_below(r, i % 50 ? 6 : 40); n > 0; n--) {
            int64_t part = rng_below(r, i % 2 ? 14 : 30);
            str_text_append(texts, parts[part]);
        }
        if (i % 16 == 0) texts->n -= (size_t)rng_below(r, 2);
        ends[i] = texts->n;
    }
    for (int i = 0; i < N_MANY; i++) {
        size_t first = i ? ends[i - 1] : 0;
        tokens[i] = (grammar_token){texts->data + first, ends[i] - first};
    }
    grammar_vocab *v;
    assert_ok(grammar_vocab_open(tokens, N_MANY, NULL, 0, &v));
    return v;
}

/* The shortcuts of masks change nothing: each token is allowed just when its bytes are taken. */
static void masks_equal_single_steps(void **state) {
    (void)state;
    static const char *const texts[] = {
        "root ::= \"\\\"\" [^\"\\\\\\x00-\\x1F]{0,40} \"\\\"\" root?",
        "root ::= \"\\\"\" c* \"\\\"\"\nc ::= [^\"\\\\\\x00-\\x1F] | \"\\\\\" [\"nt]",
        "root ::= (\"\\\"\" c{1,7} \"\\\"\" \",\"?)+\nc ::= [^\"\\\\\\x00-\\x1F] | \"\\\\\" [\"nt]",
        "root ::= \"the \" [a-z]{3,9} (\" \" [a-zA-Z0-9 ]{0,60})?",
        "root ::= ([^\\n]{1,33} \"\\n\")+",
        "root ::= (key \":\" [^\\n]* \"\\n\")+\nkey ::= \"the\" | [^t:\\n] [^:\\n]{0,12}",
        "root ::= \"'\" ([^'\\n] | \"''\"){2,20} \"'\" | .{4}",
        "root ::= w (\" \" w)*\nw ::= [a-z]+ | [A-Z] [a-z]{0,5} | n\nn ::= n [0-9] | [0-9]",
    };
    static grammar_token tokens[N_MANY];
    static uint32_t mask[(N_MANY + 31) / 32];
    rng r = {11};
    str bytes = {0};
    grammar_vocab *v = large_vocab(&r, &bytes, tokens);
    for (size_t g = 0; g < sizeof texts / sizeof *texts; g++) {
        grammar *made;
        grammar_matcher *m, *plain;
        assert_ok(grammar_open_gbnf(texts[g], strlen(texts[g]), &made));
        assert_ok(grammar_matcher_open(made, v, &m));
        for (int step = 0; step < 60; step++) {
            int allowed[N_MANY], n = 0;
            if (step % 15 == 0) assert_ok(grammar_matcher_rollback(m, 0));
            assert_ok(grammar_matcher_clone(m, &plain));
            assert_ok(grammar_matcher_mask(m, mask));
            for (int i = 0; i < N_MANY; i++) {
                bool ok =
                    grammar_matcher_accept_bytes(plain, tokens[i].data, tokens[i].n) == WEFT_OK;
                if (ok) assert_ok(grammar_matcher_rollback(plain, grammar_matcher_steps(m)));
                if (ok && tokens[i].n) allowed[n++] = i;
                if (is_set(mask, i) != (ok && tokens[i].n))
                    fail_msg("step %d, token \"%.*s\": %d in\n%s", step, (int)tokens[i].n,
                             tokens[i].data, is_set(mask, i), texts[g]);
            }
            grammar_matcher_close(plain);
            if (n) assert_ok(grammar_matcher_accept(m, allowed[rng_below(&r, n)]));
            else assert_ok(grammar_matcher_rollback(m, 0));
        }
        grammar_matcher_close(m);
        grammar_close(made);
    }
    grammar_vocab_close(v);
    str_free(&bytes);
}

/* ---- GBNF ----------------------------------------------------------------------------------- */

static weft_status open_gbnf(const char *text, grammar **out) {
    return grammar_open_gbnf(text, strlen(text), out);
}

/* Whether the whole text follows the grammar. */
static bool follows(const grammar *g, const char *text) {
    grammar_vocab *v = small_vocab(SHORT);
    grammar_matcher *m;
    assert_ok(grammar_matcher_open(g, v, &m));
    bool ok = grammar_matcher_accept_bytes(m, text, strlen(text)) == WEFT_OK &&
              grammar_matcher_may_end(m);
    grammar_matcher_close(m);
    grammar_vocab_close(v);
    return ok;
}

static void gbnf_is_read(void **state) {
    (void)state;
    static const struct {
        const char *grammar, *text;
        bool follows;
    } cases[] = {
        {"root ::= \"a\"", "a", true},
        {"# a comment\nroot ::= \"a\" # more\n\n", "a", true},
        {"root ::= (\"a\" |\n  \"b\"\n  \"c\")", "bc", true},
        {"root ::= \"a\"\n  | \"b\"\n  | x\nx ::= \"c\"", "c", true},
        {"root ::= \"a\" |\n \"b\"", "b", true},
        {"root ::= [a-c]{2,3}", "abc", true},
        {"root ::= [a-c]{2,3}", "abca", false},
        {"root ::= [a-c]{2,3}", "a", false},
        {"root ::= [a-c]{ 2 }", "ab", true},
        {"root ::= [a-c]{,2}", "", true},
        {"root ::= [^\\n\\\"]+", "x\xC3\xA9", true},
        {"root ::= [^\\n\\\"]+", "x\n", false},
        {"root ::= \"\\x41\\u00e9\\U0001F600\\t\\\\\"", "A\xC3\xA9\xF0\x9F\x98\x80\t\\", true},
        {"root ::= [\\x41-\\x43\\]-]+", "AB]-C", true},
        {"root ::= [a-]", "-", true},
        {"root ::= . . .", "\n\xE2\x82\xAC.", true},
        {"root ::= [\\u0080-\\U0010FFFF]", "\xED\x9F\xBF", true},
        {"root ::= [\\u0080-\\U0010FFFF]", "\xED\xA0\x80", false},
        {"root ::= \"a\" root | \"\"", "aaaa", true},
        {"root ::= \"(\" root? \")\"", "((()))", true},
        {"root ::= \"(\" root? \")\"", "((())", false},
        {"root ::= (\"a\"*)* \"b\"", "aab", true},
        {"root ::= x y\nx ::= \"a\"?\ny-1_b ::= \"b\"\ny ::= y-1_b x", "ba", true},
        {"root ::= \"a\"?{3}", "aa", true},
        {"root ::=\n  \"a\"\n", "a", true},
        {"root ::= ( )", "", true},
        {"root ::= root \"a\" | \"b\"", "baaa", true},
        {"root ::= root \"a\" | \"b\"", "aab", false},
        {"root ::= x\nx ::= y? z\ny ::= \"a\"\nz ::= x \"c\" | \"d\"", "aaadccc", true},
        {"root ::= x\nx ::= y? z\ny ::= \"a\"\nz ::= x \"c\" | \"d\"", "aadcccc", true},
        {"root ::= x\nx ::= y? z\ny ::= \"a\"\nz ::= x \"c\" | \"d\"", "aca", false},
        {"root ::= root? root | \"a\" | \"\"", "aaa", true},
        {"root ::= s\ns ::= s \"+\" p | p\np ::= p \"*\" a | a\na ::= \"a\" | \"(\" s \")\"",
         "a+a*(a*a+a)", true},
        {"root ::= s\ns ::= s \"+\" p | p\np ::= p \"*\" a | a\na ::= \"a\" | \"(\" s \")\"",
         "a+*a", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        grammar *g;
        assert_ok(open_gbnf(cases[i].grammar, &g));
        if (follows(g, cases[i].text) != cases[i].follows)
            fail_msg("%s: \"%s\" should%s follow", cases[i].grammar, cases[i].text,
                     cases[i].follows ? "" : " not");
        grammar_close(g);
    }
}

static void gbnf_errors_have_a_line(void **state) {
    (void)state;
    static const struct {
        const char *grammar;
        weft_status status;
        const char *part;
    } cases[] = {
        {"", WEFT_FORMAT, "no rule \"root\""},
        {"x ::= \"a\"", WEFT_FORMAT, "no rule \"root\""},
        {"root ::= x", WEFT_FORMAT, "line 1: the rule x is used but not defined"},
        {"root ::= \"a\"\nroot ::= \"b\"", WEFT_FORMAT, "line 2: the rule root is defined twice"},
        {"root ::= \"a", WEFT_FORMAT, "line 1: a literal is not closed"},
        {"root ::= (\n\"a\"", WEFT_FORMAT, "line 2: a group is not closed"},
        {"root ::= \"a\")", WEFT_FORMAT, "\")\" is not expected here"},
        {"root ::= [a", WEFT_FORMAT, "a character class is not closed"},
        {"root ::= [z-a]", WEFT_FORMAT, "backwards"},
        {"root ::= *", WEFT_FORMAT, "nothing before \"*\""},
        {"root ::= \"a\"{3,2}", WEFT_FORMAT, "bounds are backwards"},
        {"root ::= \"a\"{x}", WEFT_FORMAT, "needs a number"},
        {"root ::= \"a\"{3", WEFT_FORMAT, "not closed with"},
        {"root ::= \"\\q\"", WEFT_FORMAT, "\\q is no escape"},
        {"root ::= \"\\u00g\"", WEFT_FORMAT, "4 hexadecimal digits"},
        {"root ::= \"\\uD800\"", WEFT_FORMAT, "U+D800 is no character"},
        {"root ::= \"\xFF\"", WEFT_FORMAT, "not UTF-8"},
        {"root = \"a\"", WEFT_FORMAT, "\"::=\" is expected"},
        {"root ::= <think>", WEFT_FORMAT, "token references"},
        {"root ::= \"a\" root", WEFT_FORMAT, "the rule root can never end"},
        {"root ::= []", WEFT_FORMAT, "can never end"},
        {"root ::= \"a\"{0,1000000}", WEFT_LIMIT, "too large repetitions"},
        {"root ::= ((((\"a\"{99}){99}){99}){99}){99}", WEFT_LIMIT, "too large repetitions"},
        {"root ::= \"a\"{99999999999}", WEFT_FORMAT, "a repetition of more than"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        grammar *g;
        assert_fails(open_gbnf(cases[i].grammar, &g), cases[i].status, cases[i].part);
    }
}

/* Deep or long input needs no stack, and ambiguous grammars no exponential time. */
static void hostile_grammars(void **state) {
    (void)state;
    str text = {0};
    grammar *g;
    str_text_append(&text, "root ::= ");
    for (int i = 0; i < 100000; i++) str_char(&text, '(');
    assert_fails(grammar_open_gbnf(text.data, text.n, &g), WEFT_FORMAT, "nested more than");
    str_clear(&text);
    str_text_append(&text, "root ::= r0\n");
    for (int i = 0; i < 20000; i++) str_format(&text, "r%d ::= r%d\n", i, i + 1);
    str_text_append(&text, "r20000 ::= \"a\"\n");
    assert_ok(grammar_open_gbnf(text.data, text.n, &g));
    assert_true(follows(g, "a"));
    grammar_close(g);
    str_clear(&text);
    str_text_append(&text, "root ::= \"a\"");
    for (int i = 0; i < 20000; i++) str_char(&text, "*?"[i % 2]);
    assert_ok(grammar_open_gbnf(text.data, text.n, &g));
    assert_true(follows(g, "aaa"));
    grammar_close(g);
    str_clear(&text);
    for (int i = 0; i < 499; i++) str_char(&text, 'a');
    assert_ok(
        open_gbnf("root ::= \"a\" root \"b\" | \"a\" root \"c\" | \"a\" root root | \"a\"", &g));
    assert_true(follows(g, text.data));
    grammar_close(g);
    str_free(&text);
}

/* What a grammar with very many readings may take for one token ends with a sentence; the matcher
 * stays as it was. */
static void ambiguity_has_a_limit(void **state) {
    (void)state;
    grammar *g;
    grammar_matcher *m;
    uint32_t mask[(N_PIECES + 31) / 32];
    grammar_vocab *v = small_vocab(SHORT);
    assert_ok(
        open_gbnf("root ::= root root | \"a\" root? | [ab] x\nx ::= root x \"b\"? | \"a\"?", &g));
    assert_ok(grammar_matcher_open(g, v, &m));
    assert_ok(grammar_matcher_mask(m, mask));
    grammar_matcher_limit(m, 20);
    assert_ok(grammar_matcher_mask(m, mask)); /* known */
    assert_fails(grammar_matcher_accept_bytes(m, "aa", 2), WEFT_LIMIT,
                 "too ambiguous: more than 20 steps for one token");
    assert_int_equal(grammar_matcher_steps(m), 0);
    grammar_matcher_limit(m, 0);
    assert_ok(grammar_matcher_accept_bytes(m, "aa", 2));
    grammar_matcher_limit(m, 20);
    assert_fails(grammar_matcher_mask(m, mask), WEFT_LIMIT, "too ambiguous");
    grammar_matcher_limit(m, 0);
    assert_ok(grammar_matcher_mask(m, mask));
    grammar_matcher_close(m);
    grammar_close(g);
    grammar_vocab_close(v);
}

static void matchers_go_back_and_branch(void **state) {
    (void)state;
    grammar *g;
    grammar_vocab *v = small_vocab(SHORT);
    grammar_matcher *m, *other;
    uint32_t before[2], after[2];
    assert_ok(open_gbnf("root ::= \"a\" (\"b\" root | \"c\")", &g));
    assert_ok(grammar_matcher_open(g, v, &m));
    assert_ok(grammar_matcher_accept(m, 0));
    assert_ok(grammar_matcher_mask(m, before));
    assert_ok(grammar_matcher_clone(m, &other));
    assert_ok(grammar_matcher_accept(m, 2));
    assert_fails(grammar_matcher_accept(m, 0), WEFT_INVALID, "does not allow token 0");
    assert_ok(grammar_matcher_accept(m, END));
    assert_fails(grammar_matcher_accept(m, END), WEFT_INVALID, "does not allow");
    assert_ok(grammar_matcher_mask(m, after));
    assert_true(after[0] == 0 && after[1] == 0 && grammar_matcher_may_end(m));
    assert_int_equal(grammar_matcher_steps(m), 3);
    assert_ok(grammar_matcher_rollback(m, 1));
    assert_ok(grammar_matcher_mask(m, after));
    assert_memory_equal(before, after, sizeof before);
    assert_fails(grammar_matcher_rollback(m, 2), WEFT_INVALID, "only 1 steps");
    assert_fails(grammar_matcher_accept(m, 10000), WEFT_INDEX, "out of range");
    grammar_matcher_close(m);
    assert_ok(grammar_matcher_mask(other, after));
    assert_memory_equal(before, after, sizeof before);
    grammar_matcher_close(other);
    grammar_vocab_close(v);
    grammar_close(g);
}

static weft_status try_all(void) {
    static const char text[] = "root ::= x{2,3} [^ab] (\"a\" | root)\n"
                               "x ::= \"c\" x | y x \"b\" | [abc] .*\ny ::= \"a\"?";
    grammar *g = NULL;
    grammar_vocab *v = NULL;
    grammar_matcher *m = NULL, *other = NULL;
    grammar_token tokens[N_PIECES];
    uint32_t mask[2];
    for (int i = 0; i < N_PIECES; i++) tokens[i] = (grammar_token){pieces[i], strlen(pieces[i])};
    weft_status status = grammar_open_gbnf(text, strlen(text), &g);
    if (status == WEFT_OK) status = grammar_vocab_open(tokens, N_PIECES, (int32_t[]){END}, 1, &v);
    if (status == WEFT_OK) status = grammar_matcher_open(g, v, &m);
    if (status == WEFT_OK) status = grammar_matcher_mask(m, mask);
    if (status == WEFT_OK) status = grammar_matcher_accept(m, 2);
    if (status == WEFT_OK) status = grammar_matcher_clone(m, &other);
    if (status == WEFT_OK) status = grammar_matcher_mask(other, mask);
    grammar_matcher_close(m);
    grammar_matcher_close(other);
    grammar_vocab_close(v);
    grammar_close(g);
    return status;
}

static void every_allocation_may_fail(void **state) {
    (void)state;
    mem_fail_at(0);
    assert_ok(try_all());
    uint64_t n = mem_fail_at(0);
    for (uint64_t k = 1; k <= n; k++) {
        mem_fail_at(k);
        assert_fails(try_all(), WEFT_NO_MEMORY, "");
    }
    mem_fail_at(0);
    assert_ok(try_all());
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gbnf_is_read),
        cmocka_unit_test(gbnf_errors_have_a_line),
        cmocka_unit_test(hostile_grammars),
        cmocka_unit_test(ambiguity_has_a_limit),
        cmocka_unit_test(matchers_go_back_and_branch),
        cmocka_unit_test(masks_equal_brute_force),
        cmocka_unit_test(masks_equal_single_steps),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
