/* Weight formats: halves against their definition, decoders against golden blocks from another implementation
 * (tests/golden/formats.py), encoders against bounds on their error.
 * SPDX-License-Identifier: MIT */
#include "format/format.h"

#include <math.h>

#include "format/half.h"
#include "harness.h"
#include "tensor/dtype.h"

/* ---- halves ----------------------------------------------------------------------------------------------- */

static double exact_f16(int h) { /* the definition */
    int e = h >> 10 & 31, m = h & 1023;
    double x = e ? ldexp(1024 + m, e - 25) : ldexp(m, -24);
    return h & 0x8000 ? -x : x;
}

static double exact_bf16(int h) {
    int e = h >> 7 & 255, m = h & 127;
    double x = e ? ldexp(128 + m, e - 134) : ldexp(m, -133);
    return h & 0x8000 ? -x : x;
}

/* Every value, every midpoint between neighbours, and the floats next to each midpoint. */
static void check_rounding(int infinity, double (*exact)(int), uint16_t (*narrow)(float),
                           float (*widen)(uint16_t)) {
    for (int h = 0; h < infinity; h++) {
        assert_true((double)widen((uint16_t)h) == exact(h));
        assert_true((double)widen((uint16_t)(h | 0x8000)) == -exact(h));
        assert_int_equal(narrow((float)exact(h)), h);
        assert_int_equal(narrow(-(float)exact(h)), h | 0x8000);
        double middle =
            (exact(h) + exact(h + 1)) / 2; /* exact(infinity) is the next power of two */
        if ((double)(float)middle != middle) continue;
        assert_int_equal(narrow((float)middle), h + (h & 1));
        assert_int_equal(narrow(nextafterf((float)middle, INFINITY)), h + 1);
        assert_int_equal(narrow(nextafterf((float)middle, 0)), h);
    }
}

static uint16_t narrow_f16(float x) { return f32_to_f16(x); }
static float widen_f16(uint16_t h) { return f16_to_f32(h); }
static uint16_t narrow_bf16(float x) { return f32_to_bf16(x); }
static float widen_bf16(uint16_t h) { return bf16_to_f32(h); }

static void halves_round_to_nearest_even(void **state) {
    (void)state;
    check_rounding(0x7C00, exact_f16, narrow_f16, widen_f16);
    check_rounding(0x7F80, exact_bf16, narrow_bf16, widen_bf16);
    for (int h = 0x7C01; h < 0x8000; h++) assert_true(isnan(f16_to_f32((uint16_t)h)));
    for (int h = 0x7F81; h < 0x8000; h++) assert_true(isnan(bf16_to_f32((uint16_t)h)));
    assert_true(isinf(f16_to_f32(0x7C00)) && isinf(bf16_to_f32(0xFF80)));
    const uint32_t nans[] = {0x7F800001, 0x7FC00000, 0x7FFFFFFF, 0xFF800001, 0xFFFFFFFF};
    for (size_t i = 0; i < 5; i++) {
        float x = half_float(nans[i]);
        assert_true(isnan(f16_to_f32(f32_to_f16(x))) && isnan(bf16_to_f32(f32_to_bf16(x))));
    }
    assert_int_equal(f32_to_f16(INFINITY), 0x7C00);
    assert_int_equal(f32_to_f16(-3e38F), 0xFC00);
    assert_int_equal(f32_to_bf16(-INFINITY), 0xFF80);
}

