/* Weight formats: one row per dtype, one file per quantised format (NAME.c defines format_NAME).
 * Decoding gives the bits that the `gguf` Python package gives; docs/formats.md says how that and
 * the encoders are checked. SPDX-License-Identifier: MIT */
#ifndef WEFT_FORMAT_FORMAT_H
#define WEFT_FORMAT_FORMAT_H

#include <stdint.h>

#include "weft/weft.h"

typedef struct format_ops {
    weft_dtype dtype;
    /* n elements, a whole number of blocks. Blocks are aligned as their struct in blocks.h is. */
    void (*decode)(const void *blocks, float *out, int64_t n);
    /* Chooses blocks with a small sum of importance[i] * (in[i] - decoded[i])^2. `importance` has n
     * weights >= 0, or is NULL for all equal; then Q4_0 to Q8_1, TQ1_0 and TQ2_0 follow the plain
     * rule of files in circulation to the bit, and do not search. Values that are not finite give
     * unspecified blocks. */
    void (*encode)(const float *in, void *blocks, int64_t n, const float *importance);
} format_ops;

/* F32, F16, BF16 and every block format; NULL for integer types and unknown numbers. Static. */
const format_ops *format_find(weft_dtype dtype);

/* One per format file. */
#define WEFT_DTYPE(name, id, block, bytes, text, is_quantized)                                     \
    extern const format_ops format_##name;
#include "weft/dtypes.def"
#undef WEFT_DTYPE

#endif
