/* Regular expressions and JSON Schema as grammars: which texts follow, what is refused and how, and
 * every allocation failing. tests/fuzz/schema_check.py holds many schemas against the Python
 * package jsonschema.
 * SPDX-License-Identifier: MIT */
#include "harness.h"

#include "base/clock.h"
#include "base/mem.h"
#include "grammar/grammar.h"

typedef weft_status (*opener)(const char *text, size_t n, grammar **out);

/* Whether the whole text follows the grammar. */
static bool follows(const grammar *g, const char *text) {
    grammar_vocab *v;
    grammar_matcher *m;
    assert_ok(grammar_vocab_open(&(grammar_token){"a", 1}, 1, NULL, 0, &v));
    assert_ok(grammar_matcher_open(g, v, &m));
    bool ok = grammar_matcher_accept_bytes(m, text, strlen(text)) == WEFT_OK &&
              grammar_matcher_may_end(m);
    grammar_matcher_close(m);
    grammar_vocab_close(v);
    return ok;
}

typedef struct example {
    const char *grammar, *yes[8], *no[10];
} example;

static void check(opener open, const example *list, size_t n) {
    for (size_t i = 0; i < n; i++) {
        grammar *g;
        if (open(list[i].grammar, strlen(list[i].grammar), &g) != WEFT_OK)
            fail_msg("%s: %s", list[i].grammar, weft_message());
        for (int k = 0; k < 8 && list[i].yes[k]; k++)
            if (!follows(g, list[i].yes[k]))
                fail_msg("%s: %s should follow", list[i].grammar, list[i].yes[k]);
        for (int k = 0; k < 10 && list[i].no[k]; k++)
            if (follows(g, list[i].no[k]))
                fail_msg("%s: %s should not follow", list[i].grammar, list[i].no[k]);
        grammar_close(g);
    }
}

static void expressions_match(void **state) {
    (void)state;
    static const example list[] = {
        {"abc", {"abc"}, {"ab", "abcd", "xabc", ""}},
        {"^abc$", {"abc"}, {"ab", "abcd"}},
        {"a|b|", {"a", "b", ""}, {"ab"}},
        {"(a|b)*c+", {"c", "abcc"}, {"ab", ""}},
        {"a{2}b{1,}c{0,2}", {"aab", "aabbcc"}, {"ab", "aabccc"}},
        {"(?:a+?)(?<name>b*?)", {"a", "aab"}, {"b"}},
        {"[a-c_\\d-]+", {"a-9_"}, {"d", ""}},
        {"[^\\s\"]+", {"x\xC3\xA9"}, {" ", "\"", "\xC2\xA0"}},
        {"\\w\\W\\s\\S\\d\\D", {"a-\t_9x"}, {"a-\t_xx"}},
        {".", {"a", "\xF0\x9F\x98\x80"}, {"\n", "\xE2\x80\xA8", ""}},
        {"\\x41\\u00e9\\u{1F600}\\ud83d\\ude00",
         {"A\xC3\xA9\xF0\x9F\x98\x80\xF0\x9F\x98\x80"},
         {0}},
        {"\\$\\.\\/\\[\\]\\(\\)\\{\\}", {"$./[](){}"}, {0}},
        {"[\\b]", {"\b"}, {"b"}},
        {"((a))((b)(c))?", {"a", "abc"}, {"ab"}},
        {"(^a|b$|^$)*", {"", "a", "b", "ab"}, {"aa", "ba", "bb"}},
        {"\\w*\\b.\\b\\w*", {"a", "a-b"}, {"", "ab", "--"}},
        {"a\\Bb|\\B", {"ab", ""}, {"a"}},
        {"(?=.*[A-Z])(?=.*\\d)(?!.*\\s).{3,}", {"aB1", "1..B"}, {"ab1", "B1", "aB 1"}},
        {"((?!-)[a-z-]{1,5}(?<!-)\\.)+[a-z]{2,6}", {"a.bc", "a-b.c.de"}, {"-a.bc", "a-.bc", "a.b"}},
        {"(a(?!c)|b(?=c)|(?<=bc?)c)*", {"", "aa", "bc", "abcca"}, {"ac", "aba", "c"}},
        {"(?:(?<!^|-)b|[a-])*", {"ab", "a-ab"}, {"b", "-b"}},
        {"(?=(?!b|.c)a)..", {"ab"}, {"ac", "bb"}},
        {"(?=\\bb)b|a(?=\\bb)b|-(?=\\bb)b", {"b", "-b"}, {"ab"}},
        {"\\p{Lu}\\p{L}+\\P{L}[\\p{Nd}\\p{Letter}_]\\p{gc=Sc}",
         {"\xC3\x89"
          "a-_\xE2\x82\xAC",
          "AB11$"},
         {"aa-1$", "Aa-1-"}},
        {"\\cJ[\\cI]", {"\n\t"}, {"J"}},
    };
    check(grammar_open_regex, list, sizeof list / sizeof *list);
}

