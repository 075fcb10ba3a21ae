/* JSON Schemas from two files, a line each: tests/golden/schemas.jsonl (what pydantic and zod
 * write, and keywords one by one) and schema_suite.jsonl (the public test suite; schema_suite.py
 * says how a line reads). Texts must follow, or not; refused schemas must say why.
 * SPDX-License-Identifier: MIT */
#include "harness.h"

#ifdef WEFT_HAVE_JANSSON
#include <jansson.h>

#include "base/mem.h"
#include "grammar/grammar.h"

static bool follows(grammar_matcher *m, const char *text) {
    assert_ok(grammar_matcher_rollback(m, 0));
    return grammar_matcher_accept_bytes(m, text, strlen(text)) == WEFT_OK &&
           grammar_matcher_may_end(m);
}

/* Checks a list of texts, or of values, whose text is then made. */
static void check_list(grammar_matcher *m, const json_t *line, const char *key, bool must_follow) {
    size_t i;
    json_t *one;
    json_array_foreach(json_object_get(line, key), i, one) {
        char *text = json_is_string(one) ? strdup(json_string_value(one))
                                         : json_dumps(one, JSON_ENCODE_ANY | JSON_COMPACT);
        if (follows(m, text) != must_follow) {
            char *schema = json_dumps(json_object_get(line, "schema"), JSON_ENCODE_ANY);
            fail_msg("%s: %.2000s: %s should%s follow", key, schema, text,
                     must_follow ? "" : " not");
        }
        free(text);
    }
}

static void check_line(const json_t *line) {
    const json_t *given = json_object_get(line, "schema");
    char *schema = json_is_string(given) ? strdup(json_string_value(given))
                                         : json_dumps(given, JSON_ENCODE_ANY);
    const char *error = json_string_value(json_object_get(line, "error"));
    grammar *g = NULL;
    grammar_vocab *v;
    grammar_matcher *m;
    weft_status status = grammar_open_json_schema(schema, strlen(schema), &g);
    if (error) {
        if (status == WEFT_OK || !strstr(weft_message(), error))
            fail_msg("%.2000s: \"%s\", not \"%s\"", schema, weft_message(), error);
    } else if (status != WEFT_OK) fail_msg("%.2000s: %s", schema, weft_message());
    free(schema);
    if (error) return;
    assert_ok(grammar_vocab_open(&(grammar_token){"a", 1}, 1, NULL, 0, &v));
    assert_ok(grammar_matcher_open(g, v, &m));
    check_list(m, line, "yes", true);
    check_list(m, line, "no", false);
    check_list(m, line, "out", false);
    grammar_matcher_close(m);
    grammar_vocab_close(v);
    grammar_close(g);
}

static void check_file(const char *path) {
    static char text[1 << 20];
    int n = 0;
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    while (fgets(text, sizeof text, f)) {
        json_t *line = json_loads(text, 0, NULL);
        assert_non_null(line);
        if (!json_object_get(line, "about")) check_line(line);
        n += !json_object_get(line, "about");
        json_decref(line);
    }
    fclose(f);
    assert_true(n > 40);
}

static void schemas_of_ours(void **state) {
    (void)state;
    check_file(WEFT_SOURCE_DIR "/tests/golden/schemas.jsonl");
}

static void schemas_of_the_public_suite(void **state) {
    (void)state;
    check_file(WEFT_SOURCE_DIR "/tests/golden/schema_suite.jsonl");
}

#endif

int main(void) {
#ifdef WEFT_HAVE_JANSSON
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(schemas_of_ours),
        cmocka_unit_test(schemas_of_the_public_suite),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
#else
    return 77;
#endif
}
