/* Products of 16-bit codes with AVX2: weights are widened to 16 bits, and one madd makes 16
 * products and adds them in pairs, so that a block takes two. SPDX-License-Identifier: MIT */
#include "cpu/kernels.h"

#if defined(__x86_64__)

#include <immintrin.h>
#include <math.h>
#include <string.h>

#include "format/blocks.h"

#define AVX2 __attribute__((target("avx2,fma,f16c")))
#define INLINE __attribute__((target("avx2,fma,f16c"), always_inline)) static inline

INLINE __m256i load(const void *at) { return _mm256_loadu_si256(at); }

/* ---- making codes ---------------------------------------------------------------------------- */

/* Bits of absolute values compare as the values do, NaN above all. */
INLINE float largest_of(const __m256 v[4]) {
    __m256i mask = _mm256_set1_epi32(0x7FFFFFFF), top = _mm256_setzero_si256();
    for (int i = 0; i < 4; i++)
        top = _mm256_max_epi32(top, _mm256_and_si256(mask, _mm256_castps_si256(v[i])));
    __m128i t = _mm_max_epi32(_mm256_castsi256_si128(top), _mm256_extracti128_si256(top, 1));
    t = _mm_max_epi32(t, _mm_shuffle_epi32(t, 0x4E));
    t = _mm_max_epi32(t, _mm_shuffle_epi32(t, 0xB1));
    return _mm_cvtss_f32(_mm_castsi128_ps(t));
}

/* Writes a block's codes and returns their sum. */
INLINE int32_t round_block(const __m256 v[4], float factor, int16_t *q) {
    __m256i part[4], sum = _mm256_setzero_si256();
    for (int i = 0; i < 4; i++) {
        part[i] = _mm256_cvtps_epi32(_mm256_mul_ps(v[i], _mm256_set1_ps(factor)));
        sum = _mm256_add_epi32(sum, part[i]);
    }
    for (int i = 0; i < 2;
         i++) { /* packs work within 128-bit halves: the permutation orders them */
        __m256i packed = _mm256_packs_epi32(part[2 * i], part[2 * i + 1]);
        _mm256_storeu_si256((__m256i *)(q + 16 * i), _mm256_permute4x64_epi64(packed, 0xD8));
    }
    __m128i t = _mm_add_epi32(_mm256_castsi256_si128(sum), _mm256_extracti128_si256(sum, 1));
    t = _mm_add_epi32(t, _mm_shuffle_epi32(t, 0x4E));
    return _mm_cvtsi128_si32(_mm_add_epi32(t, _mm_shuffle_epi32(t, 0xB1)));
}

AVX2 static void codes(const float *x, int64_t n, cpu_codes out) {
    for (int64_t b = 0; b < n / CODES; b++, x += CODES) {
        __m256 v[4];
        for (int i = 0; i < 4; i++) v[i] = _mm256_loadu_ps(x + 8 * i);
        float top = largest_of(v);
        if (top >= 0x1p-60F && top < INFINITY) {
            out.d[b] = top / CODES_TOP;
            out.s[b] = out.d[b] * (float)round_block(v, CODES_TOP / top, out.q + b * CODES);
        } else {
            memset(out.q + b * CODES, 0, CODES * sizeof *out.q);
            out.d[b] = out.s[b] = top < 1 ? 0 : NAN;
        }
    }
}

/* ---- products -------------------------------------------------------------------------------- */

/* The products of 32 widened weights with a block of x, in eight sums. */
INLINE __m256 products(__m256i low, __m256i high, const int16_t *x) {
    return _mm256_cvtepi32_ps(
        _mm256_add_epi32(_mm256_madd_epi16(low, load(x)), _mm256_madd_epi16(high, load(x + 16))));
}

INLINE __m256 products_halves(const uint8_t *qs, const int16_t *x) {
    __m128i bytes = _mm_loadu_si128((const __m128i *)qs), fifteen = _mm_set1_epi8(15);
    __m128i low = _mm_and_si128(bytes, fifteen);
    __m128i high = _mm_and_si128(_mm_srli_epi16(bytes, 4), fifteen);
    return products(_mm256_cvtepu8_epi16(low), _mm256_cvtepu8_epi16(high), x);
}

