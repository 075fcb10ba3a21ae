/* llm/vocabulary: a GGUF's tokenizer.ggml.* keys become a tokenizer, and what is missing or wrong
 * is named. The files are made here, in memory.
 * SPDX-License-Identifier: MIT */
#include "llm/vocabulary.h"

#include "base/mem.h"
#include "harness.h"

/* A file being made: its keys' bytes, counted. */
typedef struct file {
    str body;
    uint64_t n_values;
} file;

static void put(str *s, const void *bytes, size_t n) { assert_ok(str_append(s, bytes, n)); }
static void put_u32(str *s, uint32_t v) { put(s, &v, sizeof v); }
static void put_u64(str *s, uint64_t v) { put(s, &v, sizeof v); }

static void put_string(str *s, const char *text) {
    put_u64(s, strlen(text));
    put(s, text, strlen(text));
}

static void put_key(file *f, const char *key, uint32_t type) {
    char name[80];
    snprintf(name, sizeof name, "%s%s", strchr(key, '.') ? "" : "tokenizer.ggml.", key);
    put_string(&f->body, name);
    put_u32(&f->body, type);
    f->n_values++;
}

static void add_string(file *f, const char *key, const char *text) {
    put_key(f, key, GGUF_STRING);
    put_string(&f->body, text);
}

static void add_u32(file *f, const char *key, uint32_t v) {
    put_key(f, key, GGUF_U32);
    put_u32(&f->body, v);
}

static void add_strings(file *f, const char *key, const char *const *texts, size_t n) {
    put_key(f, key, GGUF_ARRAY);
    put_u32(&f->body, GGUF_STRING);
    put_u64(&f->body, n);
    for (size_t i = 0; i < n; i++) put_string(&f->body, texts[i]);
}

static void add_numbers(file *f, const char *key, uint32_t type, const void *data, size_t n,
                        size_t element) {
    put_key(f, key, GGUF_ARRAY);
    put_u32(&f->body, type);
    put_u64(&f->body, n);
    put(&f->body, data, n * element);
}

static const char *const spm_tokens[] = {"<unk>",
                                         "<s>",
                                         "</s>",
                                         "\xE2\x96\x81",
                                         "a",
                                         ("\xE2\x96\x81"
                                          "a")};
static const float spm_scores[] = {0, 0, 0, -2, -3, -1};
static const int32_t spm_kinds[] = {2, 3, 3, 1, 1, 1};
enum { N_SPM = 6 };

/* The keys of a small SentencePiece vocabulary, but the one named `without`. */
static file spm_file(const char *without) {
    file f = {0};
    if (strcmp(without, "model")) add_string(&f, "model", "llama");
    if (strcmp(without, "tokens")) add_strings(&f, "tokens", spm_tokens, N_SPM);
    if (strcmp(without, "scores")) add_numbers(&f, "scores", GGUF_F32, spm_scores, N_SPM, 4);
    if (strcmp(without, "token_type")) add_numbers(&f, "token_type", GGUF_I32, spm_kinds, N_SPM, 4);
    if (strcmp(without, "bos_token_id")) add_u32(&f, "bos_token_id", 1);
    if (strcmp(without, "eos_token_id")) add_u32(&f, "eos_token_id", 2);
    return f;
}

static file bpe_file(void) {
    static const char *const tokens[] = {"a", "b", "ab"}, *const merges[] = {"a b"};
    file f = {0};
    add_string(&f, "model", "gpt2");
    add_strings(&f, "tokens", tokens, 3);
    add_strings(&f, "merges", merges, 1);
    return f;
}

/* Opens the file's vocabulary and forgets the file. */
static weft_status open_file(file *f, tokenizer **t) {
    str whole = {0};
    put(&whole, "GGUF", 4);
    put_u32(&whole, 3);
    put_u64(&whole, 0);
    put_u64(&whole, f->n_values);
    put(&whole, str_text(&f->body), f->body.n);
    while (whole.n % 32) put(&whole, "", 1);
    gguf_file *g = NULL;
    *t = NULL;
    weft_status status = gguf_open_memory(whole.data, whole.n, &g);
    if (status == WEFT_OK) status = vocabulary_open(g, t);
    gguf_close(g);
    str_free(&whole);
    str_free(&f->body);
    return status;
}

static void assert_bad(file f, weft_status status, const char *key) {
    tokenizer *t;
    assert_fails(open_file(&f, &t), status, key);
    assert_null(t);
}

static void assert_encodes(const tokenizer *t, const char *text, int flags, const int32_t *ids,
                           size_t n) {
    token_list l = {0};
    assert_ok(tokenizer_encode(t, text, strlen(text), flags, &l));
    assert_int_equal(l.n, n);
    for (size_t i = 0; i < n; i++) assert_int_equal(l.ids[i], ids[i]);
    token_list_free(&l);
}

