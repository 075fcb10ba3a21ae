/* Weight formats: halves against their definition, decoders against golden blocks from another
 * implementation (tests/golden/formats.py), encoders against bounds on their error.
 * SPDX-License-Identifier: MIT */
#include "format/format.h"

#include <math.h>

#include "format/half.h"
#include "harness.h"
#include "tensor/dtype.h"

/* ---- halves
 * -----------------------------------------------------------------------------------------------
 */

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

/* ---- decoding
 * --------------------------------------------------------------------------------------------- */

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

/* One line of the golden file: name, blocks, CRC-32 of each block's values, the first block's
 * values. */
static void check_golden_line(char *line) {
    static uint8_t blocks[8192];
    static float out[8192], first[256];
    char *name = strtok(line, " "), *hex = strtok(NULL, " "), *crcs = strtok(NULL, " "),
         *values = strtok(NULL, " \n");
    weft_dtype dtype = WEFT_F32;
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
    while (fgets(line, sizeof line, f)) {
        if (!strncmp(line, "encode ", 7)) continue;
        check_golden_line(line);
        n_lines++;
    }
    fclose(f);
#define WEFT_DTYPE(name, id, block, bytes, text, is_quantized) n_quantized += is_quantized;
#include "weft/dtypes.def"
#undef WEFT_DTYPE
    assert_int_equal(n_lines, n_quantized);
}

/* ---- encoding
 * --------------------------------------------------------------------------------------------- */

static void check_encoded_line(char *line) {
    static uint8_t expected[1024], got[1024];
    static float in[256];
    char *name = strtok(line + 7, " "), *values = strtok(NULL, " "), *hex = strtok(NULL, " \n");
    weft_dtype dtype = WEFT_F32;
    assert_true(hex && dtype_parse(name, &dtype));
    assert_int_equal(from_hex(values, (uint8_t *)in, sizeof in), sizeof in);
    size_t n = from_hex(hex, expected, sizeof expected);
    format_find(dtype)->encode(in, got, 256, NULL);
    for (size_t i = 0; i < n; i++)
        if (got[i] != expected[i])
            fail_msg("%s: byte %zu is %02x, expected %02x", name, i, got[i], expected[i]);
}

static void one_right_answer_is_given(void **state) {
    (void)state;
    static char line[1 << 16];
    FILE *f = fopen(WEFT_SOURCE_DIR "/tests/golden/formats.txt", "r");
    assert_non_null(f);
    int n_lines = 0;
    while (fgets(line, sizeof line, f)) {
        if (strncmp(line, "encode ", 7)) continue;
        check_encoded_line(line);
        n_lines++;
    }
    fclose(f);
    assert_int_equal(n_lines, 9);
}

/* Root of the mean squared error on normal numbers: `ours` as measured, `peer` that of llama.cpp's
 * quantiser on the same numbers (tools/check_encoders.py). */
static const struct {
    weft_dtype dtype;
    double ours, peer;
} errors[] = {
    {WEFT_Q4_0, 0.08602, 0.08602},   {WEFT_Q4_1, 0.07820, 0.07820},
    {WEFT_Q5_0, 0.04276, 0.04276},   {WEFT_Q5_1, 0.03781, 0.03781},
    {WEFT_Q8_0, 0.005357, 0.005357}, {WEFT_Q8_1, 0.005357, 0.005357},
    {WEFT_Q2_K, 0.2626, 0.2966},     {WEFT_Q3_K, 0.1435, 0.1509},
    {WEFT_Q4_K, 0.06998, 0.07142},   {WEFT_Q5_K, 0.03444, 0.03611},
    {WEFT_Q6_K, 0.01682, 0.01774},   {WEFT_Q8_K, 0.00674, 0.00674},
    {WEFT_IQ4_NL, 0.07342, 0.07612}, {WEFT_IQ4_XS, 0.07402, 0.07671},
    {WEFT_TQ1_0, 0.8093, 0.8093},    {WEFT_TQ2_0, 0.8093, 0.8093},
    {WEFT_MXFP4, 0.1118, 0.1152},    {WEFT_NVFP4, 0.08598, 0.09519},
    {WEFT_Q1_0, 0.6004, 0.6004},     {WEFT_Q2_0, 0.3508, 0.7185},
    {WEFT_IQ2_XXS, 0.3281, 0.3430},  {WEFT_IQ2_XS, 0.2845, 0.2991},
    {WEFT_IQ2_S, 0.2384, 0.2648},    {WEFT_IQ3_XXS, 0.1766, 0.2127},
    {WEFT_IQ3_S, 0.1290, 0.1658},    {WEFT_IQ1_S, 0.4437, 0.4849},
    {WEFT_IQ1_M, 0.4116, 0.5813},
};
enum { N_ERRORS = sizeof errors / sizeof *errors, N_DATA = 64 * 256 };