typedef struct wrong {
    const char *grammar;
    weft_status status;
    const char *part;
} wrong;

static void check_wrong(opener open, const wrong *list, size_t n) {
    for (size_t i = 0; i < n; i++) {
        grammar *g;
        assert_fails(open(list[i].grammar, strlen(list[i].grammar), &g), list[i].status,
                     list[i].part);
    }
}

static void expressions_are_refused(void **state) {
    (void)state;
    static const wrong list[] = {
        {"(a)\\1", WEFT_UNSUPPORTED, "back-reference \\1"},
        {"(?<n>a)\\k<n>", WEFT_UNSUPPORTED, "back-reference \\k"},
        {"\\p{Greek}", WEFT_UNSUPPORTED, "Unicode property \\p{Greek}"},
        {"\\p{L", WEFT_FORMAT, "not closed"},
        {"(?<=a$)b", WEFT_UNSUPPORTED, "position 7: only ^"},
        {"(?=(?<=a)b)", WEFT_UNSUPPORTED, "look-behind in look-ahead"},
        {"(?=a)*", WEFT_FORMAT, "not repeated"},
        {"(?=.*a.{20}b)(?=.*b.{20}a)x", WEFT_LIMIT, "look-around: it needs more than"},
        {"(?i:a)", WEFT_UNSUPPORTED, "group (?"},
        {"a^b", WEFT_FORMAT, "can never end"},
        {"(?=a)b", WEFT_FORMAT, "can never end"},
        {"\\q", WEFT_UNSUPPORTED, "escape \\q"},
        {"(a", WEFT_FORMAT, "group is not closed"},
        {"a)", WEFT_FORMAT, "closes no group"},
        {"[a", WEFT_FORMAT, "class is not closed"},
        {"[z-a]", WEFT_FORMAT, "range of characters"},
        {"*a", WEFT_FORMAT, "nothing before \"*\""},
        {"a**", WEFT_FORMAT, "nothing before \"*\""},
        {"a{2,1}", WEFT_FORMAT, "backwards"},
        {"a{x", WEFT_FORMAT, "no repetition"},
        {"a\\", WEFT_FORMAT, "after a backslash"},
        {"\\u12", WEFT_FORMAT, "4 hexadecimal"},
        {"\\ud800", WEFT_FORMAT, "no character"},
        {"\xFF", WEFT_FORMAT, "not UTF-8"},
        {"a{1000000}", WEFT_LIMIT, "too large repetitions"},
        {"[]", WEFT_FORMAT, "can never end"},
    };
    check_wrong(grammar_open_regex, list, sizeof list / sizeof *list);
}

#ifdef WEFT_HAVE_JANSSON