static void keys_become_a_tokenizer(void **state) {
    (void)state;
    tokenizer *t;
    file f = spm_file("");
    assert_ok(open_file(&f, &t));
    assert_encodes(t, "a a", ENCODE_ADD_SPECIAL, (const int32_t[]){1, 5, 5}, 3);
    assert_int_equal(tokenizer_bos(t), 1);
    assert_int_equal(tokenizer_eos(t), 2);
    tokenizer_close(t);
    f = spm_file("");
    add_numbers(&f, "ignored", GGUF_U8, "x", 1, 1);
    put_key(&f, "add_bos_token", GGUF_BOOL), put(&f.body, "", 1);
    put_key(&f, "add_eos_token", GGUF_BOOL), put(&f.body, "\1", 1);
    put_key(&f, "add_space_prefix", GGUF_BOOL), put(&f.body, "", 1);
    assert_ok(open_file(&f, &t));
    assert_encodes(t, "a a", ENCODE_ADD_SPECIAL, (const int32_t[]){4, 5, 2}, 3);
    tokenizer_close(t);
    f = spm_file("bos_token_id"); /* none is invented */
    assert_ok(open_file(&f, &t));
    assert_encodes(t, "a", ENCODE_ADD_SPECIAL, (const int32_t[]){5}, 1);
    assert_int_equal(tokenizer_bos(t), -1);
    tokenizer_close(t);
    f = bpe_file();
    assert_ok(open_file(&f, &t));
    assert_encodes(t, "aba", 0, (const int32_t[]){2, 0}, 2);
    assert_non_null(strstr(tokenizer_warning(t), "tokenizer.ggml.pre"));
    tokenizer_close(t);
    f = bpe_file();
    add_string(&f, "pre", "gpt-2");
    assert_ok(open_file(&f, &t));
    assert_string_equal(tokenizer_warning(t), "");
    tokenizer_close(t);
}

static void phi_3_strips_behind_its_marks(void **state) {
    (void)state;
    tokenizer *t;
    file f = spm_file("");
    add_string(&f, "general.name", "Phi-3 Mini");
    assert_ok(open_file(&f, &t));
    assert_encodes(t, "a</s>  \na", ENCODE_PARSE_SPECIAL, (const int32_t[]){5, 2, 5}, 3);
    assert_encodes(t, "<s> a", ENCODE_PARSE_SPECIAL, (const int32_t[]){1, 3, 5}, 3);
    tokenizer_close(t);
}

static void what_is_missing_or_wrong_is_named(void **state) {
    (void)state;
    assert_bad(spm_file("model"), WEFT_FORMAT, "no tokenizer.ggml.model");
    assert_bad(spm_file("tokens"), WEFT_FORMAT, "no tokenizer.ggml.tokens");
    assert_bad(spm_file("scores"), WEFT_FORMAT, "scores");
    file f = spm_file("tokens");
    add_string(&f, "tokens", "a");
    assert_bad(f, WEFT_FORMAT, "tokenizer.ggml.tokens is no array");
    f = spm_file("tokens");
    add_numbers(&f, "tokens", GGUF_I32, spm_kinds, N_SPM, 4);
    assert_bad(f, WEFT_FORMAT, "tokenizer.ggml.tokens is no array of strings");
    f = spm_file("scores");
    add_numbers(&f, "scores", GGUF_F32, spm_scores, N_SPM - 1, 4);
    assert_bad(f, WEFT_FORMAT, "tokenizer.ggml.scores has 5 entries for 6 tokens");
    f = spm_file("scores");
    add_strings(&f, "scores", spm_tokens, N_SPM);
    assert_bad(f, WEFT_FORMAT, "tokenizer.ggml.scores is no array of numbers");
    f = spm_file("token_type");
    add_numbers(&f, "token_type", GGUF_I32, spm_kinds, 1, 4);
    assert_bad(f, WEFT_FORMAT, "tokenizer.ggml.token_type has 1 entries for 6 tokens");
    f = spm_file("token_type");
    add_numbers(&f, "token_type", GGUF_F32, spm_scores, N_SPM, 4);
    assert_bad(f, WEFT_FORMAT, "tokenizer.ggml.token_type is no array of integers");
    f = spm_file("bos_token_id");
    add_u32(&f, "bos_token_id", 6);
    assert_bad(f, WEFT_FORMAT, "BOS token's id 6");
    f = spm_file("bos_token_id");
    add_string(&f, "bos_token_id", "<s>");
    assert_bad(f, WEFT_FORMAT, "tokenizer.ggml.bos_token_id");
    f = spm_file("model");
    add_string(&f, "model", "rwkv");
    assert_bad(f, WEFT_UNSUPPORTED, "\"rwkv\"");
    f = spm_file("model");
    add_string(&f, "model", "gpt2");
    assert_bad(f, WEFT_FORMAT, "no tokenizer.ggml.merges");
    f = spm_file("model");
    add_string(&f, "model", "gpt2");
    add_strings(&f, "merges", spm_tokens, 2);
    assert_bad(f, WEFT_FORMAT, "merge 0 (\"<unk>\")");
    f = spm_file("model");
    add_string(&f, "model", "t5");
    add_numbers(&f, "precompiled_charsmap", GGUF_F32, spm_scores, 6, 4);
    assert_bad(f, WEFT_FORMAT, "tokenizer.ggml.precompiled_charsmap is no array of bytes");
}

static void every_allocation_may_fail(void **state) {
    (void)state;
    for (uint64_t k = 1;; k++) {
        file f = spm_file("");
        add_string(&f, "general.name", "phi-3");
        str whole = {0};
        put(&whole, "GGUF\3\0\0\0\0\0\0\0\0\0\0\0", 16);
        put_u64(&whole, f.n_values);
        put(&whole, str_text(&f.body), f.body.n);
        while (whole.n % 32) put(&whole, "", 1);
        gguf_file *g;
        tokenizer *t;
        assert_ok(gguf_open_memory(whole.data, whole.n, &g));
        mem_fail_at(k);
        weft_status status = vocabulary_open(g, &t);
        bool is_done = mem_fail_at(0) < k;
        tokenizer_close(t);
        gguf_close(g);
        str_free(&whole);
        str_free(&f.body);
        if (is_done) break;
        assert_int_equal(status, WEFT_NO_MEMORY);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_become_a_tokenizer),
        cmocka_unit_test(phi_3_strips_behind_its_marks),
        cmocka_unit_test(what_is_missing_or_wrong_is_named),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