static double weighted_error(const format_ops *f, const float *in, const float *w,
                             bool use_weights) {
    static uint8_t blocks[N_DATA * 4];
    static float out[N_DATA];
    f->encode(in, blocks, N_DATA, use_weights ? w : NULL);
    f->decode(blocks, out, N_DATA);
    double sum = 0, total = 0;
    for (int i = 0; i < N_DATA; i++) {
        double e = (double)in[i] - (double)out[i];
        sum += (double)w[i] * e * e;
        total += (double)w[i];
    }
    return sqrt(sum / total);
}

static void errors_are_small(void **state) {
    (void)state;
    static float in[N_DATA], ones[N_DATA];
    rng r = {1};
    for (int i = 0; i < N_DATA; i++) in[i] = (float)rng_normal(&r), ones[i] = 1;
    for (size_t k = 0; k < N_ERRORS; k++) {
        double error = weighted_error(format_find(errors[k].dtype), in, ones, false);
        assert_true(errors[k].ours <= 1.001 * errors[k].peer);
        if (!(error <= 1.02 * errors[k].ours))
            fail_msg("%s: error %g, expected %g", weft_dtype_name(errors[k].dtype), error,
                     errors[k].ours);
    }
    int n_quantized = 0;
#define WEFT_DTYPE(name, id, block, bytes, text, is_quantized) n_quantized += is_quantized;
#include "weft/dtypes.def"
#undef WEFT_DTYPE
    assert_int_equal(n_quantized, N_ERRORS);
}

/* Weights of importance make their own error smaller, in the formats that search. */
static void importance_counts(void **state) {
    (void)state;
    static float in[N_DATA], w[N_DATA];
    rng r = {2};
    for (int i = 0; i < N_DATA; i++) {
        double u = rng_normal(&r);
        in[i] = (float)rng_normal(&r);
        w[i] = (float)(u * u);
    }
    for (size_t k = 0; k < N_ERRORS; k++) {
        weft_dtype t = errors[k].dtype;
        if (t == WEFT_Q8_0 || t == WEFT_Q8_1 || t == WEFT_Q8_K || t == WEFT_TQ1_0 ||
            t == WEFT_TQ2_0)
            continue;
        double with = weighted_error(format_find(t), in, w, true);
        double without = weighted_error(format_find(t), in, w, false);
        if (!(with < 0.999 * without))
            fail_msg("%s: error %g with importance, %g without", weft_dtype_name(t), with, without);
    }
}

/* Inputs that break searches: all zero, all equal, tiny, huge, one outlier, not finite, no
 * importance at all. */
static void odd_input_is_survived(void **state) {
    (void)state;
    static float in[512], out[512], zeros[512];
    static uint8_t blocks[512 * 4];
    for (size_t k = 0; k < N_ERRORS; k++) {
        const format_ops *f = format_find(errors[k].dtype);
        for (int c = 0; c < 10; c++) {
            for (int i = 0; i < 512; i++) {
                const float value[] = {0,
                                       2.5F,
                                       -2.5F,
                                       (float)i * 1e-42F,
                                       (float)(i - 256) * 1e36F,
                                       i == 77 ? 1000.0F : 0.001F,
                                       i % 7 ? 1.0F : NAN,
                                       i % 5 ? 1.0F : INFINITY,
                                       i % 3 ? -INFINITY : INFINITY,
                                       (float)(i % 3 - 1)};
                in[i] = value[c];
            }
            f->encode(in, blocks, 512, c == 9 ? zeros : NULL);
            f->decode(blocks, out, 512);
            for (int i = 0; c == 0 && i < 512; i++)
                assert_true(out[i] == 0.0F || errors[k].dtype == WEFT_Q1_0);
            for (int i = 0; i < 512 && (c == 1 || c == 2); i++)
                if (!(fabsf(out[i] - in[i]) <= 0.21F * 2.5F))
                    fail_msg("%s: %g became %g", weft_dtype_name(f->dtype), (double)in[i],
                             (double)out[i]);
            f->encode(in, blocks, 512, zeros);
        }
    }
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
        cmocka_unit_test(one_right_answer_is_given),
        cmocka_unit_test(errors_are_small),
        cmocka_unit_test(importance_counts),
        cmocka_unit_test(odd_input_is_survived),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
