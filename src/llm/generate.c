/* Generation: prompt in, tokens drawn one by one, their text given out as it becomes certain.
 *
 * The rules: a prompt and its answer fit the context together; the last token drawn is not fed
 * back; every end token of the vocabulary ends the text; token bytes pass through token_stream
 * (whole characters) and then stops (no part of a
 * stop string). SPDX-License-Identifier: MIT */
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "llm/llm.h"

const char *weft_finish_name(weft_finish finish) {
    switch (finish) {
    case WEFT_FINISH_STOP: return "stop";
    case WEFT_FINISH_LENGTH: return "length";
    case WEFT_FINISH_CANCELLED: return "cancelled";
    case WEFT_FINISH_NONE: break;
    }
    return "none";
}

typedef struct generation {
    weft_session *s;
    const weft_generate_desc *desc;
    weft_generation *result;
    token_stream stream;
    stops stops;
    constraint constraint;
    str piece, shown;      /* scratch: a token's characters; what may be given out */
    bool is_text_over;     /* on_text said stop */
    bool is_refused;       /* on_text or on_token said stop */
    weft_token_prob *best; /* room for n_best */
    size_t n_best;         /* that on_token is told, at most the vocabulary */
    double start;
} generation;

/* Gives out what the stops let through. */
static weft_status show(generation *g) {
    if (!g->shown.n || g->is_text_over) return WEFT_OK;
    TRY(str_append(&g->s->text, g->shown.data, g->shown.n));
    if (g->desc->on_text && !g->desc->on_text(g->desc->user, g->shown.data, g->shown.n))
        g->is_refused = g->is_text_over = true;
    str_clear(&g->shown);
    return WEFT_OK;
}

/* Tells on_token. */
static weft_status tell(generation *g, int32_t id, float drawn_log_prob) {
    const weft_generate_desc *desc = g->desc;
    if (!desc->on_token) return WEFT_OK;
    weft_token told = {.token = {.id = id}, .drawn_log_prob = drawn_log_prob, .best = g->best};
    TRY(model_best(g->s->model, g->s->logits, g->n_best, g->best, &told.token));
    while (told.n_best < g->n_best && g->best[told.n_best].id >= 0) told.n_best++;
    if (!desc->on_token(desc->user, &told)) g->is_refused = true;
    return WEFT_OK;
}

static weft_status take_token(generation *g, int32_t id) {
    str_clear(&g->piece);
    TRY(token_stream_feed(g->s->model->tok, &g->stream, id, false, &g->piece));
    TRY(stops_feed(&g->stops, str_text(&g->piece), g->piece.n, &g->shown));
    return show(g);
}

/* The text is over: what was held back is shown, unless a stop string was found. */
static weft_status end_text(generation *g) {
    str_clear(&g->piece);
    TRY(token_stream_end(&g->stream, &g->piece));
    TRY(stops_feed(&g->stops, str_text(&g->piece), g->piece.n, &g->shown));
    TRY(stops_end(&g->stops, &g->shown));
    return show(g);
}

static bool prompt_progress(void *user, int32_t done, int32_t total) {
    const weft_generate_desc *desc = user;
    if (desc->is_cancelled && desc->is_cancelled(desc->user)) return false;
    return !desc->on_prompt || desc->on_prompt(desc->user, done, total);
}

static bool step_progress(void *user, int32_t done, int32_t total) {
    (void)done;
    (void)total;
    const weft_generate_desc *desc = user;
    return !desc->is_cancelled || !desc->is_cancelled(desc->user);
}

static weft_status check_desc(const weft_generate_desc *desc) {
    REQUIRE(desc->max_tokens >= 0, WEFT_INVALID, "max_tokens is %d, expected 0 or more",
            desc->max_tokens);
    REQUIRE(desc->n_best >= 0, WEFT_INVALID, "n_best is %d, expected 0 or more", desc->n_best);
    REQUIRE(!desc->n_stop || desc->stop, WEFT_INVALID, "the list of stop strings is NULL");
    for (size_t i = 0; i < desc->n_stop; i++) {
        const char *text = desc->stop[i];
        REQUIRE(text && text[0], WEFT_INVALID, "stop string %zu is empty", i);
        for (size_t at = 0, n = strlen(text); at < n;) {
            int32_t code;
            at += (size_t)utf8_decode(text + at, n - at, &code);
            REQUIRE(code != UTF8_BAD, WEFT_INVALID, "stop string %zu is not UTF-8", i);
        }
    }
    return WEFT_OK;
}

