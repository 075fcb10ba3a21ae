/* template/: published chat templates and our own against what Python's jinja2 gives, errors,
 * limits, failing allocations. SPDX-License-Identifier: MIT */
#include <dirent.h>
#include <unistd.h>

#ifdef WEFT_HAVE_JANSSON
#include <jansson.h>
#endif

#include "base/file.h"
#include "base/mem.h"
#include "harness.h"
#include "template/template.h"

static const struct tm noon = {
    .tm_year = 126, .tm_mon = 11, .tm_mday = 1, .tm_hour = 12, .tm_min = 34, .tm_sec = 56};
static const template_options fixed = {.clock = &noon};

static weft_status render_with(const char *source, const char *context, const template_options *o,
                               str *out) {
    template_program *program;
    weft_status status = template_parse(source, strlen(source), &program);
    if (status == WEFT_OK) status = template_render(program, context, strlen(context), o, out);
    template_free(program);
    return status;
}

static weft_status render(const char *source, const char *context, str *out) {
    return render_with(source, context, &fixed, out);
}

static void gives(const char *source, const char *context, const char *expected) {
    str out = {0};
    assert_ok(render(source, context, &out));
    assert_string_equal(str_text(&out), expected);
    str_free(&out);
}

static void refuses(const char *source, weft_status status, const char *part) {
    str out = {0};
    assert_fails(render(source, "{}", &out), status, part);
    assert_int_equal(out.n, 0);
    str_free(&out);
}

#ifdef WEFT_HAVE_JANSSON
/* One template in every context of `contexts` against `expected`: {name: {text} or {error:
 * message or null}}. */
static int compare(const char *name, const char *source, size_t n, json_t *contexts,
                   json_t *expected) {
    template_program *program;
    weft_status parsed = template_parse(source, n, &program);
    int compared = 0;
    const char *key;
    json_t *wanted;
    json_object_foreach(expected, key, wanted) {
        str out = {0};
        char *context = json_dumps(json_object_get(contexts, key), 0);
        assert_non_null(context);
        weft_status status = parsed;
        if (status == WEFT_OK)
            status = template_render(program, context, strlen(context), &fixed, &out);
        const char *text = json_string_value(json_object_get(wanted, "text"));
        const char *error = json_string_value(json_object_get(wanted, "error"));
        if (text && status != WEFT_OK) fail_msg("%s, %s: %s", name, key, weft_message());
        if (text && strcmp(str_text(&out), text) != 0)
            fail_msg("%s, %s:\n%s\nexpected:\n%s", name, key, str_text(&out), text);
        if (!text && status == WEFT_OK) fail_msg("%s, %s: an error was expected", name, key);
        if (error && !strstr(weft_message(), error))
            fail_msg("%s, %s: %s", name, key, weft_message());
        free(context);
        str_free(&out);
        compared++;
    }
    template_free(program);
    return compared;
}

static json_t *load(const char *path) {
    json_error_t why;
    json_t *json = json_load_file(path, 0, &why);
    if (!json) fail_msg("%s: %s", path, why.text);
    return json;
}

/* A folder of templates NAME.jinja, a folder of expected/NAME.json, and the contexts. */
static int compare_folder(const char *templates, const char *expected, const char *contexts_path) {
    json_t *contexts = load(contexts_path);
    DIR *dir = opendir(templates);
    assert_non_null(dir);
    int compared = 0;
    for (const struct dirent *e; (e = readdir(dir));) {
        const char *end = strstr(e->d_name, ".jinja");
        if (!end) continue;
        char path[2048], *source;
        size_t n;
        snprintf(path, sizeof path, "%s/%s", templates, e->d_name);
        assert_ok(file_read(path, 1 << 20, &source, &n));
        snprintf(path, sizeof path, "%s/%.*s.json", expected, (int)(end - e->d_name), e->d_name);
        json_t *wanted = load(path);
        compared += compare(e->d_name, source, n, contexts, wanted);
        json_decref(wanted);
        mem_free(source);
    }
    closedir(dir);
    json_decref(contexts);
    return compared;
}