static void reported_conversions_are_right(void **state) {
    (void)state;
    const float cases[][2] = {{65519.9F, 65504},   {65520, INFINITY}, {2049, 2048},
                              {2051, 2052},        {6e-8F, 0x1p-24F}, {2.9e-8F, 0},
                              {-0.0F, 0},          {70000, INFINITY}, {-65520, -INFINITY},
                              {0x1p-14F, 0x1p-14F}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_true(f16_to_f32(f32_to_f16(cases[i][0])) == cases[i][1]);
}

/* ---- decoding --------------------------------------------------------------------------------------------- */

static uint32_t crc32(const void *data, size_t n) {
    uint32_t crc = ~0U;
    for (size_t i = 0; i < n; i++) {
        crc ^= ((const uint8_t *)data)[i];
        for (int k = 0; k < 8; k++) crc = crc >> 1 ^ (crc & 1 ? 0xEDB88320U : 0);
    }
    return ~crc;
}

static size_t from_hex(const char *text, uint8_t *out, size_t cap) {
    size_t n = 0;
    unsigned byte;
    for (; n < cap && sscanf(text + 2 * n, "%2x", &byte) == 1; n++) out[n] = (uint8_t)byte;
    return n;
}

/* One line of the golden file: name, blocks, CRC-32 of each block's values, the first block's values. */
static void check_golden_line(char *line) {
    static uint8_t blocks[8192];
    static float out[8192], first[256];
    char *name = strtok(line, " "), *hex = strtok(NULL, " "), *crcs = strtok(NULL, " "),
         *values = strtok(NULL, " \n");
    weft_dtype dtype;
    assert_true(values && dtype_parse(name, &dtype));
    const dtype_info *info = dtype_find(dtype);
    const format_ops *format = format_find(dtype);
    assert_non_null(format);
    assert_int_equal(format->dtype, dtype);
    size_t n_blocks = from_hex(hex, blocks, sizeof blocks) / (size_t)info->bytes,
           block = (size_t)info->block;
    assert_int_equal(n_blocks, 12);
    format->decode(blocks, out, (int64_t)(n_blocks * block));
    assert_int_equal(from_hex(values, (uint8_t *)first, sizeof first), block * 4);
    for (size_t i = 0; i < block; i++)
        if (half_bits(out[i]) != half_bits(first[i]))
            fail_msg("%s: element %zu is %.9g, expected %.9g", name, i, (double)out[i],
                     (double)first[i]);
    for (size_t i = 0; i < n_blocks; i++) {
        uint32_t crc = (uint32_t)strtoul(crcs + 9 * i, NULL, 16);
        if (crc32(out + i * block, block * 4) != crc) fail_msg("%s: block %zu differs", name, i);
    }
}

static void decoders_give_the_golden_bits(void **state) {
    (void)state;
    static char line[1 << 16];
    FILE *f = fopen(WEFT_SOURCE_DIR "/tests/golden/formats.txt", "r");
    assert_non_null(f);
    int n_lines = 0, n_quantized = 0;
    while (fgets(line, sizeof line, f)) check_golden_line(line), n_lines++;
    fclose(f);
#define WEFT_DTYPE(name, id, block, bytes, text, is_quantized) n_quantized += is_quantized;
#include "weft/dtypes.def"
#undef WEFT_DTYPE
    assert_int_equal(n_lines, n_quantized);
}

static void plain_types_convert(void **state) {
    (void)state;
    const float in[4] = {1.0F, -2.5F, 0.1F, 65519.0F};
    const weft_dtype dtypes[] = {WEFT_F32, WEFT_F16, WEFT_BF16};
    const double tolerance[] = {0, 0x1p-11, 0x1p-8};
    for (size_t k = 0; k < 3; k++) {
        float bytes[4], out[4];
        format_find(dtypes[k])->encode(in, bytes, 4, NULL);
        format_find(dtypes[k])->decode(bytes, out, 4);
        for (int i = 0; i < 4; i++)
            assert_true(fabs((double)(out[i] - in[i])) <= tolerance[k] * fabs((double)in[i]));
    }
    assert_null(format_find(WEFT_I32));
    assert_null(format_find((weft_dtype)4));
    assert_null(format_find((weft_dtype)-1));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(halves_round_to_nearest_even),
        cmocka_unit_test(reported_conversions_are_right),
        cmocka_unit_test(decoders_give_the_golden_bits),
        cmocka_unit_test(plain_types_convert),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
