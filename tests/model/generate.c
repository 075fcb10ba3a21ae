/* Generation on scripted models (a chain of tokens, each forcing the next): end tokens, stop
 * strings, whole characters, limits, cancelling, chat. Cases G4-13, G5-01, G5-03, G5-08, G5-10 of
 * the public reports.
 * SPDX-License-Identifier: MIT */
#include "base/utf8.h"
#include "tiny_model.h"
#include "weft/llm.h"

static weft_device *dev;

static int open_device(void **state) {
    (void)state;
    dev = tiny_model_device();
    return dev ? 0 : -1;
}

static int close_device(void **state) {
    (void)state;
    weft_close(dev);
    return 0;
}

/* What a generation gave: the pieces' bytes joined, and whether each piece was whole UTF-8. */
typedef struct heard {
    char text[4096];
    size_t n;
    int n_calls, refuse_at; /* refuse_at: on_text says no at that call, 1 = the first */
    int n_asked, cancel_at; /* cancel_at: is_cancelled says yes at that call */
    bool is_broken;
    weft_generation result;
} heard;

static bool on_text(void *user, const char *text, size_t n) {
    heard *h = user;
    assert_int_equal(strlen(text), n);
    assert_true(n > 0 && h->n + n < sizeof h->text);
    for (size_t at = 0; at < n;) {
        int32_t code;
        at += (size_t)utf8_decode(text + at, n - at, &code);
        if (code == UTF8_BAD) h->is_broken = true;
    }
    memcpy(h->text + h->n, text, n + 1);
    h->n += n;
    return ++h->n_calls != h->refuse_at;
}

static bool is_cancelled(void *user) {
    heard *h = user;
    return ++h->n_asked == h->cancel_at;
}

typedef struct rig {
    weft_model *model;
    weft_session *session;
} rig;

static rig open_rig(const tiny_model *m, int n_ctx) {
    rig r;
    r.model = weft_model_load(dev, tiny_model_file(m), (weft_model_desc){0});
    if (!r.model) fail_msg("%s", weft_message());
    r.session = weft_session_open(r.model, (weft_session_desc){.n_ctx = n_ctx});
    if (!r.session) fail_msg("%s", weft_message());
    return r;
}

static void close_rig(rig *r) {
    weft_session_close(r->session);
    weft_model_free(r->model);
}

static heard generate(rig *r, const char *prompt, weft_generate_desc desc, heard start) {
    heard h = start;
    desc.on_text = on_text;
    desc.is_cancelled = is_cancelled;
    desc.user = &h;
    desc.result = &h.result;
    assert_ok(weft_generate(r->session, prompt, desc));
    assert_false(h.is_broken);
    assert_string_equal(h.text, weft_session_text(r->session));
    return h;
}

static void expect(const heard *h, const char *text, weft_finish finish, int n_generated) {
    if (strcmp(h->text, text) || h->result.finish != finish || h->result.n_generated != n_generated)
        fail_msg("got \"%s\", %s, %d tokens; expected \"%s\", %s, %d", h->text,
                 weft_finish_name(h->result.finish), h->result.n_generated, text,
                 weft_finish_name(finish), n_generated);
}

/* ---- end tokens (G4-13) ---------------------------------------------------------------------- */

static void every_end_token_ends(void **state) {
    (void)state;
    static const char *const controls[] = {"<s>", "<stop-eos>", "<stop-eot>", "<|im_end|>", NULL};
    for (int32_t end = 1; end <= 3; end++) {
        tiny_model m = {.controls = controls, .eos = 1 + 1, .eot = 2 + 1};
        const int32_t chain[] = {tiny_model_byte(&m, 'a'), tiny_model_byte(&m, 'b'),
                                 tiny_model_byte(&m, 'c'), end,
                                 tiny_model_byte(&m, 'd'), tiny_model_byte(&m, 'e')};
        m.chain = chain;
        m.n_chain = 6;
        rig r = open_rig(&m, 0);
        assert_true(weft_is_end(r.model, end));
        assert_false(weft_is_end(r.model, 0));
        heard h = generate(&r, "a", (weft_generate_desc){.max_tokens = 50}, (heard){0});
        expect(&h, "bc", WEFT_FINISH_STOP, 2);
        h = generate(&r, "a", (weft_generate_desc){.max_tokens = 10, .ignore_eos = true},
                     (heard){0});
        expect(&h, "bcdeeeeee", WEFT_FINISH_LENGTH, 10);
        close_rig(&r);
    }
}

