/* The hot functions in plain C, written so that a compiler can vectorise them without reordering
 * sums: every reduction keeps LANES partial sums in an array. This is the level that always works
 * and that others are tested against; no intrinsics here. SPDX-License-Identifier: MIT */
#include <string.h>

#include "cpu/exp.h"
#include "cpu/kernels.h"
#include "format/blocks.h"
#include "format/format.h"
#include "format/half.h"

enum { LANES = 16 };

static float lanes_sum(const float s[LANES]) {
    float t[LANES];
    memcpy(t, s, sizeof t);
    for (int w = LANES / 2; w > 0; w /= 2)
        for (int i = 0; i < w; i++) t[i] += t[i + w];
    return t[0];
}

static float dot_f32(const void *w, const float *x, int64_t n) {
    const float *a = w;
    float s[LANES] = {0};
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES)
        for (int j = 0; j < LANES; j++) s[j] += a[i + j] * x[i + j];
    for (int j = 0; i < n; i++, j++) s[j] += a[i] * x[i];
    return lanes_sum(s);
}

/* 16-bit floats and blocks go through a small buffer that stays in the first cache. */
enum { BUFFER = 256 };

static float dot_decoded(const format_ops *format, int64_t element_bytes, const void *w,
                         const float *x, int64_t n) {
    float buffer[BUFFER], sum = 0;
    for (int64_t i = 0; i < n; i += BUFFER) {
        int64_t count = n - i < BUFFER ? n - i : BUFFER;
        format->decode((const char *)w + i * element_bytes, buffer, count);
        sum += dot_f32(buffer, x + i, count);
    }
    return sum;
}

static float dot_f16(const void *w, const float *x, int64_t n) {
    return dot_decoded(&format_F16, 2, w, x, n);
}

static float dot_bf16(const void *w, const float *x, int64_t n) {
    return dot_decoded(&format_BF16, 2, w, x, n);
}

static float dot_q4_1(const void *w, const float *x, int64_t n) {
    float s[LANES] = {0};
    const block_q4_1 *block = w;
    for (int64_t i = 0; i < n; i += 32, block++) {
        float scale = f16_to_f32(block->d), minimum = f16_to_f32(block->m);
        for (int j = 0; j < 16; j++) {
            float low = scale * (float)(block->qs[j] & 15) + minimum;
            float high = scale * (float)(block->qs[j] >> 4) + minimum;
            s[j] += low * x[i + j] + high * x[i + 16 + j];
        }
    }
    return lanes_sum(s);
}

static float dot_q8_0(const void *w, const float *x, int64_t n) {
    float s[LANES] = {0};
    const block_q8_0 *block = w;
    for (int64_t i = 0; i < n; i += 32, block++) {
        float scale = f16_to_f32(block->d);
        for (int j = 0; j < 16; j++) {
            float low = (float)block->qs[j], high = (float)block->qs[16 + j];
            s[j] += scale * (low * x[i + j] + high * x[i + 16 + j]);
        }
    }
    return lanes_sum(s);
}

static void tile(const float *w, int64_t w_stride, const float *x, int64_t x_stride, int64_t n,
                 float *out, int64_t out_stride) {
    float s[TILE_X][TILE_W][4] = {0}; /* as many 4-lane registers as a small CPU has */
    int64_t i = 0;
    for (; i + 4 <= n; i += 4)
        for (int b = 0; b < TILE_X; b++)
            for (int a = 0; a < TILE_W; a++)
                for (int j = 0; j < 4; j++)
                    s[b][a][j] += w[a * w_stride + i + j] * x[b * x_stride + i + j];
    for (int b = 0; b < TILE_X; b++)
        for (int a = 0; a < TILE_W; a++) {
            for (int64_t k = i; k < n; k++)
                s[b][a][k - i] += w[a * w_stride + k] * x[b * x_stride + k];
            out[b * out_stride + a] += (s[b][a][0] + s[b][a][1]) + (s[b][a][2] + s[b][a][3]);
        }
}

static void axpy_f32(float a, const void *x, float *y, int64_t n) {
    const float *v = x;
    for (int64_t i = 0; i < n; i++) y[i] += a * v[i];
}

static void axpy_f16(float a, const void *x, float *y, int64_t n) {
    const uint16_t *v = x;
    for (int64_t i = 0; i < n; i++) y[i] += a * f16_to_f32(v[i]);
}

static float exp_sum(const float *restrict x, float shift, float *restrict y, int64_t n) {
    float s[LANES] = {0};
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES)
        for (int j = 0; j < LANES; j++) s[j] += y[i + j] = exp_f32(x[i + j] - shift);
    for (int j = 0; i < n; i++, j++) s[j] += y[i] = exp_f32(x[i] - shift);
    return lanes_sum(s);
}

static void silu(const float *restrict x, float *restrict y, int64_t n) {
    for (int64_t i = 0; i < n; i++) y[i] = x[i] / (1 + exp_f32(-x[i]));
}

static void to_f16(const float *x, uint16_t *out, int64_t n) {
    for (int64_t i = 0; i < n; i++) out[i] = f32_to_f16(x[i]);
}

static void to_bf16(const float *x, uint16_t *out, int64_t n) {
    for (int64_t i = 0; i < n; i++) out[i] = f32_to_bf16(x[i]);
}

void kernels_c(cpu_kernels *k) {
    *k = (cpu_kernels){
        .name = "c",
        .fast_name = "c_fast",
        .dot = {[WEFT_F32] = dot_f32,
                [WEFT_F16] = dot_f16,
                [WEFT_BF16] = dot_bf16,
                [WEFT_Q4_1] = dot_q4_1,
                [WEFT_Q8_0] = dot_q8_0},
        .tile = tile,
        .axpy_f32 = axpy_f32,
        .axpy_f16 = axpy_f16,
        .exp_sum = exp_sum,
        .silu = silu,
        .to_f16 = to_f16,
        .to_bf16 = to_bf16,
    };
    kernels_c_codes(k);
}
