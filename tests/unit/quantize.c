/* weft_quantize on small models made here: which tensor gets which format, that the bytes are the
 * encoders', and what goes wrong. tools/check_mixes.py compares with llama.cpp over many models.
 * SPDX-License-Identifier: MIT */
#include <dirent.h>
#include <math.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"
#include "format/format.h"
#include "gguf/gguf_write.h"
#include "gguf/imatrix.h"
#include "harness.h"
#include "tensor/dtype.h"
#include "weft/llm.h"

static char folder[64], in_path[96], out_path[96], matrix_path[96];

static int make_folder(void **state) {
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/weft_quantize_XXXXXX");
    if (!mkdtemp(folder)) return -1;
    snprintf(in_path, sizeof in_path, "%s/in.gguf", folder);
    snprintf(out_path, sizeof out_path, "%s/out.gguf", folder);
    snprintf(matrix_path, sizeof matrix_path, "%s/m.dat", folder);
    return 0;
}

static int remove_folder(void **state) {
    (void)state;
    unlink(in_path), unlink(out_path), unlink(matrix_path);
    return rmdir(folder); /* fails the group if anything else was left */
}

/* ---- a model
 * ---------------------------------------------------------------------------------------------- */

enum { LAYERS = 16, ROW = 512 };

typedef struct shape {
    char name[48];
    int rank;
    int64_t dim[3];
} shape;

static int list_shapes(shape *out, int64_t row, bool is_tied) {
    static const char *const weights[] = {"attn_q", "attn_k",   "attn_v",  "attn_output",
                                          "ffn_up", "ffn_gate", "ffn_down"};
    int n = 0;
    out[n++] = (shape){"token_embd.weight", 2, {8, row}};
    if (!is_tied) out[n++] = (shape){"output.weight", 2, {8, row}};
    out[n++] = (shape){"output_norm.weight", 1, {row}};
    for (int i = 0; i < LAYERS; i++) {
        for (size_t k = 0; k < sizeof weights / sizeof *weights; k++) {
            out[n] = (shape){"", 2, {3, row}};
            snprintf(out[n++].name, sizeof out->name, "blk.%d.%s.weight", i, weights[k]);
        }
        out[n] = (shape){"", 2, {2, row}};
        snprintf(out[n++].name, sizeof out->name, "blk.%d.ffn_gate_inp.weight", i);
    }
    return n;
}

static shape shapes[LAYERS * 8 + 8];
static const char *model_arch = "llama";

static void put_number(gguf_writer *w, const char *key, uint32_t value) {
    char full[64];
    snprintf(full, sizeof full, "%s.%s", model_arch, key);
    assert_ok(gguf_writer_set_u32(w, full, value));
}

static void put_model(gguf_writer *w, int n, float spoil) {
    static float data[8 * ROW];
    rng r = {5};
    assert_ok(gguf_writer_set_string(w, "general.architecture", model_arch, strlen(model_arch)));
    put_number(w, "block_count", LAYERS);
    put_number(w, "attention.head_count", 8);
    put_number(w, "attention.head_count_kv", 2);
    assert_ok(gguf_writer_set_u32(w, "split.count", 1));
    for (int i = 0; i < n; i++)
        assert_ok(gguf_writer_tensor(w, (gguf_string){shapes[i].name, strlen(shapes[i].name)},
                                     WEFT_F32, shapes[i].rank, shapes[i].dim));
    assert_ok(gguf_writer_begin(w, in_path));
    for (int i = 0; i < n; i++) {
        size_t elements = (size_t)(shapes[i].dim[0] * (shapes[i].rank > 1 ? shapes[i].dim[1] : 1));
        for (size_t k = 0; k < elements; k++) data[k] = (float)rng_normal(&r);
        if (i == n - 2) data[elements - 1] += spoil;
        assert_ok(gguf_writer_data(w, data, elements * sizeof *data));
    }
    assert_ok(gguf_writer_end(w));
}

static int make_model(int64_t row, bool is_tied, float spoil) {
    gguf_writer *w;
    int n = list_shapes(shapes, row, is_tied);
    assert_ok(gguf_writer_new(0, &w));
    put_model(w, n, spoil);
    gguf_writer_free(w);
    return n;
}

