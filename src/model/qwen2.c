/* Qwen 1.5, 2 and 2.5, dense (Yang et al. 2024): Llama's block with biases on queries, keys and
 * values. A head's halves are rotated together, and the rows of the file are in the order they were
 * trained in. The output matrix may be tied to the embedding.
 * SPDX-License-Identifier: MIT */
#include "model/arch.h"

const model_arch arch_qwen2 = {
    .name = "qwen2",
    .pairing = WEFT_ROPE_HALVES,
    .required = ROLE_BIT(TOKEN_EMBD) | ROLE_BIT(OUTPUT_NORM) | ROLE_BIT(ATTN_NORM) | ROLE_BIT(Q) |
                ROLE_BIT(K) | ROLE_BIT(V) | ROLE_BIT(Q_BIAS) | ROLE_BIT(K_BIAS) | ROLE_BIT(V_BIAS) |
                ROLE_BIT(O) | ROLE_BIT(FFN_NORM) | ROLE_BIT(GATE) | ROLE_BIT(UP) | ROLE_BIT(DOWN),
    .optional = ROLE_BIT(OUTPUT) | ROLE_BIT(ROPE_FREQS),
};