static void schemas_allow_what_is_valid(void **state) {
    (void)state;
    static const example list[] = {
        {"true", {"1", "\"a\"", "[1, {\"a\":null}]", "-0.5e+3", "{}"}, {"", "01", "[1,]", "nul"}},
        {"{\"type\":\"string\"}",
         {"\"\"", "\"a\\n\\u00e9\\ud83d\\ude00\\/\""},
         {"1", "\"\n\"", "\"\\ud83d\"", "\"\\x\"", "\"a"}},
        {"{\"type\":[\"null\",\"boolean\"]}", {"null", "true", "false"}, {"0", "\"null\""}},
        {"{\"type\":\"integer\"}", {"0", "-12"}, {"1.5", "01", "1e3"}},
        {"{\"type\":\"integer\",\"minimum\":-3,\"exclusiveMaximum\":12}",
         {"-3", "-0", "0", "9", "10", "11"},
         {"-4", "12", "13", "-10", "100", "1.5", "012"}},
        {"{\"type\":\"integer\",\"minimum\":95}", {"95", "99", "100", "1000"}, {"94", "9", "-95"}},
        {"{\"type\":\"integer\",\"maximum\":-95}", {"-95", "-100"}, {"-94", "95", "0"}},
        {"{\"type\":\"number\",\"minimum\":0.25,\"maximum\":10.5}",
         {"0.25", "0.250", "0.3", "1", "9.99", "10", "10.5", "10.500"},
         {"0.24", "0", "10.51", "11", "-1", "0.2", "10.", "100"}},
        {"{\"type\":\"number\",\"exclusiveMinimum\":0,\"maximum\":1}",
         {"0.001", "1", "1.0", "0.10"},
         {"0", "0.0", "-0", "1.01"}},
        {"{\"type\":\"string\",\"minLength\":1,\"maxLength\":2}",
         {"\"a\"", "\"\xC3\xA9\\n\"", "\"\\u0041b\""},
         {"\"\"", "\"abc\""}},
        {"{\"type\":\"string\",\"pattern\":\"^a\\\\d+$\"}", {"\"a1\""}, {"\"ba1\"", "\"a\"", "a1"}},
        {"{\"type\":\"string\",\"pattern\":\"\\\"|b\"}",
         {"\"x\\\"y\"", "\"abc\""},
         {"\"ac\"", "\"x\"y\""}},
        {"{\"type\":\"string\",\"pattern\":\"^[a-z\\n\\\\\\\\]*$\",\"minLength\":2,\"maxLength\":"
         "3}",
         {"\"ab\"", "\"a\\n\\\\\""},
         {"\"a\"", "\"abcd\"", "\"a\n\"", "\"A\\t\""}},
        {"{\"type\":\"string\",\"format\":\"ipv4\",\"pattern\":\"^1\",\"maxLength\":8}",
         {"\"1.2.3.4\"", "\"12.3.4.5\""},
         {"\"2.1.1.1\"", "\"100.10.1.1\"", "\"1.2.3\""}},
        {"{\"type\":\"string\",\"format\":\"date\"}",
         {"\"2024-02-29\"", "\"2023-12-31\"", "\"2000-02-29\""},
         {"\"2023-02-29\"", "\"1900-02-29\"", "\"2023-13-01\"", "\"0000-01-01\""}},
        {"{\"enum\":[1,\"a b\",{\"x\":[null]}]}",
         {"1", "\"a b\"", "{\"x\":[null]}"},
         {"2", "\"a\"", "1.0"}},
        {"{\"type\":\"string\",\"enum\":[1,\"a\"]}", {"\"a\""}, {"1"}},
        {"{\"const\":null}", {"null"}, {"false"}},
        {"{\"type\":\"array\",\"items\":{\"type\":\"integer\"},\"minItems\":1,\"maxItems\":3}",
         {"[1]", "[1, 2,3]", "[\n  1\n]"},
         {"[]", "[1,2,3,4]", "[1,]", "[\"a\"]", "[,1]"}},
        {"{\"type\":\"array\",\"prefixItems\":[{\"const\":1},{\"const\":2}],\"items\":{\"const\":3}"
         ","
         "\"minItems\":1}",
         {"[1]", "[1,2]", "[1,2,3,3]"},
         {"[]", "[2]", "[1,3]", "[1,2,4]"}},
        {"{\"type\":\"array\",\"prefixItems\":[{\"const\":1}],\"items\":false}",
         {"[]", "[1]"},
         {"[1,1]"}},
        {"{\"type\":\"object\",\"properties\":{\"a\":{\"const\":1},\"b\":{\"const\":2}},"
         "\"required\":[\"b\"],\"additionalProperties\":false}",
         {"{\"a\":1,\"b\":2}", "{\"b\": 2}", "{ \"a\": 1, \"b\": 2 }"},
         {"{}", "{\"a\":1}", "{\"b\":2,}", "{\"b\":2,\"c\":1}", "{\"a\":1\"b\":2}"}},
        {"{\"type\":\"object\",\"properties\":{\"ab\":{\"const\":1},\"a\\u00e9\":{\"const\":2}},"
         "\"additionalProperties\":{\"type\":\"boolean\"}}",
         {"{}", "{\"ab\":1,\"x\":true,\"\":false}", "{\"a\":true,\"abc\":true}"},
         {"{\"ab\":true}", "{\"x\":1}", "{\"\\u0061b\":true}", "{\"a\xC3\xA9\":true}"}},
        {"{\"type\":\"object\",\"properties\":{\"x\":false}}", {"{\"y\":1}"}, {"{\"x\":1}"}},
        {"{\"anyOf\":[{\"type\":\"integer\"},{\"type\":\"string\"}],\"minimum\":5}",
         {"7", "\"a\""},
         {"4", "null"}},
        {"{\"oneOf\":[{\"type\":\"object\",\"properties\":{\"k\":{\"const\":\"a\"}},\"required\":"
         "[\"k\"],\"additionalProperties\":false},{\"type\":\"object\",\"properties\":{\"k\":"
         "{\"const\":\"b\"}},\"required\":[\"k\"],\"additionalProperties\":false}]}",
         {"{\"k\":\"a\"}", "{\"k\":\"b\"}"},
         {"{\"k\":\"c\"}", "{}"}},
        {"{\"allOf\":[{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"integer\"}},"
         "\"required\":[\"a\"]},{\"properties\":{\"a\":{\"minimum\":3},\"b\":{\"const\":1}},"
         "\"additionalProperties\":false}]}",
         {"{\"a\":3}", "{\"a\":4,\"b\":1}"},
         {"{\"a\":2}", "{\"a\":3,\"c\":1}", "{\"b\":1}", "1"}},
        {"{\"$ref\":\"#/$defs/tree\",\"$defs\":{\"tree\":{\"type\":\"object\",\"properties\":{"
         "\"v\":{\"type\":\"integer\"},\"c\":{\"type\":\"array\",\"items\":{\"$ref\":"
         "\"#/$defs/tree\"}}},\"required\":[\"v\"],\"additionalProperties\":false}}}",
         {"{\"v\":1}", "{\"v\":1,\"c\":[{\"v\":2,\"c\":[]}]}"},
         {"{\"v\":1,\"c\":[{}]}", "{\"c\":[]}"}},
    };
    check(grammar_open_json_schema, list, sizeof list / sizeof *list);
}

