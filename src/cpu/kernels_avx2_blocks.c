/* Dot products and decoding with AVX2 for the block formats that have no kernel of their own in
 * kernels_avx2.c. A format is one function that brings 32 neighbouring weights of a row to f32; the
 * loops over rows are the same for all. SPDX-License-Identifier: MIT */
#include "cpu/kernels.h"

#if defined(__x86_64__)

#include <immintrin.h>

#include "format/blocks.h"
#include "format/codebooks.h"
#include "format/kquant.h"

#define AVX2 __attribute__((target("avx2,fma,f16c")))
#define INLINE AVX2 static inline __attribute__((always_inline))

/* Weights 32 run .. 32 run + 31 of a row. */
typedef void (*run_fn)(const void *row, int64_t run, __m256 w[4]);

INLINE float dot_runs(run_fn weights, const void *row, const float *x, int64_t n) {
    __m256 s[4] = {_mm256_setzero_ps(), _mm256_setzero_ps(), _mm256_setzero_ps(),
                   _mm256_setzero_ps()};
    for (int64_t i = 0; i < n; i += 32) {
        __m256 w[4];
        weights(row, i / 32, w);
        for (int j = 0; j < 4; j++)
            s[j] = _mm256_fmadd_ps(w[j], _mm256_loadu_ps(x + i + 8 * j), s[j]);
    }
    __m256 t = _mm256_add_ps(_mm256_add_ps(s[0], s[1]), _mm256_add_ps(s[2], s[3]));
    __m128 u = _mm_add_ps(_mm256_castps256_ps128(t), _mm256_extractf128_ps(t, 1));
    u = _mm_add_ps(u, _mm_movehl_ps(u, u));
    return _mm_cvtss_f32(_mm_add_ss(u, _mm_movehdup_ps(u)));
}

INLINE void decode_runs(run_fn weights, const void *row, float *out, int64_t n) {
    for (int64_t i = 0; i < n; i += 32) {
        __m256 w[4];
        weights(row, i / 32, w);
        for (int j = 0; j < 4; j++) _mm256_storeu_ps(out + i + 8 * j, w[j]);
    }
}

/* ---- pieces ---------------------------------------------------------------------------------- */

INLINE __m256i load_bytes(const uint8_t *p) { return _mm256_loadu_si256((const __m256i *)p); }

INLINE __m256 splat_f16(uint16_t h) { return _mm256_set1_ps(_cvtsh_ss(h)); }

/* (bytes >> shift) & mask, in each byte; shift < 8. */
INLINE __m256i bits(__m256i bytes, int shift, int mask) {
    return _mm256_and_si256(_mm256_srl_epi16(bytes, _mm_cvtsi32_si128(shift)),
                            _mm256_set1_epi8((char)mask));
}

/* The low halves of 16 bytes, then their high ones. */
INLINE __m256i halves(const uint8_t *p) {
    __m128i b = _mm_loadu_si128((const __m128i *)p);
    return _mm256_and_si256(_mm256_set_m128i(_mm_srli_epi16(b, 4), b), _mm256_set1_epi8(15));
}

/* 32 bits as bytes of 0 or 16. */
INLINE __m256i fifths(const uint8_t *p) {
    int word = (int)(p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24);
    const __m256i which = _mm256_setr_epi64x(0, 0x0101010101010101, 0x0202020202020202,
                                             0x0303030303030303),
                  bit = _mm256_set1_epi64x((long long)0x8040201008040201);
    __m256i spread = _mm256_shuffle_epi8(_mm256_set1_epi32(word), which);
    __m256i is_set = _mm256_cmpeq_epi8(_mm256_and_si256(spread, bit), bit);
    return _mm256_and_si256(is_set, _mm256_set1_epi8(16));
}

/* 32 signed bytes as f32. */
INLINE void to_floats(__m256i q, __m256 w[4]) {
    __m128i low = _mm256_castsi256_si128(q), high = _mm256_extracti128_si256(q, 1);
    w[0] = _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(low));
    w[1] = _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_srli_si128(low, 8)));
    w[2] = _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(high));
    w[3] = _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_srli_si128(high, 8)));
}

