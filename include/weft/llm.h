/* weft: language models from GGUF files and Hugging Face folders. The manual for LLM users; tensors
 * and devices are in weft.h.
 *
 *     weft_device *dev = weft_open(NULL);                                           // best device
 *     weft_model *model = weft_model_load(dev, "model.gguf", (weft_model_desc){0});
 *     weft_session *session = weft_session_open(model, (weft_session_desc){0});
 *     if (weft_generate(session, "Once upon a time", (weft_generate_desc){.on_text = print}))
 *         puts(weft_message());
 *     weft_session_close(session), weft_model_free(model), weft_close(dev);
 *
 * The rules of weft.h hold: failure is a value (a status, or NULL; weft_message() has the
 * sentence), NULL arguments give an error and not a crash, descriptor structs are passed by value
 * and all-zero means defaults, nothing is printed.
 *
 * - A *model* is a file's weights on one device, with its tokenizer and chat format. It keeps the
 *   device: one that is closed before goes with the last model on it. On the CPU the weights stay
 *   in the mapped file.
 * - A *session* is one context: the tokens so far, and their keys and values (the KV cache). It
 *   borrows the model. A model can have many sessions.
 * - Tokens are int32_t ids, 0 .. n_vocab-1.
 * - Callbacks run in the calling thread and must not call into the same device.
 * - Strings a struct or function hands out say who owns them; "the session's" means valid until the
 *   next call on it.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_LLM_H
#define WEFT_LLM_H

#include "weft/weft.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct weft_model weft_model;
typedef struct weft_session weft_session;

/* ---- models --------------------------------------------------------------------------------- */

typedef struct weft_model_desc {
    /* Called while loading with the bytes done and to do (done == total at the end); false cancels
     * the load, which then fails with WEFT_CANCELLED. */
    bool (*on_progress)(void *user, uint64_t done, uint64_t total);
    void *user;
    /* Only the tokenizer, for weft_encode and weft_decode, whatever the architecture: the device
     * may be NULL, and there can be no sessions. The path may then also be a tokenizer.json, or a
     * folder that has nothing else. */
    bool vocabulary_only;
} weft_model_desc;

/* Loads a GGUF file, or a Hugging Face folder (weft_convert). NULL on failure: the message names
 * the file and the key or tensor that is wrong. */
WEFT_API weft_model *weft_model_load(weft_device *dev, const char *path, weft_model_desc desc);
/* Frees the model, at once or, while sessions of it are open, when the last of them is closed. */
WEFT_API void weft_model_free(weft_model *model);

typedef struct weft_model_info {
    char name[128];        /* general.name, cut at 127 bytes */
    char arch[32];         /* "llama" */
    char formats[64];      /* weight formats by share of bytes: "q4_1 + q8_0 + f32" */
    char tokenizer[32];    /* "gpt2/smollm": model/pre-tokenizer */
    char chat_format[32];  /* "chatml", "template"; "" = weft_chat cannot be used */
    char warning[256];     /* what the user should know (an unknown pre-tokenizer), "" = nothing */
    uint64_t n_parameters; /* weights, tied ones once */
    uint64_t file_bytes;   /* size of the file */
    uint64_t device_bytes; /* weights on the device (on the CPU: in the file) */
    uint64_t kv_bytes;     /* KV cache per token, f16 */
    int32_t n_layers, n_embd, n_ff, n_heads, n_kv_heads, head_dim, n_vocab;
    int32_t n_ctx_train; /* the context the model was made for */
    double load_seconds;
} weft_model_info;
WEFT_API weft_status weft_get_model_info(weft_model *model, weft_model_info *out);

/* ---- text and tokens ------------------------------------------------------------------------ */

enum {
    /* Put the model's begin (and end) tokens around the text, as it wants them. */
    WEFT_ADD_SPECIAL = 1,
    /* Control tokens written out in the text become those tokens; decoding shows them. */
    WEFT_PARSE_SPECIAL = 2,
};

/* The ids of text[0..n) (any bytes; invalid UTF-8 is encoded byte by byte). Stores up to `cap` of
 * them in ids and returns how many there are, or -1. `ids` may be NULL when cap is 0. */