static void schemas_are_refused(void **state) {
    (void)state;
    static const wrong list[] = {
        {"{", WEFT_FORMAT, "not JSON"},
        {"1", WEFT_FORMAT, "a schema must be an object"},
        {"{\"not\":{}}", WEFT_FORMAT, "can never end"},
        {"{\"not\":{\"uniqueItems\":true}}", WEFT_UNSUPPORTED,
         "\"uniqueItems\" is not supported in what must not hold"},
        {"{\"anyOf\":[{\"not\":{\"minimun\":1}},true]}", WEFT_UNSUPPORTED,
         "schema, #/anyOf/0: the keyword \"minimun\" is not supported"},
        {"{\"\\u0001types\":1}", WEFT_UNSUPPORTED, "keyword \"\\u0001types\""},
        {"{\"properties\":{\"a\":{\"uniqueItems\":true}}}", WEFT_UNSUPPORTED,
         "schema, #/properties/a: \"uniqueItems\" is supported where"},
        {"{\"properties\":{\"a\":{\"$dynamicRef\":\"#a\"}}}", WEFT_UNSUPPORTED,
         "schema, #/properties/a: the keyword \"$dynamicRef\""},
        {"{\"type\":\"text\"}", WEFT_FORMAT, "names no type"},
        {"{\"type\":\"string\",\"format\":\"colour\"}", WEFT_UNSUPPORTED, "the format \"colour\""},
        {"{\"type\":\"string\",\"pattern\":\"(a)\\\\1\"}", WEFT_UNSUPPORTED, "back-reference"},
        {"{\"pattern\":\"a.{15}b\",\"maxLength\":300}", WEFT_LIMIT, "states"},
        {"{\"oneOf\":[{\"type\":\"array\"},{\"uniqueItems\":true}]}", WEFT_UNSUPPORTED,
         "oneOf: 0 and 1 may both hold, and the second has no negation"},
        {"{\"$ref\":\"#/x\"}", WEFT_FORMAT, "leads nowhere"},
        {"{\"$ref\":\"http://a/b\"}", WEFT_UNSUPPORTED, "out of the document"},
        {"{\"$ref\":\"#a\"}", WEFT_FORMAT, "leads nowhere"},
        {"{\"not\":{\"$ref\":\"#\"}}", WEFT_UNSUPPORTED, "defined by itself"},
        {"{\"allOf\":[{\"$ref\":\"#\"}]}", WEFT_UNSUPPORTED, "defined by itself"},
        {"{\"type\":\"array\",\"minItems\":-1}", WEFT_FORMAT, "minItems"},
        {"{\"type\":\"string\",\"maxLength\":1000000}", WEFT_LIMIT, "minLength/maxLength"},
        {"false", WEFT_FORMAT, "can never end"},
        {"{\"type\":\"integer\",\"minimum\":3,\"maximum\":2}", WEFT_FORMAT, "can never end"},
    };
    check_wrong(grammar_open_json_schema, list, sizeof list / sizeof *list);
}

