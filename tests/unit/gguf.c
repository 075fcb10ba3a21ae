/* The GGUF reader on good files and on every bad one of the public reports it knows of: each is
 * made here, byte by byte, and opened both from memory and from disk. SPDX-License-Identifier: MIT
 */
#include "gguf/gguf.h"

#include <sys/resource.h>
#include <unistd.h>

#include "base/map.h"
#include "base/mem.h"
#include "base/str.h"
#include "harness.h"

/* ---- making files
 * --------------------------------------------------------------------------------------- */

static void put(str *s, const void *bytes, size_t n) { assert_ok(str_append(s, bytes, n)); }
static void put_u32(str *s, uint32_t v) { put(s, &v, sizeof v); }
static void put_u64(str *s, uint64_t v) { put(s, &v, sizeof v); }

static void put_string(str *s, const char *text) {
    put_u64(s, strlen(text));
    put(s, text, strlen(text));
}

static void put_header(str *s, uint64_t n_tensors, uint64_t n_values) {
    put(s, "GGUF", 4);
    put_u32(s, 3);
    put_u64(s, n_tensors);
    put_u64(s, n_values);
}

static void put_key(str *s, const char *key, uint32_t type) {
    put_string(s, key);
    put_u32(s, type);
}

static void put_key_u32(str *s, const char *key, uint32_t v) {
    put_key(s, key, GGUF_U32);
    put_u32(s, v);
}

/* dim as the file has them: innermost first */
static void put_tensor(str *s, const char *name, uint32_t rank, const uint64_t *dim, uint32_t type,
                       uint64_t offset) {
    put_string(s, name);
    put_u32(s, rank);
    for (uint32_t i = 0; i < rank && i < 16; i++) put_u64(s, dim[i]);
    put_u32(s, type);
    put_u64(s, offset);
}

static void pad(str *s, size_t alignment) {
    while (s->n % alignment) put(s, "", 1);
}

static void put_zeros(str *s, size_t n) {
    for (size_t i = 0; i < n; i++) put(s, "", 1);
}

/* ---- opening them both ways
 * ------------------------------------------------------------------------------ */

static char disk_path[64];

static int make_disk_path(void **state) {
    (void)state;
    snprintf(disk_path, sizeof disk_path, "/tmp/weft_gguf_%ld.gguf", (long)getpid());
    return 0;
}

static int remove_disk_path(void **state) {
    (void)state;
    unlink(disk_path);
    return 0;
}

static void write_disk(const str *s) {
    FILE *f = fopen(disk_path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(str_text(s), 1, s->n, f), s->n);
    assert_int_equal(fclose(f), 0);
}

/* A copy of exactly n bytes, so that a sanitizer sees one byte too far. */
static weft_status open_copy(const char *data, size_t n, gguf_file **f, void **copy) {
    *copy = malloc(n ? n : 1);
    assert_non_null(*copy);
    memcpy(*copy, data, n);
    return gguf_open_memory(*copy, n, f);
}

/* Fails the test unless both ways refuse the file, with a message that has `part`. Frees the text.
 */
static void refused(str *s, const char *part) {
    gguf_file *f;
    void *copy;
    weft_status status = open_copy(str_text(s), s->n, &f, &copy);
    if (status == WEFT_OK || f || !strstr(weft_message(), part))
        fail_msg("expected a refusal with \"%s\", got %d \"%s\"", part, status, weft_message());
    free(copy);
    write_disk(s);
    status = gguf_open(disk_path, &f);
    if (status == WEFT_OK || f || !strstr(weft_message(), part) ||
        !strstr(weft_message(), disk_path))
        fail_msg("on disk: expected a refusal with \"%s\", got %d \"%s\"", part, status,
                 weft_message());
    str_free(s);
}

/* Both ways accept it; returns the mapped one (caller closes) and frees the text. */
static gguf_file *accepted(str *s) {
    gguf_file *f;
    void *copy;
    assert_ok(open_copy(str_text(s), s->n, &f, &copy));
    gguf_close(f);
    free(copy);
    write_disk(s);
    assert_ok(gguf_open(disk_path, &f));
    str_free(s);
    return f;
}