/* ---- stop strings (G5-03) -------------------------------------------------------------------- */

static const char *const fox_pieces[] = {"he qu", "ick br", "own f", "ox j", "umps", NULL};
static int32_t fox_chain[8];

static tiny_model fox(void) {
    tiny_model m = {.pieces = fox_pieces, .eos = 1 + 1};
    fox_chain[0] = tiny_model_byte(&m, '>');
    fox_chain[1] = tiny_model_byte(&m, 'T');
    for (int i = 0; i < 5; i++) fox_chain[2 + i] = tiny_model_piece(&m, i);
    fox_chain[7] = 1;
    m.chain = fox_chain;
    m.n_chain = 8;
    return m;
}

static void stops_leak_nothing(void **state) {
    (void)state;
    static const struct {
        const char *stop[3];
        const char *text;
        weft_finish finish;
    } cases[] = {
        {{"own fox"}, "The quick br", WEFT_FINISH_STOP},
        {{"x j", "quick zz"}, "The quick brown fo", WEFT_FINISH_STOP},
        {{" "}, "The", WEFT_FINISH_STOP},
        {{"T"}, "", WEFT_FINISH_STOP},
        {{"ick"}, "The qu", WEFT_FINISH_STOP},                /* inside a token */
        {{"brown", "own f"}, "The quick ", WEFT_FINISH_STOP}, /* the earlier of two that overlap */
        {{"own f", "brown fox jumps"},
         "The quick ",
         WEFT_FINISH_STOP}, /* ... though it ends later */
        {{"own f", "brown fox jumpy"}, "The quick br", WEFT_FINISH_STOP},
        {{"fox jumpsuit"}, "The quick brown fox jumps", WEFT_FINISH_STOP}, /* the text just ends */
        {{"nothing of it"}, "The quick brown fox jumps", WEFT_FINISH_STOP},
    };
    tiny_model m = fox();
    rig r = open_rig(&m, 0);
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        size_t n = cases[c].stop[1] ? 2 : 1;
        weft_generate_desc desc = {.stop = cases[c].stop, .n_stop = n, .max_tokens = 50};
        heard h = generate(&r, ">", desc, (heard){0});
        expect(&h, cases[c].text, cases[c].finish, h.result.n_generated);
        desc.on_text = NULL; /* not streamed: the same */
        assert_ok(weft_generate(r.session, ">", desc));
        assert_string_equal(weft_session_text(r.session), cases[c].text);
    }
    const char *bad[] = {"", "\xFF"};
    assert_fails(weft_generate(r.session, ">", (weft_generate_desc){.stop = bad, .n_stop = 1}),
                 WEFT_INVALID, "stop string 0 is empty");
    assert_fails(weft_generate(r.session, ">", (weft_generate_desc){.stop = bad + 1, .n_stop = 1}),
                 WEFT_INVALID, "not UTF-8");
    close_rig(&r);
}

/* The last token leaves half a character, which becomes U+FFFD when the text is over. */
static void stop_may_come_with_the_last_bytes(void **state) {
    (void)state;
    tiny_model m = {.eos = 1 + 1};
    const int32_t chain[] = {tiny_model_byte(&m, 'a'), tiny_model_byte(&m, 'b'),
                             tiny_model_byte(&m, 0xC3)};
    m.chain = chain;
    m.n_chain = 3;
    rig r = open_rig(&m, 0);
    const char *stop[] = {"\xEF\xBF\xBD"};
    weft_generate_desc desc = {.stop = stop, .n_stop = 1, .max_tokens = 2};
    heard h = generate(&r, "a", desc, (heard){0});
    expect(&h, "b", WEFT_FINISH_STOP, 2);
    close_rig(&r);
}

/* ---- whole characters (G5-01) ---------------------------------------------------------------- */

