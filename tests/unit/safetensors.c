/* safetensors files, good and bad: the cases of public reports, every prefix, every changed byte.
 * SPDX-License-Identifier: MIT */
#include "gguf/safetensors.h"

#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"
#include "harness.h"

static char folder[64];

static int make_folder(void **state) {
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/weft_safetensors_XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state) {
    (void)state;
    return rmdir(folder);
}

/* A file of a header and n bytes of data 0, 1, 2 ...; header_bytes 0 means the header's own length.
 */
static str file_of(const char *header, uint64_t header_bytes, size_t n) {
    str s = {0};
    if (!header_bytes) header_bytes = strlen(header);
    assert_ok(str_append(&s, (const char *)&header_bytes, 8));
    assert_ok(str_text_append(&s, header));
    for (size_t i = 0; i < n; i++) assert_ok(str_char(&s, (char)i));
    return s;
}

static weft_status open_exact(const str *file, size_t n, safetensors **out, void **copy) {
    *copy = malloc(n ? n : 1);
    memcpy(*copy, str_text(file), n);
    return safetensors_open_memory(*copy, n, out);
}

static void refused(const char *header, size_t n, const char *part) {
    str s = file_of(header, 0, n);
    safetensors *out;
    void *copy;
    weft_status status = open_exact(&s, s.n, &out, &copy);
    if (status == WEFT_OK || out || !strstr(weft_message(), part))
        fail_msg("%s: expected \"%s\", got %d \"%s\"", header, part, status, weft_message());
    free(copy);
    str_free(&s);
}

static const char good[] =
    "{\"__metadata__\":{\"format\":\"pt\",\"note\":\"a\\u00e9\\n\"},"
    "\"b.weight\":{\"dtype\":\"BF16\",\"shape\":[2,3],\"data_offsets\":[16,28]},"
    "\"empty\" : {\"shape\":[0,7], \"dtype\":\"F32\", \"data_offsets\":[16,16]},"
    "\"a\\\"\\ud83e\\udd99\":{\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[12,16]},"
    "\"bytes\":{\"dtype\":\"U8\",\"shape\":[12],\"data_offsets\":[0,12]}}   ";

static void good_files_are_read(void **state) { /* G2-10 */
    (void)state;
    str file = file_of(good, 0, 28);
    safetensors *s;
    void *copy;
    assert_ok(open_exact(&file, file.n, &s, &copy));
    assert_int_equal(safetensors_count(s), 4);
    const safetensors_tensor *b = safetensors_find(s, "b.weight");
    assert_true(b && b->is_known && b->dtype == WEFT_BF16 && b->rank == 2);
    assert_true(b->dim[0] == 2 && b->dim[1] == 3 && b->bytes == 12 && b->data[0] == 16);
    assert_string_equal(safetensors_at(s, 0)->name, "b.weight");
    const safetensors_tensor *a = safetensors_find(s, "a\"\xF0\x9F\xA6\x99");
    assert_true(a && a->rank == 0 && a->bytes == 4 && a->data[0] == 12);
    assert_true(safetensors_find(s, "empty")->bytes == 0);
    assert_false(safetensors_find(s, "bytes")->is_known);
    assert_string_equal(safetensors_find(s, "bytes")->type, "U8");
    assert_null(safetensors_find(s, "absent"));
    assert_null(safetensors_at(s, 4));
    assert_string_equal(safetensors_metadata(s, "note"), "a\xC3\xA9\n");
    assert_null(safetensors_metadata(s, "absent"));
    const char *key, *text;
    assert_true(safetensors_metadata_at(s, 0, &key, &text));
    assert_string_equal(key, "format");
    assert_string_equal(text, "pt");
    assert_true(safetensors_metadata_at(s, 1, &key, &text));
    assert_string_equal(key, "note");
    assert_false(safetensors_metadata_at(s, 2, &key, &text));
    assert_int_equal(safetensors_bytes(s), file.n);
    safetensors_close(s);
    free(copy);
    str_free(&file);
    const char *small[] = {"{}", "{\"__metadata__\":{}}",
                           "{\"t\":{\"dtype\":\"F32\",\"shape\":[0],\"data_offsets\":[0,0]}}"};
    for (size_t i = 0; i < 3; i++) {
        file = file_of(small[i], 0, 0);
        assert_ok(safetensors_open_memory(file.data, file.n, &s));
        safetensors_close(s);
        str_free(&file);
    }
}