/* One tensor record in an otherwise good file with `data_bytes` of data. */
static str one_tensor(uint32_t rank, const uint64_t *dim, uint32_t type, uint64_t offset,
                      size_t data_bytes) {
    str s = {0};
    put_header(&s, 1, 0);
    put_tensor(&s, "w", rank, dim, type, offset);
    pad(&s, 32);
    put_zeros(&s, data_bytes);
    return s;
}

/* ---- a good file
 * ----------------------------------------------------------------------------------------- */

/* About 2 KB: all metadata types, a string array, three tensors; nothing after the last tensor's
 * last byte. */
static str good_file(void) {
    static const uint64_t dim_a[] = {4, 3, 2}, dim_b[] = {64}, dim_c[] = {33};
    str s = {0};
    put_header(&s, 3, 16);
    put_key(&s, "general.architecture", GGUF_STRING), put_string(&s, "test");
    put_key(&s, "t.u8", GGUF_U8), put(&s, "\xFE", 1);
    put_key(&s, "t.i8", GGUF_I8), put(&s, "\xFE", 1);
    put_key(&s, "t.u16", GGUF_U16), put(&s, "\xFE\xFF", 2);
    put_key(&s, "t.i16", GGUF_I16), put(&s, "\xFE\xFF", 2);
    put_key(&s, "t.u32", GGUF_U32), put(&s, "\xFE\xFF\xFF\xFF", 4);
    put_key(&s, "t.i32", GGUF_I32), put(&s, "\xFE\xFF\xFF\xFF", 4);
    put_key(&s, "t.f32", GGUF_F32), put(&s, &(float){0.1F}, 4);
    put_key(&s, "t.bool", GGUF_BOOL), put(&s, "\x01", 1);
    put_key(&s, "t.u64", GGUF_U64), put_u64(&s, UINT64_MAX - 1);
    put_key(&s, "t.i64", GGUF_I64), put_u64(&s, (uint64_t)-2);
    put_key(&s, "t.f64", GGUF_F64), put(&s, &(double){0.1}, 8);
    put_key(&s, "t.strings", GGUF_ARRAY), put_u32(&s, GGUF_STRING), put_u64(&s, 70);
    for (int i = 0; i < 70; i++) {
        char text[8];
        snprintf(text, sizeof text, "s%.*s", i % 5, "abcd");
        put_string(&s, i == 69 ? "last" : text);
    }
    put_key(&s, "t.i16s", GGUF_ARRAY), put_u32(&s, GGUF_I16), put_u64(&s, 3);
    put(&s, (int16_t[]){-1, 2, -3}, 6);
    put_key(&s, "t.empty", GGUF_ARRAY), put_u32(&s, GGUF_STRING), put_u64(&s, 0);
    put_key(&s, "t.bools", GGUF_ARRAY), put_u32(&s, GGUF_BOOL), put_u64(&s, 2), put(&s, "\0\1", 2);
    put_tensor(&s, "a", 3, dim_a, WEFT_F32, 0);
    put_tensor(&s, "b", 1, dim_b, WEFT_Q4_0, 128);
    put_tensor(&s, "c", 1, dim_c, WEFT_F16, 96 + 32 + 64);
    pad(&s, 32);
    for (int i = 0; i < 24; i++) put(&s, &(float){(float)i}, 4);
    put_zeros(&s, 32 + 64);
    for (int i = 0; i < 33; i++) put(&s, "\x00\x3C", 2);
    return s;
}

