/* tokenizer.json: small files written out here, whole and broken, and the golden data made with
 * PyPI's `tokenizers` (tests/golden/tokenizers.py).
 * SPDX-License-Identifier: MIT */
#include "tokenizer/tokenizer_json.h"

#include "base/mem.h"
#include "harness.h"

#ifdef WEFT_HAVE_JANSSON
/* ' stands for " in the texts below. */
static char *json_of(const char *text) {
    char *copy = strdup(text);
    assert_non_null(copy);
    for (char *p = copy; *p; p++)
        if (*p == '\'') *p = '"';
    return copy;
}

static tokenizer_json_text text_of(const char *json, const char *config) {
    return (tokenizer_json_text){json, strlen(json), config, config ? strlen(config) : 0, 0};
}

static void assert_ids(const tokenizer *t, const char *text, int flags, const int32_t *ids,
                       size_t n) {
    token_list l = {0};
    assert_ok(tokenizer_encode(t, text, strlen(text), flags, &l));
    assert_int_equal(l.n, n);
    if (n) assert_memory_equal(l.ids, ids, n * sizeof *ids);
    token_list_free(&l);
}

/* assert_encodes(t, "text", flags, ids...) */
#define assert_encodes(t, text, flags, ...)                                                        \
    do {                                                                                           \
        const int32_t ids_[] = {__VA_ARGS__};                                                      \
        assert_ids(t, text, flags, ids_, sizeof ids_ / sizeof *ids_);                              \
    } while (0)

static const char byte_level[] =
    "{'added_tokens':[{'id':6,'content':'<s>','special':true},{'id':7,'content':'<u>',"
    "'special':false,'normalized':false}],'normalizer':null,"
    "'pre_tokenizer':{'type':'ByteLevel','add_prefix_space':false,'use_regex':true},"
    "'post_processor':{'type':'TemplateProcessing','single':[{'SpecialToken':{'id':'<s>'}},"
    "{'Sequence':{'id':'A'}}],'special_tokens':{'<s>':{'id':'<s>','ids':[6]}}},"
    "'decoder':{'type':'ByteLevel'},'model':{'type':'BPE','vocab':{'a':0,'b':1,'\\u0120':2,"
    "'ab':3,'\\u0120a':4,'\\u0120ab':5},'merges':['a b',['\\u0120','ab'],'\\u0120 a']}}";

static void a_byte_level_file_becomes_a_tokenizer(void **state) {
    (void)state;
    char *json = json_of(byte_level), *config = json_of("{'bos_token':'<s>','eos_token':{'content':"
                                                        "'<u>'},'add_eos_token':true}");
    tokenizer_json_text text = text_of(json, NULL);
    tokenizer *t;
    assert_ok(tokenizer_open_json(&text, &t));
    assert_encodes(t, "ab ab a", 0, 3, 5, 4);
    assert_encodes(t, "ab", ENCODE_ADD_SPECIAL, 6, 3);
    assert_encodes(t, "ab<u>b", 0, 3, 7, 1);
    assert_encodes(t, "a<s>b", ENCODE_PARSE_SPECIAL, 0, 6, 1);
    assert_int_equal(tokenizer_bos(t), 6);
    assert_int_equal(tokenizer_eos(t), -1);
    tokenizer_close(t);
    text = text_of(json, config);
    assert_ok(tokenizer_open_json(&text, &t));
    assert_encodes(t, "ab", ENCODE_ADD_SPECIAL, 6, 3, 7);
    assert_int_equal(tokenizer_eos(t), 7);
    assert_true(tokenizer_is_end(t, 7));
    tokenizer_close(t);
    free(json);
    free(config);
}

static void it_is_described_as_a_gguf_has_it(void **state) {
    (void)state;
    char *json = json_of(byte_level);
    tokenizer_json_text text = text_of(json, NULL);
    text.n_vocab = 10;
    tokenizer_description d;
    assert_ok(tokenizer_describe_json(&text, &d));
    assert_string_equal(d.desc.model, "gpt2");
    assert_string_equal(d.desc.pre, "gpt-2");
    assert_int_equal(d.desc.n_tokens, 10);
    assert_string_equal(d.desc.tokens[9].data, "[PAD9]");
    const int32_t kinds[] = {TOKEN_NORMAL, TOKEN_NORMAL,  TOKEN_NORMAL, TOKEN_NORMAL, TOKEN_NORMAL,
                             TOKEN_NORMAL, TOKEN_CONTROL, TOKEN_USER,   TOKEN_UNUSED, TOKEN_UNUSED};
    assert_memory_equal(d.desc.kinds, kinds, sizeof kinds);
    assert_int_equal(d.desc.n_merges, 3);
    assert_string_equal(d.desc.merges[1].data, "\xC4\xA0 ab");
    assert_int_equal(d.desc.bos, 6);
    assert_int_equal(d.desc.add_bos, 1);
    assert_int_equal(d.desc.add_eos, 0);
    tokenizer_description_free(&d);
    free(json);
}
#endif

int main(void) {
#ifdef WEFT_HAVE_JANSSON
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_byte_level_file_becomes_a_tokenizer),
        cmocka_unit_test(it_is_described_as_a_gguf_has_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
#else
    return 77;
#endif
}