static void bad_lengths_are_refused(void **state) { /* G2-10 */
    (void)state;
    const uint64_t lengths[] = {UINT64_MAX, 1ULL << 63, 1000, 200000000, 1};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        str s = file_of("{}", lengths[i], 8);
        safetensors *out;
        assert_fails(safetensors_open_memory(s.data, s.n, &out), WEFT_FORMAT,
                     "the header's length is");
        str_free(&s);
    }
    safetensors *out;
    assert_fails(safetensors_open_memory("\0\0\0\0\0\0\0\0", 8, &out), WEFT_FORMAT,
                 "the header's length is 0");
    assert_fails(safetensors_open_memory("", 0, &out), WEFT_FORMAT, "too few");
    assert_fails(safetensors_open("/tmp", &out), WEFT_IO, "/tmp");
    assert_fails(safetensors_open(NULL, &out), WEFT_INVALID, "no file name");
}

#define ENTRY(type, shape, offsets)                                                                \
    "{\"t\":{\"dtype\":" type ",\"shape\":" shape ",\"data_offsets\":" offsets "}}"

static void bad_headers_are_refused(void **state) { /* G2-10 */
    (void)state;
    refused("hello", 0, "'{' expected at byte 0");
    refused("[]", 0, "'{' expected");
    refused("{\"t\"}", 0, "':' expected");
    refused("{\"t\":{}}", 0, "'\"' expected");
    refused("{\"t\":5}", 0, "tensor 't'");
    refused("{},", 0, "goes on after its end");
    refused("{\"t", 0, "ends inside a string");
    refused("{\"\\q\":{}}", 0, "a bad escape");
    refused("{\"\\ud800\":{}}", 0, "no character");
    refused("{\"\\u00g0\":{}}", 0, "no character");
    refused("{\"\xFF\":{}}", 0, "invalid UTF-8");
    refused("{\"\n\":{}}", 0, "a control character");
    refused(ENTRY("\"F32\"", "[1]", "[8,4]"), 8, "tensor 't': data_offsets [8, 4]");
    refused(ENTRY("\"F32\"", "[1]", "[0,1000000000000]"), 8, "data_offsets [0, 1000000000000]");
    refused(ENTRY("\"F32\"", "[1]", "[-1,4]"), 8, "data_offsets: a whole number");
    refused(ENTRY("\"F32\"", "[1]", "[0.5,4]"), 8, "data_offsets: a number that is not whole");
    refused(ENTRY("\"F32\"", "[1]", "[0,4e0]"), 8, "not whole");
    refused(ENTRY("\"F32\"", "[1]", "[0,4,8]"), 8, "data_offsets: more than 2");
    refused(ENTRY("\"F32\"", "[1]", "[0]"), 8, "not two");
    refused(ENTRY("\"F32\"", "[1]", "[0,18446744073709551616]"), 8, "past 2^63");
    refused(ENTRY("\"F32\"", "[4294967296,4294967296,4]", "[0,8]"), 8, "shape: its product wraps");
    refused(ENTRY("\"F32\"", "[0,4294967296,4294967296,4]", "[0,0]"), 0,
            "shape: its product wraps");
    refused(ENTRY("\"F32\"", "[1,1,1,1,1,1,1,1,1]", "[0,4]"), 4, "shape: more than 8");
    refused(ENTRY("\"F32\"", "[1000,1000]", "[0,4]"), 4, "make 4000000 bytes, data_offsets 4");
    refused(ENTRY("\"F31\"", "[1]", "[0,4]"), 4, "dtype: 'F31' is unknown");
    refused(ENTRY("7", "[1]", "[0,4]"), 4, "'\"' expected");
    refused("{\"t\":{\"dtype\":\"F32\",\"shape\":[1]}}", 4, "data_offsets are missing");
    refused("{\"t\":{\"dtype\":\"F32\",\"data_offsets\":[0,4]}}", 4, "shape is missing");
    refused("{\"t\":{\"shape\":[1],\"data_offsets\":[0,4]}}", 4, "dtype is missing");
    refused("{\"t\":{\"dtype\":\"F32\",\"dtype\":\"F32\"}}", 4, "duplicate key 'dtype'");
    refused("{\"t\":{\"kind\":\"F32\"}}", 4, "unexpected key 'kind'");
    refused("{\"__metadata__\":{\"a\":1}}", 0, "'\"' expected");
    refused("{\"__metadata__\":{\"a\":\"\",\"a\":\"\"}}", 0, "a duplicate key");
    refused("{\"__metadata__\":{},\"__metadata__\":{}}", 0, "appears twice");
    refused("{\"__metadata__\":[[[[", 0, "'{' expected");
}

#define TENSOR(name, begin, end)                                                                   \
    "\"" name "\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[" begin "," end "]}"

static void data_must_be_covered_once(void **state) { /* G2-10 */
    (void)state;
    refused("{" TENSOR("x", "0", "4") "," TENSOR("y", "0", "4") "}", 4,
            "before the end of those before");
    refused("{" TENSOR("x", "0", "4") "," TENSOR("y", "2", "6") "}", 6, "before the end");
    refused("{" TENSOR("x", "0", "4") "," TENSOR("y", "5", "9") "}", 9, "after the end");
    refused("{" TENSOR("x", "1", "5") "}", 5, "after the end of those before, 0");
    refused("{" TENSOR("x", "0", "4") "}", 5, "cover 4 of the file's 5 bytes");
    refused("{}", 1, "cover 0 of the file's 1 bytes");
    refused("{" TENSOR("x", "0", "4") "," TENSOR("x", "4", "8") "}", 8, "the name appears twice");
}