static void every_type_is_read(void **state) {
    (void)state;
    str s = good_file();
    gguf_file *f = accepted(&s);
    weft_status status = WEFT_OK;
    uint64_t u;
    int64_t i;
    double d;
    bool b;
    gguf_string text;
    assert_int_equal(gguf_version(f), 3);
    assert_int_equal(gguf_n_values(f), 16);
    assert_int_equal(gguf_n_tensors(f), 3);
    const struct {
        const char *key;
        int64_t value;
    } integers[] = {{"t.u8", 254}, {"t.i8", -2},          {"t.u16", 65534}, {"t.i16", -2},
                    {"t.i32", -2}, {"t.u32", 4294967294}, {"t.i64", -2}};
    for (size_t k = 0; k < sizeof integers / sizeof *integers; k++) {
        assert_true(gguf_get_i64(f, integers[k].key, &i, &status));
        assert_int_equal(i, integers[k].value);
        assert_true(gguf_get_f64(f, integers[k].key, &d, &status));
        assert_true(d == (double)integers[k].value);
    }
    assert_true(gguf_get_u64(f, "t.u64", &u, &status) && u == UINT64_MAX - 1);
    assert_true(gguf_get_f64(f, "t.f32", &d, &status) && d == (double)0.1F);
    assert_true(gguf_get_f64(f, "t.f64", &d, &status) && d == 0.1);
    assert_true(gguf_get_bool(f, "t.bool", &b, &status) && b);
    assert_true(gguf_get_string(f, "general.architecture", &text, &status) && text.n == 4);
    assert_memory_equal(text.data, "test", 4);
    assert_int_equal(status, WEFT_OK);
    assert_false(gguf_get_u64(f, "absent", &u, &status));
    assert_int_equal(status, WEFT_OK);
    gguf_close(f);
}

static void arrays_are_read(void **state) {
    (void)state;
    str s = good_file();
    gguf_file *f = accepted(&s);
    const gguf_value *v = gguf_find(f, "t.strings");
    assert_true(v && v->type == GGUF_ARRAY && v->element_type == GGUF_STRING && v->n == 70);
    for (uint64_t i = 0; i < 69; i++) {
        gguf_string text = gguf_string_at(f, v, i);
        assert_int_equal(text.n, 1 + i % 5);
        assert_memory_equal(text.data, "sabcd", text.n);
    }
    assert_memory_equal(gguf_string_at(f, v, 69).data, "last", 4);
    assert_int_equal(gguf_string_at(f, v, 70).n, 0);
    v = gguf_find(f, "t.i16s");
    assert_int_equal(gguf_integer_at(v, 0), -1);
    assert_int_equal(gguf_integer_at(v, 2), -3);
    assert_true(gguf_number_at(v, 1) == 2.0);
    assert_int_equal(gguf_find(f, "t.empty")->n, 0);
    assert_int_equal(gguf_string_at(f, gguf_find(f, "t.empty"), 0).n, 0);
    assert_int_equal(gguf_integer_at(gguf_find(f, "t.bools"), 1), 1);
    gguf_close(f);
}

static void tensors_are_placed(void **state) {
    (void)state;
    str s = good_file();
    gguf_file *f = accepted(&s);
    const gguf_tensor *a = gguf_find_tensor(f, "a"), *c = gguf_find_tensor(f, "c");
    assert_ptr_equal(a, gguf_tensor_at(f, 0));
    assert_true(a->rank == 3 && a->dim[0] == 2 && a->dim[1] == 3 && a->dim[2] == 4);
    assert_int_equal(a->bytes, 96);
    assert_true(((const float *)a->data)[23] == 23.0F);
    assert_true(c->dtype == WEFT_F16 && ((const uint16_t *)c->data)[32] == 0x3C00);
    assert_null(gguf_find_tensor(f, "d"));
    assert_null(gguf_tensor_at(f, 3));
    assert_null(gguf_value_at(f, 16));
    gguf_close(f);
}

static void wrong_kinds_are_named(void **state) {
    (void)state;
    str s = good_file();
    gguf_file *f = accepted(&s);
    weft_status status = WEFT_OK;
    uint64_t u;
    int64_t i;
    double d;
    bool b;
    gguf_string text;
    assert_false(gguf_get_u64(f, "t.f32", &u, &status));
    assert_fails(status, WEFT_FORMAT, "key 't.f32' is of type f32, expected an integer");
    assert_false(gguf_get_u64(f, "t.i8", &u, &status));
    assert_fails(status, WEFT_FORMAT, "key 't.i8' is -2, expected 0 or more");
    assert_false(gguf_get_i64(f, "t.u64", &i, &status));
    assert_fails(status, WEFT_FORMAT, "t.u64");
    assert_false(gguf_get_f64(f, "t.strings", &d, &status));
    assert_fails(status, WEFT_FORMAT, "array of string, expected a number");
    assert_false(gguf_get_bool(f, "t.u8", &b, &status));
    assert_fails(status, WEFT_FORMAT, "u8, expected bool");
    assert_false(gguf_get_string(f, "t.bool", &text, &status));
    assert_fails(status, WEFT_FORMAT, "bool, expected string");
    gguf_close(f);
}

