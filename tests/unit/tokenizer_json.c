/* tokenizer.json: small files written out here, whole and broken, and the golden data made with
 * PyPI's `tokenizers` (tests/golden/tokenizer_json.py).
 * SPDX-License-Identifier: MIT */
#include "tokenizer/tokenizer_json.h"

#ifdef WEFT_HAVE_JANSSON
#include <jansson.h>
#endif

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
    return (tokenizer_json_text){
        .json = json, .n = strlen(json), .config = config, .n_config = config ? strlen(config) : 0};
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
    assert_false(tokenizer_is_end(t, 5));
    tokenizer_close(t);
    const int32_t ends[] = {5, -1, 100};
    text.ends = ends;
    text.n_ends = 3;
    assert_ok(tokenizer_open_json(&text, &t));
    assert_true(tokenizer_is_end(t, 5) && tokenizer_is_end(t, 7));
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

/* ---- golden data
 * ------------------------------------------------------------------------------ */

static const char *const golden[] = {
    "bpe_byte_level", "bpe_llama3", "bpe_bytes",      "bpe_metaspace",
    "bpe_clip",       "bpe_prefix", "wordpiece_bert", "unigram_precompiled",
    "unigram_bytes",  "wordlevel",  "bpe_spm",        "unigram_words"};

typedef struct golden_file {
    json_t *root;
    char *text; /* its tokenizer.json */
    const char *name;
} golden_file;

static golden_file open_golden(const char *name) {
    char path[512];
    json_error_t why;
    snprintf(path, sizeof path, "%s/tests/golden/tokenizer_json/%s.json", WEFT_SOURCE_DIR, name);
    golden_file g = {.root = json_load_file(path, JSON_ALLOW_NUL, &why), .name = name};
    if (!g.root) fail_msg("%s: %s", path, why.text);
    g.text = json_dumps(json_object_get(g.root, "tokenizer"), JSON_COMPACT);
    assert_non_null(g.text);
    return g;
}

static void close_golden(golden_file *g) {
    free(g->text);
    json_decref(g->root);
}

static tokenizer *open_whole(const golden_file *g) {
    tokenizer *t;
    tokenizer_json_text text = text_of(g->text, NULL);
    assert_ok(tokenizer_open_json(&text, &t));
    return t;
}

static void append_ids(str *out, const int32_t *ids, size_t n) {
    for (size_t i = 0; i < n; i++) assert_ok(str_format(out, " %d", ids[i]));
}

/* The ids of a list; to be freed. */
static token_list ids_of(const json_t *list) {
    token_list l = {0};
    l.n = json_array_size(list);
    l.ids = mem_array(l.n, sizeof *l.ids);
    assert_non_null(l.ids);
    for (size_t i = 0; i < l.n; i++)
        l.ids[i] = (int32_t)json_integer_value(json_array_get(list, i));
    return l;
}

static void check_ids(const golden_file *g, const tokenizer *t, const json_t *c, const char *key,
                      int flags, bool drops_second) {
    const json_t *text = json_object_get(c, "text");
    token_list got = {0}, want = ids_of(json_object_get(c, key));
    if (drops_second && want.n > 1 && want.ids[0] == want.ids[1])
        memmove(want.ids, want.ids + 1, --want.n * sizeof *want.ids);
    assert_ok(tokenizer_encode(t, json_string_value(text), json_string_length(text), flags, &got));
    bool same = got.n == want.n && (!got.n || !memcmp(got.ids, want.ids, got.n * sizeof *got.ids));
    if (!same) {
        str a = {0}, b = {0};
        append_ids(&a, want.ids, want.n);
        append_ids(&b, got.ids, got.n);
        fail_msg("%s, %s of \"%s\":\n  want%s\n  got %s", g->name, key, json_string_value(text),
                 str_text(&a), str_text(&b));
    }
    token_list_free(&got);
    token_list_free(&want);
}

