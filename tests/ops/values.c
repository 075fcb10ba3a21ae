/* Making, rounding and packing values for the op suite, by plain arithmetic in double. Quantised
 * blocks alone are decoded with the library's format code, which tests/unit/formats.c checks
 * against golden blocks. SPDX-License-Identifier: MIT */
#include "format/format.h"
#include "runner.h"
#include "tensor/dtype.h"

const weft_dtype float_dtypes[3] = {WEFT_F32, WEFT_F16, WEFT_BF16};

int64_t tile_size(int64_t t, int i) { return (int64_t[]){1, t - 1, t, t + 1, 2 * t, 3 * t + 5}[i]; }

op_input normal(weft_dtype dtype, weft_shape shape) {
    return (op_input){.dtype = dtype, .shape = shape, .fill = FILL_NORMAL, .a = 1};
}

op_input weights(weft_dtype dtype, int64_t rows, int64_t columns) {
    op_input in = normal(dtype, weft_2d(rows, columns));
    if (dtype_find(dtype)->is_quantized) in.fill = FILL_BITS;
    return in;
}

op_input biased(weft_shape shape, int64_t n) {
    return (op_input){.dtype = WEFT_F32, .shape = shape, .b = 1 + (double)n * 0x1p-25 - 0x1p-20};
}

op_input integers(weft_shape shape, int64_t low, int64_t high) {
    return (op_input){.dtype = WEFT_I32,
                      .shape = shape,
                      .fill = FILL_RANGE,
                      .a = (double)low,
                      .b = (double)high,
                      .is_index = true};
}

op_input listed(weft_shape shape, const double *list, int n) {
    return (op_input){.dtype = WEFT_I32,
                      .shape = shape,
                      .fill = FILL_LIST,
                      .list = list,
                      .n = n,
                      .is_index = true};
}

/* A float format with `digits` significand bits, least exponent `low` (of the smallest normal),
 * largest finite `top`. */
static double round_float(double v, int digits, int low, double top) {
    if (!(fabs(v) <= 1e300) || v == 0) return v;
    int exponent;
    frexp(v, &exponent); /* v = f * 2^exponent, 0.5 <= |f| < 1 */
    exponent = exponent - 1 < low ? low : exponent - 1;
    double unit = ldexp(1, exponent - digits + 1), rounded = rint(v / unit) * unit;
    return fabs(rounded) > top ? copysign(INFINITY, v) : rounded;
}

double round_to(weft_dtype dtype, double v) {
    switch (dtype) {
    case WEFT_F32: return round_float(v, 24, -126, 3.4028234663852886e38);
    case WEFT_F16: return round_float(v, 11, -14, 65504);
    case WEFT_BF16: return round_float(v, 8, -126, 3.3895313892515355e38);
    default: return trunc(v);
    }
}

/* The bits of a value that the format holds: sign, exponent and fraction put side by side. */
static uint32_t float_bits(double v, int exponent_bits, int fraction_bits) {
    int bias = (1 << (exponent_bits - 1)) - 1;
    uint32_t sign = signbit(v) ? 1u << (exponent_bits + fraction_bits) : 0;
    uint32_t all_ones = (1u << exponent_bits) - 1;
    if (isnan(v)) return sign | all_ones << fraction_bits | 1u << (fraction_bits - 1);
    if (isinf(v)) return sign | all_ones << fraction_bits;
    if (v == 0) return sign;
    int exponent;
    frexp(v, &exponent);
    exponent--;
    if (exponent < 1 - bias) return sign | (uint32_t)ldexp(fabs(v), bias - 1 + fraction_bits);
    uint32_t fraction = (uint32_t)ldexp(ldexp(fabs(v), -exponent) - 1, fraction_bits);
    return sign | (uint32_t)(exponent + bias) << fraction_bits | fraction;
}

static double bits_float(uint32_t bits, int exponent_bits, int fraction_bits) {
    int bias = (1 << (exponent_bits - 1)) - 1;
    uint32_t all_ones = (1u << exponent_bits) - 1, exponent = bits >> fraction_bits & all_ones;
    double fraction = ldexp(bits & ((1u << fraction_bits) - 1), -fraction_bits);
    double sign = bits >> (exponent_bits + fraction_bits) & 1 ? -1 : 1;
    if (exponent == all_ones) return fraction > 0 ? NAN : sign * INFINITY;
    if (exponent == 0) return sign * ldexp(fraction, 1 - bias);
    return sign * ldexp(1 + fraction, (int)exponent - bias);
}

void encode(weft_dtype dtype, const double *v, int64_t n, void *out) {
    for (int64_t i = 0; i < n; i++) {
        double r = round_to(dtype, v[i]);
        switch (dtype) {
        case WEFT_F32: ((uint32_t *)out)[i] = float_bits(r, 8, 23); break;
        case WEFT_F16: ((uint16_t *)out)[i] = (uint16_t)float_bits(r, 5, 10); break;
        case WEFT_BF16: ((uint16_t *)out)[i] = (uint16_t)float_bits(r, 8, 7); break;
        case WEFT_I32: ((int32_t *)out)[i] = (int32_t)r; break;
        default: fail_msg("the suite cannot encode %s", weft_dtype_name(dtype));
        }
    }
}

static void decode_blocks(weft_dtype dtype, const void *data, int64_t n, double *v) {
    int64_t block = dtype_find(dtype)->block, bytes = dtype_find(dtype)->bytes;
    float buffer[256];
    for (int64_t i = 0; i < n; i += block) {
        format_find(dtype)->decode((const char *)data + i / block * bytes, buffer, block);
        for (int64_t j = 0; j < block; j++) v[i + j] = (double)buffer[j];
    }
}

void decode(weft_dtype dtype, const void *data, int64_t n, double *v) {
    for (int64_t i = 0; i < n; i++) {
        switch (dtype) {
        case WEFT_F32: v[i] = bits_float(((const uint32_t *)data)[i], 8, 23); break;
        case WEFT_F16: v[i] = bits_float(((const uint16_t *)data)[i], 5, 10); break;
        case WEFT_BF16: v[i] = bits_float(((const uint16_t *)data)[i], 8, 7); break;
        case WEFT_I32: v[i] = ((const int32_t *)data)[i]; break;
        default: decode_blocks(dtype, data, n, v); return;
        }
    }
}

double ref_broadcast(const array *a, weft_shape shape, int64_t i) {
    int64_t at = 0, step = 1;
    for (int d = shape.rank - 1, k = a->shape.rank - 1; k >= 0; d--, k--) {
        if (a->shape.dim[k] != 1) at += i % shape.dim[d] * step;
        step *= a->shape.dim[k];
        i /= shape.dim[d];
    }
    return a->v[at];
}

weft_shape ref_broadcast_shape(weft_shape a, weft_shape b) {
    weft_shape out = a.rank >= b.rank ? a : b, other = a.rank >= b.rank ? b : a;
    for (int d = out.rank - 1, k = other.rank - 1; k >= 0; d--, k--)
        if (out.dim[d] == 1) out.dim[d] = other.dim[k];
    return out;
}

weft_dtype ref_promote(weft_dtype a, weft_dtype b) { return a == b ? a : WEFT_F32; }