/* w[j] = q * scale - minimum, scale and minimum of the first and the last 16. */
INLINE void affine(__m256i q, const float scale[2], const float minimum[2], __m256 w[4]) {
    to_floats(q, w);
    for (int j = 0; j < 4; j++)
        w[j] = _mm256_fmsub_ps(w[j], _mm256_set1_ps(scale[j / 2]), _mm256_set1_ps(minimum[j / 2]));
}

INLINE void scaled(__m256i q, const float scale[2], __m256 w[4]) {
    to_floats(q, w);
    for (int j = 0; j < 4; j++) w[j] = _mm256_mul_ps(w[j], _mm256_set1_ps(scale[j / 2]));
}

INLINE __m256i levels(__m256i q) {
    __m128i table = _mm_loadu_si128((const __m128i *)codebook_iq4);
    return _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(table), q);
}

/* ---- formats --------------------------------------------------------------------------------- */

INLINE void run_q4_0(const void *row, int64_t run, __m256 w[4]) {
    const block_q4_0 *b = (const block_q4_0 *)row + run;
    to_floats(_mm256_sub_epi8(halves(b->qs), _mm256_set1_epi8(8)), w);
    for (int j = 0; j < 4; j++) w[j] = _mm256_mul_ps(w[j], splat_f16(b->d));
}

INLINE void run_q5_0(const void *row, int64_t run, __m256 w[4]) {
    const block_q5_0 *b = (const block_q5_0 *)row + run;
    __m256i q = _mm256_or_si256(halves(b->qs), fifths(b->qh));
    to_floats(_mm256_sub_epi8(q, _mm256_set1_epi8(16)), w);
    for (int j = 0; j < 4; j++) w[j] = _mm256_mul_ps(w[j], splat_f16(b->d));
}

INLINE void run_q5_1(const void *row, int64_t run, __m256 w[4]) {
    const block_q5_1 *b = (const block_q5_1 *)row + run;
    to_floats(_mm256_or_si256(halves(b->qs), fifths(b->qh)), w);
    for (int j = 0; j < 4; j++) w[j] = _mm256_fmadd_ps(w[j], splat_f16(b->d), splat_f16(b->m));
}

INLINE void run_iq4_nl(const void *row, int64_t run, __m256 w[4]) {
    const block_iq4_nl *b = (const block_iq4_nl *)row + run;
    to_floats(levels(halves(b->qs)), w);
    for (int j = 0; j < 4; j++) w[j] = _mm256_mul_ps(w[j], splat_f16(b->d));
}

INLINE void run_iq4_xs(const void *row, int64_t run, __m256 w[4]) {
    const block_iq4_xs *b = (const block_iq4_xs *)row + run / 8;
    int s = (int)(run % 8);
    int scale = (b->scales_l[s / 2] >> (s % 2 * 4) & 15) | (b->scales_h >> 2 * s & 3) << 4;
    float d = _cvtsh_ss(b->d) * (float)(scale - 32);
    scaled(levels(halves(b->qs + 16 * s)), (float[]){d, d}, w);
}

INLINE void run_q2_k(const void *row, int64_t run, __m256 w[4]) {
    const block_q2_k *b = (const block_q2_k *)row + run / 8;
    int s = (int)(run % 8);
    float d = _cvtsh_ss(b->d), dmin = _cvtsh_ss(b->dmin), scale[2], minimum[2];
    for (int k = 0; k < 2; k++) {
        scale[k] = d * (float)(b->scales[2 * s + k] & 15);
        minimum[k] = dmin * (float)(b->scales[2 * s + k] >> 4);
    }
    affine(bits(load_bytes(b->qs + s / 4 * 32), s % 4 * 2, 3), scale, minimum, w);
}