/* Schemas that ask for far too much are refused with a sentence, soon. */
static void hostile_schemas_are_bounded(void **state) {
    (void)state;
    static const wrong list[] = {
        {"{\"maxLength\":1e9}", WEFT_LIMIT, "states"},
        {"{\"minLength\":1e300,\"type\":\"string\"}", WEFT_LIMIT, "states"},
        {"{\"type\":\"array\",\"items\":{\"type\":\"integer\"},\"maxItems\":1000000}", WEFT_LIMIT,
         "items"},
        {"{\"maxProperties\":1000000000,\"type\":\"object\"}", WEFT_LIMIT, "maxProperties"},
        {"{\"contains\":true,\"minContains\":1e9}", WEFT_LIMIT, "contains"},
        {"{\"multipleOf\":1234567}", WEFT_LIMIT, "multipleOf: multiples of 1234567"},
        {"{\"multipleOf\":1e-300}", WEFT_UNSUPPORTED, "too large or small"},
        {"{\"maximum\":1e308}", WEFT_UNSUPPORTED, "\"maximum\": 1e+308"},
        {"{\"maximum\":123456789012345678901234567890}", WEFT_FORMAT, "too big integer"},
        {"{\"maximum\":NaN}", WEFT_FORMAT, "not JSON"},
        {"{\"type\":\"null\",\"type\":\"null\"}", WEFT_FORMAT, "duplicate"},
        {"{\"pattern\":\"((a{100}){100}){100}\"}", WEFT_LIMIT, "repetitions"},
        {"{\"pattern\":\"^.*a.{500}$\",\"minLength\":1}", WEFT_LIMIT, "states"},
    };
    static char text[2000000];
    grammar *g;
    double begin = clock_seconds();
    check_wrong(grammar_open_json_schema, list, sizeof list / sizeof *list);
    size_t n = (size_t)sprintf(text, "{\"enum\":[\"v\"");
    for (int i = 0; i < 100000; i++) n += (size_t)sprintf(text + n, ",\"value %d\"", i);
    sprintf(text + n, "]}");
    assert_ok(grammar_open_json_schema(text, strlen(text), &g));
    assert_true(follows(g, "\"value 99999\""));
    assert_false(follows(g, "\"value 100000\""));
    grammar_close(g);
    n = (size_t)sprintf(text, "{\"allOf\":[true"); /* 2^40 combinations */
    for (int i = 0; i < 40; i++)
        n += (size_t)sprintf(text + n, ",{\"anyOf\":[{\"minimum\":%d},{\"maximum\":-%d}]}", i, i);
    sprintf(text + n, "]}");
    assert_fails(grammar_open_json_schema(text, strlen(text), &g), WEFT_LIMIT, "too many");
    n = (size_t)sprintf(text, "{\"$ref\":\"#/$defs/0\",\"$defs\":{\"40\":{\"type\":\"null\"}");
    for (int i = 0; i < 40; i++) /* each one twice the next */
        n += (size_t)sprintf(text + n,
                             ",\"%d\":{\"allOf\":[{\"$ref\":\"#/$defs/%d\"},{\"$ref\":"
                             "\"#/$defs/%d\"}]}",
                             i, i + 1, i + 1);
    sprintf(text + n, "}}");
    assert_ok(grammar_open_json_schema(text, strlen(text), &g));
    grammar_close(g);
    n = (size_t)sprintf(text, "{\"type\":\"object\",\"required\":[\"v\"");
    for (int i = 0; i < 20000; i++) n += (size_t)sprintf(text + n, ",\"p%d\"", i);
    sprintf(text + n, "]}");
    assert_fails(grammar_open_json_schema(text, strlen(text), &g), WEFT_LIMIT, "states");
    memset(text, '[', 100000);
    assert_fails(grammar_open_json_schema(text, 100000, &g), WEFT_FORMAT, "depth");
    assert_true(clock_seconds() - begin < 60); /* a hang guard; it takes about one */
}

