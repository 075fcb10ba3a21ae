/* Sessions: the tokens of a context and their keys and values. session_sync is the one place that
 * keeps tokens, pages and logits in step; everything else asks it for "the context is now this".
 * SPDX-License-Identifier: MIT */
#include <string.h>

#include "base/mem.h"
#include "llm/llm.h"

enum { DEFAULT_CONTEXT = 4096, DEFAULT_BATCH = 512 };
static const size_t most_logits = 4u << 20; /* numbers of logits computed at once: 16 MB */

weft_status session_enter(weft_session *s) {
    if (!s) {
        if (error_status() == WEFT_OK) return error_set(WEFT_INVALID, "there is no session");
        return error_prefix(WEFT_INVALID, "there is no session");
    }
    return model_enter(s->model);
}

void session_leave(weft_session *s) { model_leave(s->model); }

/* ---- opening and closing ----------------------------------------------------------------------
 * */

static weft_status check_desc(const model_params *p, weft_session_desc *d) {
    REQUIRE(d->n_ctx >= 0, WEFT_INVALID, "a context of %d tokens is not possible", d->n_ctx);
    REQUIRE(d->n_batch >= 0, WEFT_INVALID, "a batch of %d tokens is not possible", d->n_batch);
    REQUIRE(d->kv == WEFT_KV_DEFAULT || d->kv == WEFT_KV_F16 || d->kv == WEFT_KV_F32, WEFT_INVALID,
            "%d is no element type of a KV cache", (int)d->kv);
    REQUIRE(d->precision == WEFT_PRECISION_DEFAULT || d->precision == WEFT_EXACT ||
                d->precision == WEFT_FAST,
            WEFT_INVALID, "%d is no precision", (int)d->precision);
    if (!d->n_ctx) d->n_ctx = p->n_ctx_train < DEFAULT_CONTEXT ? p->n_ctx_train : DEFAULT_CONTEXT;
    if (!d->n_batch) d->n_batch = DEFAULT_BATCH;
    if (!d->precision) d->precision = WEFT_FAST;
    if (!d->kv) d->kv = d->precision == WEFT_EXACT ? WEFT_KV_F32 : WEFT_KV_F16;
    return WEFT_OK;
}

static weft_status open_session(weft_model *m, weft_session_desc desc, weft_session *s) {
    REQUIRE(m->net, WEFT_INVALID, "the model was loaded with its vocabulary only");
    const model_params *p = &m->net->p;
    TRY(check_desc(p, &desc));
    s->desc = desc;
    s->logits = mem_array((size_t)p->n_vocab, sizeof *s->logits);
    if (!s->logits) return WEFT_NO_MEMORY;
    bool is_f32 = desc.kv == WEFT_KV_F32;
    kv_cache **cache = &m->kv[is_f32].cache;
    if (!*cache)
        TRY(kv_open(m->dev, p->n_layers, p->n_kv_heads, p->head_dim, is_f32 ? WEFT_F32 : WEFT_F16,
                    cache));
    m->kv[is_f32].n_sessions++;
    s->cache = *cache;
    return WEFT_OK;
}

weft_session *weft_session_open(weft_model *m, weft_session_desc desc) {
    if (model_enter(m) != WEFT_OK) return NULL;
    weft_session *s = mem_alloc(sizeof *s);
    if (s) {
        s->model = m;
        if (open_session(m, desc, s) != WEFT_OK) {
            mem_free(s->logits);
            mem_free(s);
            s = NULL;
        }
    }
    model_leave(m);
    return s;
}

static void forget(weft_session *s, size_t keep) {
    s->tokens.n = keep;
    kv_trim(s->cache, &s->table, (int64_t)keep);
    weft_free(s->last);
    s->last = NULL;
}

void weft_session_close(weft_session *s) {
    if (!s || session_enter(s) != WEFT_OK) return;
    weft_model *m = s->model;
    forget(s, 0);
    kv_table_free(s->cache, &s->table);
    bool is_f32 = s->desc.kv == WEFT_KV_F32;
    if (--m->kv[is_f32].n_sessions == 0) { /* nobody borrows its pages: give the memory back */
        kv_close(m->kv[is_f32].cache);
        m->kv[is_f32].cache = NULL;
    }
    token_list_free(&s->tokens);
    sampler_close(s->sampler);
    str_free(&s->sampling);
    str_free(&s->text);
    mem_free(s->logits);
    mem_free(s);
    model_leave(m);
    if (m->is_given_up && !model_n_sessions(m)) weft_model_free(m);
}

void weft_session_reset(weft_session *s) {
    if (session_enter(s) != WEFT_OK) return;
    forget(s, 0);
    str_clear(&s->text);
    sampler_close(s->sampler);
    s->sampler = NULL;
    session_leave(s);
}