static void own_templates(void **state) { /* G5-12 */
    (void)state;
    static const char folder[] = WEFT_SOURCE_DIR "/tests/golden/template";
    int compared = compare_folder(folder, WEFT_SOURCE_DIR "/tests/golden/template/expected",
                                  WEFT_SOURCE_DIR "/tests/golden/template/contexts.json");
    assert_true(compared >= 100);
}

static void published_templates(void **state) {
    (void)state;
    static const char beside[] = WEFT_SOURCE_DIR "/../shared/data/text/contexts.json";
    char templates[1024], expected[1024], contexts[1024];
    const char *path = text_data("templates");
    if (!path) skip_because(false, "no published templates in ~/.cache/weft-text");
    snprintf(templates, sizeof templates, "%s", path);
    path = text_data("contexts.json");
    if (!path && access(beside, R_OK) == 0) path = beside;
    if (!path) skip_because(false, "no contexts.json beside the published templates");
    snprintf(contexts, sizeof contexts, "%s", path);
    snprintf(expected, sizeof expected, "%s", text_data("expected"));
    assert_true(compare_folder(templates, expected, contexts) >= 1000);
}
#else
static void own_templates(void **state) {
    (void)state;
    skip_because(false, "this build has no JSON library");
}

static void published_templates(void **state) {
    (void)state;
    skip_because(false, "this build has no JSON library");
}
#endif

static void messages_name_line_and_reason(void **state) {
    (void)state;
    refuses("a\n{{ raise_exception('Only user roles, please: 100%') }}", WEFT_INVALID,
            "line 2: Only user roles, please: 100%");
    refuses("\n\n{{ x.y }}", WEFT_INVALID, "line 3: 'x' is undefined");
    refuses("{{ {'a': 1}.b.c }}", WEFT_INVALID, "line 1: 'dict object' has no attribute 'b'");
    refuses("{% if x %}\n", WEFT_FORMAT,
            "line 1 of the template: the block that begins here has no 'endif'");
    refuses("\n{{ 1 + }}", WEFT_FORMAT, "line 2 of the template: unexpected }}");
    refuses("{{ x|nothing }}", WEFT_FORMAT, "no filter is named 'nothing'");
    refuses("{{ 'a' + 1 }}", WEFT_INVALID, "+ does not work on 'str' and 'int'");
    refuses("{{ [1].append(2) }}", WEFT_INVALID, "unsafe");
    refuses("{% extends 'x' %}", WEFT_UNSUPPORTED, "'extends'");
    refuses("{{ 9223372036854775807 + 1 }}", WEFT_INVALID, "integer overflow");
    refuses("{{ [1] is filter }}{{ dict(x) }}", WEFT_INVALID, "cannot be a name");
    refuses("{{ '%\xC3\xA9' % 1 }}", WEFT_INVALID, "%? is no format");
    refuses("\xFF", WEFT_FORMAT, "not UTF-8 at byte 0");
    str out = {0};
    assert_fails(render("x", "[1]", &out), WEFT_FORMAT, "must be a JSON object");
    assert_fails(render("x", "{", &out), WEFT_FORMAT, "no JSON");
    str_free(&out);
}

static void refuses_with(const char *source, const template_options *o, const char *part) {
    str out = {0};
    assert_fails(render_with(source, "{\"s\": \"abcdefghij\"}", o, &out), WEFT_LIMIT, part);
    str_free(&out);
}