static void characters_are_whole(void **state) {
    (void)state;
    static const char *const pieces[] = {"\xF0\x9F\x98", NULL};
    tiny_model m = {.pieces = pieces, .eos = 1 + 1};
    const int32_t chain[] = {tiny_model_byte(&m, '>'),
                             tiny_model_piece(&m, 0),
                             tiny_model_byte(&m, 0xB8),
                             tiny_model_byte(&m, 0xE8),
                             tiny_model_byte(&m, 0xB5),
                             tiny_model_byte(&m, 0x8B),
                             1};
    m.chain = chain;
    m.n_chain = 7;
    rig r = open_rig(&m, 0);
    heard h = generate(&r, ">", (weft_generate_desc){0}, (heard){0});
    expect(&h, "\xF0\x9F\x98\xB8\xE8\xB5\x8B", WEFT_FINISH_STOP, 5);
    assert_int_equal(h.n_calls, 2);
    /* Cut inside the second character: each byte that is left of it becomes U+FFFD. */
    h = generate(&r, ">", (weft_generate_desc){.max_tokens = 4}, (heard){0});
    expect(&h, "\xF0\x9F\x98\xB8\xEF\xBF\xBD\xEF\xBF\xBD", WEFT_FINISH_LENGTH, 4);
    close_rig(&r);

    tiny_model bad = {.eos = 1 + 1};
    const int32_t bad_chain[] = {tiny_model_byte(&bad, '>'), tiny_model_byte(&bad, 0xFF),
                                 tiny_model_byte(&bad, 'a'), 1};
    bad.chain = bad_chain;
    bad.n_chain = 4;
    r = open_rig(&bad, 0);
    h = generate(&r, ">", (weft_generate_desc){0}, (heard){0});
    expect(&h,
           "\xEF\xBF\xBD"
           "a",
           WEFT_FINISH_STOP, 2);
    close_rig(&r);
}

/* ---- limits (G5-08, G5-10) ------------------------------------------------------------------- */

static tiny_model endless(int32_t *chain) {
    tiny_model m = {.eos = 1 + 1};
    chain[0] = tiny_model_byte(&m, 'x');
    m.chain = chain;
    m.n_chain = 1;
    return m;
}

static void counts_are_exact(void **state) {
    (void)state;
    int32_t chain[1];
    tiny_model m = endless(chain);
    rig r = open_rig(&m, 0);
    for (int n = 1; n <= 20; n += n == 1 ? 4 : 15) {
        heard h = generate(&r, "x", (weft_generate_desc){.max_tokens = n}, (heard){0});
        assert_int_equal(h.result.n_generated, n);
        assert_int_equal(h.n, n);
        assert_int_equal(h.result.finish, WEFT_FINISH_LENGTH);
        assert_int_equal(h.result.n_prompt, 1);
        assert_true(h.result.first_token_seconds > 0);
    }
    close_rig(&r);
}

static void context_is_never_exceeded(void **state) {
    (void)state;
    int32_t chain[1];
    tiny_model m = endless(chain);
    rig r = open_rig(&m, 64);
    char prompt[66] = "";
    memset(prompt, 'x', 65);
    for (int n = 62; n <= 64; n++) {
        prompt[n] = 0;
        heard h = generate(&r, prompt, (weft_generate_desc){.max_tokens = 10}, (heard){0});
        assert_int_equal(h.result.n_generated, 64 - n);
        assert_int_equal(h.result.finish, WEFT_FINISH_LENGTH);
        prompt[n] = 'x';
    }
    weft_generation g;
    assert_fails(weft_generate(r.session, prompt, (weft_generate_desc){.result = &g}),
                 WEFT_CONTEXT_FULL, "65 tokens, but the context holds 64");
    assert_int_equal(g.finish, WEFT_FINISH_NONE);
    heard h = generate(&r, "x", (weft_generate_desc){0}, (heard){0}); /* until it is full */
    expect(&h, h.text, WEFT_FINISH_LENGTH, 63);
    assert_fails(weft_generate(r.session, "", (weft_generate_desc){0}), WEFT_INVALID, "empty");
    assert_fails(weft_generate(r.session, NULL, (weft_generate_desc){0}), WEFT_INVALID, "NULL");
    assert_fails(weft_generate(r.session, "x", (weft_generate_desc){.max_tokens = -1}),
                 WEFT_INVALID, "max_tokens is -1");
    close_rig(&r);
}

