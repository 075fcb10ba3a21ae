/* Qwen 3, dense (Yang et al. 2025): Llama's block, but each head of queries and keys is normalised
 * before it is rotated, halves together; no biases. The heads' size is a key of its own, often more
 * than the embedding divided by the heads. The output matrix may be tied to the embedding.
 * SPDX-License-Identifier: MIT */
#include "model/arch.h"

const model_arch arch_qwen3 = {
    .name = "qwen3",
    .pairing = WEFT_ROPE_HALVES,
    .required = ROLE_BIT(TOKEN_EMBD) | ROLE_BIT(OUTPUT_NORM) | ROLE_BIT(ATTN_NORM) | ROLE_BIT(Q) |
                ROLE_BIT(K) | ROLE_BIT(V) | ROLE_BIT(Q_NORM) | ROLE_BIT(K_NORM) | ROLE_BIT(O) |
                ROLE_BIT(FFN_NORM) | ROLE_BIT(GATE) | ROLE_BIT(UP) | ROLE_BIT(DOWN),
    .optional = ROLE_BIT(OUTPUT) | ROLE_BIT(ROPE_FREQS),
};
