/* Llama 1 to 3 and what shares their block (SmolLM2, TinyLlama, Mistral 7B ...): pre-norm, rotary
 * attention with grouped heads, SwiGLU (Touvron et al. 2023). The output matrix may be tied to the
 * embedding, Llama 3.1 files bring their rotary factors as a tensor, and some fine-tunes have
 * biases in the attention. Queries and keys of llama GGUF files are
 * stored so that neighbours are rotated together. SPDX-License-Identifier: MIT */
#include "model/arch.h"

const model_arch arch_llama = {
    .name = "llama",
    .pairing = WEFT_ROPE_NEIGHBOURS,
    .required = ROLE_BIT(TOKEN_EMBD) | ROLE_BIT(OUTPUT_NORM) | ROLE_BIT(ATTN_NORM) | ROLE_BIT(Q) |
                ROLE_BIT(K) | ROLE_BIT(V) | ROLE_BIT(O) | ROLE_BIT(FFN_NORM) | ROLE_BIT(GATE) |
                ROLE_BIT(UP) | ROLE_BIT(DOWN),
    .optional = ROLE_BIT(OUTPUT) | ROLE_BIT(ROPE_FREQS) | ROLE_BIT(Q_BIAS) | ROLE_BIT(K_BIAS) |
                ROLE_BIT(V_BIAS) | ROLE_BIT(O_BIAS),
};