const int32_t *weft_session_tokens(weft_session *s, size_t *n) {
    if (n) *n = s ? s->tokens.n : 0;
    return s ? s->tokens.ids : NULL;
}

int32_t weft_session_size(weft_session *s) { return s ? s->desc.n_ctx : 0; }

/* ---- the context
 * --------------------------------------------------------------------------------- */

/* One forward over ids[at..at+n); logits of those from `first` on. The tokens join the context when
 * it went well. */
static weft_status step(weft_session *s, const int32_t *ids, size_t at, size_t n, size_t first,
                        float *out) {
    weft_device *dev = s->model->dev;
    model_row *rows = mem_array(n, sizeof *rows);
    if (!rows) return WEFT_NO_MEMORY;
    for (size_t i = 0; i < n; i++)
        rows[i] = (model_row){ids[at + i], 0, (int32_t)(at + i), at + i >= first};
    const kv_table *tables[1] = {&s->table};
    model_batch batch = {rows, (int)n, tables, 1};
    weft_tensor *logits = NULL;
    weft_precision before = weft_set_precision(dev, s->desc.precision);
    weft_status status = model_forward(s->model->net, s->cache, &batch, &logits);
    weft_set_precision(dev, before);
    mem_free(rows);
    TRY(status);
    if (!logits) return weft_sync(dev);
    size_t n_wanted = at + n - (at > first ? at : first),
           n_vocab = (size_t)s->model->net->p.n_vocab;
    if (out) TRY(weft_read(logits, out, n_wanted * n_vocab * sizeof *out));
    weft_tensor *last = n_wanted == 1 ? logits : weft_slice(logits, 0, (int64_t)n_wanted - 1, 1);
    s->last = weft_keep(last);
    return weft_tensor_status(last);
}

typedef struct sync_call {
    const int32_t *ids;
    size_t n, first; /* logits are wanted of ids[first..n) */
    float *out;      /* and stored here, or only the last ones kept (NULL) */
    sync_progress on_progress;
    void *user;
} sync_call;

static weft_status advance(weft_session *s, const sync_call *call) {
    size_t start = s->tokens.n, most = most_logits / (size_t)s->model->net->p.n_vocab;
    if (!most) most = 1;
    while (s->tokens.n < call->n) {
        size_t at = s->tokens.n, n = call->n - at;
        if (n > (size_t)s->desc.n_batch) n = (size_t)s->desc.n_batch;
        size_t first = call->first > at ? call->first : at;
        if (at + n > first + most) n = first + most - at;
        bool goes_on = !call->on_progress || call->on_progress(call->user, (int32_t)(at - start),
                                                               (int32_t)(call->n - start));
        REQUIRE(goes_on, WEFT_CANCELLED, "cancelled after %zu of %zu tokens", at, call->n);
        weft_free(s->last);
        s->last = NULL;
        float *out =
            call->out ? call->out + (first - call->first) * (size_t)s->model->net->p.n_vocab : NULL;
        TRY(weft_scope_push(s->model->dev));
        weft_status status = step(s, call->ids, at, n, call->first, out);
        weft_scope_pop(s->model->dev);
        TRY(status);
        memmove(s->tokens.ids + at, call->ids + at, n * sizeof *call->ids); /* may be the same */
        s->tokens.n = at + n;
    }
    return WEFT_OK;
}

static weft_status check_ids(const weft_session *s, const int32_t *ids, size_t n) {
    REQUIRE(n > 0, WEFT_INVALID, "the prompt is empty");
    REQUIRE(ids, WEFT_INVALID, "the list of tokens is NULL");
    REQUIRE(n <= (size_t)s->desc.n_ctx, WEFT_CONTEXT_FULL,
            "the prompt has %zu tokens, but the context holds %d", n, s->desc.n_ctx);
    int32_t n_vocab = s->model->net->p.n_vocab;
    for (size_t i = 0; i < n; i++)
        REQUIRE(ids[i] >= 0 && ids[i] < n_vocab, WEFT_INDEX,
                "token %zu is %d, but the vocabulary has 0 to %d", i, ids[i], n_vocab - 1);
    return WEFT_OK;
}

/* The context becomes call->ids; at most the first `most_kept` tokens are taken from the cache. */
static weft_status sync_context(weft_session *s, const sync_call *call, size_t most_kept,
                                size_t *n_reused) {
    size_t keep = 0;
    while (keep < s->tokens.n && keep < call->n && s->tokens.ids[keep] == call->ids[keep]) keep++;
    if (keep > most_kept) keep = most_kept;
    if (keep == call->n && !(s->last && s->tokens.n == call->n)) keep--; /* its logits are wanted */
    if (n_reused) *n_reused = keep;
    if (keep == s->tokens.n && keep == call->n) return WEFT_OK;
    forget(s, keep);
    TRY(mem_reserve((void **)&s->tokens.ids, &s->tokens.capacity, call->n, sizeof *s->tokens.ids));
    TRY(kv_reserve(s->cache, &s->table, (int64_t)call->n, s->desc.n_ctx));
    weft_status status = advance(s, call);
    if (status != WEFT_OK) forget(s, status == WEFT_CANCELLED ? s->tokens.n : 0);
    return status;
}