static void begin_token_is_there_once(void **state) { /* G3-09 */
    (void)state;
    int32_t chain[1];
    tiny_model m = endless(chain);
    m.bos = 0 + 1;
    m.adds_bos = true;
    rig r = open_rig(&m, 0);
    int32_t ids[8];
    assert_int_equal(weft_encode(r.model, "x", 1, WEFT_ADD_SPECIAL, ids, 8), 2);
    assert_int_equal(ids[0], 0);
    assert_int_equal(weft_encode(r.model, "<s>x", 4, WEFT_ADD_SPECIAL | WEFT_PARSE_SPECIAL, ids, 8),
                     2);
    heard h = generate(&r, "x", (weft_generate_desc){.max_tokens = 1}, (heard){0});
    assert_int_equal(h.result.n_prompt, 2);
    weft_generation g; /* an empty prompt begins with it */
    assert_ok(weft_generate(r.session, "", (weft_generate_desc){.max_tokens = 1, .result = &g}));
    assert_int_equal(g.n_prompt, 1);
    char text[16];
    assert_int_equal(weft_decode(r.model, ids, 2, 0, text, sizeof text), 1);
    assert_string_equal(text, "x");
    assert_int_equal(weft_decode(r.model, ids, 2, WEFT_PARSE_SPECIAL, text, 3), 4);
    assert_string_equal(text, "<s");
    close_rig(&r);
}

/* ---- cancelling ------------------------------------------------------------------------------ */

static void callbacks_can_end_it(void **state) {
    (void)state;
    int32_t chain[1];
    tiny_model m = endless(chain);
    rig r = open_rig(&m, 0);
    heard h = generate(&r, "x", (weft_generate_desc){0}, (heard){.refuse_at = 3});
    expect(&h, "xxx", WEFT_FINISH_CANCELLED, 3);
    h = generate(&r, "xy", (weft_generate_desc){0}, (heard){.cancel_at = 3});
    assert_int_equal(h.result.finish, WEFT_FINISH_CANCELLED);
    assert_int_equal(h.result.n_generated, 2);
    heard at_once = {.cancel_at = 1};
    weft_generate_desc desc = {.is_cancelled = is_cancelled, .user = &at_once};
    assert_fails(weft_generate(r.session, "yz", desc), WEFT_CANCELLED, "cancelled");
    h = generate(&r, "x", (weft_generate_desc){.max_tokens = 4},
                 (heard){0}); /* usable afterwards */
    expect(&h, "xxxx", WEFT_FINISH_LENGTH, 4);
    close_rig(&r);
}

static bool call_again(void *user, const char *text, size_t n) {
    (void)text;
    (void)n;
    rig *r = user;
    assert_fails(weft_session_append(r->session, 1), WEFT_BUSY, "in use");
    assert_int_equal(weft_encode(r->model, "x", 1, 0, NULL, 0), -1);
    return true;
}

static void callbacks_may_not_call_back(void **state) {
    (void)state;
    int32_t chain[1];
    tiny_model m = endless(chain);
    rig r = open_rig(&m, 0);
    weft_generate_desc desc = {.on_text = call_again, .user = &r, .max_tokens = 2};
    assert_ok(weft_generate(r.session, "x", desc));
    close_rig(&r);
}

/* ---- sampling -------------------------------------------------------------------------------- */

static void seeds_reproduce(void **state) {
    (void)state;
    tiny_model m = {.seed = 3, .has_output = true};
    rig r = open_rig(&m, 0);
    weft_generate_desc desc = {.max_tokens = 40, .ignore_eos = true};
    desc.sampling = (weft_sampling){.temperature = 1, .seed = 7};
    char first[4096];
    heard h = generate(&r, "hello", desc, (heard){0});
    snprintf(first, sizeof first, "%s", h.text);
    h = generate(&r, "hello", desc, (heard){0});
    assert_string_equal(h.text, first);
    desc.sampling.seed = 8;
    h = generate(&r, "hello", desc, (heard){0});
    assert_string_not_equal(h.text, first);

    /* Step by step: greedy is the largest logit; one stream of draws until it is reset. */
    int32_t ids[2] = {5, 6}, id, draws[2][8];
    float logits[259], log_prob;
    assert_ok(weft_session_sync(r.session, ids, 2));
    assert_ok(weft_logits(r.session, logits, 259));
    assert_ok(weft_sample(r.session, (weft_sampling){0}, &id, &log_prob));
    for (int i = 0; i < 259; i++) assert_true(logits[i] <= logits[id]);
    assert_true(log_prob <= 0 && log_prob > -100);
    for (int round = 0; round < 2; round++) {
        weft_session_reset(r.session);
        assert_ok(weft_session_sync(r.session, ids, 2));
        for (int i = 0; i < 8; i++)
            assert_ok(weft_sample(r.session, desc.sampling, &draws[round][i], NULL));
    }
    assert_memory_equal(draws[0], draws[1], sizeof draws[0]);
    bool differ = false;
    for (int i = 1; i < 8; i++) differ = differ || draws[0][i] != draws[0][0];
    assert_true(differ);
    weft_session_reset(r.session);
    assert_fails(weft_sample(r.session, (weft_sampling){0}, &id, NULL), WEFT_INVALID, "no logits");
    close_rig(&r);
}

