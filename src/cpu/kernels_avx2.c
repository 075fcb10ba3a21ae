/* The hot functions for CPUs with AVX2, FMA and F16C, chosen at run time: each function carries its
 * target, so that the rest of the program stays runnable everywhere. Sums are kept in four
 * registers of eight lanes. SPDX-License-Identifier: MIT */
#include "cpu/kernels.h"

#if defined(__x86_64__)

#include <cpuid.h>
#include <immintrin.h>

#include "cpu/exp.h"
#include "format/blocks.h"

#define AVX2 __attribute__((target("avx2,fma,f16c")))

AVX2 static inline float lanes_sum(__m256 v) {
    __m128 s = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    s = _mm_add_ps(s, _mm_movehl_ps(s, s));
    return _mm_cvtss_f32(_mm_add_ss(s, _mm_movehdup_ps(s)));
}

AVX2 static inline __m256 sum_four(const __m256 s[4]) {
    return _mm256_add_ps(_mm256_add_ps(s[0], s[1]), _mm256_add_ps(s[2], s[3]));
}

AVX2 static inline __m256 load_f16(const uint16_t *h) {
    return _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)h));
}

/* The first n of eight lanes, the others zero: for tails. */
AVX2 static inline __m256i tail_mask(int64_t n) {
    return _mm256_cmpgt_epi32(_mm256_set1_epi32((int)n), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}

AVX2 static float dot_f32(const void *w, const float *x, int64_t n) {
    const float *a = w;
    __m256 s[4] = {_mm256_setzero_ps(), _mm256_setzero_ps(), _mm256_setzero_ps(),
                   _mm256_setzero_ps()};
    int64_t i = 0;
    for (; i + 32 <= n; i += 32)
        for (int j = 0; j < 4; j++)
            s[j] = _mm256_fmadd_ps(_mm256_loadu_ps(a + i + 8 * j), _mm256_loadu_ps(x + i + 8 * j),
                                   s[j]);
    for (; i < n; i += 8) {
        __m256i mask = tail_mask(n - i);
        s[0] =
            _mm256_fmadd_ps(_mm256_maskload_ps(a + i, mask), _mm256_maskload_ps(x + i, mask), s[0]);
    }
    return lanes_sum(sum_four(s));
}

AVX2 static float dot_f16(const void *w, const float *x, int64_t n) {
    const uint16_t *a = w;
    __m256 s[4] = {_mm256_setzero_ps(), _mm256_setzero_ps(), _mm256_setzero_ps(),
                   _mm256_setzero_ps()};
    int64_t i = 0;
    for (; i + 32 <= n; i += 32)
        for (int j = 0; j < 4; j++)
            s[j] = _mm256_fmadd_ps(load_f16(a + i + 8 * j), _mm256_loadu_ps(x + i + 8 * j), s[j]);
    for (; i + 8 <= n; i += 8)
        s[0] = _mm256_fmadd_ps(load_f16(a + i), _mm256_loadu_ps(x + i), s[0]);
    float sum = lanes_sum(sum_four(s));
    for (; i < n; i++) sum += _cvtsh_ss(a[i]) * x[i];
    return sum;
}

/* The 32 weights of a block as f32, in order. */
AVX2 static inline void weights_q4_1(const block_q4_1 *block, __m256 w[4]) {
    __m128i bytes = _mm_loadu_si128((const __m128i *)block->qs), fifteen = _mm_set1_epi8(15);
    __m128i low = _mm_and_si128(bytes, fifteen),
            high = _mm_and_si128(_mm_srli_epi16(bytes, 4), fifteen);
    __m256 d = _mm256_set1_ps(_cvtsh_ss(block->d)), m = _mm256_set1_ps(_cvtsh_ss(block->m));
    const __m128i parts[4] = {low, _mm_srli_si128(low, 8), high, _mm_srli_si128(high, 8)};
    for (int j = 0; j < 4; j++)
        w[j] = _mm256_fmadd_ps(_mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(parts[j])), d, m);
}

