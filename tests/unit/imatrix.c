/* Importance matrices of both kinds, good and bad. SPDX-License-Identifier: MIT */
#include "gguf/imatrix.h"

#include <math.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/str.h"
#include "gguf/gguf_write.h"
#include "harness.h"

static char path[64];

static int make_path(void **state) {
    (void)state;
    snprintf(path, sizeof path, "/tmp/weft_imatrix_%ld", (long)getpid());
    return 0;
}

static int remove_path(void **state) {
    (void)state;
    unlink(path);
    return 0;
}

static void put(str *s, const void *bytes, size_t n) { assert_ok(str_append(s, bytes, n)); }
static void put_i32(str *s, int32_t v) { put(s, &v, sizeof v); }

static void put_entry(str *s, const char *name, int32_t n_calls, int32_t n, const float *sums) {
    put_i32(s, (int32_t)strlen(name));
    put(s, name, strlen(name));
    put_i32(s, n_calls);
    put_i32(s, n);
    put(s, sums, (size_t)n * sizeof *sums);
}

static str good_binary(void) {
    str s = {0};
    put_i32(&s, 2);
    put_entry(&s, "blk.0.a.weight", 2, 3, (float[]){2, 4, 6});
    put_entry(&s, "blk.0.b.weight", 0, 2, (float[]){5, 0});
    put_i32(&s, 7), put_i32(&s, 4), put(&s, "data", 4);
    return s;
}

static void write_gguf(const float *sums, const float *counts, size_t n_counts,
                       const char *counts_name) {
    gguf_writer *w;
    assert_ok(gguf_writer_new(0, &w));
    assert_ok(gguf_writer_set_string(w, "general.type", "imatrix", 7));
    assert_ok(gguf_writer_tensor(w, (gguf_string){"a.weight.in_sum2", 16}, WEFT_F32, 2,
                                 (int64_t[]){2, 3}));
    assert_ok(gguf_writer_tensor(w, (gguf_string){counts_name, strlen(counts_name)}, WEFT_F32, 2,
                                 (int64_t[]){(int64_t)n_counts, 1}));
    assert_ok(gguf_writer_begin(w, path));
    assert_ok(gguf_writer_data(w, sums, 6 * sizeof *sums));
    assert_ok(gguf_writer_data(w, counts, n_counts * sizeof *counts));
    assert_ok(gguf_writer_end(w));
    gguf_writer_free(w);
}

static void binary_files_are_read(void **state) {
    (void)state;
    str s = good_binary();
    imatrix *m;
    assert_ok(imatrix_open_memory(s.data, s.n, &m));
    assert_int_equal(imatrix_count(m), 2);
    const imatrix_entry *a = imatrix_find(m, "blk.0.a.weight", 14);
    assert_ptr_equal(a, imatrix_at(m, 0));
    assert_true(a->n == 3 && a->values[0] == 1.0F && a->values[2] == 3.0F);
    assert_true(imatrix_at(m, 1)->values[0] == 5.0F); /* no calls: as they are */
    assert_null(imatrix_find(m, "c", 1));
    assert_null(imatrix_at(m, 2));
    imatrix_close(m);
    str_free(&s);
}

static void gguf_files_are_read(void **state) {
    (void)state;
    imatrix *m;
    write_gguf((float[]){2, 4, 6, 1, 1, 1}, (float[]){2, 0}, 2, "a.weight.counts");
    assert_ok(imatrix_open(path, &m));
    const imatrix_entry *a = imatrix_find(m, "a.weight", 8);
    assert_true(a && a->n == 6 && a->values[1] == 2.0F && a->values[5] == 1.0F);
    imatrix_close(m);
    write_gguf((float[]){2, 4, 6, 1, 1, NAN}, (float[]){2, 1}, 2, "a.weight.counts");
    assert_fails(imatrix_open(path, &m), WEFT_FORMAT, "value 5 of entry 'a.weight'");
    write_gguf((float[6]){0}, (float[4]){1}, 4, "a.weight.counts");
    assert_fails(imatrix_open(path, &m), WEFT_FORMAT, "6 sums and 4 counts");
    write_gguf((float[6]){0}, (float[4]){1}, 1, "b.counts");
    assert_fails(imatrix_open(path, &m), WEFT_FORMAT, "'a.weight.counts' is missing");
    assert_fails(imatrix_open("/nowhere", &m), WEFT_IO, "/nowhere");
}