WEFT_API int64_t weft_encode(weft_model *model, const char *text, size_t n, int flags, int32_t *ids,
                             size_t cap);
/* The text of n ids: stores up to cap-1 bytes and a final 0 and returns its full length, or -1.
 * Control tokens give nothing unless WEFT_PARSE_SPECIAL. The text of part of an answer may begin or
 * end inside a character. */
WEFT_API int64_t weft_decode(weft_model *model, const int32_t *ids, size_t n, int flags, char *text,
                             size_t cap);
/* True when the token ends a text (end-of-text, end-of-turn). */
WEFT_API bool weft_is_end(weft_model *model, int32_t id);

/* ---- sessions ------------------------------------------------------------------------------- */

typedef enum weft_kv_type { WEFT_KV_DEFAULT, WEFT_KV_F16, WEFT_KV_F32 } weft_kv_type;

typedef struct weft_session_desc {
    int32_t n_ctx;   /* tokens the context holds; 0 = what the model was made for, at most 4096 */
    int32_t n_batch; /* tokens of a prompt per forward, 0 = 512 */
    weft_kv_type kv; /* element type of the KV cache, 0 = f16, with WEFT_EXACT f32 */
    weft_precision precision; /* 0 = WEFT_FAST, which is usual; WEFT_EXACT for f32 throughout */
} weft_session_desc;

WEFT_API weft_session *weft_session_open(weft_model *model, weft_session_desc desc);
WEFT_API void weft_session_close(weft_session *session);
/* Forgets all tokens (memory is kept for the next ones). */
WEFT_API void weft_session_reset(weft_session *session);

/* The tokens in the context; *n gets their count. The session's. */
WEFT_API const int32_t *weft_session_tokens(weft_session *session, size_t *n);
/* The context's size in tokens. */
WEFT_API int32_t weft_session_size(weft_session *session);

/* ---- generating ----------------------------------------------------------------------------- */

typedef struct weft_logit_bias {
    int32_t id;
    float bias; /* added to the token's logit; -INFINITY forbids the token */
} weft_logit_bias;

/* How the next token is chosen (docs/samplers.md), in this order: what a grammar allows, logit
 * biases, penalties, DRY, top-n-sigma, top-k, typical, top-p, min-p, XTC, temperature, Mirostat,
 * draw. All-zero is greedy: always the most likely token. The same seed gives the same draws.
 * Lists and strings are the caller's and are not kept. */
typedef struct weft_sampling {
    float temperature;    /* 0 = greedy */
    int32_t top_k;        /* keep the k most likely; 0 = all */
    float top_p;          /* keep the most likely ones that together reach p; 0 or 1 = all */
    float min_p;          /* drop what is less likely than min_p times the best; 0 = nothing */
    float repeat_penalty; /* > 1 makes tokens already in the context less likely; 0 or 1 = off */
    float presence_penalty, frequency_penalty;
    int32_t penalty_window; /* how many of the last tokens penalties look at; 0 = all */
    uint64_t seed;

    float temperature_range;    /* dynamic: temperature +- this, by the entropy; 0 = fixed */
    float temperature_exponent; /* shapes that; 0 = 1 */
    float typical_p;            /* keep the typical ones that reach p; 0 or 1 = all */
    float top_n_sigma;          /* keep logits within n standard deviations of the best; 0 = all */
    float xtc_probability;      /* how often XTC drops all but the least of the likely; 0 = never */
    float xtc_threshold;        /* ... those at least this likely; 0 = 0.1, above 0.5 = off */
    float dry_multiplier;       /* DRY: make what lengthens a repetition less likely; 0 = off */
    float dry_base;             /* how much more with each token of it; 0 = 1.75 */
    int32_t dry_allowed;        /* repetitions up to this many tokens are free; 0 = 2 */
    int32_t dry_window;         /* how many of the last tokens it looks at; 0 = all */
    /* Strings in the text that no repetition reaches across; NULL = "\n" ":" "\"" "*", another list
     * with n_dry_breaks 0 = none. */
    const char *const *dry_breaks;
    size_t n_dry_breaks;
    float mirostat_tau; /* Mirostat v2: the surprise aimed at, in bits; 0 = off */
    float mirostat_eta; /* how fast it gets there; 0 = 0.1 */
    const weft_logit_bias *bias;
    size_t n_bias;
    /* The steps from top-n-sigma to Mirostat in another order: names (top_n_sigma, top_k, typical,
     * top_p, min_p, xtc, temperature, mirostat) with ',' or ';' between. What is not named is off.
     * NULL = the order above. */
    const char *order;
} weft_sampling;

