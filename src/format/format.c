/* The table of formats, from dtypes.def: a quantised row is found in its own file, the plain ones
 * are here. SPDX-License-Identifier: MIT */
#include "format/format.h"

#include <string.h>

#include "format/half.h"

static void decode_f32(const void *blocks, float *out, int64_t n) {
    memcpy(out, blocks, (size_t)n * 4);
}

static void encode_f32(const float *in, void *blocks, int64_t n, const float *importance) {
    (void)importance;
    memcpy(blocks, in, (size_t)n * 4);
}

static void decode_f16(const void *blocks, float *out, int64_t n) {
    const uint16_t *h = blocks;
    for (int64_t i = 0; i < n; i++) out[i] = f16_to_f32(h[i]);
}

static void encode_f16(const float *in, void *blocks, int64_t n, const float *importance) {
    (void)importance;
    uint16_t *h = blocks;
    for (int64_t i = 0; i < n; i++) h[i] = f32_to_f16(in[i]);
}

static void decode_bf16(const void *blocks, float *out, int64_t n) {
    const uint16_t *h = blocks;
    for (int64_t i = 0; i < n; i++) out[i] = bf16_to_f32(h[i]);
}

static void encode_bf16(const float *in, void *blocks, int64_t n, const float *importance) {
    (void)importance;
    uint16_t *h = blocks;
    for (int64_t i = 0; i < n; i++) h[i] = f32_to_bf16(in[i]);
}

const format_ops format_F32 = {WEFT_F32, decode_f32, encode_f32};
const format_ops format_F16 = {WEFT_F16, decode_f16, encode_f16};
const format_ops format_BF16 = {WEFT_BF16, decode_bf16, encode_bf16};

/* Picks a quantised row's table at compile time by pasting its last column. */
#define ROW_0(name, id)
#define ROW_1(name, id) [id] = &format_##name,

static const format_ops *const table[WEFT_DTYPE_NUMBERS] = {
#define WEFT_DTYPE(name, id, block, bytes, text, is_quantized) ROW_##is_quantized(name, id)
#include "weft/dtypes.def"
#undef WEFT_DTYPE
    [WEFT_F32] = &format_F32,
    [WEFT_F16] = &format_F16,
    [WEFT_BF16] = &format_BF16,
};

const format_ops *format_find(weft_dtype dtype) {
    unsigned i = (unsigned)dtype;
    return i < WEFT_DTYPE_NUMBERS ? table[i] : NULL;
}