/* U+FFFD in the golden text stands for bytes that are no character, which come out as they are. */
static void check_text(const golden_file *g, const tokenizer *t, const json_t *c, const char *key,
                       bool special) {
    token_list ids = ids_of(json_object_get(c, "marked"));
    const json_t *want = json_object_get(c, key);
    str got = {0};
    assert_ok(tokenizer_decode(t, ids.ids, ids.n, special, &got));
    bool same = got.n == json_string_length(want) &&
                !memcmp(str_text(&got), json_string_value(want), got.n);
    if (!same && !memmem(json_string_value(want), json_string_length(want), "\xEF\xBF\xBD", 3))
        fail_msg("%s, %s:\n  want \"%s\"\n  got  \"%s\"", g->name, key, json_string_value(want),
                 str_text(&got));
    str_free(&got);
    token_list_free(&ids);
}

/* A stream gives the whole text, but for what depends on the last token. */
static void check_stream(const golden_file *g, const tokenizer *t, const json_t *c) {
    token_list ids = ids_of(json_object_get(c, "marked"));
    str whole = {0}, streamed = {0};
    token_stream s = {0};
    assert_ok(tokenizer_decode(t, ids.ids, ids.n, true, &whole));
    for (size_t i = 0; i < ids.n; i++)
        assert_ok(token_stream_feed(t, &s, ids.ids[i], true, &streamed));
    assert_ok(token_stream_end(&s, &streamed));
    if (!memmem(str_text(&streamed), streamed.n, "\xEF\xBF\xBD", 3) &&
        strcmp(g->name, "bpe_clip") != 0) {
        assert_int_equal(streamed.n, whole.n);
        assert_memory_equal(str_text(&streamed), str_text(&whole), whole.n);
    }
    str_free(&whole);
    str_free(&streamed);
    token_list_free(&ids);
}

static void golden_tokenizers_agree(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof golden / sizeof *golden; i++) {
        golden_file g = open_golden(golden[i]);
        tokenizer *t = open_whole(&g);
        const json_t *cases = json_object_get(g.root, "cases");
        for (size_t k = 0; k < json_array_size(cases); k++) {
            const json_t *c = json_array_get(cases, k);
            check_ids(&g, t, c, "plain", 0, false);
            check_ids(&g, t, c, "parsed", ENCODE_PARSE_SPECIAL, false);
            check_ids(&g, t, c, "marked", ENCODE_PARSE_SPECIAL | ENCODE_ADD_SPECIAL,
                      tokenizer_adds_bos(t));
            check_text(&g, t, c, "decoded", false);
            check_text(&g, t, c, "decoded_special", true);
            check_stream(&g, t, c);
        }
        assert_true(json_array_size(cases) > 20);
        tokenizer_close(t);
        close_golden(&g);
    }
}

static bool same_ids(const tokenizer *a, const tokenizer *b, const json_t *text, int flags) {
    token_list x = {0}, y = {0};
    const char *data = json_string_value(text);
    size_t n = json_string_length(text);
    assert_ok(tokenizer_encode(a, data, n, flags, &x));
    assert_ok(tokenizer_encode(b, data, n, flags, &y));
    bool same = x.n == y.n && (!x.n || !memcmp(x.ids, y.ids, x.n * sizeof *x.ids));
    token_list_free(&x);
    token_list_free(&y);
    return same;
}

/* What the GGUF's tokenizers cannot do alike, by file: see docs/tokenizers.md. */
static bool may_differ(const char *name, const char *text) {
    if (!strcmp(name, "bpe_llama3")) return strstr(text, "\xCC") || strstr(text, "\xE2\x84\xAB");
    return !strcmp(name, "unigram_words") &&
           (!strncmp(text, "\xE2\x96\x81", 3) || strstr(text, "<s>") || strstr(text, "</s>") ||
            strstr(text, "<unk>"));
}