/* An importance for one tensor, of `n` values (i % 7). */
static void make_matrix(const char *name, int32_t n) {
    str s = {0};
    int32_t one = 1, name_bytes = (int32_t)strlen(name);
    assert_ok(str_append(&s, (const char *)&one, 4));
    assert_ok(str_append(&s, (const char *)&name_bytes, 4));
    assert_ok(str_text_append(&s, name));
    assert_ok(str_append(&s, (const char *)&one, 4));
    assert_ok(str_append(&s, (const char *)&n, 4));
    for (int32_t i = 0; i < n; i++)
        assert_ok(str_append(&s, (const char *)&(float){(float)(i % 7)}, 4));
    FILE *f = fopen(matrix_path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(s.data, 1, s.n, f), s.n);
    fclose(f);
    str_free(&s);
}

static gguf_file *quantized(weft_quantize_desc desc) {
    gguf_file *f;
    desc.n_threads = 2;
    assert_ok(weft_quantize(in_path, out_path, desc));
    assert_ok(gguf_open(out_path, &f));
    return f;
}

static const char *type_of(const gguf_file *f, const char *name) {
    const gguf_tensor *t = gguf_find_tensor(f, name);
    assert_non_null(t);
    return weft_dtype_name(t->dtype);
}

/* The tensor's bytes are what the encoder makes of the input's values. */
static void check_bytes(const gguf_file *f, const char *name, const float *importance) {
    gguf_file *in;
    assert_ok(gguf_open(in_path, &in));
    const gguf_tensor *t = gguf_find_tensor(f, name), *from = gguf_find_tensor(in, name);
    int64_t row = from->dim[from->rank - 1], row_bytes;
    assert_true(dtype_bytes(t->dtype, row, &row_bytes));
    for (int64_t r = 0; r < from->dim[0]; r++) {
        static uint8_t expected[ROW * 4];
        format_find(t->dtype)->encode((const float *)from->data + r * row, expected, row,
                                      importance);
        assert_memory_equal((const uint8_t *)t->data + r * row_bytes, expected, (size_t)row_bytes);
    }
    gguf_close(in);
}

/* ---- tests
 * ------------------------------------------------------------------------------------------------
 */

static void a_mixture_is_laid_out(void **state) {
    (void)state;
    make_model(ROW, false, 0);
    gguf_file *f = quantized((weft_quantize_desc){.type = "q4_k_m"});
    assert_string_equal(type_of(f, "output.weight"), "q6_k");
    assert_string_equal(type_of(f, "token_embd.weight"), "q4_k");
    assert_string_equal(type_of(f, "output_norm.weight"), "f32");
    assert_string_equal(type_of(f, "blk.0.ffn_gate_inp.weight"), "f32");
    /* More bits: the first and last two of 16 layers, and 4, 7, 10, 13 between. */
    const char *more = "1100100100100111";
    for (int i = 0; i < LAYERS; i++) {
        char name[48];
        snprintf(name, sizeof name, "blk.%d.attn_v.weight", i);
        assert_string_equal(type_of(f, name), more[i] == '1' ? "q6_k" : "q4_k");
        snprintf(name, sizeof name, "blk.%d.ffn_down.weight", i);
        assert_string_equal(type_of(f, name), more[i] == '1' ? "q6_k" : "q4_k");
        snprintf(name, sizeof name, "blk.%d.attn_q.weight", i);
        assert_string_equal(type_of(f, name), "q4_k");
    }
    check_bytes(f, "blk.3.attn_q.weight", NULL);
    check_bytes(f, "output.weight", NULL);
    uint64_t n = 0;
    weft_status status = WEFT_OK;
    assert_true(gguf_get_u64(f, "general.file_type", &n, &status) && n == 15);
    assert_true(gguf_get_u64(f, "general.quantization_version", &n, &status) && n == 2);
    assert_true(gguf_find(f, "llama.block_count") && !gguf_find(f, "split.count"));
    gguf_close(f);
}

