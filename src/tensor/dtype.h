/* The facts about one dtype, from include/weft/dtypes.def: the only part of tensor/ that file
 * readers and formats may include. SPDX-License-Identifier: MIT */
#ifndef WEFT_TENSOR_DTYPE_H
#define WEFT_TENSOR_DTYPE_H

#include <stdbool.h>
#include <stdint.h>

#include "weft/weft.h"

typedef struct dtype_info {
    const char *name;  /* "q4_1" */
    int32_t block;     /* elements in a block: 1 for plain types */
    int32_t bytes;     /* bytes of a block */
    bool is_quantized; /* blocks of several elements that share a scale */
} dtype_info;

/* The row of a dtype, NULL for a number that is none. Static. */
const dtype_info *dtype_find(weft_dtype dtype);

/* The dtype of a name ("q4_1", any case) or false. */
bool dtype_parse(const char *name, weft_dtype *out);

/* Bytes of n contiguous elements (a whole number of blocks, n >= 0); false for an unknown dtype, a
 * part of a block or a size past INT64_MAX. */
bool dtype_bytes(weft_dtype dtype, int64_t n, int64_t *bytes);

#endif