/* ---- bad files (names of the public reports' groups: dimensions, lengths, alignment, places,
 * kinds) -------- */

static void wrapping_dimensions_are_refused(void **state) { /* G2-01 */
    (void)state;
    static const struct {
        uint32_t type;
        uint64_t dim[2];
    } cases[] = {
        {WEFT_F32, {UINT64_MAX, 2}},          {WEFT_I8, {INT64_MAX, 2}},
        {WEFT_F32, {1ULL << 32, 1ULL << 32}}, {WEFT_F16, {1ULL << 62, 4}},
        {WEFT_Q4_0, {(1ULL << 63) - 32, 1}},  {WEFT_F32, {4, (1ULL << 42) + 1}},
        {WEFT_F32, {1ULL << 62, 1}},          {WEFT_F32, {0, UINT64_MAX}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        str s = one_tensor(2, cases[i].dim, cases[i].type, 0, 64);
        refused(&s, "tensor 'w'");
    }
}

static void strings_past_the_end_are_refused(void **state) { /* G2-02 */
    (void)state;
    const uint64_t lengths[] = {UINT64_MAX, 1ULL << 63, 1ULL << 31, 5};
    for (size_t i = 0; i < 4; i++) {
        str s = {0};
        put_header(&s, 0, 1);
        put_u64(&s, lengths[i]), put(&s, "abcd", 4);
        refused(&s, "the key length claims");
        put_header(&s, 0, 1);
        put_key(&s, "k", GGUF_STRING), put_u64(&s, lengths[i]), put(&s, "abcd", 4);
        refused(&s, "key 'k': the string length claims");
        put_header(&s, 1, 0);
        put_u64(&s, lengths[i]), put(&s, "abcd", 4);
        refused(&s, "the tensor name claims");
        put_header(&s, 0, 1);
        put_key(&s, "k", GGUF_ARRAY), put_u32(&s, GGUF_STRING), put_u64(&s, 1);
        put_u64(&s, lengths[i]), put(&s, "abcd", 4);
        refused(&s, "element 0: the string length claims");
        put_header(&s, 0, 1);
        put_key(&s, "k", GGUF_ARRAY), put_u32(&s, GGUF_U32), put_u64(&s, lengths[i]);
        put(&s, "abcd", 4);
        refused(&s, "key 'k': the value claims");
        put_header(&s, 0, 1);
        put_key(&s, "k", GGUF_ARRAY), put_u32(&s, GGUF_STRING), put_u64(&s, lengths[i]);
        refused(&s, "key 'k': the array claims");
    }
    str s = {0};
    put(&s, "GGUF\1\0\0\0", 8), put_u64(&s, 0), put_u64(&s, 1), put_u32(&s, 0);
    refused(&s, "version 1");
}

static void counts_are_limited(void **state) {
    (void)state;
    str s = {0};
    put_header(&s, UINT64_MAX, 0);
    refused(&s, "tensor count");
    put_header(&s, 0, UINT64_MAX);
    refused(&s, "key count");
    put_header(&s, 1, 0);
    refused(&s, "tensor record 1 of 1: the file ends inside the tensor name");
    put_header(&s, 0, 2);
    put_key_u32(&s, "k", 1), put_key_u32(&s, "k", 2);
    refused(&s, "the key 'k' appears twice");
    put_header(&s, 2, 0);
    for (int i = 0; i < 2; i++) put_tensor(&s, "w", 1, (uint64_t[]){8}, WEFT_F32, (uint64_t)i * 32);
    pad(&s, 32), put_zeros(&s, 64);
    refused(&s, "tensor 'w': the name appears twice");
    put_header(&s, 0, 1);
    put_key(&s, "k", GGUF_BOOL), put(&s, "\x02", 1);
    refused(&s, "a bool is 2");
}

static str aligned_file(uint32_t alignment, size_t pad_to) {
    str s = {0};
    put_header(&s, 1, 1);
    put_key_u32(&s, "general.alignment", alignment);
    put_tensor(&s, "w", 1, (uint64_t[]){2}, WEFT_F32, 0);
    pad(&s, pad_to);
    put(&s, (float[]){1.5F, -2.5F}, 8);
    return s;
}

static void alignment_is_a_power_of_two(void **state) { /* G2-04 */
    (void)state;
    const uint32_t bad[] = {0, 1, 2, 3, 4, 48, UINT32_MAX};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        str s = aligned_file(bad[i], 32);
        refused(&s, "general.alignment is ");
    }
    str s = {0};
    put_header(&s, 0, 1); /* the smallest case: 57 bytes */
    put_key_u32(&s, "general.alignment", 0);
    assert_int_equal(s.n, 57);
    refused(&s, "general.alignment is 0");
    put_header(&s, 0, 1);
    put_key(&s, "general.alignment", GGUF_STRING), put_string(&s, "x");
    refused(&s, "general.alignment");
    s = aligned_file(1U << 31, 32);
    refused(&s, "outside the file");
    const uint32_t good[] = {8, 64, 4096, 1U << 20};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        s = aligned_file(good[i], good[i]);
        gguf_file *f = accepted(&s);
        const float *w = gguf_find_tensor(f, "w")->data;
        assert_true(w[0] == 1.5F && w[1] == -2.5F);
        gguf_close(f);
    }
}

