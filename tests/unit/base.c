/* base/: messages, memory, strings, map, UTF-8. SPDX-License-Identifier: MIT */
#include "base/json.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/utf8.h"
#include "harness.h"

static void message_is_cut_at_a_character(void **state) {
    (void)state;
    char text[600];
    for (int i = 0; i < 598; i += 2) memcpy(text + i, "\xC3\xA9", 2);
    text[598] = 0;
    error_set(WEFT_IO, "x%s", text);
    size_t n = strlen(error_message());
    assert_true(n <= 511);
    assert_int_equal(utf8_complete(error_message(), n), n);
    error_prefix(WEFT_IO, "file %d", 7);
    assert_int_equal(strncmp(error_message(), "file 7: x", 9), 0);
}

static void failing_allocation_is_a_status(void **state) {
    (void)state;
    mem_fail_at(1);
    assert_null(mem_alloc(8));
    assert_int_equal(error_status(), WEFT_NO_MEMORY);
    void *p = mem_alloc(8);
    assert_non_null(p);
    mem_free(p);
    mem_fail_at(0);
    assert_null(mem_grow(NULL, SIZE_MAX / 2, 4));
}

static void map_finds_what_was_set(void **state) {
    (void)state;
    map m = {0};
    static char keys[5000][8];
    for (uint32_t i = 0; i < 5000; i++) {
        snprintf(keys[i], sizeof keys[i], "k%u", i);
        assert_ok(map_set(&m, keys[i], strlen(keys[i]), i));
    }
    uint32_t v;
    for (uint32_t i = 0; i < 5000; i++) {
        assert_true(map_get(&m, keys[i], strlen(keys[i]), &v));
        assert_int_equal(v, i);
    }
    assert_false(map_get(&m, "absent", 6, &v));
    map_free(&m);
}

static void messages_are_fit_to_be_shown(void **state) {
    (void)state;
    error_set(WEFT_INVALID, "a\x1b[2J\xff\xc3 b\xc2\x9b\x7f\tc\n%s", "\xc3\xa9 \xed\xa0\x80");
    assert_string_equal(error_message(), "a?[2J?? b???\tc\n\xc3\xa9 ???");
    error_prefix(WEFT_INVALID, "x\ry");
    assert_string_equal(error_message(), "x?y: a?[2J?? b???\tc\n\xc3\xa9 ???");
}

static void utf8_follows_the_standard(void **state) {
    (void)state;
    char buf[4];
    for (int32_t c = 0; c < 0x110000; c += c < 0x3000 ? 1 : 17) {
        if (c >= 0xD800 && c < 0xE000) continue;
        int32_t back;
        int n = utf8_encode(c, buf);
        assert_int_equal(utf8_decode(buf, (size_t)n, &back), n);
        assert_int_equal(back, c);
        for (int k = 1; k < n; k++) assert_int_equal(utf8_complete(buf, (size_t)k), 0);
    }
    int32_t code;
    const char *bad[] = {"\xC0\x80", "\xED\xA0\x80", "\xF4\x90\x80\x80",
                         "\x80",     "\xFF",         "\xE2\x82"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(utf8_decode(bad[i], strlen(bad[i]), &code), 1);
        assert_int_equal(code, UTF8_BAD);
    }
    assert_int_equal(utf8_complete("ab\xF0\x9F\x98", 5), 2);
    assert_int_equal(utf8_complete("ab\xED\xA0", 4), 4);
}

static void str_grows(void **state) {
    (void)state;
    str s = {0};
    assert_string_equal(str_text(&s), "");
    for (int i = 0; i < 1000; i++) assert_ok(str_format(&s, "%d,", i));
    assert_int_equal(strncmp(str_text(&s), "0,1,2,", 6), 0);
    char *taken = str_take(&s);
    assert_int_equal(strlen(taken), 3890);
    mem_free(taken);
    str_free(&s);
}

/* Pairs of 16 bytes that the hash does not tell apart, in a row: 2^13 keys in one place. */
static void keys_made_to_collide_are_refused(void **state) {
    (void)state;
    enum { PAIRS = 13, BYTES = 16 * PAIRS };
    char *keys = calloc(1 << PAIRS, BYTES);
    map m = {0};
    weft_status status = WEFT_OK;
    uint32_t n = 0;
    for (; n < 1 << PAIRS && status == WEFT_OK; n++) {
        char *key = keys + (size_t)n * BYTES;
        for (int pair = 0; pair < PAIRS; pair++)
            if (n >> pair & 1) {
                key[16 * pair + 7] = key[16 * pair + 15] = (char)0x80;
                key[16 * pair + 11] = (char)0x80;
            }
        assert_true(hash_bytes(key, BYTES, 0) == hash_bytes(keys, BYTES, 0));
        status = map_set(&m, key, BYTES, n);
    }
    assert_int_equal(status, WEFT_LIMIT);
    assert_true(n > 1000);
    map_free(&m);
    free(keys);
}

static void whole_numbers_beyond_64_bits_become_real(void **state) {
    (void)state;
    static const struct {
        const char *in, *out;
    } cases[] = {
        {"", ""},
        {"[9223372036854775807,-9223372036854775808]",
         "[9223372036854775807,-9223372036854775808]"},
        {"[9223372036854775808,-9223372036854775809]",
         "[9223372036854775808.0,-9223372036854775809.0]"},
        {"1000000000000000019884624838656", "1000000000000000019884624838656.0"},
        {"[10000000000000000000e1, 10000000000000000000.5]",
         "[10000000000000000000e1, 10000000000000000000.5]"},
        {"{\"99999999999999999999\": \"\\\" 99999999999999999999\"}",
         "{\"99999999999999999999\": \"\\\" 99999999999999999999\"}"},
        {"\"\\", "\"\\"},
        {"-", "-"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        str out = {0};
        assert_ok(json_widen(cases[i].in, strlen(cases[i].in), &out));
        assert_string_equal(str_text(&out), cases[i].out);
        str_free(&out);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole_numbers_beyond_64_bits_become_real),
        cmocka_unit_test(message_is_cut_at_a_character),
        cmocka_unit_test(failing_allocation_is_a_status),
        cmocka_unit_test(map_finds_what_was_set),
        cmocka_unit_test(keys_made_to_collide_are_refused),
        cmocka_unit_test(utf8_follows_the_standard),
        cmocka_unit_test(messages_are_fit_to_be_shown),
        cmocka_unit_test(str_grows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
