/* What an architecture is to the loader and the forward: its weights, which of them a file may
 * leave out, and how it turns positions. An architecture is a row of archs.def and a file that
 * fills a model_arch.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_MODEL_ARCH_H
#define WEFT_MODEL_ARCH_H

#include <stdbool.h>
#include <stdint.h>

#include "weft/weft.h"

/* Sizes that shapes are made of: vocabulary, embedding, feed-forward, number of experts,
 * feed-forward of one expert, all query heads together, all KV heads together, one head, rotated
 * pairs of a head. */
typedef enum model_size {
    SIZE_ONE,
    SIZE_VOCAB,
    SIZE_EMBD,
    SIZE_FF,
    SIZE_EXPERTS,
    SIZE_FF_EXPERT,
    SIZE_HEADS,
    SIZE_KV_HEADS,
    SIZE_HEAD,
    SIZE_PAIRS
} model_size;

typedef enum model_role {
#define MODEL_WEIGHT(role, name, rows, columns) ROLE_##role,
#include "model/weights.def"
#undef MODEL_WEIGHT
    ROLE_COUNT,
    ROLE_FIRST_OF_LAYER = ROLE_ATTN_NORM
} model_role;

/* A set of roles. */
#define ROLE_BIT(role) ((uint64_t)1 << ROLE_##role)

typedef struct model_arch {
    const char *name; /* general.architecture, and the prefix of its keys */
    weft_rope_pairing pairing;
    bool has_experts;            /* its feed-forward is a mixture of them */
    uint64_t required, optional; /* sets of roles; a file's tensor in neither is an error */
} model_arch;

#define MODEL_ARCH(name) extern const model_arch arch_##name;
#include "model/archs.def"
#undef MODEL_ARCH

#endif
