/* What the files of llm/ share: the insides of models and sessions. SPDX-License-Identifier: MIT */
#ifndef WEFT_LLM_LLM_H
#define WEFT_LLM_LLM_H

#include <stdatomic.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/str.h"
#include "checkpoint/checkpoint.h"
#include "gguf/gguf.h"
#include "gguf/safetensors.h"
#include "grammar/grammar.h"
#include "model/model.h"
#include "sample/sample.h"
#include "tokenizer/tokenizer.h"
#include "tokenizer/trie.h"
#include "weft/llm.h"

struct weft_model {
    weft_device *dev;
    gguf_file *file; /* open as long as the model: the CPU's weights are in it */
    model *net;      /* NULL when only the vocabulary was loaded */
    tokenizer *tok;
    struct {
        kv_cache *cache; /* shared by the sessions of one element type, which borrow its pages */
        int n_sessions;
    } kv[2];        /* f16, f32 */
    trie controls;  /* the texts of the vocabulary's control tokens */
    str text_bytes; /* what tokens stand for, control tokens written out: model_texts */
    size_t *text_first;
    str hints, hint_order;        /* what weft_model_sampling said, and the order it gave */
    grammar_vocab *grammar_vocab; /* made when a grammar first needs it */
    struct template_program *chat_template; /* NULL when the file has none that can be used */
    char chat_problem[256];                 /* why it cannot be used, "" = nothing */
    atomic_bool is_busy;                    /* one thread at a time */
    bool is_given_up; /* the caller freed it: the last session takes it along */
    uint64_t file_bytes;
    double load_seconds;
};

struct weft_session {
    weft_model *model;
    weft_session_desc desc; /* defaults filled in */
    kv_cache *cache;
    kv_table table;    /* pages for the tokens below */
    token_list tokens; /* whose keys and values are in the cache */
    weft_tensor *last; /* logits after the last token (1, n_vocab), NULL = not known; kept */
    float *logits;     /* room for them on the host */
    sampler *sampler;  /* of the last weft_sample or generation */
    str sampling;      /* its parameters as sampling_key has them */
    str text;          /* of the last generation */
};

/* A file to look at (inspect.c, placement.c). */
struct weft_gguf {
    gguf_file *file;    /* a GGUF file, or a folder as one; else NULL */
    safetensors *plain; /* a safetensors file by itself; else NULL */
    char *path;
    bool is_folder;
    mem_arena texts;                            /* what was handed out */
    char problem[CHECKPOINT_PROBLEM];           /* the last one asked for */
    char tokenizer_problem[CHECKPOINT_PROBLEM]; /* a folder's */
};

/* A public function on a model or session enters and leaves, so that a second thread, or a
 * callback, gets WEFT_BUSY and finds nothing half-done. A NULL model or session is an error that
 * repeats the failure it came from. */
weft_status model_enter(weft_model *m);
/* Sessions that borrow it. */
int model_n_sessions(const weft_model *m);
void model_leave(weft_model *m);
weft_status session_enter(weft_session *s);
void session_leave(weft_session *s);

/* Asked before each forward with the tokens of this sync done and to do; false cancels. */
typedef bool (*sync_progress)(void *user, int32_t done, int32_t total);

/* The one place that keeps tokens, pages and logits in step. Makes the context ids[0..n), n >= 1;
 * afterwards `last` is known. *n_reused (may be NULL) gets how many tokens were found in the cache.
 * When it fails or is cancelled the context is a prefix of ids. */
weft_status session_sync(weft_session *s, const int32_t *ids, size_t n, sync_progress on_progress,
                         void *user, size_t *n_reused);
/* The same with one more token at the end. */
weft_status session_append(weft_session *s, int32_t id, sync_progress on_progress, void *user);
/* Reads `last` into s->logits. */
weft_status session_read_logits(weft_session *s);
/* Makes s->sampler one for these parameters (sampling.c). With `may_continue` the last one goes on
 * drawing when they are its own; else it begins anew. */
weft_status session_open_sampler(weft_session *s, const weft_sampling *sampling, bool may_continue);
/* The texts of the model's tokens, made when first needed; the model's. */
weft_status model_texts(weft_model *m, sampler_texts *out);
/* The n best by the logits into `best`, and the log-probability of one->id into `one` (may be
 * NULL). */
weft_status model_best(weft_model *m, const float *logits, size_t n, weft_token_prob *best,
                       weft_token_prob *one);

/* The text side of a generation (stops.c): takes characters, gives out what can no longer be part
 * of a stop string. */
typedef struct stops {
    const char *const *stop;
    size_t n_stop;
    str pending; /* not given out yet: a stop string may begin in it */
    bool is_found;
} stops;
/* Appends text; `out` gets what may be shown. After a stop was found nothing more comes. */
weft_status stops_feed(stops *s, const char *text, size_t n, str *out);
/* The text is over: what is pending is shown, up to a stop string. */
weft_status stops_end(stops *s, str *out);
void stops_free(stops *s);

/* What holds an answer to a grammar (constrain.c); all-zero: none, and the functions do nothing. */
typedef struct constraint {
    grammar *grammar;
    grammar_matcher *matcher;
    uint32_t *mask;
} constraint;
weft_status constraint_open(weft_model *m, const weft_generate_desc *desc, constraint *c);
/* Gives the sampler the mask for the next token. *is_over: the text ends here, and the vocabulary
 * has no token to say so. */
weft_status constraint_mask(constraint *c, size_t n_vocab, sampler *s, bool *is_over);
weft_status constraint_accept(constraint *c, int32_t id);
void constraint_close(constraint *c);

/* The ids of a conversation in the model's chat format, ready for the answer (chat.c). */
weft_status chat_encode(weft_model *m, const weft_chat_message *messages, size_t n,
                        token_list *out);
/* Finds the control tokens and the chat template. A template that cannot be used is no failure
 * here: it is chat_encode's. */
weft_status chat_open(weft_model *m);
/* What the model's template makes of a context (a JSON object), its own tokens added; appended. */
weft_status chat_render(const weft_model *m, const char *context, size_t n, str *out);
/* The format's name, "" when there is none. */
const char *chat_format(const weft_model *m);

#endif