/* Whether a sampling can be used: else the message names the field and what is wrong. The model
 * may be NULL: then the ids of biases are not looked at. */
WEFT_API weft_status weft_check_sampling(weft_model *model, const weft_sampling *sampling);
/* What the model's file recommends (metadata keys general.sampling.*): those fields are changed in
 * *sampling, the others left. *said (may be NULL) becomes them in words, "temp 0.6, top_k 20", ""
 * when there are none; the model's. A value that makes no sense is WEFT_FORMAT, and *sampling is
 * left as it was. */
WEFT_API weft_status weft_model_sampling(weft_model *model, weft_sampling *sampling,
                                         const char **said);

/* A token that could come next. */
typedef struct weft_token_prob {
    int32_t id;
    float log_prob; /* natural log of its probability by the model's logits alone */
    /* Its bytes, control tokens written out, perhaps part of a character, with no final 0. The
     * model's. */
    const char *text;
    size_t n;
} weft_token_prob;

/* A token of an answer. */
typedef struct weft_token {
    weft_token_prob token;
    float drawn_log_prob; /* the same in the distribution it was drawn from (greedy: after biases
                             and penalties) */
    const weft_token_prob *best; /* the likeliest tokens in its place, best first */
    size_t n_best;
} weft_token;

typedef enum weft_finish {
    WEFT_FINISH_NONE,     /* nothing was generated (an error) */
    WEFT_FINISH_STOP,     /* the model ended its text, or a stop string came */
    WEFT_FINISH_LENGTH,   /* max_tokens reached, or the context is full */
    WEFT_FINISH_CANCELLED /* a callback said so */
} weft_finish;
/* "stop", "length", "cancelled", "none" (static string). */
WEFT_API const char *weft_finish_name(weft_finish finish);

typedef struct weft_generation {
    weft_finish finish;
    int32_t n_prompt;      /* tokens of the prompt */
    int32_t n_cached;      /* of these, tokens found in the session's cache */
    int32_t n_generated;   /* tokens drawn after it; the token that ends the text is not counted */
    double prompt_seconds; /* reading the n_prompt - n_cached new tokens */
    double first_token_seconds;        /* from the call to the first token */
    double generate_seconds;           /* from the first token to the last */
    double prompt_rate, generate_rate; /* tokens per second, 0 = nothing to measure */
} weft_generation;

typedef struct weft_generate_desc {
    /* Gets the text as it comes, in whole UTF-8 characters, 0-terminated, n bytes long, no stop
     * string and no part of one; bytes that are no character come as U+FFFD. false ends the
     * generation (WEFT_FINISH_CANCELLED). */
    bool (*on_text)(void *user, const char *text, size_t n);
    /* Called as the prompt is read, with tokens done and to do; false ends it (WEFT_CANCELLED). */
    bool (*on_prompt)(void *user, int32_t done, int32_t total);
    /* Asked before every forward; true ends the generation (for Ctrl-C). While the prompt is read
     * that is the error WEFT_CANCELLED, later the finish WEFT_FINISH_CANCELLED. */
    bool (*is_cancelled)(void *user);
    void *user;
    int32_t max_tokens;      /* 0 = until the context is full */
    const char *const *stop; /* strings that end the text; they are not part of it */
    size_t n_stop;
    weft_sampling sampling;
    bool ignore_eos;         /* go on after a token that ends the text; such tokens have no text */
    bool parse_special;      /* control tokens written out in the prompt become those tokens */
    weft_generation *result; /* filled in when not NULL, also on failure */
    /* What the answer must follow (docs/grammars.md): a grammar in GBNF, or a JSON Schema for a
     * JSON text; NULL = anything. An answer that ends with WEFT_FINISH_STOP is a whole text of the
     * grammar, unless a stop string cut it. */
    const char *grammar, *json_schema;
    /* Called for each of the n_generated tokens, before on_text gets what it completes; false ends
     * the generation (WEFT_FINISH_CANCELLED) after that text. The struct lives until it returns. */
    bool (*on_token)(void *user, const weft_token *token);
    int32_t n_best; /* how many of the likeliest tokens on_token is told */
} weft_generate_desc;