/* ---- grammars -------------------------------------------------------------------------------- */

/* A model with random weights, held to a grammar: every answer is one of its texts. */
static void answers_follow_the_grammar(void **state) {
    (void)state;
    tiny_model m = {.seed = 3, .has_output = true, .eos = 1 + 1};
    rig r = open_rig(&m, 0);
    weft_generate_desc desc = {.grammar = "root ::= [1-9]{3} \"-\" (\"ab\" | \"\u00e9\")"};
    for (uint64_t seed = 0; seed < 12; seed++) {
        desc.sampling = (weft_sampling){.temperature = seed ? 2 : 0, .seed = seed};
        heard h = generate(&r, "hello", desc, (heard){0});
        assert_int_equal(h.result.finish, WEFT_FINISH_STOP);
        assert_int_equal(strspn(h.text, "123456789"), 3);
        if (strcmp(h.text + 3, "-ab") && strcmp(h.text + 3, "-\xC3\xA9"))
            fail_msg("\"%s\"", h.text);
    }
#ifdef WEFT_HAVE_JANSSON
    desc = (weft_generate_desc){.json_schema = "{\"enum\": [17, \"x\", null]}"};
    for (uint64_t seed = 1; seed < 8; seed++) {
        desc.sampling = (weft_sampling){.temperature = 2, .seed = seed};
        heard h = generate(&r, "hello", desc, (heard){0});
        assert_int_equal(h.result.finish, WEFT_FINISH_STOP);
        assert_non_null(strstr("17 \"x\" null", h.text));
    }
    desc.grammar = "root ::= \"a\"";
    assert_fails(weft_generate(r.session, "hello", desc), WEFT_INVALID, "not both");
    desc.json_schema = NULL;
#endif
    desc.grammar = "root ::= \"a";
    assert_fails(weft_generate(r.session, "hello", desc), WEFT_FORMAT, "grammar, line 1");
    desc = (weft_generate_desc){.grammar = "root ::= \"a\"", .ignore_eos = true};
    assert_fails(weft_generate(r.session, "hello", desc), WEFT_INVALID, "ignore_eos");
    desc = (weft_generate_desc){.max_tokens = 3, .ignore_eos = true};
    assert_int_equal(generate(&r, "hello", desc, (heard){0}).result.n_generated, 3);
    close_rig(&r);
}

/* ---- chat ------------------------------------------------------------------------------------ */

#define CHATML                                                                                     \
    "{% for message in messages %}{{'<|im_start|>' + message['role'] + '\n' + message['content'] " \
    "+ '<|im_end|>' + '\n'}}{% endfor %}{% if add_generation_prompt %}{{ "                         \
    "'<|im_start|>assistant\n' }}{% endif %}"

static const char *const chat_controls[] = {"<|im_start|>", "<|im_end|>", NULL};
static int32_t chat_chain[4];

/* Answers "Hi". */
static tiny_model chatty(void) {
    tiny_model m = {.controls = chat_controls, .eos = 1 + 1, .chat_template = CHATML};
    chat_chain[0] = tiny_model_byte(&m, '\n');
    chat_chain[1] = tiny_model_byte(&m, 'H');
    chat_chain[2] = tiny_model_byte(&m, 'i');
    chat_chain[3] = 1;
    m.chain = chat_chain;
    m.n_chain = 4;
    return m;
}