static void bad_binary_files_are_refused(void **state) {
    (void)state;
    str good = good_binary();
    imatrix *m;
    size_t whole = good.n - 12;
    for (size_t n = 0; n < whole; n++) {
        void *copy = malloc(n + 1);
        memcpy(copy, good.data, n);
        assert_fails(imatrix_open_memory(copy, n, &m), WEFT_FORMAT, "e");
        assert_null(m);
        free(copy);
    }
    const struct {
        int32_t n_entries, calls, n;
        float value;
        const char *name, *part;
    } cases[] = {
        {0, 1, 1, 1, "a", "number of entries is 0"},
        {-1, 1, 1, 1, "a", "number of entries is -1"},
        {INT32_MAX, 1, 1, 1, "a", "number of entries"},
        {2, 1, 1, 1, "a", "entry 2 of 2"},
        {1, 1, 1, -1, "a", "value 0 of entry 'a' is -1"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        str s = {0};
        put_i32(&s, cases[i].n_entries);
        put_entry(&s, cases[i].name, cases[i].calls, cases[i].n, &cases[i].value);
        assert_fails(imatrix_open_memory(s.data, s.n, &m), WEFT_FORMAT, cases[i].part);
        str_free(&s);
    }
    const int32_t lengths[] = {-1, INT32_MAX, 5000};
    for (size_t i = 0; i < 3; i++) {
        str s = {0};
        put_i32(&s, 1), put_i32(&s, lengths[i]), put(&s, "abcdefgh", 8);
        assert_fails(imatrix_open_memory(s.data, s.n, &m), WEFT_FORMAT, "the name's length is");
        str_free(&s);
        put_i32(&s, 1), put_i32(&s, 1), put(&s, "a", 1), put_i32(&s, 1), put_i32(&s, lengths[i]);
        assert_fails(imatrix_open_memory(s.data, s.n, &m), WEFT_FORMAT, "the number of values is");
        str_free(&s);
    }
    str_free(&good);
}

static void changed_bytes_are_survived(void **state) {
    (void)state;
    write_gguf((float[]){2, 4, 6, 1, 1, 1}, (float[]){2, 0}, 2, "a.weight.counts");
    for (int kind = 0; kind < 2; kind++) {
        str s = good_binary();
        if (kind) {
            str_free(&s);
            assert_ok(file_read(path, 1 << 20, &s.data, &s.n));
        }
        for (size_t i = 0; i < 3 * s.n; i++) {
            char was = s.data[i / 3];
            s.data[i / 3] = (char[]){0, 0x7F, (char)0xFF}[i % 3];
            imatrix *m;
            if (imatrix_open_memory(s.data, s.n, &m) == WEFT_OK) assert_true(imatrix_count(m) > 0);
            imatrix_close(m);
            s.data[i / 3] = was;
        }
        str_free(&s);
    }
}

static void failing_allocations_are_survived(void **state) {
    (void)state;
    write_gguf((float[]){2, 4, 6, 1, 1, 1}, (float[]){2, 0}, 2, "a.weight.counts");
    imatrix *m;
    mem_fail_at(0);
    assert_ok(imatrix_open(path, &m));
    uint64_t n = mem_fail_at(0);
    imatrix_close(m);
    for (uint64_t k = 1; k <= n; k++) {
        mem_fail_at(k);
        assert_fails(imatrix_open(path, &m), WEFT_NO_MEMORY, "out of memory");
    }
    mem_fail_at(0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(binary_files_are_read),
        cmocka_unit_test(gguf_files_are_read),
        cmocka_unit_test(bad_binary_files_are_refused),
        cmocka_unit_test(changed_bytes_are_survived),
        cmocka_unit_test(failing_allocations_are_survived),
    };
    return cmocka_run_group_tests(tests, make_path, remove_path);
}
