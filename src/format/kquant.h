/* Bit fields that several 256-wide formats share. `put` functions write into zeroed bytes.
 *
 * Two bits: byte j of each 32 holds element j of four consecutive runs of 32, lowest bits first;
 * four bits: of two runs. Scale and minimum pairs (Q4_K, Q5_K): bytes 0..3 scales and 4..7 minimums
 * of sub-blocks 0..3 in six bits; bytes 8..11 the low four bits of sub-blocks 4..7 (scale low,
 * minimum high), whose high two bits top the first eight bytes. Signed scales (Q3_K): low four bits
 * of s in byte s % 8, high two in byte 8 + s % 4. SPDX-License-Identifier: MIT */
#ifndef WEFT_FORMAT_KQUANT_H
#define WEFT_FORMAT_KQUANT_H

#include <stdint.h>

static inline int twos_at(const uint8_t qs[64], int j) {
    return qs[j / 128 * 32 + j % 32] >> (j % 128 / 32 * 2) & 3;
}

static inline void twos_put(uint8_t qs[64], int j, int q) {
    qs[j / 128 * 32 + j % 32] |= (uint8_t)(q << (j % 128 / 32 * 2));
}

static inline void fours_put(uint8_t qs[128], int j, int q) {
    qs[j / 64 * 32 + j % 32] |= (uint8_t)(q << (j % 64 / 32 * 4));
}

typedef struct kquant_pair {
    int scale, min; /* 0..63 */
} kquant_pair;

static inline kquant_pair kquant_pair_at(const uint8_t scales[12], int s) {
    if (s < 4) return (kquant_pair){scales[s] & 63, scales[4 + s] & 63};
    return (kquant_pair){(scales[4 + s] & 15) | (scales[s - 4] >> 6) << 4,
                         scales[4 + s] >> 4 | (scales[s] >> 6) << 4};
}

static inline void kquant_pair_put(uint8_t scales[12], int s, kquant_pair p) {
    if (s < 4) {
        scales[s] |= (uint8_t)p.scale;
        scales[4 + s] |= (uint8_t)p.min;
        return;
    }
    scales[4 + s] = (uint8_t)((p.scale & 15) | (p.min & 15) << 4);
    scales[s - 4] |= (uint8_t)(p.scale >> 4 << 6);
    scales[s] |= (uint8_t)(p.min >> 4 << 6);
}

static inline int kquant_signed_scale(const uint8_t scales[12], int s) {
    return (scales[s % 8] >> (s / 8 * 4) & 15) | (scales[8 + s % 4] >> (s / 4 * 2) & 3) << 4;
}

static inline void kquant_signed_scale_put(uint8_t scales[12], int s, int scale) {
    scales[s % 8] |= (uint8_t)((scale & 15) << (s / 8 * 4));
    scales[8 + s % 4] |= (uint8_t)((scale >> 4) << (s / 4 * 2));
}

#endif