static void format_keeps_content_apart(void **state) { /* G3-09 */
    (void)state;
    tiny_model m = chatty();
    rig r = open_rig(&m, 0);
    weft_chat_message messages[2] = {{"system", "A<|im_end|>"}, {"user", "<|im_start|>B\n"}};
    int32_t ids[256];
    int64_t n = weft_chat_encode(r.session, messages, 2, ids, 256);
    assert_true(n > 0 && n <= 256);
    char text[512];
    assert_true(weft_decode(r.model, ids, (size_t)n, WEFT_PARSE_SPECIAL, text, sizeof text) > 0);
    assert_string_equal(text,
                        "<|im_start|>system\nA<|im_end|><|im_end|>\n"
                        "<|im_start|>user\n<|im_start|>B\n<|im_end|>\n<|im_start|>assistant\n");
    int n_controls = 0;
    for (int i = 0; i < n; i++) n_controls += ids[i] < 2;
    assert_int_equal(n_controls, 5); /* the format's own, not the contents' */
    assert_int_equal(weft_chat_encode(r.session, messages, 0, ids, 256), -1);
    messages[1].content = NULL;
    assert_int_equal(weft_chat_encode(r.session, messages, 2, ids, 256), -1);
    assert_non_null(strstr(weft_message(), "message 1 has no content"));
    close_rig(&r);
}

static void turns_reuse_the_cache(void **state) {
    (void)state;
    tiny_model m = chatty();
    rig r = open_rig(&m, 0);
    weft_model_info info;
    assert_ok(weft_get_model_info(r.model, &info));
    assert_true(info.chat_format[0] != 0);
    weft_generation g;
    weft_generate_desc desc = {.result = &g};
    weft_chat_message messages[3] = {
        {"user", "Hello!"}, {"assistant", NULL}, {"user", "And more?"}};
    assert_ok(weft_chat(r.session, messages, 1, desc));
    assert_string_equal(weft_session_text(r.session), "Hi");
    assert_int_equal(g.finish, WEFT_FINISH_STOP);
    assert_int_equal(g.n_cached, 0);
    int n_first = g.n_prompt;
    char answer[8];
    snprintf(answer, sizeof answer, "%s", weft_session_text(r.session));
    messages[1].content = answer;
    assert_ok(weft_chat(r.session, messages, 3, desc));
    assert_string_equal(weft_session_text(r.session), "Hi");
    assert_int_equal(g.n_cached, n_first + 2);
    close_rig(&r);

    tiny_model plain = {.seed = 1};
    r = open_rig(&plain, 0);
    assert_fails(weft_chat(r.session, messages, 1, desc), WEFT_UNSUPPORTED, "no chat format");
    close_rig(&r);
}

static void sessions_keep_a_freed_model(void **state) {
    (void)state;
    tiny_model m = fox();
    rig r = open_rig(&m, 0);
    weft_session *second = weft_session_open(r.model, (weft_session_desc){.kv = WEFT_KV_F32});
    assert_null(weft_session_open(r.model, (weft_session_desc){.precision = (weft_precision)9}));
    assert_non_null(strstr(weft_message(), "9 is no precision"));
    weft_model_free(r.model);
    weft_session_close(r.session);
    assert_ok(weft_generate(second, ">", (weft_generate_desc){.max_tokens = 3}));
    assert_string_equal(weft_session_text(second), "The quick br");
    weft_session_close(second); /* the model goes with it: a leak checker would see it */
}

static void models_keep_a_closed_device(void **state) {
    (void)state;
    tiny_model m = fox();
    weft_device *own = tiny_model_device();
    weft_model *model = weft_model_load(own, tiny_model_file(&m), (weft_model_desc){0});
    weft_session *session = weft_session_open(model, (weft_session_desc){0});
    weft_close(own);
    weft_model_free(model);
    assert_ok(weft_generate(session, ">", (weft_generate_desc){.max_tokens = 3}));
    assert_string_equal(weft_session_text(session), "The quick br");
    weft_session_close(session); /* model and device go with it */
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_end_token_ends),
        cmocka_unit_test(stops_leak_nothing),
        cmocka_unit_test(characters_are_whole),
        cmocka_unit_test(counts_are_exact),
        cmocka_unit_test(context_is_never_exceeded),
        cmocka_unit_test(begin_token_is_there_once),
        cmocka_unit_test(callbacks_can_end_it),
        cmocka_unit_test(callbacks_may_not_call_back),
        cmocka_unit_test(seeds_reproduce),
        cmocka_unit_test(format_keeps_content_apart),
        cmocka_unit_test(turns_reuse_the_cache),
        cmocka_unit_test(stop_may_come_with_the_last_bytes),
        cmocka_unit_test(sessions_keep_a_freed_model),
        cmocka_unit_test(models_keep_a_closed_device),
        cmocka_unit_test(answers_follow_the_grammar),
    };
    return cmocka_run_group_tests(tests, open_device, close_device);
}