/* Block b's product, added to the sum of eight lanes and to lane 1 of `m`. */
typedef void (*block_fn)(const void *w, int64_t b, cpu_codes x, __m256 *sum, __m128 *m);

/* dm: d and m of the weights in lanes 0 and 1. */
INLINE void add_halves(__m128 dm, const uint8_t *qs, int64_t b, cpu_codes x, __m256 *sum,
                       __m128 *m) {
    __m128 v = _mm_mul_ps(dm, _mm_unpacklo_ps(_mm_load_ss(x.d + b), _mm_load_ss(x.s + b)));
    *sum = _mm256_fmadd_ps(products_halves(qs, x.q + b * CODES), _mm256_broadcastss_ps(v), *sum);
    *m = _mm_add_ps(*m, v);
}

INLINE void add_q4_0(const void *w, int64_t b, cpu_codes x, __m256 *sum, __m128 *m) {
    const block_q4_0 *block = (const block_q4_0 *)w + b;
    __m128 d = _mm_set1_ps(_cvtsh_ss(block->d));
    add_halves(_mm_mul_ps(d, _mm_setr_ps(1, -8, 0, 0)), block->qs, b, x, sum, m);
}

INLINE void add_q4_1(const void *w, int64_t b, cpu_codes x, __m256 *sum, __m128 *m) {
    const block_q4_1 *block = (const block_q4_1 *)w + b;
    int32_t dm;
    memcpy(&dm, block, sizeof dm);
    add_halves(_mm_cvtph_ps(_mm_cvtsi32_si128(dm)), block->qs, b, x, sum, m);
}

INLINE void add_q8_0(const void *w, int64_t b, cpu_codes x, __m256 *sum, __m128 *m) {
    (void)m;
    const block_q8_0 *block = (const block_q8_0 *)w + b;
    __m256i low = _mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i *)block->qs));
    __m256i high = _mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i *)(block->qs + 16)));
    *sum = _mm256_fmadd_ps(products(low, high, x.q + b * CODES),
                           _mm256_set1_ps(_cvtsh_ss(block->d) * x.d[b]), *sum);
}

/* Two sums by turns: they do not wait for each other, and n terms take n / 64 roundings. */
INLINE float dot(block_fn add, const void *w, int64_t n, cpu_codes x) {
    __m256 even = _mm256_setzero_ps(), odd = _mm256_setzero_ps();
    __m128 m = _mm_setzero_ps();
    int64_t n_blocks = n / CODES, b = 0;
    for (; b + 2 <= n_blocks; b += 2) {
        add(w, b, x, &even, &m);
        add(w, b + 1, x, &odd, &m);
    }
    if (b < n_blocks) add(w, b, x, &even, &m);
    even = _mm256_add_ps(even, odd);
    __m128 t = _mm_add_ps(_mm256_castps256_ps128(even), _mm256_extractf128_ps(even, 1));
    t = _mm_add_ps(t, _mm_movehl_ps(t, t));
    t = _mm_add_ss(t, _mm_movehdup_ps(t));
    return _mm_cvtss_f32(_mm_add_ss(t, _mm_movehdup_ps(m)));
}

AVX2 static float dot_q4_0(const void *w, int64_t n, cpu_codes x) { return dot(add_q4_0, w, n, x); }

AVX2 static float dot_q4_1(const void *w, int64_t n, cpu_codes x) { return dot(add_q4_1, w, n, x); }

AVX2 static float dot_q8_0(const void *w, int64_t n, cpu_codes x) { return dot(add_q8_0, w, n, x); }

void kernels_avx2_codes(cpu_kernels *k) {
    k->codes = codes;
    k->codes_dot[WEFT_Q4_0] = dot_q4_0;
    k->codes_dot[WEFT_Q4_1] = dot_q4_1;
    k->codes_dot[WEFT_Q8_0] = dot_q8_0;
}

#else

void kernels_avx2_codes(cpu_kernels *k) { (void)k; }

#endif