static void options_change_the_layout(void **state) {
    (void)state;
    make_model(ROW, true, 0);
    gguf_file *f = quantized((weft_quantize_desc){.type = "Q2_K"});
    assert_string_equal(type_of(f, "token_embd.weight"), "q6_k"); /* it serves as output */
    assert_string_equal(type_of(f, "blk.0.attn_v.weight"), "q4_k");
    assert_string_equal(type_of(f, "blk.0.ffn_down.weight"), "q3_k");
    gguf_close(f);
    f = quantized((weft_quantize_desc){.type = "Q2_K", .output_type = "f16"});
    assert_string_equal(type_of(f, "token_embd.weight"), "f16");
    gguf_close(f);
    f = quantized((weft_quantize_desc){.type = "Q2_K", .is_pure = true});
    assert_string_equal(type_of(f, "token_embd.weight"), "q2_k");
    assert_string_equal(type_of(f, "blk.0.ffn_down.weight"), "q2_k");
    gguf_close(f);
    f = quantized((weft_quantize_desc){.type = "F16"});
    assert_string_equal(type_of(f, "blk.0.attn_v.weight"), "f16");
    assert_string_equal(type_of(f, "output_norm.weight"), "f32");
    gguf_close(f);
    make_model(96, false, 0); /* rows that are no multiple of 256, then none of 32 */
    f = quantized((weft_quantize_desc){.type = "Q4_K_M"});
    assert_string_equal(type_of(f, "blk.5.attn_q.weight"), "q5_0");
    assert_string_equal(type_of(f, "output.weight"), "q8_0");
    gguf_close(f);
    make_model(40, false, 0);
    f = quantized((weft_quantize_desc){.type = "IQ4_XS"});
    assert_string_equal(type_of(f, "blk.5.attn_q.weight"), "f16");
    gguf_close(f);
}

/* llama.cpp treats falcon's matrices in its own way; the same model under another name is plain. */
static void falcon_has_its_own_rules(void **state) {
    (void)state;
    const char *more = "1100100100100111";
    model_arch = "falcon";
    make_model(ROW, false, 0);
    model_arch = "llama";
    gguf_file *f = quantized((weft_quantize_desc){.type = "Q4_K_M"});
    assert_string_equal(type_of(f, "output.weight"), "q8_0");
    assert_string_equal(type_of(f, "blk.0.ffn_down.weight"), "q6_k");
    for (int i = 1; i < LAYERS; i++) {
        char name[48];
        snprintf(name, sizeof name, "blk.%d.ffn_down.weight", i);
        assert_string_equal(type_of(f, name), more[i] == '1' ? "q5_k" : "q4_k");
    }
    gguf_close(f);
    f = quantized((weft_quantize_desc){.type = "Q3_K_L"});
    assert_string_equal(type_of(f, "blk.5.attn_output.weight"), "q4_k");
    assert_string_equal(type_of(f, "blk.5.ffn_down.weight"), "q4_k");
    gguf_close(f);
    make_model(ROW, false, 0);
    f = quantized((weft_quantize_desc){.type = "Q3_K_L"});
    assert_string_equal(type_of(f, "blk.5.attn_output.weight"), "q5_k");
    assert_string_equal(type_of(f, "blk.5.ffn_down.weight"), "q5_k");
    gguf_close(f);
}

static void importance_reaches_the_encoder(void **state) {
    (void)state;
    static float importance[ROW];
    for (int i = 0; i < ROW; i++) importance[i] = (float)(i % 7);
    make_model(ROW, false, 0);
    make_matrix("blk.1.attn_k.weight", ROW);
    gguf_file *f = quantized((weft_quantize_desc){.type = "Q4_0", .imatrix = matrix_path});
    check_bytes(f, "blk.1.attn_k.weight", importance);
    check_bytes(f, "blk.2.attn_k.weight", NULL);
    assert_string_equal(type_of(f, "blk.0.ffn_down.weight"), "q4_1"); /* with a matrix only */
    assert_non_null(gguf_find(f, "quantize.imatrix.file"));
    gguf_close(f);
    make_matrix("blk.1.attn_k.weight", ROW - 1);
    assert_fails(weft_quantize(in_path, out_path,
                               (weft_quantize_desc){.type = "Q4_0", .imatrix = matrix_path}),
                 WEFT_FORMAT, "511 values for 'blk.1.attn_k.weight'");
}

