/* The memory layout of every block format, as GGUF files have it (little-endian, no padding; sizes
 * are checked against dtypes.def below). `d` and `m` are f16 bits. In 32-wide formats byte j of qs
 * holds element j in its low half and element j + 16 in its high half. How each is decoded stands
 * in its own file. Sources: the `gguf` Python package's quants.py; MXFP4: the OCP Microscaling
 * specification 1.0. SPDX-License-Identifier: MIT */
#ifndef WEFT_FORMAT_BLOCKS_H
#define WEFT_FORMAT_BLOCKS_H

#include <stdint.h>

#include "weft/weft.h"

/* 32 elements: x = d * (q - 8); d * q + m; the fifth bits of 5-bit q are in qh, element j's at bit
 * j */
typedef struct block_q4_0 {
    uint16_t d;
    uint8_t qs[16];
} block_q4_0;

typedef struct block_q4_1 {
    uint16_t d, m;
    uint8_t qs[16];
} block_q4_1;

typedef struct block_q5_0 {
    uint16_t d;
    uint8_t qh[4], qs[16];
} block_q5_0;

typedef struct block_q5_1 {
    uint16_t d, m;
    uint8_t qh[4], qs[16];
} block_q5_1;

typedef struct block_q8_0 {
    uint16_t d;
    int8_t qs[32];
} block_q8_0;

typedef struct block_q8_1 {
    uint16_t d, s; /* s = d * sum of qs */
    int8_t qs[32];
} block_q8_1;

typedef struct block_iq4_nl {
    uint16_t d;
    uint8_t qs[16]; /* indices into 16 fixed levels */
} block_iq4_nl;

typedef struct block_mxfp4 {
    uint8_t e;      /* scale 2^(e - 127) */
    uint8_t qs[16]; /* FP4 E2M1 */
} block_mxfp4;

typedef struct block_nvfp4 {
    uint8_t d[4];   /* UE4M3 scales of 16 elements each */
    uint8_t qs[32]; /* FP4 E2M1: byte 8 s + j holds elements 16 s + j and 16 s + j + 8 */
} block_nvfp4;

typedef struct block_q1_0 {
    uint16_t d;
    uint8_t qs[16]; /* 128 signs: bit 1 is plus */
} block_q1_0;

typedef struct block_q2_0 {
    uint16_t d;
    uint8_t qs[16]; /* 64 elements of two bits, in order */
} block_q2_0;

/* 256 elements in sub-blocks of 16 or 32 that have small integer scales under one or two f16 */
typedef struct block_q2_k {
    uint8_t scales[16]; /* low half: scale, high half: minimum */
    uint8_t qs[64];
    uint16_t d, dmin;
} block_q2_k;

typedef struct block_q3_k {
    uint8_t hmask[32], qs[64], scales[12];
    uint16_t d;
} block_q3_k;

typedef struct block_q4_k {
    uint16_t d, dmin;
    uint8_t scales[12]; /* eight 6-bit scales and eight 6-bit minimums: kquant.h */
    uint8_t qs[128];
} block_q4_k;

typedef struct block_q5_k {
    uint16_t d, dmin;
    uint8_t scales[12], qh[32], qs[128];
} block_q5_k;

typedef struct block_q6_k {
    uint8_t ql[128], qh[64];
    int8_t scales[16];
    uint16_t d;
} block_q6_k;

typedef struct block_q8_k {
    float d;
    int8_t qs[256];
    int16_t bsums[16]; /* sums of 16 qs each */
} block_q8_k;

typedef struct block_iq4_xs {
    uint16_t d, scales_h;
    uint8_t scales_l[4], qs[128];
} block_iq4_xs;

typedef struct block_iq2_xxs {
    uint16_t d, qs[32];
} block_iq2_xxs;

typedef struct block_iq2_xs {
    uint16_t d, qs[32];
    uint8_t scales[8];
} block_iq2_xs;

typedef struct block_iq2_s {
    uint16_t d;
    uint8_t qs[32], signs[32], qh[8], scales[8];
} block_iq2_s;

typedef struct block_iq3_xxs {
    uint16_t d;
    uint8_t qs[64];
    uint16_t signs_scales[16]; /* eight u32, only 2-aligned */
} block_iq3_xxs;

typedef struct block_iq3_s {
    uint16_t d;
    uint8_t qs[64], qh[8], signs[32], scales[4];
} block_iq3_s;

typedef struct block_iq1_s {
    uint16_t d;
    uint8_t qs[32];
    uint16_t qh[8];
} block_iq1_s;

typedef struct block_iq1_m {
    uint8_t qs[32], qh[16];
    uint16_t scales[4];
} block_iq1_m;

typedef struct block_tq1_0 {
    uint8_t qs[48], qh[4];
    uint16_t d;
} block_tq1_0;

typedef struct block_tq2_0 {
    uint8_t qs[64];
    uint16_t d;
} block_tq2_0;

enum {
#define WEFT_DTYPE(name, id, block, bytes, text, is_quantized) BLOCK_BYTES_##name = bytes,
#include "weft/dtypes.def"
#undef WEFT_DTYPE
};

#define BLOCK_CHECK(block, name)                                                                   \
    _Static_assert(sizeof(block_##block) == BLOCK_BYTES_##name, "a block has no padding")
BLOCK_CHECK(q4_0, Q4_0);
BLOCK_CHECK(q4_1, Q4_1);
BLOCK_CHECK(q5_0, Q5_0);
BLOCK_CHECK(q5_1, Q5_1);
BLOCK_CHECK(q8_0, Q8_0);
BLOCK_CHECK(q8_1, Q8_1);
BLOCK_CHECK(iq4_nl, IQ4_NL);
BLOCK_CHECK(mxfp4, MXFP4);
BLOCK_CHECK(nvfp4, NVFP4);
BLOCK_CHECK(q1_0, Q1_0);
BLOCK_CHECK(q2_0, Q2_0);
BLOCK_CHECK(q2_k, Q2_K);
BLOCK_CHECK(q3_k, Q3_K);
BLOCK_CHECK(q4_k, Q4_K);
BLOCK_CHECK(q5_k, Q5_K);
BLOCK_CHECK(q6_k, Q6_K);
BLOCK_CHECK(q8_k, Q8_K);
BLOCK_CHECK(iq4_xs, IQ4_XS);
BLOCK_CHECK(iq2_xxs, IQ2_XXS);
BLOCK_CHECK(iq2_xs, IQ2_XS);
BLOCK_CHECK(iq2_s, IQ2_S);
BLOCK_CHECK(iq3_xxs, IQ3_XXS);
BLOCK_CHECK(iq3_s, IQ3_S);
BLOCK_CHECK(iq1_s, IQ1_S);
BLOCK_CHECK(iq1_m, IQ1_M);
BLOCK_CHECK(tq1_0, TQ1_0);
BLOCK_CHECK(tq2_0, TQ2_0);
#undef BLOCK_CHECK

#endif