weft_status session_sync(weft_session *s, const int32_t *ids, size_t n, sync_progress on_progress,
                         void *user, size_t *n_reused) {
    TRY(check_ids(s, ids, n));
    sync_call call = {ids, n, n - 1, NULL, on_progress, user};
    return sync_context(s, &call, n, n_reused);
}

weft_status session_read_logits(weft_session *s) {
    REQUIRE(s->last, WEFT_INVALID, "the session has no logits yet: its context is empty");
    size_t bytes = (size_t)s->model->net->p.n_vocab * sizeof *s->logits;
    weft_status status = weft_read(s->last, s->logits, bytes);
    if (status != WEFT_OK)
        forget(s, 0); /* a late failure: what is in the cache cannot be trusted */
    return status;
}

/* ---- step by step
 * --------------------------------------------------------------------------------- */

weft_status weft_session_sync(weft_session *s, const int32_t *ids, size_t n) {
    TRY(session_enter(s));
    weft_status status = session_sync(s, ids, n, NULL, NULL, NULL);
    session_leave(s);
    return status;
}

weft_status session_append(weft_session *s, int32_t id, sync_progress on_progress, void *user) {
    size_t n = s->tokens.n;
    REQUIRE(n < (size_t)s->desc.n_ctx, WEFT_CONTEXT_FULL, "the context of %d tokens is full",
            s->desc.n_ctx);
    TRY(mem_reserve((void **)&s->tokens.ids, &s->tokens.capacity, n + 1, sizeof *s->tokens.ids));
    s->tokens.ids[n] = id;
    return session_sync(s, s->tokens.ids, n + 1, on_progress, user, NULL);
}

weft_status weft_session_append(weft_session *s, int32_t id) {
    TRY(session_enter(s));
    weft_status status = session_append(s, id, NULL, NULL);
    session_leave(s);
    return status;
}

weft_status weft_logits(weft_session *s, float *out, size_t n_vocab) {
    TRY(session_enter(s));
    size_t n = (size_t)s->model->net->p.n_vocab;
    weft_status status = WEFT_OK;
    if (!out || n_vocab != n)
        status = error_set(WEFT_INVALID, "weft_logits: room for %zu numbers is needed, not %zu", n,
                           out ? n_vocab : 0);
    if (status == WEFT_OK) status = session_read_logits(s);
    if (status == WEFT_OK) memcpy(out, s->logits, n * sizeof *out);
    session_leave(s);
    return status;
}

static weft_status score(weft_session *s, const int32_t *ids, size_t n, size_t first, float *out,
                         size_t out_floats) {
    TRY(check_ids(s, ids, n));
    size_t n_vocab = (size_t)s->model->net->p.n_vocab;
    REQUIRE(first < n, WEFT_INVALID, "weft_score: no tokens from %zu on among %zu", first, n);
    REQUIRE(out && out_floats == (n - first) * n_vocab, WEFT_INVALID,
            "weft_score: room for %zu numbers is needed, not %zu", (n - first) * n_vocab,
            out ? out_floats : 0);
    sync_call call = {ids, n, first, out, NULL, NULL};
    return sync_context(s, &call, first, NULL);
}

weft_status weft_score(weft_session *s, const int32_t *ids, size_t n, size_t first, float *out,
                       size_t out_floats) {
    TRY(session_enter(s));
    weft_status status = score(s, ids, n, first, out, out_floats);
    session_leave(s);
    return status;
}

static weft_status sample(weft_session *s, const weft_sampling *sampling, int32_t *id,
                          float *log_prob) {
    REQUIRE(id, WEFT_INVALID, "weft_sample: id is NULL");
    TRY(session_read_logits(s));
    TRY(session_open_sampler(s, sampling, true));
    return sampler_draw(s->sampler, s->logits, s->tokens.ids, s->tokens.n, id, log_prob);
}

weft_status weft_sample(weft_session *s, weft_sampling sampling, int32_t *id, float *log_prob) {
    TRY(session_enter(s));
    weft_status status = sample(s, &sampling, id, log_prob);
    session_leave(s);
    return status;
}

weft_status weft_best(weft_session *s, size_t n, weft_token_prob *out) {
    TRY(session_enter(s));
    weft_status status = WEFT_OK;
    if (n && !out) status = error_set(WEFT_INVALID, "weft_best: out is NULL");
    if (status == WEFT_OK) status = session_read_logits(s);
    if (status == WEFT_OK) status = model_best(s->model, s->logits, n, out, NULL);
    session_leave(s);
    return status;
}
