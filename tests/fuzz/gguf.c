/* libFuzzer target: any bytes as a GGUF file: every value and tensor is read, the tokenizer made,
 * and the checks of a load done. SPDX-License-Identifier: MIT */
#include "gguf/gguf.h"

#include "lib/fuzz.h"
#include "llm/vocabulary.h"
#include "model/model.h"

enum { MODEL = FUZZ_FILE | 1U << WEFT_SHAPE | 1U << WEFT_DTYPE };

static void read_bytes(const void *data, size_t n) {
    const unsigned char *p = data;
    unsigned sum = 0;
    for (size_t i = 0; i < n; i++) sum += p[i];
    volatile unsigned seen = sum; /* so that the reads stay */
    (void)seen;
}

static void read_value(const gguf_file *f, const gguf_value *v) {
    read_bytes(v->key.data, v->key.n);
    read_bytes(v->data, gguf_value_bytes(v));
    for (uint64_t i = 0; i < v->n; i++) {
        gguf_string s = gguf_string_at(f, v, i);
        read_bytes(s.data, s.n);
        gguf_integer_at(v, i);
        gguf_number_at(v, i);
    }
    gguf_show(v->key);
}

static void read_all(const gguf_file *f, const fuzz_input *in) {
    for (size_t i = 0; i < gguf_n_values(f); i++) read_value(f, gguf_value_at(f, i));
    for (size_t i = 0; i < gguf_n_tensors(f); i++) {
        const gguf_tensor *t = gguf_tensor_at(f, i);
        fuzz_require(t->bytes <= in->n, "a tensor is larger than the file");
        read_bytes(t->name.data, t->name.n);
        read_bytes(t->data, t->bytes);
    }
    fuzz_require(gguf_bytes(f) == in->n, "the file's size is wrong");
    fuzz_require(!gguf_value_at(f, gguf_n_values(f)) && !gguf_tensor_at(f, gguf_n_tensors(f)),
                 "there is something past the last");
}

static void use_tokenizer(const tokenizer *t) {
    token_list ids = {0};
    str text = {0};
    static const char sample[] = "Hello, w\xC3\xB6rld \xFF<s></s> 123\n";
    weft_status status = tokenizer_encode(t, sample, sizeof sample - 1,
                                          ENCODE_ADD_SPECIAL | ENCODE_PARSE_SPECIAL, &ids);
    if (fuzz_status(status, false, 0)) {
        for (size_t i = 0; i < ids.n; i++)
            fuzz_require(ids.ids[i] >= 0 && (size_t)ids.ids[i] < tokenizer_n_tokens(t),
                         "an id is out of range");
        fuzz_status(tokenizer_decode(t, ids.ids, ids.n, true, &text), false, 0);
    }
    token_list_free(&ids);
    str_free(&text);
}

/* The tokenizer, and with `fails` on the way to it a failing allocation. PCRE2 may do without its
 * machine code when memory is short, so that a failure need not be one. */
static void make_tokenizer(const gguf_file *f, const fuzz_input *in) {
    tokenizer *t;
    fuzz_arm(in);
    weft_status status = vocabulary_open(f, &t);
    bool has_failed = fuzz_disarm(in) && status == WEFT_NO_MEMORY;
    if (fuzz_status(status, has_failed, FUZZ_FILE)) use_tokenizer(t);
    else fuzz_require(!t, "a tokenizer that failed is there");
    tokenizer_close(t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    fuzz_input in = fuzz_begin_bytes(data, n);
    gguf_file *f;
    fuzz_arm(&in);
    weft_status status = gguf_open_memory(in.data, in.n, &f);
    if (fuzz_status(status, fuzz_disarm(&in), FUZZ_FILE)) {
        read_all(f, &in);
        make_tokenizer(f, &in);
        fuzz_arm(&in);
        status = model_check(f);
        fuzz_status(status, fuzz_disarm(&in), MODEL);
    } else {
        fuzz_require(!f, "a file that failed is there");
    }
    gguf_close(f);
    fuzz_end(&in);
    return 0;
}