static weft_status read_prompt(generation *g, const int32_t *ids, size_t n) {
    weft_session *s = g->s;
    size_t n_reused = 0;
    g->result->n_prompt = (int32_t)n;
    TRY(session_sync(s, ids, n, prompt_progress, (void *)g->desc, &n_reused));
    TRY(session_read_logits(s));
    g->result->n_cached = (int32_t)n_reused;
    g->result->prompt_seconds = clock_seconds() - g->start;
    if (g->desc->on_prompt)
        g->desc->on_prompt(g->desc->user, (int32_t)(n - n_reused), (int32_t)(n - n_reused));
    return WEFT_OK;
}

/* Draws until something ends it. `last_at` is when the last token was drawn. */
static weft_status draw_tokens(generation *g, double *last_at) {
    weft_session *s = g->s;
    weft_generation *r = g->result;
    for (;;) {
        r->finish = WEFT_FINISH_LENGTH;
        if (r->n_prompt + r->n_generated >= s->desc.n_ctx) return WEFT_OK;
        int32_t id;
        float log_prob = 0;
        bool is_over, wants_probs = g->desc->on_token != NULL;
        TRY(constraint_mask(&g->constraint, tokenizer_n_tokens(s->model->tok), s->sampler,
                            &is_over));
        r->finish = WEFT_FINISH_STOP;
        if (is_over) return WEFT_OK;
        TRY(sampler_draw(s->sampler, s->logits, s->tokens.ids, s->tokens.n, &id,
                         wants_probs ? &log_prob : NULL));
        *last_at = clock_seconds();
        if (r->first_token_seconds <= 0) r->first_token_seconds = *last_at - g->start;
        TRY(constraint_accept(&g->constraint, id));
        if (!g->desc->ignore_eos && tokenizer_is_end(s->model->tok, id)) return WEFT_OK;
        r->n_generated++;
        TRY(tell(g, id, log_prob));
        TRY(take_token(g, id));
        if (g->stops.is_found) return WEFT_OK;
        r->finish = WEFT_FINISH_CANCELLED;
        if (g->is_refused) return WEFT_OK;
        r->finish = WEFT_FINISH_LENGTH;
        if (r->n_generated == g->desc->max_tokens) return WEFT_OK;
        if (r->n_prompt + r->n_generated >= s->desc.n_ctx) return WEFT_OK;
        weft_status status = session_append(s, id, step_progress, (void *)g->desc);
        r->finish = WEFT_FINISH_CANCELLED;
        if (status == WEFT_CANCELLED) return WEFT_OK;
        TRY(status);
        TRY(session_read_logits(s));
    }
}

static weft_status run(generation *g, const int32_t *ids, size_t n) {
    weft_generation *r = g->result;
    str_clear(&g->s->text);
    TRY(check_desc(g->desc));
    size_t n_vocab = (size_t)g->s->model->net->p.n_vocab;
    g->n_best = g->desc->on_token ? (size_t)g->desc->n_best : 0;
    if (g->n_best > n_vocab) g->n_best = n_vocab;
    g->best = mem_array(g->n_best, sizeof *g->best);
    if (!g->best) return WEFT_NO_MEMORY;
    TRY(session_open_sampler(g->s, &g->desc->sampling, false));
    TRY(constraint_open(g->s->model, g->desc, &g->constraint));
    TRY(read_prompt(g, ids, n));
    double read_at = clock_seconds(), last_at = read_at;
    weft_status status = draw_tokens(g, &last_at);
    if (status == WEFT_OK) status = end_text(g);
    if (g->stops.is_found && r->finish == WEFT_FINISH_LENGTH)
        r->finish = WEFT_FINISH_STOP; /* the last bytes completed it */
    if (status != WEFT_OK) r->finish = WEFT_FINISH_NONE;
    if (r->first_token_seconds > 0)
        r->generate_seconds = last_at - g->start - r->first_token_seconds;
    bool has_end_token = r->finish == WEFT_FINISH_STOP && !g->stops.is_found;
    int n_read = r->n_prompt - r->n_cached, n_steps = r->n_generated - (has_end_token ? 0 : 1);
    if (r->prompt_seconds > 0) r->prompt_rate = n_read / r->prompt_seconds;
    if (r->generate_seconds > 0 && n_steps > 0) r->generate_rate = n_steps / r->generate_seconds;
    return status;
}