static void every_type_is_written_and_read(void **state) {
    (void)state;
    int n = make_model(ROW, false, 0);
    size_t n_types = 0;
    for (; weft_quantize_type(n_types); n_types++) {
        gguf_file *f = quantized((weft_quantize_desc){.type = weft_quantize_type(n_types)});
        assert_int_equal(gguf_n_tensors(f), n);
        gguf_close(f);
    }
    assert_true(n_types > 35);
    /* An output over the input, and quantised again. */
    assert_ok(weft_quantize(in_path, in_path, (weft_quantize_desc){.type = "Q8_0"}));
    assert_ok(weft_quantize(in_path, in_path, (weft_quantize_desc){.type = "F32"}));
}

static bool stop_halfway(void *user, uint64_t done, uint64_t total) {
    *(uint64_t *)user = done;
    return done < total / 2;
}

static int n_files(void) {
    int n = 0;
    DIR *d = opendir(folder);
    assert_non_null(d);
    for (struct dirent *e; (e = readdir(d));) n += e->d_name[0] != '.';
    closedir(d);
    return n;
}

static void failures_leave_nothing(void **state) {
    (void)state;
    make_model(ROW, false, 0);
    unlink(out_path), unlink(matrix_path);
    uint64_t done = 0;
    weft_quantize_desc desc = {.type = "Q4_K_M", .on_progress = stop_halfway, .user = &done};
    assert_fails(weft_quantize(in_path, out_path, desc), WEFT_CANCELLED, "cancelled");
    assert_true(done > 0);
    assert_int_equal(n_files(), 1);
    desc = (weft_quantize_desc){.type = "Q9_9"};
    assert_fails(weft_quantize(in_path, out_path, desc), WEFT_INVALID, "'Q9_9'");
    desc = (weft_quantize_desc){.type = "Q4_0", .output_type = "x"};
    assert_fails(weft_quantize(in_path, out_path, desc), WEFT_INVALID, "'x' is no format");
    desc = (weft_quantize_desc){.type = "Q4_0", .output_type = "i32"};
    assert_fails(weft_quantize(in_path, out_path, desc), WEFT_UNSUPPORTED, "i32 cannot be written");
    desc = (weft_quantize_desc){.type = "Q4_0", .imatrix = "/nowhere"};
    assert_fails(weft_quantize(in_path, out_path, desc), WEFT_IO, "/nowhere");
    assert_fails(weft_quantize("/nowhere", out_path, (weft_quantize_desc){.type = "Q4_0"}), WEFT_IO,
                 "/nowhere");
    assert_fails(weft_quantize(in_path, NULL, desc), WEFT_INVALID, "must be given");
    make_model(ROW, false, INFINITY);
    assert_fails(weft_quantize(in_path, out_path, (weft_quantize_desc){.type = "Q4_0"}),
                 WEFT_FORMAT, "'blk.15.ffn_down.weight' holds a value that is not finite");
    assert_int_equal(n_files(), 1);
}

static void walk_allocations(weft_quantize_desc desc) {
    unlink(out_path);
    int n_before = n_files();
    mem_fail_at(0);
    assert_ok(weft_quantize(in_path, out_path, desc));
    uint64_t n = mem_fail_at(0), step = getenv("WEFT_TEST_CHECKED") ? 8 : 64;
    unlink(out_path);
    for (uint64_t k = 1; k <= n; k += 1 + k / step) {
        mem_fail_at(k);
        assert_fails(weft_quantize(in_path, out_path, desc), WEFT_NO_MEMORY, "out of memory");
        mem_fail_at(0);
        assert_int_equal(n_files(), n_before);
    }
}

static void failing_allocations_leave_nothing(void **state) {
    (void)state;
    make_model(32, true, 0);
    make_matrix("blk.1.attn_k.weight", 32);
    walk_allocations((weft_quantize_desc){.type = "Q4_0", .n_threads = 1});
    walk_allocations((weft_quantize_desc){
        .type = "Q4_0", .n_threads = 1, .imatrix = matrix_path, .output_type = "q8_0"});
    unlink(matrix_path);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_mixture_is_laid_out),
        cmocka_unit_test(falcon_has_its_own_rules),
        cmocka_unit_test(options_change_the_layout),
        cmocka_unit_test(importance_reaches_the_encoder),
        cmocka_unit_test(every_type_is_written_and_read),
        cmocka_unit_test(failures_leave_nothing),
        cmocka_unit_test(failing_allocations_leave_nothing),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
