/* Products of 16-bit codes in plain C: making them from a row of x, and their products with weights
 * whose own codes have 8 bits. Sums within a block are integers of at most 32 x 128 x CODES_TOP.
 * This is what faster levels are tested against. SPDX-License-Identifier: MIT */
#include <math.h>

#include "cpu/kernels.h"
#include "format/blocks.h"
#include "format/half.h"

/* The nearest integer, ties to even, of |v| < 2^22: the adder rounds where the last place is 1. */
static int32_t nearest(float v) { return (int32_t)(half_bits(v + 0x1.8p23F) - 0x4B400000); }

/* Bits of absolute values compare as the values do, NaN above all. */
static float largest_of(const float *x) {
    uint32_t top = 0;
    for (int i = 0; i < CODES; i++) {
        uint32_t bits = half_bits(x[i]) & 0x7FFFFFFF;
        top = bits > top ? bits : top;
    }
    return half_float(top);
}

static void codes(const float *x, int64_t n, cpu_codes out) {
    for (int64_t b = 0; b < n / CODES; b++, x += CODES) {
        float top = largest_of(x);
        bool is_usual = top >= 0x1p-60F && top < INFINITY;
        float factor = is_usual ? CODES_TOP / top : 0;
        int32_t sum = 0;
        for (int i = 0; i < CODES; i++) {
            int32_t q = is_usual ? nearest(x[i] * factor) : 0;
            out.q[b * CODES + i] = (int16_t)q;
            sum += q;
        }
        out.d[b] = is_usual ? top / CODES_TOP : top < 1 ? 0 : NAN;
        out.s[b] = out.d[b] * (float)sum;
    }
}

static int32_t dot_bytes(const int8_t *w, const int16_t *x) {
    int32_t sum = 0;
    for (int i = 0; i < CODES; i++) sum += w[i] * x[i];
    return sum;
}

static int32_t dot_halves(const uint8_t *qs, const int16_t *x) {
    int8_t w[CODES];
    for (int i = 0; i < 16; i++) w[i] = (int8_t)(qs[i] & 15);
    for (int i = 0; i < 16; i++) w[i + 16] = (int8_t)(qs[i] >> 4);
    return dot_bytes(w, x);
}

/* Each in two sums by turns: n terms take n / 64 roundings. */

static float dot_q4_0(const void *w, int64_t n, cpu_codes x) {
    const block_q4_0 *block = w;
    float sum[2] = {0, 0};
    for (int64_t b = 0; b < n / CODES; b++) {
        float d = f16_to_f32(block[b].d), dot = (float)dot_halves(block[b].qs, x.q + b * CODES);
        sum[b & 1] += d * x.d[b] * dot - 8 * d * x.s[b];
    }
    return sum[0] + sum[1];
}

static float dot_q4_1(const void *w, int64_t n, cpu_codes x) {
    const block_q4_1 *block = w;
    float sum[2] = {0, 0};
    for (int64_t b = 0; b < n / CODES; b++) {
        float dot = (float)dot_halves(block[b].qs, x.q + b * CODES);
        sum[b & 1] += f16_to_f32(block[b].d) * x.d[b] * dot + f16_to_f32(block[b].m) * x.s[b];
    }
    return sum[0] + sum[1];
}

static float dot_q8_0(const void *w, int64_t n, cpu_codes x) {
    const block_q8_0 *block = w;
    float sum[2] = {0, 0};
    for (int64_t b = 0; b < n / CODES; b++)
        sum[b & 1] +=
            f16_to_f32(block[b].d) * x.d[b] * (float)dot_bytes(block[b].qs, x.q + b * CODES);
    return sum[0] + sum[1];
}

void kernels_c_codes(cpu_kernels *k) {
    k->codes = codes;
    k->codes_dot[WEFT_Q4_0] = dot_q4_0;
    k->codes_dot[WEFT_Q4_1] = dot_q4_1;
    k->codes_dot[WEFT_Q8_0] = dot_q8_0;
}
