/* Qwen 3 with experts (Yang et al. 2025): Qwen 3's attention; every layer's feed-forward is a
 * mixture of small ones, of which a router picks a few for each token. The picked ones'
 * probabilities are made to sum to 1. SPDX-License-Identifier: MIT */
#include "model/arch.h"

const model_arch arch_qwen3moe = {
    .name = "qwen3moe",
    .pairing = WEFT_ROPE_HALVES,
    .has_experts = true,
    .required = ROLE_BIT(TOKEN_EMBD) | ROLE_BIT(OUTPUT_NORM) | ROLE_BIT(ATTN_NORM) | ROLE_BIT(Q) |
                ROLE_BIT(K) | ROLE_BIT(V) | ROLE_BIT(Q_NORM) | ROLE_BIT(K_NORM) | ROLE_BIT(O) |
                ROLE_BIT(FFN_NORM) | ROLE_BIT(ROUTER) | ROLE_BIT(GATE_EXPS) | ROLE_BIT(UP_EXPS) |
                ROLE_BIT(DOWN_EXPS),
    .optional = ROLE_BIT(OUTPUT) | ROLE_BIT(ROPE_FREQS),
};