AVX2 static inline void quants_q8_0(const block_q8_0 *block, __m256 q[4]) {
    for (int j = 0; j < 4; j++)
        q[j] = _mm256_cvtepi32_ps(
            _mm256_cvtepi8_epi32(_mm_loadl_epi64((const __m128i *)(block->qs + 8 * j))));
}

AVX2 static float dot_q4_1(const void *w, const float *x, int64_t n) {
    const block_q4_1 *block = w;
    __m256 s[4] = {_mm256_setzero_ps(), _mm256_setzero_ps(), _mm256_setzero_ps(),
                   _mm256_setzero_ps()};
    for (int64_t i = 0; i < n; i += 32, block++) {
        __m256 v[4];
        weights_q4_1(block, v);
        for (int j = 0; j < 4; j++)
            s[j] = _mm256_fmadd_ps(v[j], _mm256_loadu_ps(x + i + 8 * j), s[j]);
    }
    return lanes_sum(sum_four(s));
}

AVX2 static float dot_q8_0(const void *w, const float *x, int64_t n) {
    const block_q8_0 *block = w;
    __m256 s[2] = {_mm256_setzero_ps(), _mm256_setzero_ps()};
    for (int64_t i = 0; i < n; i += 32, block++) {
        __m256 q[4], d = _mm256_set1_ps(_cvtsh_ss(block->d));
        quants_q8_0(block, q);
        for (int j = 0; j < 4; j++) q[j] = _mm256_mul_ps(q[j], _mm256_loadu_ps(x + i + 8 * j));
        s[0] = _mm256_fmadd_ps(d, _mm256_add_ps(q[0], q[1]), s[0]);
        s[1] = _mm256_fmadd_ps(d, _mm256_add_ps(q[2], q[3]), s[1]);
    }
    return lanes_sum(_mm256_add_ps(s[0], s[1]));
}

AVX2 static void decode_f16(const void *w, float *out, int64_t n) {
    const uint16_t *h = w;
    int64_t i = 0;
    for (; i + 8 <= n; i += 8) _mm256_storeu_ps(out + i, load_f16(h + i));
    for (; i < n; i++) out[i] = _cvtsh_ss(h[i]);
}

AVX2 static void decode_q4_1(const void *w, float *out, int64_t n) {
    const block_q4_1 *block = w;
    for (int64_t i = 0; i < n; i += 32, block++) {
        __m256 v[4];
        weights_q4_1(block, v);
        for (int j = 0; j < 4; j++) _mm256_storeu_ps(out + i + 8 * j, v[j]);
    }
}

AVX2 static void decode_q8_0(const void *w, float *out, int64_t n) {
    const block_q8_0 *block = w;
    for (int64_t i = 0; i < n; i += 32, block++) {
        __m256 q[4], d = _mm256_set1_ps(_cvtsh_ss(block->d));
        quants_q8_0(block, q);
        for (int j = 0; j < 4; j++) _mm256_storeu_ps(out + i + 8 * j, _mm256_mul_ps(q[j], d));
    }
}

AVX2 static void tile(const float *w, int64_t w_stride, const float *x, int64_t x_stride, int64_t n,
                      float *out, int64_t out_stride) {
    __m256 s[TILE_X][TILE_W];
    for (int b = 0; b < TILE_X; b++)
        for (int a = 0; a < TILE_W; a++) s[b][a] = _mm256_setzero_ps();
    int64_t i = 0;
    for (; i + 8 <= n; i += 8) {
        __m256 v[TILE_X];
        for (int b = 0; b < TILE_X; b++) v[b] = _mm256_loadu_ps(x + b * x_stride + i);
        for (int a = 0; a < TILE_W; a++) {
            __m256 u = _mm256_loadu_ps(w + a * w_stride + i);
            for (int b = 0; b < TILE_X; b++) s[b][a] = _mm256_fmadd_ps(u, v[b], s[b][a]);
        }
    }
    if (i < n) {
        __m256i mask = tail_mask(n - i);
        for (int a = 0; a < TILE_W; a++)
            for (int b = 0; b < TILE_X; b++)
                s[b][a] = _mm256_fmadd_ps(_mm256_maskload_ps(w + a * w_stride + i, mask),
                                          _mm256_maskload_ps(x + b * x_stride + i, mask), s[b][a]);
    }
    for (int b = 0; b < TILE_X; b++) { /* four horizontal sums at once */
        __m256 t =
            _mm256_hadd_ps(_mm256_hadd_ps(s[b][0], s[b][1]), _mm256_hadd_ps(s[b][2], s[b][3]));
        __m128 sums = _mm_add_ps(_mm256_castps256_ps128(t), _mm256_extractf128_ps(t, 1));
        _mm_storeu_ps(out + b * out_stride, _mm_add_ps(_mm_loadu_ps(out + b * out_stride), sums));
    }
}
_Static_assert(TILE_W == 4, "the horizontal sums are for four");