/* Continues a text. The prompt is the whole context: what the session already holds of it is
 * reused, the rest of the old context is forgotten. Prompt and answer must fit the context: a
 * longer prompt is WEFT_CONTEXT_FULL, one that fills it exactly generates nothing (finish
 * "length"). An empty prompt is an error unless the model has a begin token. */
WEFT_API weft_status weft_generate(weft_session *session, const char *prompt,
                                   weft_generate_desc desc);
/* The same for a prompt of n token ids. */
WEFT_API weft_status weft_generate_tokens(weft_session *session, const int32_t *ids, size_t n,
                                          weft_generate_desc desc);

typedef struct weft_chat_message {
    const char *role;    /* "system", "user", "assistant" */
    const char *content; /* control tokens written out in it stay plain text */
} weft_chat_message;

/* Answers a conversation of n messages, the last one usually the user's, in the model's own chat
 * format. Give all messages every time, the answers included (weft_session_text): what the session
 * has seen is not computed again. */
WEFT_API weft_status weft_chat(weft_session *session, const weft_chat_message *messages, size_t n,
                               weft_generate_desc desc);
/* The prompt weft_chat would make of the messages: stored and counted as by weft_encode. -1 on
 * failure. */
WEFT_API int64_t weft_chat_encode(weft_session *session, const weft_chat_message *messages,
                                  size_t n, int32_t *ids, size_t cap);

/* What a chat template (Jinja, docs/templates.md) makes of a context: source[0..n) is the template,
 * context_json[0..n_context) a JSON object with what it sees ("messages", "tools",
 * "add_generation_prompt", ...). Stores up to cap-1 bytes and a final 0 and returns the full
 * length, or -1: the message says the line and the reason, raise_exception's text unchanged. */
WEFT_API int64_t weft_render(const char *source, size_t n, const char *context_json,
                             size_t n_context, char *text, size_t cap);
/* The same with the model's own template; "bos_token" and "eos_token" are the model's unless the
 * context has them. A model of the vocabulary only will do. */
WEFT_API int64_t weft_render_chat(weft_model *model, const char *context_json, size_t n_context,
                                  char *text, size_t cap);

/* All text of the last generation, as on_text got it. The session's. */
WEFT_API const char *weft_session_text(weft_session *session);

/* ---- step by step: for servers and research ------------------------------------------------- */

/* Makes the context exactly ids[0..n): the longest common prefix with what is there is kept, the
 * rest is computed. Feeding a text in any pieces gives the same logits up to rounding. An id out of
 * range is WEFT_INDEX and changes nothing. */
WEFT_API weft_status weft_session_sync(weft_session *session, const int32_t *ids, size_t n);
/* Adds one token to the context. */
WEFT_API weft_status weft_session_append(weft_session *session, int32_t id);
/* The logits after the last token: out[0..n_vocab). Waits. */
WEFT_API weft_status weft_logits(weft_session *session, float *out, size_t n_vocab);
/* The logits after each of ids[first..n), as a (n - first, n_vocab) array of out_floats numbers;
 * the context is ids[0..n) afterwards. */
WEFT_API weft_status weft_score(weft_session *session, const int32_t *ids, size_t n, size_t first,
                                float *out, size_t out_floats);
/* Draws the next token from the last logits; *log_prob (may be NULL) is the log of its probability.
 * The token is not added. Draws with the same `sampling` are one reproducible sequence;
 * weft_session_reset starts it anew. */
WEFT_API weft_status weft_sample(weft_session *session, weft_sampling sampling, int32_t *id,
                                 float *log_prob);
/* The n tokens most likely to come next by the last logits alone, best first: out[0..n). Where
 * fewer are possible the rest has the id -1. */
WEFT_API weft_status weft_best(weft_session *session, size_t n, weft_token_prob *out);

/* ---- making files --------------------------------------------------------------------------- */