static void changed_and_cut_files_are_survived(void **state) {
    (void)state;
    str file = file_of(good, 0, 28);
    safetensors *s;
    void *copy;
    for (size_t n = 0; n < file.n; n++) {
        if (open_exact(&file, n, &s, &copy) == WEFT_OK)
            fail_msg("%zu of %zu bytes load", n, file.n);
        free(copy);
    }
    unsigned long sum = 0;
    const char values[] = {0, 0x7F, (char)0xFF, '"', '{', '9', '\\'};
    for (size_t i = 0; i < file.n * sizeof values; i++) {
        char was = file.data[i / sizeof values];
        file.data[i / sizeof values] = values[i % sizeof values];
        if (open_exact(&file, file.n, &s, &copy) == WEFT_OK)
            for (size_t k = 0; k < safetensors_count(s); k++) {
                const safetensors_tensor *t = safetensors_at(s, k);
                assert_true(strlen(t->name) < 64);
                for (size_t b = 0; b < t->bytes; b++) sum += t->data[b];
            }
        safetensors_close(s);
        free(copy);
        file.data[i / sizeof values] = was;
    }
    assert_true(sum > 0);
    str_free(&file);
}

static void failing_allocations_are_survived(void **state) {
    (void)state;
    str file = file_of(good, 0, 28);
    safetensors *s;
    mem_fail_at(0);
    assert_ok(safetensors_open_memory(file.data, file.n, &s));
    uint64_t n = mem_fail_at(0);
    safetensors_close(s);
    for (uint64_t k = 1; k <= n; k++) {
        mem_fail_at(k);
        assert_fails(safetensors_open_memory(file.data, file.n, &s), WEFT_NO_MEMORY,
                     "out of memory");
    }
    mem_fail_at(0);
    str_free(&file);
}

static void write_disk(const char *name, const char *header, size_t n, char path[128]) {
    str s = file_of(header, 0, n);
    snprintf(path, 128, "%s/%s", folder, name);
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(s.data, 1, s.n, f), s.n);
    assert_int_equal(fclose(f), 0);
    str_free(&s);
}

static void parts_are_read_as_one(void **state) {
    (void)state;
    char one[128], two[128];
    safetensors *s;
    write_disk("m-00001-of-00002.safetensors",
               "{\"__metadata__\":{\"k\":\"v\"}," TENSOR("x", "0", "4") "}", 4, one);
    write_disk("m-00002-of-00002.safetensors",
               "{\"__metadata__\":{\"k\":\"v\"}," TENSOR("y", "0", "4") "}", 4, two);
    const char *paths[] = {one, two};
    for (int i = 0; i < 2; i++) {
        assert_ok(safetensors_open(paths[i], &s));
        assert_int_equal(safetensors_count(s), 2);
        assert_true(safetensors_find(s, "x")->data[3] == 3 &&
                    safetensors_find(s, "y")->data[3] == 3);
        assert_string_equal(safetensors_metadata(s, "k"), "v");
        safetensors_close(s);
    }
    assert_ok(safetensors_open_files(paths, 1, &s)); /* only what is named */
    assert_int_equal(safetensors_count(s), 1);
    safetensors_close(s);
    assert_ok(safetensors_open_files(paths, 2, &s));
    assert_int_equal(safetensors_find(s, "x")->file, 0);
    assert_int_equal(safetensors_find(s, "y")->file, 1);
    safetensors_close(s);
    write_disk("m-00002-of-00002.safetensors", "{" TENSOR("x", "0", "4") "}", 4, two);
    assert_fails(safetensors_open(one, &s), WEFT_FORMAT,
                 "m-00002-of-00002.safetensors: tensor 'x'");
    unlink(two);
    assert_fails(safetensors_open(one, &s), WEFT_IO, "m-00002-of-00002.safetensors");
    unlink(one);
    write_disk("alone.safetensors", "{" TENSOR("x", "0", "4") "}", 4, one);
    assert_ok(safetensors_open(one, &s));
    safetensors_close(s);
    unlink(one);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(good_files_are_read),
        cmocka_unit_test(bad_lengths_are_refused),
        cmocka_unit_test(bad_headers_are_refused),
        cmocka_unit_test(data_must_be_covered_once),
        cmocka_unit_test(changed_and_cut_files_are_survived),
        cmocka_unit_test(failing_allocations_are_survived),
        cmocka_unit_test(parts_are_read_as_one),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
