/* A table indexed by the dtype's number, expanded from dtypes.def; holes have no name.
 * SPDX-License-Identifier: MIT */
#include "tensor/dtype.h"

#include <stddef.h>
#include <strings.h>

static const dtype_info table[WEFT_DTYPE_NUMBERS] = {
#define WEFT_DTYPE(name, id, block, bytes, text, is_quantized)                                     \
    [id] = {text, block, bytes, is_quantized},
#include "weft/dtypes.def"
#undef WEFT_DTYPE
};

const dtype_info *dtype_find(weft_dtype dtype) {
    unsigned i = (unsigned)dtype;
    return i < WEFT_DTYPE_NUMBERS && table[i].name ? &table[i] : NULL;
}

const char *weft_dtype_name(weft_dtype dtype) {
    const dtype_info *info = dtype_find(dtype);
    return info ? info->name : NULL;
}

bool dtype_parse(const char *name, weft_dtype *out) {
    for (int i = 0; name && i < WEFT_DTYPE_NUMBERS; i++) {
        if (!table[i].name || strcasecmp(table[i].name, name)) continue;
        *out = (weft_dtype)i;
        return true;
    }
    return false;
}

bool dtype_bytes(weft_dtype dtype, int64_t n, int64_t *bytes) {
    const dtype_info *info = dtype_find(dtype);
    if (!info || n < 0 || n % info->block) return false;
    return !__builtin_mul_overflow(n / info->block, (int64_t)info->bytes, bytes);
}
