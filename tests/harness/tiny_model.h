/* Tiny models made on the spot, as GGUF bytes: random f32 weights that tests/golden/llama.py makes
 * too, or a script: a chain of tokens that each force the next. The vocabulary is byte-level BPE:
 * controls, then the 256 bytes, then "he" (the
 * one merge), then pieces. SPDX-License-Identifier: MIT */
#ifndef WEFT_TINY_MODEL_H
#define WEFT_TINY_MODEL_H

#include "base/str.h"
#include "harness.h"

typedef struct tiny_model {
    const char *arch; /* NULL = llama */
    int n_layers, n_embd, n_ff, n_heads, n_kv_heads, head_dim, n_rot,
        n_ctx; /* 0 = 2 32 48 4 2 8 8 512 */
    bool has_output, has_bias, has_factors;
    double linear_factor; /* 0 = no rotary scaling */
    int original_ctx;     /* of yarn; 0 = no such key */
    bool has_head_norms;
    bool has_no_output_bias;                    /* though has_bias */
    int n_experts, n_experts_used, n_ff_expert; /* 0: a dense model */
    bool has_raw_gates;                         /* key expert_weights_norm is false */
    const char *scaling; /* rope.scaling.type, NULL = linear where there is a factor */
    uint64_t seed;
    const char *const *controls; /* NULL-terminated; NULL = "<s>" and "</s>" */
    const char *const *pieces;   /* NULL-terminated raw bytes of more tokens, or NULL */
    int eos, eot, bos;           /* as id + 1; 0 = no such key */
    bool adds_bos;
    const char *chat_template;
    const int32_t
        *chain; /* chain[i] forces chain[i+1]; the last forces itself; NULL = random weights */
    int n_chain;
    const char *skip;     /* a key or tensor to leave out */
    const char *widen;    /* a tensor that gets one row more */
    const char *extra;    /* a tensor nobody knows */
    int type_of_matrices; /* dtype of the matrices: WEFT_F32 (0) or WEFT_F16 */
    const char
        *sampling; /* keys general.sampling.*: "top_k=20 temp=0.5 sequence=top_k;temperature" */
} tiny_model;

/* The file's bytes, appended. */
void tiny_model_bytes(const tiny_model *m, str *out);
/* Written to a file of this process's, the same each time; removed at exit. */
const char *tiny_model_file(const tiny_model *m);
int tiny_model_n_vocab(const tiny_model *m);
/* The id of byte b. */
int32_t tiny_model_byte(const tiny_model *m, unsigned char b);
/* The id of pieces[i]. */
int32_t tiny_model_piece(const tiny_model *m, int i);

/* The device model tests run on: $WEFT_TEST_DEVICE, else the WebGPU adapter where
 * tools/with_adapter.sh chose one, else the CPU. Fails the test when it cannot be opened. */
weft_device *tiny_model_device(void);
bool tiny_model_is_cpu(void);

#endif
