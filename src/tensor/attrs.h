/* The attributes of each op, canonical: axes are gone (the core permutes the axis to the end),
 * defaults are filled in. They are plain data without padding that matters, so a call's signature
 * can be hashed.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_TENSOR_ATTRS_H
#define WEFT_TENSOR_ATTRS_H

#include <stdint.h>

typedef struct attrs_rms_norm {
    float eps;
} attrs_rms_norm;

typedef struct attrs_rope {
    int32_t n_dims;    /* 2..head_dim, even */
    int32_t is_halves; /* 1: pairs (i, i + n_dims/2); 0: (2i, 2i+1) */
    float base, scale;
} attrs_rope;

typedef struct attrs_attention {
    float scale; /* scores are multiplied by this */
} attrs_attention;

typedef struct attrs_top_k {
    int32_t k; /* 1 to the length of a row */
} attrs_top_k;

typedef union op_attrs {
    attrs_rms_norm rms_norm;
    attrs_rope rope;
    attrs_attention attention;
    attrs_top_k top_k;
} op_attrs;

#endif