static void descriptions_encode_alike(void **state) {
    (void)state;
    static const struct {
        const char *name, *model, *pre;
    } described[] = {{"bpe_llama3", "gpt2", "llama-bpe"},
                     {"bpe_spm", "llama", NULL},
                     {"wordpiece_bert", "bert", NULL},
                     {"unigram_words", "t5", NULL}};
    for (size_t i = 0; i < sizeof described / sizeof *described; i++) {
        golden_file g = open_golden(described[i].name);
        tokenizer_json_text text = text_of(g.text, NULL);
        tokenizer_description d;
        tokenizer *whole = open_whole(&g), *t;
        assert_ok(tokenizer_describe_json(&text, &d));
        assert_string_equal(d.desc.model, described[i].model);
        if (described[i].pre) assert_string_equal(d.desc.pre, described[i].pre);
        assert_ok(tokenizer_open(&d.desc, &t));
        tokenizer_description_free(&d);
        const json_t *cases = json_object_get(g.root, "cases");
        for (size_t k = 0; k < json_array_size(cases); k++) {
            const json_t *line = json_object_get(json_array_get(cases, k), "text");
            bool same = same_ids(whole, t, line, 0) && same_ids(whole, t, line, 3);
            if (!same && !may_differ(g.name, json_string_value(line)))
                fail_msg("%s: \"%s\" differs", g.name, json_string_value(line));
        }
        tokenizer_close(t);
        tokenizer_close(whole);
        close_golden(&g);
    }
}

/* ---- what is wrong or not supported
 * ----------------------------------------------------------- */

#define MODEL "'model':{'type':'WordLevel','vocab':{'a':0,'b':1},'unk_token':'a'}"
#define BPE(more) "'model':{'type':'BPE','vocab':{'a':0,'b':1,'ab':2}," more "}"