typedef struct weft_quantize_desc {
    const char *type;        /* "Q4_K_M", "Q8_0" ...: a name of weft_quantize_type, in any case */
    const char *imatrix;     /* file of an importance matrix, NULL = all columns count alike */
    const char *output_type; /* dtype of the output matrix ("q8_0"), NULL = as the type says */
    bool is_pure;            /* every weight in the type's own format, no mixture */
    int n_threads;           /* 0 = all cores */
    /* Called with the bytes of the input done and to do; false cancels (WEFT_CANCELLED). */
    bool (*on_progress)(void *user, uint64_t done, uint64_t total);
    void *user;
} weft_quantize_desc;

/* Writes a GGUF file with the weights of another, or of a folder as weft_convert takes it, in other
 * formats, laid out as llama.cpp's quantize lays them out. `out` appears when it is complete; it
 * may be `in` itself, or another file, but not be named as a folder's own files are. Where a row
 * does not fit a format's blocks another is taken, and the log says so. */
WEFT_API weft_status weft_quantize(const char *in, const char *out, weft_quantize_desc desc);
/* The types there are, i = 0, 1 ...; NULL past the end (static strings). */
WEFT_API const char *weft_quantize_type(size_t i);

typedef struct weft_convert_desc {
    const char *type; /* a name of weft_convert_type, in any case; NULL = "auto" */
    int n_threads;    /* 0 = all cores */
    /* As in weft_quantize_desc. */
    bool (*on_progress)(void *user, uint64_t done, uint64_t total);
    void *user;
} weft_convert_desc;

/* Writes a Hugging Face folder (config.json, tokenizer.json, safetensors) as a GGUF file; `out`
 * appears when it is complete. "auto" keeps every matrix as it is stored; vectors become f32. */
WEFT_API weft_status weft_convert(const char *folder, const char *out, weft_convert_desc desc);
/* The types there are, i = 0, 1 ...; NULL past the end (static strings). */
WEFT_API const char *weft_convert_type(size_t i);

/* ---- looking into files --------------------------------------------------------------------- */

/* A GGUF file, a folder as weft_convert takes it or a safetensors file, opened to look at, whatever
 * its architecture: nothing is loaded. A folder looks as the GGUF file it would be converted to. */
typedef struct weft_gguf weft_gguf;
WEFT_API weft_gguf *weft_gguf_open(const char *path);
WEFT_API void weft_gguf_close(weft_gguf *file);

typedef struct weft_gguf_info {
    uint32_t version;
    uint64_t file_bytes, tensor_bytes, n_parameters;
    size_t n_values, n_tensors;
    const char *kind; /* "GGUF", "folder" or "safetensors"; static. version is GGUF's alone */
} weft_gguf_info;
WEFT_API weft_status weft_gguf_get_info(weft_gguf *file, weft_gguf_info *out);

typedef struct weft_gguf_value {
    const char *key;  /* the file's, until it is closed; so are the others */
    const char *type; /* "u32", "string", "string[49152]" */
    const char *text; /* arrays: their first elements, then "..." */
} weft_gguf_value;
WEFT_API weft_status weft_gguf_get_value(weft_gguf *file, size_t i, weft_gguf_value *out);

typedef struct weft_gguf_tensor {
    const char *name; /* the file's, until it is closed */
    weft_dtype dtype;
    weft_shape shape; /* outermost dimension first */
    uint64_t bytes;
    const char *type; /* dtype's name, or what the file calls a type weft lacks (dtype is -1) */
} weft_gguf_tensor;
WEFT_API weft_status weft_gguf_get_tensor(weft_gguf *file, size_t i, weft_gguf_tensor *out);

/* What would run where: one line for each kind of operation the model's forward needs. Found by
 * giving each to the device in miniature and counting what it handed to the CPU. */
typedef struct weft_placement {
    char op[32];      /* "linear q4_1" */
    bool is_fallback; /* the device hands it to the CPU */
    char note[128];   /* why it cannot run at all, else "" */
} weft_placement;
/* Fills out[0..cap) and returns how many lines there are, or -1. */
WEFT_API int weft_gguf_placement(weft_gguf *file, weft_device *dev, weft_placement *out, int cap);
/* "" when this version can run the model, else the reason in one sentence. The file's. */
WEFT_API const char *weft_gguf_problem(weft_gguf *file);

#ifdef __cplusplus
}
#endif
#endif