static void data_outside_the_file_is_refused(void **state) { /* G2-06 */
    (void)state;
    const uint64_t dim[] = {8};
    const uint64_t offsets[] = {64, 32, UINT64_MAX - 31, 1ULL << 63, 33, (1ULL << 63) + 32};
    for (size_t i = 0; i < sizeof offsets / sizeof *offsets; i++) {
        str s = one_tensor(1, dim, WEFT_F32, offsets[i], offsets[i] == 64 ? 80 : 32);
        refused(&s, "tensor 'w': its ");
    }
    str s = one_tensor(1, dim, WEFT_F32, 0, 31);
    refused(&s, "outside the file's 31 bytes");
    for (size_t trailing = 0; trailing < 3; trailing++) {
        s = one_tensor(1, dim, WEFT_F32, 0, 32 + 7 * trailing);
        gguf_close(accepted(&s));
    }
}

static str two_tensors(uint64_t first, uint64_t second, size_t data_bytes) {
    str s = {0};
    put_header(&s, 3, 0);
    put_tensor(&s, "x", 1, (uint64_t[]){16}, WEFT_F32, first);
    put_tensor(&s, "empty", 1, (uint64_t[]){0}, WEFT_F32, 0);
    put_tensor(&s, "y", 1, (uint64_t[]){16}, WEFT_F32, second);
    pad(&s, 32), put_zeros(&s, data_bytes);
    return s;
}

static void overlapping_tensors_are_refused(void **state) { /* G2-06 */
    (void)state;
    str s = two_tensors(0, 32, 96);
    refused(&s, "overlaps that of 'x'");
    s = two_tensors(32, 0, 96);
    refused(&s, "overlaps that of 'y'");
    s = two_tensors(0, 0, 64);
    refused(&s, "overlaps");
    s = two_tensors(64, 0, 128); /* out of order is fine */
    gguf_close(accepted(&s));
}