INLINE void run_q3_k(const void *row, int64_t run, __m256 w[4]) {
    const block_q3_k *b = (const block_q3_k *)row + run / 8;
    int s = (int)(run % 8);
    float d = _cvtsh_ss(b->d), scale[2];
    for (int k = 0; k < 2; k++)
        scale[k] = d * (float)(kquant_signed_scale(b->scales, 2 * s + k) - 32);
    __m256i low = bits(load_bytes(b->qs + s / 4 * 32), s % 4 * 2, 3);
    __m256i high = _mm256_slli_epi16(bits(load_bytes(b->hmask), s, 1), 2);
    scaled(_mm256_sub_epi8(_mm256_or_si256(low, high), _mm256_set1_epi8(4)), scale, w);
}

INLINE void run_q4_k(const void *row, int64_t run, __m256 w[4]) {
    const block_q4_k *b = (const block_q4_k *)row + run / 8;
    int s = (int)(run % 8);
    kquant_pair p = kquant_pair_at(b->scales, s);
    float scale = _cvtsh_ss(b->d) * (float)p.scale, minimum = _cvtsh_ss(b->dmin) * (float)p.min;
    affine(bits(load_bytes(b->qs + s / 2 * 32), s % 2 * 4, 15), (float[]){scale, scale},
           (float[]){minimum, minimum}, w);
}

INLINE void run_q5_k(const void *row, int64_t run, __m256 w[4]) {
    const block_q5_k *b = (const block_q5_k *)row + run / 8;
    int s = (int)(run % 8);
    kquant_pair p = kquant_pair_at(b->scales, s);
    float scale = _cvtsh_ss(b->d) * (float)p.scale, minimum = _cvtsh_ss(b->dmin) * (float)p.min;
    __m256i low = bits(load_bytes(b->qs + s / 2 * 32), s % 2 * 4, 15);
    __m256i high = _mm256_slli_epi16(bits(load_bytes(b->qh), s, 1), 4);
    affine(_mm256_or_si256(low, high), (float[]){scale, scale}, (float[]){minimum, minimum}, w);
}

INLINE void run_q6_k(const void *row, int64_t run, __m256 w[4]) {
    const block_q6_k *b = (const block_q6_k *)row + run / 8;
    int s = (int)(run % 8), half = s / 4, part = s % 4;
    float d = _cvtsh_ss(b->d);
    __m256i low = bits(load_bytes(b->ql + 64 * half + part % 2 * 32), part / 2 * 4, 15);
    __m256i high = _mm256_slli_epi16(bits(load_bytes(b->qh + 32 * half), part * 2, 3), 4);
    scaled(_mm256_sub_epi8(_mm256_or_si256(low, high), _mm256_set1_epi8(32)),
           (float[]){d * (float)b->scales[2 * s], d * (float)b->scales[2 * s + 1]}, w);
}

/* The two functions of a format, whose run is inlined into both. */
#define KERNELS(format)                                                                            \
    AVX2 static float dot_##format(const void *w, const float *x, int64_t n) {                     \
        return dot_runs(run_##format, w, x, n);                                                    \
    }                                                                                              \
    AVX2 static void decode_##format(const void *w, float *out, int64_t n) {                       \
        decode_runs(run_##format, w, out, n);                                                      \
    }
KERNELS(q4_0)
KERNELS(q5_0)
KERNELS(q5_1)
KERNELS(iq4_nl)
KERNELS(iq4_xs)
KERNELS(q2_k)
KERNELS(q3_k)
KERNELS(q4_k)
KERNELS(q5_k)
KERNELS(q6_k)
#undef KERNELS

void kernels_avx2_blocks(cpu_kernels *k) {
#define TAKE(dtype, format)                                                                        \
    k->dot[WEFT_##dtype] = dot_##format;                                                           \
    k->decode[WEFT_##dtype] = decode_##format;
    TAKE(Q4_0, q4_0)
    TAKE(Q5_0, q5_0)
    TAKE(Q5_1, q5_1)
    TAKE(IQ4_NL, iq4_nl)
    TAKE(IQ4_XS, iq4_xs)
    TAKE(Q2_K, q2_k)
    TAKE(Q3_K, q3_k)
    TAKE(Q4_K, q4_k)
    TAKE(Q5_K, q5_k)
    TAKE(Q6_K, q6_k)
#undef TAKE
}

#endif
