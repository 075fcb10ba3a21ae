/* The GGUF writer, read back with the reader; and that nothing half-written is ever left.
 * SPDX-License-Identifier: MIT */
#include "gguf/gguf_write.h"

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "harness.h"

static char folder[64], path[96];

static int make_folder(void **state) {
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/weft_gguf_write_XXXXXX");
    if (!mkdtemp(folder)) return -1;
    snprintf(path, sizeof path, "%s/out.gguf", folder);
    return 0;
}

static int n_files(void) {
    int n = 0;
    DIR *d = opendir(folder);
    assert_non_null(d);
    for (struct dirent *e; (e = readdir(d));) n += e->d_name[0] != '.';
    closedir(d);
    return n;
}

static int remove_folder(void **state) {
    (void)state;
    unlink(path);
    return rmdir(folder); /* fails the group if anything else was left */
}

static gguf_string text(const char *t) { return (gguf_string){t, strlen(t)}; }

static const float data_a[6] = {0, 1, 2, 3, 4, 5};
static const uint8_t data_q[36] = {1, 2, 3};

/* Every metadata type, scalar and array, and four tensors, two of them empty. */
static weft_status fill_writer(gguf_writer *w) {
    static const gguf_type fixed[] = {GGUF_U8,  GGUF_I8,  GGUF_U16, GGUF_I16, GGUF_U32, GGUF_I32,
                                      GGUF_F32, GGUF_U64, GGUF_I64, GGUF_F64, GGUF_BOOL};
    static const uint64_t bits[3] = {0x0101010101010101U, 0x0001010101000101U, 1};
    char key[16];
    for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++) {
        snprintf(key, sizeof key, "s%d", fixed[i]);
        TRY(gguf_writer_set(w, key, fixed[i], false, bits, 1));
        snprintf(key, sizeof key, "a%d", fixed[i]);
        TRY(gguf_writer_set(w, key, fixed[i], true, bits, 3));
        snprintf(key, sizeof key, "e%d", fixed[i]);
        TRY(gguf_writer_set(w, key, fixed[i], true, bits, 0));
    }
    TRY(gguf_writer_set_string(w, "string", "old", 3));
    TRY(gguf_writer_set_string(w, "gone", "x", 1));
    TRY(gguf_writer_set_string(w, "string", "a\0b", 3));
    gguf_writer_remove(w, "gone");
    gguf_writer_remove(w, "absent");
    TRY(gguf_writer_set_strings(w, "strings", (gguf_string[]){text("x"), text(""), text("yz")}, 3));
    TRY(gguf_writer_tensor(w, text("none"), WEFT_F32, 2, (int64_t[]){0, 4}));
    TRY(gguf_writer_tensor(w, text("a"), WEFT_F32, 2, (int64_t[]){2, 3}));
    TRY(gguf_writer_tensor(w, text("q"), WEFT_Q4_0, 2, (int64_t[]){2, 32}));
    return gguf_writer_tensor(w, text("last"), WEFT_F16, 1, (int64_t[]){0});
}

static weft_status write_all(gguf_writer *w) {
    TRY(fill_writer(w));
    TRY(gguf_writer_begin(w, path));
    TRY(gguf_writer_data(w, data_a, 5));
    TRY(gguf_writer_data(w, (const char *)data_a + 5, sizeof data_a - 5));
    TRY(gguf_writer_data(w, data_q, sizeof data_q));
    return gguf_writer_end(w);
}

static weft_status write_file(uint32_t alignment) {
    gguf_writer *w;
    TRY(gguf_writer_new(alignment, &w));
    weft_status status = write_all(w);
    gguf_writer_free(w);
    return status;
}