static weft_status generate(weft_session *s, const int32_t *ids, size_t n,
                            const weft_generate_desc *desc) {
    weft_generation unused = {0};
    generation g = {.s = s, .desc = desc, .result = desc->result ? desc->result : &unused};
    *g.result = unused;
    g.stops.stop = desc->stop;
    g.stops.n_stop = desc->n_stop;
    g.stream.is_started = desc->grammar || desc->json_schema; /* not a byte may be dropped */
    g.start = clock_seconds();
    weft_status status = run(&g, ids, n);
    if (s->sampler) sampler_set_mask(s->sampler, NULL);
    constraint_close(&g.constraint);
    stops_free(&g.stops);
    str_free(&g.piece);
    str_free(&g.shown);
    mem_free(g.best);
    return status;
}

weft_status weft_generate_tokens(weft_session *s, const int32_t *ids, size_t n,
                                 weft_generate_desc desc) {
    TRY(session_enter(s));
    weft_status status = generate(s, ids, n, &desc);
    session_leave(s);
    return status;
}

static weft_status encode_prompt(const weft_model *m, const char *prompt, bool parses_special,
                                 token_list *ids) {
    REQUIRE(prompt, WEFT_INVALID, "the prompt is NULL");
    int flags = ENCODE_ADD_SPECIAL | (parses_special ? ENCODE_PARSE_SPECIAL : 0);
    TRY(tokenizer_encode(m->tok, prompt, strlen(prompt), flags, ids));
    int32_t bos = tokenizer_bos(m->tok);
    if (ids->n || bos < 0) return WEFT_OK;
    TRY(mem_reserve((void **)&ids->ids, &ids->capacity, 1, sizeof *ids->ids));
    ids->ids[ids->n++] = bos;
    return WEFT_OK;
}

weft_status weft_generate(weft_session *s, const char *prompt, weft_generate_desc desc) {
    TRY(session_enter(s));
    token_list ids = {0};
    weft_status status = encode_prompt(s->model, prompt, desc.parse_special, &ids);
    if (status == WEFT_OK) status = generate(s, ids.ids, ids.n, &desc);
    token_list_free(&ids);
    session_leave(s);
    return status;
}

weft_status weft_chat(weft_session *s, const weft_chat_message *messages, size_t n,
                      weft_generate_desc desc) {
    TRY(session_enter(s));
    token_list ids = {0};
    weft_status status = chat_encode(s->model, messages, n, &ids);
    if (status == WEFT_OK) status = generate(s, ids.ids, ids.n, &desc);
    token_list_free(&ids);
    session_leave(s);
    return status;
}

int64_t weft_chat_encode(weft_session *s, const weft_chat_message *messages, size_t n, int32_t *ids,
                         size_t cap) {
    if (session_enter(s) != WEFT_OK) return -1;
    token_list list = {0};
    weft_status status = chat_encode(s->model, messages, n, &list);
    for (size_t i = 0; ids && i < list.n && i < cap; i++) ids[i] = list.ids[i];
    int64_t count = status == WEFT_OK ? (int64_t)list.n : -1;
    token_list_free(&list);
    session_leave(s);
    return count;
}

const char *weft_session_text(weft_session *s) { return s ? str_text(&s->text) : ""; }