static void wrong_files_are_refused(void **state) {
    (void)state;
    static const struct {
        const char *json;
        weft_status status;
        const char *part;
    } cases[] = {
        {"", WEFT_FORMAT, "tokenizer.json is no JSON"},
        {"{'a':\xFF}", WEFT_FORMAT, "is no JSON"},
        {"{'a':'\xC3'}", WEFT_FORMAT, "is no JSON"},
        {"[]", WEFT_FORMAT, "no JSON object"},
        {"{}", WEFT_FORMAT, "model is missing"},
        {"{'model':3}", WEFT_FORMAT, "model is no object"},
        {"{'model':{'type':'Magic','vocab':{}}}", WEFT_UNSUPPORTED, "type \"Magic\""},
        {"{'model':{'type':7}}", WEFT_FORMAT, "model: type is no text"},
        {"{'model':{'type':'BPE','vocab':[]}}", WEFT_FORMAT, "vocab is no object"},
        {"{'model':{'type':'Unigram','vocab':{}}}", WEFT_FORMAT, "vocab is no list"},
        {"{'model':{'type':'WordLevel','vocab':{}}}", WEFT_FORMAT, "vocabulary is empty"},
        {"{'model':{'type':'WordLevel','vocab':{'a':-1}}}", WEFT_FORMAT, "-1, which is no token"},
        {"{'model':{'type':'WordLevel','vocab':{'a':1e9}}}", WEFT_FORMAT, "no whole number"},
        {"{'model':{'type':'WordLevel','vocab':{'a':4194304}}}", WEFT_LIMIT, "ids end at"},
        {"{'model':{'type':'WordLevel','vocab':{'a':4000000}}}", WEFT_LIMIT, "ids up to 4000000"},
        {"{'model':{'type':'WordLevel','vocab':{'a':0,'b':0}}}", WEFT_FORMAT, "same id 0"},
        {"{'model':{'type':'Unigram','vocab':[['a']]}}", WEFT_FORMAT, "entry 0 is no pair"},
        {"{'model':{'type':'Unigram','vocab':[['a',1],7]}}", WEFT_FORMAT, "entry 1 is no pair"},
        {"{'model':{'type':'Unigram','vocab':[['a',1]],'unk_id':1}}", WEFT_FORMAT, "unk_id is 1"},
        {"{" BPE("'merges':{}") "}", WEFT_FORMAT, "merges is no list"},
        {"{" BPE("'byte_fallback':false") "}", WEFT_FORMAT, "merges are missing"},
        {"{" BPE("'merges':['a  b']") "}", WEFT_FORMAT, "merge 0 is not two texts"},
        {"{" BPE("'merges':[['a','b'],['a']]") "}", WEFT_FORMAT, "merge 1 is not two texts"},
        {"{" BPE("'merges':['a c']") "}", WEFT_FORMAT, "lacks \"c\""},
        {"{" BPE("'merges':['b a']") "}", WEFT_FORMAT, "lacks \"ba\""},
        {"{" BPE("'merges':[],'dropout':0.1") "}", WEFT_UNSUPPORTED, "dropout"},
        {"{" BPE("'merges':[],'fuse_unk':'yes'") "}", WEFT_FORMAT, "fuse_unk"},
        {"{" MODEL ",'added_tokens':7}", WEFT_FORMAT, "added_tokens is no list"},
        {"{" MODEL ",'added_tokens':[7]}", WEFT_FORMAT, "is no whole number"},
        {"{" MODEL ",'added_tokens':[{'id':2}]}", WEFT_FORMAT, "no content"},
        {"{" MODEL ",'added_tokens':[{'id':2,'content':'a'}]}", WEFT_FORMAT, "but 0 in the"},
        {"{" MODEL ",'added_tokens':[{'id':0,'content':'x'}]}", WEFT_FORMAT, "which is \"a\""},
        {"{" MODEL ",'added_tokens':[{'id':2,'content':'x'},{'id':2,'content':'y'}]}", WEFT_FORMAT,
         "same id 2"},
        {"{" MODEL ",'added_tokens':[{'id':2,'content':'x'},{'id':3,'content':'x'}]}", WEFT_FORMAT,
         "the ids 2 and 3"},
        {"{" MODEL ",'normalizer':7}", WEFT_FORMAT, "normalizer: a part is no object"},
        {"{" MODEL ",'normalizer':{}}", WEFT_FORMAT, "normalizer: a part has no type"},
        {"{" MODEL ",'normalizer':{'type':'Magic'}}", WEFT_UNSUPPORTED,
         "normalizer: the type \"Magic\""},
        {"{" MODEL ",'normalizer':{'type':'Replace','content':''}}", WEFT_FORMAT,
         "Replace: the pattern is missing"},
        {"{" MODEL ",'normalizer':{'type':'Replace','pattern':{},'content':''}}", WEFT_UNSUPPORTED,
         "neither a \"String\""},
        {"{" MODEL ",'normalizer':{'type':'Precompiled','precompiled_charsmap':'*'}}", WEFT_FORMAT,
         "no base64"},
        {"{" MODEL ",'normalizer':{'type':'Precompiled','precompiled_charsmap':'AAAA'}}",
         WEFT_FORMAT, "cut off"},
        {"{" MODEL ",'pre_tokenizer':{'type':'Metaspace','replacement':'ab'}}", WEFT_FORMAT,
         "not one character"},
        {"{" MODEL
         ",'pre_tokenizer':{'type':'Split','pattern':{'Regex':'(a'},'behavior':'Isolated'}}",
         WEFT_UNSUPPORTED, "a group has no end"},
        {"{" MODEL
         ",'pre_tokenizer':{'type':'Split','pattern':{'Regex':'(a)\\\\1'},'behavior':'Isolated'}}",
         WEFT_UNSUPPORTED, "escape \\1"},
        {"{" MODEL ",'pre_tokenizer':{'type':'Split','pattern':{'String':'a'},'behavior':'Odd'}}",
         WEFT_UNSUPPORTED, "behavior \"Odd\""},
        {"{" MODEL ",'pre_tokenizer':{'type':'FixedLength','length':0}}", WEFT_FORMAT, "length"},
        {"{" MODEL ",'post_processor':{'type':'TemplateProcessing','single':[{'X':{}}]}}",
         WEFT_UNSUPPORTED, "a piece is neither"},
        {"{" MODEL ",'post_processor':{'type':'TemplateProcessing','single':[{'Sequence':"
         "{'id':'B'}}]}}",
         WEFT_UNSUPPORTED, "no text \"B\""},
        {"{" MODEL ",'post_processor':{'type':'TemplateProcessing','single':[{'SpecialToken':"
         "{'id':'x'}}]}}",
         WEFT_FORMAT, "lacks \"x\""},
        {"{" MODEL ",'post_processor':{'type':'BertProcessing','cls':['a',9],'sep':['a',0]}}",
         WEFT_FORMAT, "the id 9 is not among"},
        {"{" MODEL ",'decoder':{'type':'Strip','content':' ','start':-1}}", WEFT_FORMAT, "start"},
        {"{" MODEL ",'decoder':{'type':'Sequence'}}", WEFT_FORMAT, "decoders is missing"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *json = json_of(cases[i].json);
        tokenizer_json_text text = text_of(json, NULL);
        tokenizer *t;
        assert_fails(tokenizer_open_json(&text, &t), cases[i].status, cases[i].part);
        assert_null(t);
        free(json);
    }
}

/* Forty steps that each double a text. */
static void texts_that_grow_are_refused(void **state) {
    (void)state;
    static const char replace[] = "{\"type\":\"Replace\",\"pattern\":{\"String\":\"a\"},"
                                  "\"content\":\"aa\"}%s";
    for (int decodes = 0; decodes < 2; decodes++) {
        str json = {0};
        assert_ok(str_format(&json,
                             "{\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0},"
                             "\"merges\":[]},\"%s\":{\"type\":\"Sequence\",\"%ss\":[",
                             decodes ? "decoder" : "normalizer",
                             decodes ? "decoder" : "normalizer"));
        for (int i = 0; i < 40; i++) assert_ok(str_format(&json, replace, i < 39 ? "," : "]}}"));
        tokenizer_json_text text = text_of(json.data, NULL);
        tokenizer *t;
        token_list ids = {0};
        if (decodes) { /* tokens are decoded when it is opened */
            assert_fails(tokenizer_open_json(&text, &t), WEFT_LIMIT, "longer than 1088 bytes");
        } else {
            assert_ok(tokenizer_open_json(&text, &t));
            assert_fails(tokenizer_encode(t, "a", 1, 0, &ids), WEFT_LIMIT,
                         "longer than 1088 bytes");
        }
        token_list_free(&ids);
        tokenizer_close(t);
        str_free(&json);
    }
}

static void deep_nesting_is_refused(void **state) {
    (void)state;
    str json = {0};
    for (int depth = 20; depth <= 20000; depth *= 10) {
        str_clear(&json);
        assert_ok(str_text_append(&json, "{\"model\":{\"vocab\":{\"a\":0}},\"normalizer\":"));
        for (int i = 0; i < depth; i++)
            assert_ok(str_text_append(&json, "{\"type\":\"Sequence\",\"normalizers\":["));
        for (int i = 0; i < depth; i++) assert_ok(str_text_append(&json, "]}"));
        assert_ok(str_char(&json, '}'));
        tokenizer_json_text text = text_of(json.data, NULL);
        tokenizer *t;
        if (depth == 20)
            assert_fails(tokenizer_open_json(&text, &t), WEFT_LIMIT, "nested deeper than 16");
        else assert_int_not_equal(tokenizer_open_json(&text, &t), WEFT_OK);
    }
    str_free(&json);
}

static void what_no_gguf_can_say_is_refused(void **state) {
    (void)state;
    static const struct {
        const char *json, *part;
    } cases[] = {
        {"{" MODEL "}", "no WordLevel"},
        {"{" BPE("'merges':[]") "}", "neither byte-level"},
        {"{" BPE("'merges':[]") ",'pre_tokenizer':{'type':'ByteLevel','add_prefix_space':true}}",
         "puts a space before a text"},
        {"{" BPE("'merges':[]") ",'pre_tokenizer':{'type':'Sequence','pretokenizers':[{'type':"
                                "'FixedLength'},{'type':'ByteLevel','add_prefix_space':false}]}}",
         "no name for the pre_tokenizer FixedLength"},
        {"{" BPE("'merges':[]") ",'pre_tokenizer':{'type':'Sequence','pretokenizers':[{'type':"
                                "'Split','pattern':{'Regex':'q'},'behavior':'Isolated'},{'type':"
                                "'ByteLevel','add_prefix_space':false}]}}",
         "no name for how this pre_tokenizer cuts"},
        {"{" BPE("'merges':[],'byte_fallback':true") ",'pre_tokenizer':{'type':'Metaspace',"
                                                     "'replacement':'\xE2\x96\x81'}}",
         "each of the 256 bytes"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *json = json_of(cases[i].json);
        tokenizer_json_text text = text_of(json, NULL);
        tokenizer_description d;
        assert_fails(tokenizer_describe_json(&text, &d), WEFT_UNSUPPORTED, cases[i].part);
        tokenizer_description_free(&d);
        free(json);
    }
}

/* Opens, encodes and decodes with the k-th allocation failing, until none does. */
static void failing_allocations_are_survived(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof golden / sizeof *golden; i++) {
        golden_file g = open_golden(golden[i]);
        tokenizer_json_text text = text_of(g.text, NULL);
        const char line[] = " The  caf\xC3\xA9 <tag> e\xCC\x81</s>12 \xFFthey're";
        weft_status status = WEFT_NO_MEMORY;
        /* Every one at first, then in steps: pieces alone are two a token. */
        for (uint64_t k = 1; status == WEFT_NO_MEMORY; k += 1 + k / 64) {
            tokenizer *t;
            token_list ids = {0};
            str out = {0};
            mem_fail_at(k);
            status = tokenizer_open_json(&text, &t);
            if (status == WEFT_OK) status = tokenizer_encode(t, line, sizeof line - 1, 3, &ids);
            if (status == WEFT_OK) status = tokenizer_decode(t, ids.ids, ids.n, true, &out);
            mem_fail_at(0);
            tokenizer_close(t);
            token_list_free(&ids);
            str_free(&out);
        }
        if (status != WEFT_OK) fail_msg("%s: %s", g.name, weft_message());
        status = WEFT_NO_MEMORY;
        for (uint64_t k = 1; status == WEFT_NO_MEMORY; k += 1 + k / 64) {
            tokenizer_description d;
            mem_fail_at(k);
            status = tokenizer_describe_json(&text, &d);
            mem_fail_at(0);
            tokenizer_description_free(&d);
        }
        assert_true(status == WEFT_OK || status == WEFT_UNSUPPORTED);
        close_golden(&g);
    }
}

/* Long texts of one character take no time that grows with their square. */
static void long_runs_are_no_trouble(void **state) {
    (void)state;
    enum { LONG = 200000 };
    static const char *const runs[] = {"a", " ", "\n", "\xCC\x81", "1", "<", "\xF0\x9F\x98\x80"};
    for (size_t i = 0; i < sizeof golden / sizeof *golden; i++) {
        golden_file g = open_golden(golden[i]);
        tokenizer *t = open_whole(&g);
        for (size_t k = 0; k < sizeof runs / sizeof *runs; k++) {
            str text = {0};
            token_list ids = {0};
            while (text.n < LONG) assert_ok(str_text_append(&text, runs[k]));
            assert_ok(tokenizer_encode(t, text.data, text.n, 3, &ids));
            str_clear(&text);
            assert_ok(tokenizer_decode(t, ids.ids, ids.n, true, &text));
            token_list_free(&ids);
            str_free(&text);
        }
        tokenizer_close(t);
        close_golden(&g);
    }
}
#endif

int main(void) {
#ifdef WEFT_HAVE_JANSSON
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_byte_level_file_becomes_a_tokenizer),
        cmocka_unit_test(it_is_described_as_a_gguf_has_it),
        cmocka_unit_test(golden_tokenizers_agree),
        cmocka_unit_test(descriptions_encode_alike),
        cmocka_unit_test(wrong_files_are_refused),
        cmocka_unit_test(texts_that_grow_are_refused),
        cmocka_unit_test(deep_nesting_is_refused),
        cmocka_unit_test(what_no_gguf_can_say_is_refused),
        cmocka_unit_test(failing_allocations_are_survived),
        cmocka_unit_test(long_runs_are_no_trouble),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
#else
    return 77;
#endif
}