static void check_file(uint32_t alignment) {
    gguf_file *f;
    assert_ok(gguf_open(path, &f));
    weft_status status = WEFT_OK;
    uint64_t n = 32;
    gguf_get_u64(f, "general.alignment", &n, &status);
    assert_int_equal(n, alignment);
    assert_int_equal(gguf_n_values(f), 35 + (alignment != 32));
    assert_null(gguf_find(f, "gone"));
    gguf_string s;
    assert_true(gguf_get_string(f, "string", &s, &status) && s.n == 3);
    assert_memory_equal(s.data, "a\0b", 3);
    assert_memory_equal(gguf_string_at(f, gguf_find(f, "strings"), 2).data, "yz", 2);
    assert_int_equal(gguf_integer_at(gguf_find(f, "s4"), 0), 0x01010101);
    assert_int_equal(gguf_integer_at(gguf_find(f, "a10"), 1), 0x0001010101000101);
    assert_int_equal(gguf_find(f, "e12")->n, 0);
    const gguf_tensor *a = gguf_find_tensor(f, "a"), *q = gguf_find_tensor(f, "q");
    assert_true(a->rank == 2 && a->dim[0] == 2 && a->dim[1] == 3);
    assert_memory_equal(a->data, data_a, sizeof data_a);
    assert_memory_equal(q->data, data_q, sizeof data_q);
    assert_int_equal(((const char *)q->data - (const char *)a->data) % alignment, 0);
    assert_int_equal(gguf_find_tensor(f, "none")->bytes, 0);
    gguf_close(f);
}

static void all_is_read_back(void **state) {
    (void)state;
    const uint32_t alignments[] = {32, 8, 64, 4096};
    for (size_t i = 0; i < 4; i++) {
        assert_ok(write_file(alignments[i]));
        check_file(alignments[i]);
        assert_int_equal(n_files(), 1);
    }
}

static void values_are_copied_bit_for_bit(void **state) {
    (void)state;
    assert_ok(write_file(64));
    gguf_file *f, *g;
    gguf_writer *w;
    assert_ok(gguf_open(path, &f));
    assert_ok(gguf_writer_new(0, &w));
    for (size_t i = 0; i < gguf_n_values(f); i++)
        assert_ok(gguf_writer_copy(w, gguf_value_at(f, i)));
    assert_ok(gguf_writer_begin(w, path));
    assert_ok(gguf_writer_end(w)); /* over the file that is still open */
    gguf_writer_free(w);
    assert_ok(gguf_open(path, &g));
    assert_int_equal(gguf_n_values(g) + 1, gguf_n_values(f)); /* the alignment is not taken over */
    for (size_t i = 0; i < gguf_n_values(g); i++) {
        const gguf_value *x = gguf_value_at(f, i + 1), *y = gguf_value_at(g, i);
        assert_true(x->type == y->type && x->element_type == y->element_type && x->n == y->n);
        assert_int_equal(gguf_value_bytes(x), gguf_value_bytes(y));
        assert_memory_equal(x->data, y->data, gguf_value_bytes(x));
    }
    gguf_close(f);
    gguf_close(g);
}

static void misuse_is_refused(void **state) {
    (void)state;
    gguf_writer *w;
    assert_fails(gguf_writer_new(48, &w), WEFT_INVALID, "alignment 48");
    assert_fails(gguf_writer_new(4, &w), WEFT_INVALID, "alignment 4");
    assert_ok(gguf_writer_new(0, &w));
    assert_fails(gguf_writer_set(w, "k", GGUF_STRING, false, "", 1), WEFT_INVALID, "'k'");
    assert_fails(gguf_writer_set(w, "k", GGUF_U32, false, "", 2), WEFT_INVALID, "'k'");
    assert_fails(gguf_writer_tensor(w, text("t"), WEFT_Q4_0, 1, (int64_t[]){33}), WEFT_INVALID,
                 "33");
    assert_fails(gguf_writer_tensor(w, text("t"), WEFT_F32, 2, (int64_t[]){1LL << 40, 1LL << 40}),
                 WEFT_INVALID, "'t'");
    assert_fails(gguf_writer_tensor(w, text("t"), (weft_dtype)5, 1, (int64_t[]){1}), WEFT_INVALID,
                 "dtype 5");
    assert_fails(gguf_writer_tensor(w, text("t"), WEFT_F32, 5, (int64_t[5]){0}), WEFT_INVALID,
                 "rank 5");
    assert_fails(gguf_writer_data(w, "x", 1), WEFT_INVALID, "gguf_writer_begin");
    assert_ok(gguf_writer_tensor(w, text("t"), WEFT_F32, 1, (int64_t[]){2}));
    assert_fails(gguf_writer_tensor(w, text("t"), WEFT_F32, 1, (int64_t[]){2}), WEFT_INVALID,
                 "twice");
    assert_fails(gguf_writer_begin(w, "/nowhere/x.gguf"), WEFT_IO, "/nowhere/x.gguf");
    unlink(path);
    assert_ok(gguf_writer_begin(w, path));
    assert_fails(gguf_writer_begin(w, path), WEFT_INVALID, "already");
    assert_fails(gguf_writer_set_u32(w, "k", 1), WEFT_INVALID, "before");
    assert_fails(gguf_writer_data(w, data_a, 12), WEFT_INVALID, "'t' holds 8 bytes");
    assert_ok(gguf_writer_data(w, data_a, 4));
    assert_fails(gguf_writer_end(w), WEFT_INVALID, "'t' are missing");
    assert_int_equal(access(path, F_OK), -1); /* nothing under its name before the end */
    assert_int_equal(n_files(), 1);
    gguf_writer_free(w);
    assert_int_equal(n_files(), 0);
    gguf_writer_free(NULL);
}