static void hostile_templates_meet_limits(void **state) {
    (void)state;
    template_options few = {.max_steps = 1000000, .max_memory = 64 << 20, .max_output = 100000};
    refuses_with("{{ 'a' * 1000000000 }}", &few, "longer than the limit");
    refuses_with("{{ range(1000000000) }}", &few, "range of 1000000000 items");
    refuses_with("{{ [1] * 1000000000 }}", &few, "longer than the limit");
    refuses_with("{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}",
                 &few, "more than the limit of 1000000 steps");
    refuses_with("{% for i in range(99999) %}{{ s }}{% endfor %}", &few, "output is longer");
    refuses_with("{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}", &few, "nested deeper");
    refuses_with("{% set ns = namespace(x=[]) %}{% for i in range(99999) %}{% set ns.x = [ns.x] "
                 "%}{% endfor %}",
                 &few, "values are nested deeper");
    refuses_with(
        "{% set ns = namespace(x=['a']) %}{% for i in range(99) %}{% set ns.x = [ns.x, ns.x] %}"
        "{% endfor %}{{ ns.x }}",
        &few, "parts");
    refuses_with("{% set ns = namespace(x=s) %}{% for i in range(99) %}{% set ns.x = ns.x * 3 %}{% "
                 "endfor %}",
                 &few, "limit");
    refuses_with("{% set ns = namespace(x=1) %}{% set ns.x = ns %}{{ ns }}", &few, "nested deeper");
    refuses_with("{% for i in [1] recursive %}{{ loop([1]) }}{% endfor %}", &few, "nested deeper");
    refuses_with("{% set ns = namespace(x=[1]) %}{% for i in range(999) %}{% set ns.x = "
                 "ns.x|map('string') %}"
                 "{% endfor %}{{ ns.x|list }}",
                 &few, "nested deeper");
    refuses_with("{{ '%1000000000d' % 1 }}", &few, "width or precision");
    refuses_with("{{ '{:9999999}'.format(1) }}", &few, "width or precision");
    refuses_with("{{ s.replace('', s * 10000) * 10000 }}", &few, "limit");
}

/* Whole numbers whose hashes (value.c, mix) end in 17 zeros. */
static void keys_made_to_collide_are_refused(void **state) {
    (void)state;
    const uint64_t factor = UINT64_C(0x9E3779B97F4A7C15);
    uint64_t inverse = factor;
    for (int i = 0; i < 6; i++) inverse *= 2 - factor * inverse;
    str source = {0};
    assert_ok(str_text_append(&source, "{{ {"));
    for (uint64_t k = 1, n = 0; n < 6000; k++) {
        uint64_t key = (k << 46) * inverse;
        key ^= key >> 32;
        if (key > INT64_MAX) continue;
        assert_ok(str_format(&source, "%llu: 0, ", (unsigned long long)key));
        n++;
    }
    assert_ok(str_text_append(&source, "}|length }}"));
    refuses_with(str_text(&source), NULL, "keys of a dict in a row have one hash");
    str_free(&source);
}

static void deep_nesting_is_refused(void **state) {
    (void)state;
    static const char *const pieces[] = {"(", "[", "not ", "-", "{1:", "x if ", "f("};
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) {
        str source = {0}, out = {0};
        assert_ok(str_text_append(&source, "{{ "));
        for (int k = 0; k < 100000; k++) assert_ok(str_text_append(&source, pieces[i]));
        assert_ok(str_text_append(&source, "1 }}"));
        assert_fails(render(str_text(&source), "{}", &out), WEFT_LIMIT, "nested deeper");
        str_free(&source);
        str_free(&out);
    }
    static const char *const tails[] = {" + 1", ".a", "|upper", "[0]", " is string", "()"};
    for (size_t i = 0; i < sizeof tails / sizeof *tails; i++) {
        str source = {0}, out = {0};
        assert_ok(str_text_append(&source, "{{ 1"));
        for (int k = 0; k < 100000; k++) assert_ok(str_text_append(&source, tails[i]));
        assert_ok(str_text_append(&source, " }}"));
        weft_status status = render(str_text(&source), "{}", &out);
        assert_true(status == WEFT_LIMIT || status == WEFT_FORMAT);
        str_free(&source);
        str_free(&out);
    }
    str source = {0}, out = {0};
    for (int k = 0; k < 10000; k++) assert_ok(str_text_append(&source, "{% if 1 %}"));
    assert_fails(render(str_text(&source), "{}", &out), WEFT_LIMIT, "nested deeper");
    str_free(&source);
    str_free(&out);
}

static const char busy[] =
    "{% macro m(a, b=2) %}{{ a }}{{ caller(a ~ b) if caller else varargs }}{{ kwargs }}{% endmacro "
    "%}"
    "{% set ns = namespace(n=0) %}{% for k, v in d|dictsort if v %}{{ loop.index }}{{ "
    "loop.nextitem }}"
    "{% set ns.n = ns.n + v %}{{ [1, 2] + [v] }}{{ {'k': v, 'l': [k]}|tojson(indent=2) }}{% else "
    "%}-{% endfor %}"
    "{% call(x) m(1, z=3) %}<{{ x }}>{% endcall %}{% set t %}a{{ 'b'|upper }}{% endset %}"
    "{% filter replace('a', 'c') %}{{ t }}{% endfilter %}{{ '%s-%05.2f' % ('x', 1.5) }}{{ "
    "'{:>5}'.format('y') }}"
    "{{ 'a,b,c'.split(',')|map('upper')|join('+') }}{{ d.items()|list }}{{ 'x' * 2000 ~ 'y' * 2000 "
    "}}"
    "{{ [3, 1, 2]|sort(reverse=true) }}{{ ['a', 'B']|groupby('0') }}{{ strftime_now('%Y') }}{{ ns "
    "}}";

