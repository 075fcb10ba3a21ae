/* libFuzzer target: any bytes as a tokenizer.json; after a line "====" a tokenizer_config.json, and
 * after another a text that is encoded and decoded, by the tokenizer and by that of its description
 * (whose ids are not held against the first one's: docs/tokenizers.md says where a GGUF cannot say
 * the same). SPDX-License-Identifier: MIT */
#include "tokenizer/tokenizer_json.h"

#include "lib/fuzz.h"

#ifdef WEFT_HAVE_JANSSON
static void encode(const tokenizer *t, fuzz_text text, int flags, token_list *ids) {
    str back = {0};
    if (fuzz_status(tokenizer_encode(t, text.data, text.n, flags, ids), false, FUZZ_FILE)) {
        for (size_t i = 0; i < ids->n; i++)
            fuzz_require(ids->ids[i] >= 0 && (size_t)ids->ids[i] < tokenizer_n_tokens(t),
                         "an id is out of range");
        fuzz_status(tokenizer_decode(t, ids->ids, ids->n, true, &back), false, FUZZ_FILE);
    }
    str_free(&back);
}

static void encode_once(const tokenizer *t, fuzz_text text, int flags) {
    token_list ids = {0};
    encode(t, text, flags, &ids);
    token_list_free(&ids);
}

static void use(const tokenizer *t, const tokenizer_json_text *json, fuzz_input *in,
                fuzz_text text) {
    tokenizer_description d;
    tokenizer *other = NULL;
    fuzz_arm(in);
    weft_status status = tokenizer_describe_json(json, &d);
    if (fuzz_status(status, fuzz_disarm(in), FUZZ_FILE))
        fuzz_status(tokenizer_open(&d.desc, &other), false, 0);
    tokenizer_description_free(&d);
    for (int flags = 0; flags <= (ENCODE_ADD_SPECIAL | ENCODE_PARSE_SPECIAL); flags++) {
        encode_once(t, text, flags);
        if (other) encode_once(other, text, flags);
    }
    tokenizer_close(other);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    fuzz_input in = fuzz_begin(data, n);
    fuzz_text text = {in.data, in.n}, source = fuzz_cut(&text), config = fuzz_cut(&text);
    tokenizer_json_text json = {.json = source.data,
                                .n = source.n,
                                .config = config.n ? config.data : NULL,
                                .n_config = config.n,
                                .n_vocab = fuzz_below(&in, 4) ? 0 : 300};
    tokenizer *t;
    fuzz_arm(&in);
    weft_status status = tokenizer_open_json(&json, &t);
    bool has_failed = fuzz_disarm(&in) && status == WEFT_NO_MEMORY; /* PCRE2 may do without */
    if (fuzz_status(status, has_failed, FUZZ_FILE)) use(t, &json, &in, text);
    else fuzz_require(!t, "a tokenizer that failed is there");
    tokenizer_close(t);
    fuzz_end(&in);
    return 0;
}
#else
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    (void)data;
    (void)n;
    return 0;
}
#endif