static void an_older_file_survives_a_failure(void **state) {
    (void)state;
    assert_ok(write_file(32));
    mem_fail_at(0);
    assert_ok(write_file(32));
    uint64_t n = mem_fail_at(0);
    assert_true(n > 20);
    for (uint64_t k = 1; k <= n; k++) {
        mem_fail_at(k);
        assert_fails(write_file(64), WEFT_NO_MEMORY, "out of memory");
        mem_fail_at(0);
        assert_int_equal(n_files(), 1);
        check_file(32);
    }
}

static void a_failed_write_is_reported(void **state) {
    (void)state;
    file_writer w;
    assert_fails(file_writer_open(&w, "/proc/version/x"), WEFT_IO, "/proc/version/x");
    assert_fails(file_writer_append(&w, "x", 1), WEFT_INVALID, "not open");
    assert_fails(file_writer_commit(&w), WEFT_INVALID, "not open");
}

/* Renaming over a device would take it from the whole machine. */
static void only_files_are_replaced(void **state) {
    (void)state;
    file_writer w;
    char name[128], link[128];
    struct stat st;
    int n = n_files();
    snprintf(name, sizeof name, "%s/odd", folder);
    snprintf(link, sizeof link, "%s/link", folder);
    assert_int_equal(symlink(name, link), 0);
    assert_int_equal(mkdir(name, 0700), 0);
    assert_fails(file_writer_open(&w, name), WEFT_IO, "it is a folder");
    assert_int_equal(rmdir(name), 0);
    assert_int_equal(mkfifo(name, 0600), 0);
    assert_fails(file_writer_open(&w, name), WEFT_IO, "it is not a regular file");
    assert_fails(file_writer_open(&w, link), WEFT_IO, "it is not a regular file");
    assert_int_equal(stat(name, &st), 0);
    assert_true(S_ISFIFO(st.st_mode));
    unlink(name);
    assert_ok(file_writer_open(&w, name)); /* one that turns up while it is written */
    assert_ok(file_writer_append(&w, "x", 1));
    assert_int_equal(mkdir(name, 0700), 0);
    assert_fails(file_writer_commit(&w), WEFT_IO, name);
    rmdir(name);
    unlink(link);
    assert_int_equal(n_files(), n);
}

/* ---- a model in parts
 * ------------------------------------------------------------------------------------- */

static const char *part_path(int part, int count) {
    static char name[128];
    snprintf(name, sizeof name, "%s/m-%05d-of-%05d.gguf", folder, part, count);
    return name;
}

/* Part `no` (from 0) of `count` says so, has one tensor `name` and is written where `where` says.
 */