static void failing_allocations(void **state) {
    (void)state;

    str out = {0};
    mem_fail_at(0);
    weft_status status = render(busy, "{\"d\": {\"a\": 1, \"b\": 0, \"c\": 3}}", &out);
    if (status != WEFT_OK) fail_msg("%s", weft_message());
    uint64_t n = mem_fail_at(0);
    str_free(&out);
    assert_true(n > 50);
    for (uint64_t k = 1; k <= n; k++) {
        mem_fail_at(k);
        status = render(busy, "{\"d\": {\"a\": 1, \"b\": 0, \"c\": 3}}", &out);
        mem_fail_at(0);
        if (status == WEFT_OK)
            fail_msg("allocation %llu of %llu failed unseen", (unsigned long long)k,
                     (unsigned long long)n);
        assert_int_equal(status, WEFT_NO_MEMORY);
        str_free(&out);
    }
}

static void programs_are_shared_and_output_is_appended(void **state) {
    (void)state;
    template_program *program;
    assert_ok(template_parse("{{ a }}!", 8, &program));
    str out = {0};
    assert_ok(template_render(program, "{\"a\": 1}", 8, NULL, &out));
    assert_ok(template_render(program, "{\"a\": 2}", 8, NULL, &out));
    assert_string_equal(str_text(&out), "1!2!");
    template_free(program);
    template_free(NULL);
    str_free(&out);
}

static void small_things(void **state) {
    (void)state;
    gives("a\n", "{}", "a");
    gives("a\n\n", "{}", "a\n");
    gives("  {% if 1 %}\nx\n  {% endif %}\ny", "{}", "x\ny");
    gives("{{ a }}\n{# c #}\nb", "{\"a\": null}", "None\nb");
    gives("{% for x in [1] %}{% break %}{% else %}E{% endfor %}", "{}", "E");
    gives("{{ -2 ** x }} {{ -2 ** 2 }}", "{\"x\": 2}", "-4 4");
    gives("{% for i in [1] %}{{ x }}{% endfor %}{% set x = 1 %}", "{\"x\": 5}", "");
    gives("{{ 1.0 }} {{ 1e16 }} {{ 0.1 + 0.2 }} {{ 1e-5 }} {{ 5 // -2 }} {{ 5 % -3 }}", "{}",
          "1.0 1e+16 0.30000000000000004 1e-05 -3 -1");
    gives("{{ [{'a': 1}, {'b': 2}]|sort(attribute='c')|length }}{{ false[1:] }}{{ x.__class__ }}",
          "{}", "2");
    gives("{{ d.keys() < d.items() }}{{ d.items() <= d.items() }}{{ d.keys() == d.items() }}",
          "{\"d\": {\"a\": 1}}", "FalseTrueFalse");
    gives("{{ 'a-b well-known--thing'|wordwrap(6) }}", "{}", "a-b\nwell-\nknown\n--\nthing");
    gives("{{ a|tojson }}",
          "{\"a\": {\"z\": [1, 2.5, \"<\\u00e9>\", null, true], \"b\": \"\\u0000\"}}",
          "{\"z\": [1, 2.5, \"<\xC3\xA9>\", null, true], \"b\": \"\\u0000\"}");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_things),
        cmocka_unit_test(own_templates),
        cmocka_unit_test(published_templates),
        cmocka_unit_test(messages_name_line_and_reason),
        cmocka_unit_test(hostile_templates_meet_limits),
        cmocka_unit_test(keys_made_to_collide_are_refused),
        cmocka_unit_test(deep_nesting_is_refused),
        cmocka_unit_test(failing_allocations),
        cmocka_unit_test(programs_are_shared_and_output_is_appended),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