static void every_allocation_may_fail(void **state) {
    (void)state;
    static const char *const texts[] = {
        "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"string\",\"pattern\":\"^(a|b)+$\"},"
        "\"b\":{\"oneOf\":[{\"type\":\"integer\",\"minimum\":3},{\"type\":\"array\",\"items\":"
        "{\"$ref\":\"#\"}}]}},\"allOf\":[{\"required\":[\"a\"]}]}",
        "{\"pattern\":\"^(?=a)\\\\w+(?<!b)$\",\"maxLength\":2,\"not\":{\"const\":\"ac\"}}",
        "{\"type\":\"integer\",\"multipleOf\":3,\"maximum\":20,\"not\":{\"enum\":[6,[1],{\"a\":1}]}"
        "}",
        "{\"$id\":\"x\",\"type\":\"object\",\"patternProperties\":{\"^a\":{\"$ref\":\"#b\"}},"
        "\"propertyNames\":{\"maxLength\":3},\"minProperties\":1,\"maxProperties\":2,\"$defs\":{"
        "\"b\":{\"$anchor\":\"b\",\"enum\":[1,\"x\",[2]],\"minimum\":0}}}",
        "{\"type\":\"array\",\"contains\":{\"const\":1},\"maxContains\":1,\"prefixItems\":[{"
        "\"enum\":"
        "[1,2]}],\"maxItems\":2,\"if\":{\"minItems\":1},\"then\":{\"uniqueItems\":false}}",
        "{\"type\":\"array\",\"items\":{\"type\":\"boolean\"},\"uniqueItems\":true}",
        "{\"type\":\"object\",\"properties\":{\"a\":true},\"not\":{\"additionalProperties\":{"
        "\"type\":"
        "\"null\"}},\"dependentRequired\":{\"a\":[\"b\"]},\"allOf\":[{\"unevaluatedProperties\":"
        "true}]}",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        grammar *g = NULL;
        mem_fail_at(0);
        assert_ok(grammar_open_json_schema(texts[i], strlen(texts[i]), &g));
        grammar_close(g);
        uint64_t n = mem_fail_at(0);
        for (uint64_t k = 1; k <= n; k++) {
            mem_fail_at(k);
            assert_fails(grammar_open_json_schema(texts[i], strlen(texts[i]), &g), WEFT_NO_MEMORY,
                         "");
        }
        mem_fail_at(0);
    }
}

#endif

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(expressions_match),           cmocka_unit_test(expressions_are_refused),
#ifdef WEFT_HAVE_JANSSON
        cmocka_unit_test(schemas_allow_what_is_valid), cmocka_unit_test(schemas_are_refused),
        cmocka_unit_test(hostile_schemas_are_bounded), cmocka_unit_test(every_allocation_may_fail),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