static void bad_kinds_are_refused(void **state) { /* G2-07 */
    (void)state;
    const uint64_t dim[16] = {8, 1, 1, 1, 1, 1, 1, 1, 1};
    const uint32_t ranks[] = {5, 9, UINT32_MAX};
    for (size_t i = 0; i < 3; i++) {
        str s = one_tensor(ranks[i], dim, WEFT_F32, 0, 32);
        refused(&s, "dimensions, the limit is 4");
    }
    const uint32_t unknown[] = {4, 5, 31, 32, 33, 36, 37, 38, 43, 63, 64, 1U << 31, UINT32_MAX};
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++) {
        str s = one_tensor(1, dim, unknown[i], 0, 32);
        refused(&s, "tensor type");
    }
    str s = one_tensor(1, (uint64_t[]){33}, WEFT_Q4_0, 0, 64);
    refused(&s, "a row of 33 elements is no whole number of q4_0 blocks (32)");
    s = one_tensor(1, (uint64_t[]){896}, WEFT_Q4_K, 0, 1024);
    refused(&s, "a row of 896 elements is no whole number of q4_k blocks (256)");
    const uint32_t types[] = {13, 99, UINT32_MAX};
    for (size_t i = 0; i < 3; i++) {
        put_header(&s, 0, 1);
        put_key(&s, "k", types[i]), put_zeros(&s, 64);
        refused(&s, "the value type is");
        put_header(&s, 0, 1);
        put_key(&s, "k", GGUF_ARRAY), put_u32(&s, types[i]), put_u64(&s, 1), put_zeros(&s, 64);
        refused(&s, "the array's element type is");
    }
    put_header(&s, 0, 1);
    put_key(&s, "k", GGUF_ARRAY);
    for (int i = 0; i < 10000; i++) put_u32(&s, GGUF_ARRAY), put_u64(&s, 1);
    refused(&s, "arrays of arrays");
}

static void scalars_and_empty_tensors_are_read(void **state) { /* G2-07 */
    (void)state;
    str s = one_tensor(0, NULL, WEFT_F32, 0, 4);
    gguf_file *f = accepted(&s);
    assert_true(gguf_tensor_at(f, 0)->rank == 0 && gguf_tensor_at(f, 0)->bytes == 4);
    gguf_close(f);
    s = one_tensor(0, NULL, WEFT_F32, 0, 3);
    refused(&s, "outside the file");
    s = one_tensor(0, NULL, WEFT_Q4_0, 0, 64);
    refused(&s, "a row of 1 elements");
    s = one_tensor(2, (uint64_t[]){4, 0}, WEFT_F32, 0, 0);
    f = accepted(&s);
    assert_true(gguf_tensor_at(f, 0)->dim[0] == 0 && gguf_tensor_at(f, 0)->bytes == 0);
    gguf_close(f);
    put_header(&s, 0, 0);
    gguf_close(accepted(&s));
}