AVX2 static void axpy_f32(float a, const void *x, float *y, int64_t n) {
    const float *v = x;
    __m256 factor = _mm256_set1_ps(a);
    int64_t i = 0;
    for (; i + 8 <= n; i += 8)
        _mm256_storeu_ps(y + i,
                         _mm256_fmadd_ps(factor, _mm256_loadu_ps(v + i), _mm256_loadu_ps(y + i)));
    for (; i < n; i++) y[i] += a * v[i];
}

AVX2 static void axpy_f16(float a, const void *x, float *y, int64_t n) {
    const uint16_t *v = x;
    __m256 factor = _mm256_set1_ps(a);
    int64_t i = 0;
    for (; i + 8 <= n; i += 8)
        _mm256_storeu_ps(y + i, _mm256_fmadd_ps(factor, load_f16(v + i), _mm256_loadu_ps(y + i)));
    for (; i < n; i++) y[i] += a * _cvtsh_ss(v[i]);
}

/* The same code as the portable level, which the compiler vectorises for this target. */
AVX2 static float exp_sum(const float *restrict x, float shift, float *restrict y, int64_t n) {
    for (int64_t i = 0; i < n; i++) y[i] = exp_f32(x[i] - shift);
    __m256 s = _mm256_setzero_ps();
    int64_t i = 0;
    for (; i + 8 <= n; i += 8) s = _mm256_add_ps(s, _mm256_loadu_ps(y + i));
    float sum = lanes_sum(s);
    for (; i < n; i++) sum += y[i];
    return sum;
}

AVX2 static void silu(const float *restrict x, float *restrict y, int64_t n) {
    for (int64_t i = 0; i < n; i++) y[i] = x[i] / (1 + exp_f32(-x[i]));
}

AVX2 static void to_f16(const float *x, uint16_t *out, int64_t n) {
    int64_t i = 0;
    for (; i + 8 <= n; i += 8)
        _mm_storeu_si128((__m128i *)(out + i),
                         _mm256_cvtps_ph(_mm256_loadu_ps(x + i), _MM_FROUND_TO_NEAREST_INT));
    for (; i < n; i++) out[i] = (uint16_t)_cvtss_sh(x[i], _MM_FROUND_TO_NEAREST_INT);
}

bool kernels_avx2(cpu_kernels *k) {
    unsigned a, b, c, d; /* clang 14 knows no name for F16C: bit 29 of leaf 1's ECX */
    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_F16C)) return false;
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) return false;
    k->name = "avx2";
    k->fast_name = "avx2_fast";
    k->dot[WEFT_F32] = dot_f32;
    k->dot[WEFT_F16] = dot_f16;
    k->dot[WEFT_Q4_1] = dot_q4_1;
    k->dot[WEFT_Q8_0] = dot_q8_0;
    k->decode[WEFT_F16] = decode_f16;
    k->decode[WEFT_Q4_1] = decode_q4_1;
    k->decode[WEFT_Q8_0] = decode_q8_0;
    k->tile = tile;
    k->axpy_f32 = axpy_f32;
    k->axpy_f16 = axpy_f16;
    k->exp_sum = exp_sum;
    k->silu = silu;
    k->to_f16 = to_f16;
    kernels_avx2_blocks(k);
    kernels_avx2_codes(k);
    return true;
}

#else

bool kernels_avx2(cpu_kernels *k) {
    (void)k;
    return false;
}

#endif