static void write_part(const char *where, uint16_t no, uint16_t count, int32_t total,
                       const char *name) {
    gguf_writer *w;
    assert_ok(gguf_writer_new(0, &w));
    assert_ok(gguf_writer_set(w, "split.no", GGUF_U16, false, &no, 1));
    assert_ok(gguf_writer_set(w, "split.count", GGUF_U16, false, &count, 1));
    assert_ok(gguf_writer_set(w, "split.tensors.count", GGUF_I32, false, &total, 1));
    if (no == 0) assert_ok(gguf_writer_set_string(w, "general.name", "whole", 5));
    assert_ok(gguf_writer_tensor(w, text(name), WEFT_F32, 1, (int64_t[]){1}));
    assert_ok(gguf_writer_begin(w, where));
    assert_ok(gguf_writer_data(w, &(float){(float)no}, 4));
    assert_ok(gguf_writer_end(w));
    gguf_writer_free(w);
}

static void write_three_parts(void) {
    const char *names[] = {"x", "y", "z"};
    for (uint16_t i = 0; i < 3; i++) write_part(part_path(i + 1, 3), i, 3, 3, names[i]);
}

static void remove_parts(void) {
    for (int i = 1; i <= 3; i++) unlink(part_path(i, 3));
}

static void parts_are_read_as_one(void **state) {
    (void)state;
    write_three_parts();
    for (int opened = 1; opened <= 3; opened++) {
        gguf_file *f;
        gguf_string name;
        weft_status status = WEFT_OK;
        assert_ok(gguf_open(part_path(opened, 3), &f));
        assert_int_equal(gguf_n_tensors(f), 3);
        assert_true(*(const float *)gguf_find_tensor(f, "x")->data == 0.0F);
        assert_true(*(const float *)gguf_find_tensor(f, "z")->data == 2.0F);
        assert_true(gguf_get_string(f, "general.name", &name, &status) && name.n == 5);
        gguf_close(f);
    }
    remove_parts();
}

static void bad_parts_are_refused(void **state) {
    (void)state;
    gguf_file *f;
    write_three_parts();
    unlink(part_path(2, 3));
    assert_fails(gguf_open(part_path(1, 3), &f), WEFT_IO, "m-00002-of-00003.gguf");
    assert_null(f);
    write_part(part_path(2, 3), 1, 2, 3, "y");
    assert_fails(gguf_open(part_path(3, 3), &f), WEFT_FORMAT, "split.count is 2");
    write_part(part_path(2, 3), 2, 3, 3, "y");
    assert_fails(gguf_open(part_path(1, 3), &f), WEFT_FORMAT, "split.no is 2");
    write_part(part_path(2, 3), 1, 3, 3, "x");
    assert_fails(gguf_open(part_path(1, 3), &f), WEFT_FORMAT, "tensor 'x' is in two parts");
    write_part(part_path(2, 3), 1, 3, 3, "y");
    write_part(part_path(1, 3), 0, 3, 4, "x");
    assert_fails(gguf_open(part_path(1, 3), &f), WEFT_FORMAT, "split.tensors.count is 4");
    write_part(path, 0, 3, 3, "x");
    assert_fails(gguf_open(path, &f), WEFT_FORMAT, "not named like");
    assert_null(f);
    char *data;
    size_t n;
    assert_ok(file_read(path, 1 << 20, &data, &n));
    assert_fails(gguf_open_memory(data, n, &f), WEFT_UNSUPPORTED, "one part");
    mem_free(data);
    remove_parts();
}

static void failing_allocations_between_parts(void **state) {
    (void)state;
    gguf_file *f;
    write_three_parts();
    mem_fail_at(0);
    assert_ok(gguf_open(part_path(2, 3), &f));
    uint64_t n = mem_fail_at(0);
    gguf_close(f);
    for (uint64_t k = 1; k <= n; k++) {
        mem_fail_at(k);
        assert_fails(gguf_open(part_path(2, 3), &f), WEFT_NO_MEMORY, "out of memory");
        assert_null(f);
    }
    mem_fail_at(0);
    remove_parts();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_is_read_back),
        cmocka_unit_test(values_are_copied_bit_for_bit),
        cmocka_unit_test(misuse_is_refused),
        cmocka_unit_test(an_older_file_survives_a_failure),
        cmocka_unit_test(a_failed_write_is_reported),
        cmocka_unit_test(only_files_are_replaced),
        cmocka_unit_test(parts_are_read_as_one),
        cmocka_unit_test(bad_parts_are_refused),
        cmocka_unit_test(failing_allocations_between_parts),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