static void headers_are_checked(void **state) { /* G2-08 */
    (void)state;
    const struct {
        const char *start, *part;
    } cases[] = {{"GGUf\3\0\0\0", "first four bytes"},
                 {"GGUF\0\0\0\0", "version 0"},
                 {"GGUF\1\0\0\0", "version 1"},
                 {"GGUF\4\0\0\0", "version 4"},
                 {"GGUF\0\0\0\3", "byte order"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        str s = {0};
        put(&s, cases[i].start, 8), put_u64(&s, 0), put_u64(&s, 0);
        refused(&s, cases[i].part);
    }
    str s = {0};
    put(&s, "GGUF\2\0\0\0", 8), put_u64(&s, 0), put_u64(&s, 0);
    gguf_close(accepted(&s));
    gguf_file *f;
    assert_fails(gguf_open("/tmp", &f), WEFT_IO, "/tmp");
    assert_fails(gguf_open("/dev/null", &f), WEFT_IO, "/dev/null");
    assert_fails(gguf_open("/nowhere/x.gguf", &f), WEFT_IO, "/nowhere/x.gguf");
    assert_fails(gguf_open_memory("", 0, &f), WEFT_FORMAT, "empty");
    write_disk(&(str){0});
    assert_fails(gguf_open(disk_path, &f), WEFT_FORMAT, "empty");
}

/* ---- all of them
 * ----------------------------------------------------------------------------------------- */

static void every_prefix_is_refused(void **state) { /* G2-08 */
    (void)state;
    str s = good_file();
    assert_true(s.n > 1500 && s.n < 2500);
    for (size_t n = 0; n < s.n; n++) {
        gguf_file *f;
        void *copy;
        if (open_copy(s.data, n, &f, &copy) == WEFT_OK) fail_msg("%zu of %zu bytes load", n, s.n);
        assert_true(weft_message()[0]);
        free(copy);
    }
    str_free(&s);
}

/* Reads all that a file offers, so that a sanitizer sees every byte touched. */
static uint64_t touch(const gguf_file *f) {
    uint64_t sum = 0;
    for (size_t i = 0; i < gguf_n_values(f); i++) {
        const gguf_value *v = gguf_value_at(f, i);
        for (uint64_t k = 0; k < v->n; k++) {
            gguf_string t = gguf_string_at(f, v, k);
            sum += (uint64_t)gguf_integer_at(v, k) + hash_bytes(t.data, t.n, 1);
        }
    }
    for (size_t i = 0; i < gguf_n_tensors(f); i++) {
        const gguf_tensor *t = gguf_tensor_at(f, i);
        sum += hash_bytes(t->name.data, t->name.n, 0) + hash_bytes(t->data, t->bytes, 0);
    }
    return sum;
}

static void every_changed_byte_is_survived(void **state) { /* G2-08 */
    (void)state;
    str s = good_file();
    const char values[] = {0, 0x7F, (char)0xFF};
    uint64_t n_loaded = 0, sum = 0;
    for (size_t i = 0; i < 3 * s.n; i++) {
        char was = s.data[i / 3];
        s.data[i / 3] = values[i % 3];
        gguf_file *f;
        void *copy;
        if (open_copy(s.data, s.n, &f, &copy) == WEFT_OK) {
            sum += touch(f);
            n_loaded++;
        }
        gguf_close(f);
        free(copy);
        s.data[i / 3] = was;
    }
    assert_true(n_loaded > 100 && n_loaded < 3 * s.n && sum);
    str_free(&s);
}

static void every_failing_allocation_is_survived(void **state) {
    (void)state;
    str s = good_file();
    write_disk(&s);
    gguf_file *f;
    mem_fail_at(0);
    assert_ok(gguf_open(disk_path, &f));
    uint64_t n = mem_fail_at(0);
    gguf_close(f);
    assert_true(n >= 5);
    for (uint64_t k = 1; k <= n; k++) {
        mem_fail_at(k);
        assert_fails(gguf_open(disk_path, &f), WEFT_NO_MEMORY, "out of memory");
        assert_null(f);
    }
    mem_fail_at(0);
    str_free(&s);
}

static void memory_stays_small(void **state) {
    (void)state;
    struct rusage before, after;
    getrusage(RUSAGE_SELF, &before);
    str s = {0};
    put_header(&s, 1U << 18, 1);
    put_key(&s, "k", GGUF_ARRAY), put_u32(&s, GGUF_STRING), put_u64(&s, 1U << 20);
    put_zeros(&s, 8U << 20);
    refused(&s, "tensor record 1 of");
    getrusage(RUSAGE_SELF, &after);
    assert_true(after.ru_maxrss - before.ru_maxrss < 64 << 10); /* KiB */
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_type_is_read),
        cmocka_unit_test(arrays_are_read),
        cmocka_unit_test(tensors_are_placed),
        cmocka_unit_test(wrong_kinds_are_named),
        cmocka_unit_test(wrapping_dimensions_are_refused),
        cmocka_unit_test(strings_past_the_end_are_refused),
        cmocka_unit_test(counts_are_limited),
        cmocka_unit_test(alignment_is_a_power_of_two),
        cmocka_unit_test(data_outside_the_file_is_refused),
        cmocka_unit_test(overlapping_tensors_are_refused),
        cmocka_unit_test(bad_kinds_are_refused),
        cmocka_unit_test(scalars_and_empty_tensors_are_read),
        cmocka_unit_test(headers_are_checked),
        cmocka_unit_test(every_prefix_is_refused),
        cmocka_unit_test(every_changed_byte_is_survived),
        cmocka_unit_test(every_failing_allocation_is_survived),
        cmocka_unit_test(memory_stays_small),
    };
    return cmocka_run_group_tests(tests, make_disk_path, remove_disk_path);
}
