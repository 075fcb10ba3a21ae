/* Cases of public bug reports about GPU kernels, with data and sizes of their own; each names its
 * kind of fault. They run on the same device as the suite and use the public functions.
 * SPDX-License-Identifier: MIT */
#include "format/format.h"
#include "runner.h"
#include "tensor/fused.h"

static weft_tensor *from(weft_dtype dtype, weft_shape shape, const double *v) {
    int64_t n = 1;
    for (int d = 0; d < shape.rank; d++) n *= shape.dim[d];
    void *raw = malloc((size_t)n * 4 + 1);
    encode(dtype, v, n, raw);
    weft_tensor *t = weft_from(run_device(), dtype, shape, raw);
    free(raw);
    return t;
}

static weft_tensor *filled(weft_dtype dtype, weft_shape shape, double value) {
    int64_t n = 1;
    for (int d = 0; d < shape.rank; d++) n *= shape.dim[d];
    double *v = malloc((size_t)(n + 1) * sizeof *v);
    for (int64_t i = 0; i < n; i++) v[i] = value;
    weft_tensor *t = from(dtype, shape, v);
    free(v);
    return t;
}

/* The values of a tensor; the caller frees them. */
static double *values(weft_tensor *t) {
    if (weft_tensor_status(t) != WEFT_OK) fail_msg("error tensor: %s", weft_tensor_message(t));
    int64_t n = weft_elements(t);
    void *raw = malloc(weft_bytes(t) + 1);
    assert_ok(weft_read(t, raw, weft_bytes(t)));
    double *v = malloc((size_t)(n + 1) * sizeof *v);
    decode(weft_tensor_dtype(t), raw, n, v);
    free(raw);
    return v;
}

static void assert_near(weft_tensor *t, const double *want, int64_t n, double tolerance) {
    double *got = values(t);
    assert_int_equal(weft_elements(t), n);
    for (int64_t i = 0; i < n; i++)
        if (!(fabs(got[i] - want[i]) <= tolerance) && got[i] != want[i])
            fail_msg("element %d is %.9g, not %.9g", (int)i, got[i], want[i]);
    free(got);
}

static void assert_shape(const weft_tensor *t, weft_shape want) {
    weft_shape got = weft_tensor_shape(t);
    if (weft_tensor_status(t) != WEFT_OK) fail_msg("error tensor: %s", weft_tensor_message(t));
    assert_int_equal(got.rank, want.rank);
    for (int d = 0; d < want.rank; d++) assert_int_equal(got.dim[d], want.dim[d]);
}

/* Reading gives this status and a message with this part. */
static void assert_read_fails(weft_tensor *t, weft_status status, const char *part) {
    char *bytes = calloc(1, 65536);
    size_t n = weft_tensor_status(t) == WEFT_OK ? weft_bytes(t) : 0;
    assert_true(n < 65536);
    assert_fails(weft_read(t, bytes, n), status, part);
    free(bytes);
}

/* An ordinary op is right: what went before left no error pending. */
static void assert_still_works(void) {
    const double a[] = {1, 2, 3}, b[] = {10, 20, 30}, sum[] = {11, 22, 33};
    assert_near(weft_add(from(WEFT_F32, weft_1d(3), a), from(WEFT_F32, weft_1d(3), b)), sum, 3, 0);
    assert_ok(weft_sync(run_device()));
}

static int push(void **state) {
    (void)state;
    return weft_scope_push(run_device()) == WEFT_OK ? 0 : -1;
}

static int pop(void **state) {
    (void)state;
    return weft_scope_pop(run_device()) == WEFT_OK ? 0 : -1;
}

/* ---- sizes ----------------------------------------------------------------------------------- */

static void check_long(int64_t n) {
    assert_ok(weft_scope_push(run_device()));
    float *x = malloc((size_t)n * sizeof *x), *y = malloc((size_t)n * sizeof *y);
    for (int64_t i = 0; i < n; i++) x[i] = (float)(i % 8191);
    weft_tensor *t = weft_from(run_device(), WEFT_F32, weft_1d(n), x),
                *one = filled(WEFT_F32, weft_1d(1), 1);
    for (int k = 0; k < 2; k++) {
        assert_ok(
            weft_read(k ? weft_add(t, one) : weft_cast(t, WEFT_F32), y, (size_t)n * sizeof *y));
        for (int64_t i = 0; i < n; i++)
            if (y[i] != x[i] + (float)k)
                fail_msg("n %d: element %d is %g", (int)n, (int)i, (double)y[i]);
    }
    free(x);
    free(y);
    assert_ok(weft_scope_pop(run_device()));
}

static void more_than_65535_workgroups(void **state) {
    (void)state;
    check_long(4194241);
    check_long(16776961);
    check_long(33554429);
}

/* 151,781,376 bytes: past the 128 MiB that a storage binding has by default. */
static void a_table_larger_than_a_binding(void **state) {
    (void)state;
    enum { ROWS = 49408, K = 768 };
    float *data = malloc((size_t)ROWS * K * sizeof *data), *sums = malloc(3 * ROWS * sizeof *sums);
    for (int64_t i = 0; i < (int64_t)ROWS * K; i++) data[i] = (float)(i % 4093);
    weft_tensor *table = weft_from(run_device(), WEFT_F32, weft_2d(ROWS, K), data);
    static const double ids[] = {0, 43689, 43690, 43691, 49407};
    double *rows = values(weft_get_rows(table, from(WEFT_I32, weft_1d(5), ids)));
    for (int64_t i = 0; i < 5 * K; i++)
        if (rows[i] != (double)data[(int64_t)ids[i / K] * K + i % K])
            fail_msg("row %d differs", (int)ids[i / K]);
    free(rows);
    for (int64_t m = 1; m <= 3; m += 2) {
        weft_tensor *y = weft_linear(filled(WEFT_F32, weft_2d(m, K), 1), table, NULL);
        assert_ok(weft_read(y, sums, (size_t)m * ROWS * sizeof *sums));
        for (int64_t r = 0; r < ROWS; r++) {
            double sum = 0;
            for (int64_t i = 0; i < K; i++) sum += (double)data[r * K + i];
            for (int64_t j = 0; j < m; j++)
                if ((double)sums[j * ROWS + r] != sum)
                    fail_msg("the sum of row %d is wrong", (int)r);
        }
    }
    free(data);
    free(sums);
}

/* Writes `bytes` random bytes into a slice of a pool and through ops; its neighbours stay as they
 * are. */
static void check_odd_bytes(weft_dtype dtype, int64_t n) {
    weft_device *dev = run_device();
    int64_t block = dtype == WEFT_F16 ? 1 : dtype == WEFT_Q6_K ? 256 : 32;
    weft_tensor *pool = weft_new(dev, dtype, weft_1d(3 * n * block));
    size_t bytes = weft_bytes(pool) / 3;
    uint8_t *data = malloc(4 * bytes), *back = malloc(4 * bytes);
    for (size_t i = 0; i < 3 * bytes; i++)
        data[i] = (uint8_t)(i * 37 % 60); /* no NaN in any of the types */
    assert_ok(weft_write(pool, data, 3 * bytes));
    for (size_t i = bytes; i < 2 * bytes; i++) data[i] = (uint8_t)(i * 11 % 50 + 1);
    weft_tensor *b = weft_slice(pool, 0, n * block, n * block);
    assert_ok(weft_write(b, data + bytes, bytes));
    assert_ok(weft_read(b, back, bytes));
    assert_memory_equal(back, data + bytes, bytes);
    double *want = calloc((size_t)(n * block), sizeof *want);
    decode(dtype, data + bytes, n * block, want);
    for (int64_t i = 0; i < n * block; i++) want[i] = (double)(float)want[i];
    assert_near(weft_cast(b, WEFT_F32), want, n * block, 1e-4);
    assert_ok(weft_read(pool, back, 3 * bytes));
    assert_memory_equal(back, data, 3 * bytes);
    free(want);
    free(data);
    free(back);
}

static void sizes_that_are_no_multiple_of_four_bytes(void **state) {
    (void)state;
    static const int64_t halves[] = {1, 3, 5, 257};
    for (int i = 0; i < 4; i++) check_odd_bytes(WEFT_F16, halves[i]);
    for (int64_t n = 1; n <= 3; n += 2) {
        check_odd_bytes(WEFT_Q4_0, n);
        check_odd_bytes(WEFT_Q6_K, n);
        check_odd_bytes(WEFT_Q8_0, n);
    }
}

/* ---- values ---------------------------------------------------------------------------------- */

static void silu_of_extremes(void **state) {
    (void)state;
    static const double x[] = {-3e38, -1e4, -100, -13.24, -10, -4,  0,   8,
                               10.5,  11,   15.5, 20,     89,  100, 1e4, 3e38};
    enum { N = sizeof x / sizeof *x };
    for (int f16 = 0; f16 < 2; f16++) {
        int first = f16 ? 1 : 0, n = f16 ? N - 2 : N;
        double want[N];
        for (int i = 0; i < n; i++) {
            double v = round_to(f16 ? WEFT_F16 : WEFT_F32, x[first + i]);
            want[i] = v < -90 ? 0 : v / (1 + exp(-v));
            if (f16 || v >= 20) want[i] = round_to(f16 ? WEFT_F16 : WEFT_F32, want[i]);
        }
        weft_tensor *y = weft_silu(from(f16 ? WEFT_F16 : WEFT_F32, weft_1d(n), x + first));
        assert_near(y, want, n, f16 ? 0.008 : 2e-6);
    }
}

static void softmax_of_the_lowest_float(void **state) {
    (void)state;
    const double L = -3.4028234663852886e38;
    const struct {
        double x[3], y[3];
        int n;
    } rows[] = {
        {{L, L}, {.5, .5}, 2},
        {{L, 0}, {0, 1}, 2},
        {{L, L, L}, {1. / 3, 1. / 3, 1. / 3}, 3},
        {{1000, 1000, 1000}, {1. / 3, 1. / 3, 1. / 3}, 3},
        {{88, 89, 90}, {0.09003057, 0.24472847, 0.66524096}, 3},
        {{-5}, {1}, 1},
    };
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++)
        assert_near(weft_softmax(from(WEFT_F32, weft_1d(rows[r].n), rows[r].x), 0), rows[r].y,
                    rows[r].n, 1e-6);
    double *want = malloc(4097 * sizeof *want);
    for (int i = 0; i < 4097; i++) want[i] = 1. / 4097;
    assert_near(weft_softmax(filled(WEFT_F32, weft_1d(4097), 3), 0), want, 4097, 1e-8);
    free(want);
}

static void argmax_takes_the_first_of_equals(void **state) {
    (void)state;
    double x[1000] = {0}, want = 5;
    x[5] = x[300] = x[999] = 7;
    weft_tensor *row = from(WEFT_F32, weft_1d(1000), x);
    for (int i = 0; i < 100; i++) assert_near(weft_argmax(row, 0), &want, 1, 0);
    static const int lengths[] = {1, 31, 32, 33, 63, 64, 65, 255, 256, 257, 1023, 4097};
    want = 0;
    for (int i = 0; i < 12; i++)
        assert_near(weft_argmax(filled(WEFT_F32, weft_1d(lengths[i]), -2), 0), &want, 1, 0);
}

static void halves_overflow_to_infinity_and_round_to_even(void **state) {
    (void)state;
    weft_dtype f16 = WEFT_F16;
    double want = 131072, inf = INFINITY, step = 131072 / 127.0;
    weft_tensor *x = filled(f16, weft_2d(1, 4096), 4), *w = filled(f16, weft_2d(1, 4096), 8);
    assert_near(weft_linear(x, w, NULL), &want, 1, 0);
    assert_near(weft_matmul(x, weft_transpose(w)), &inf, 1, 0);
    assert_near(weft_matmul(weft_cast(x, WEFT_F32), weft_transpose(w)), &want, 1, 0);
    static const weft_dtype quantised[] = {WEFT_Q8_0, WEFT_Q4_0, WEFT_Q4_1};
    float *eights = malloc(4096 * sizeof *eights);
    uint8_t *blocks = malloc(4096 * 4);
    for (int i = 0; i < 4096; i++) eights[i] = 8;
    for (int i = 0; i < 3; i++) {
        format_find(quantised[i])->encode(eights, blocks, 4096, NULL);
        weft_tensor *q = weft_from(run_device(), quantised[i], weft_2d(1, 4096), blocks);
        for (int fast = 0; fast < 2; fast++) {
            weft_set_precision(run_device(), fast ? WEFT_FAST : WEFT_EXACT);
            assert_near(weft_linear(x, q, NULL), &want, 1, step);
            double *big = values(weft_linear(filled(WEFT_F32, weft_2d(1, 4096), 70000), q, NULL));
            assert_true(isfinite(big[0]) && fabs(big[0] / (70000.0 * 8 * 4096) - 1) < 0.01);
            free(big);
        }
    }
    weft_set_precision(run_device(), WEFT_EXACT);
    free(eights);
    free(blocks);
    double ones[4096];
    for (int i = 0; i < 4096; i++) ones[i] = 1;
    assert_near(weft_rms_norm(filled(f16, weft_2d(1, 4096), 300), NULL, 1e-6f), ones, 4096, 1e-3);
    static const double from_f32[] = {65519.9, 65520, 2049, 2051, 6e-8, 2.9e-8, -70000};
    static const double to_f16[] = {65504, INFINITY, 2048, 2052, 0x1p-24, 0, -INFINITY};
    assert_near(weft_cast(from(WEFT_F32, weft_1d(7), from_f32), f16), to_f16, 7, 0);
}

/* One activation that is no number makes every result of its row no finite number, whatever the
 * precision, and leaves the other row alone. */
static void what_is_not_finite_shows(void **state) {
    (void)state;
    static const weft_dtype quantised[] = {WEFT_Q8_0, WEFT_Q4_0, WEFT_Q4_1};
    static const double bad[] = {INFINITY, -INFINITY, NAN};
    float weights[3 * 64];
    for (int i = 0; i < 3 * 64; i++) weights[i] = (float)(i % 7 - 2);
    for (int i = 0; i < 18; i++) {
        uint8_t blocks[3 * 64 * 2];
        format_find(quantised[i % 3])->encode(weights, blocks, 3 * 64, NULL);
        weft_tensor *w = weft_from(run_device(), quantised[i % 3], weft_2d(3, 64), blocks);
        double x[2 * 64] = {0};
        for (int k = 0; k < 64; k++) x[k] = x[64 + k] = 1;
        x[5] = bad[i / 3 % 3]; /* all its weights are 3, -1 and 2 */
        weft_set_precision(run_device(), i < 9 ? WEFT_EXACT : WEFT_FAST);
        double *y = values(weft_linear(from(WEFT_F32, weft_2d(2, 64), x), w, NULL));
        for (int k = 0; k < 3; k++) assert_true(!isfinite(y[k]) && isfinite(y[3 + k]));
        free(y);
    }
    weft_set_precision(run_device(), WEFT_EXACT);
}

/* ---- shapes and layouts ---------------------------------------------------------------------- */

static void empty_tensors(void **state) {
    (void)state;
    weft_device *dev = run_device();
    weft_tensor *e = weft_new(dev, WEFT_F32, weft_4d(2, 1, 1, 0));
    assert_shape(weft_add(e, e), weft_4d(2, 1, 1, 0));
    assert_ok(weft_read(weft_add(e, e), NULL, 0));
    assert_shape(
        weft_matmul(weft_new(dev, WEFT_F32, weft_2d(0, 4)), filled(WEFT_F32, weft_2d(4, 5), 1)),
        weft_2d(0, 5));
    const double zeros[12] = {0};
    assert_near(
        weft_matmul(weft_new(dev, WEFT_F32, weft_2d(3, 0)), weft_new(dev, WEFT_F32, weft_2d(0, 4))),
        zeros, 12, 0);
    assert_shape(
        weft_get_rows(filled(WEFT_F32, weft_2d(3, 3), 1), weft_new(dev, WEFT_I32, weft_1d(0))),
        weft_2d(0, 3));
    assert_shape(weft_softmax(weft_new(dev, WEFT_F32, weft_2d(4, 0)), 1), weft_2d(4, 0));
    assert_read_fails(weft_argmax(weft_new(dev, WEFT_F32, weft_2d(4, 0)), 1), WEFT_SHAPE, "empty");
    assert_still_works();
}

/* Exact products of small integers, either operand transposed or not. */
static void check_product(int64_t m, int64_t n, int64_t k, bool left, bool right) {
    assert_ok(weft_scope_push(run_device()));
    double *a = malloc((size_t)(m * k) * sizeof *a), *b = malloc((size_t)(k * n) * sizeof *b);
    int *want = calloc((size_t)(m * n), sizeof *want), *ai = calloc((size_t)(m * k), sizeof *ai),
        *bi = calloc((size_t)(k * n), sizeof *bi);
    for (int64_t i = 0; i < m * k; i++) a[left ? i % k * m + i / k : i] = ai[i] = (int)(i % 7) - 3;
    for (int64_t i = 0; i < k * n; i++) b[right ? i % n * k + i / n : i] = bi[i] = (int)(i % 5) - 2;
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < k; j++)
            for (int64_t c = 0; c < n; c++) want[i * n + c] += ai[i * k + j] * bi[j * n + c];
    weft_tensor *x = from(WEFT_F32, left ? weft_2d(k, m) : weft_2d(m, k), a);
    weft_tensor *y = from(WEFT_F32, right ? weft_2d(n, k) : weft_2d(k, n), b);
    double *got = values(weft_matmul(left ? weft_transpose(x) : x, right ? weft_transpose(y) : y));
    for (int64_t i = 0; i < m * n; i++)
        if (got[i] != want[i])
            fail_msg("(%d,%d) @ (%d,%d), transposed %d %d: element %d is %g, not %d", (int)m,
                     (int)k, (int)k, (int)n, left, right, (int)i, got[i], want[i]);
    free(a);
    free(b);
    free(ai);
    free(bi);
    free(want);
    free(got);
    assert_ok(weft_scope_pop(run_device()));
}

static void products_of_all_shapes(void **state) {
    (void)state;
    weft_tensor *one = weft_broadcast(filled(WEFT_F32, weft_3d(1, 32, 32), 1), weft_3d(32, 32, 32));
    double *got = values(weft_matmul(one, filled(WEFT_F32, weft_3d(32, 32, 32), 1)));
    for (int i = 0; i < 32768; i++) assert_true(got[i] == 32);
    free(got);
    static const double a[] = {.7, -1.3, 2.1, -.4, 1.9, -3.2},
                        want[] = {.3, .3, .6, .6, -1.1, -1.1};
    weft_tensor *t = weft_transpose(from(WEFT_F32, weft_2d(2, 3), a));
    assert_near(weft_matmul(t, filled(WEFT_F32, weft_2d(2, 2), 1)), want, 6, 1e-6);
    static const int64_t sizes[] = {1, 2, 3, 5, 31, 32, 33, 63, 65, 127, 129, 255, 257, 500, 535};
    enum { N = sizeof sizes / sizeof *sizes };
    /* Each size in each place, the three combined anew in each round. */
    int rounds = run_is_full() ? N : 3;
    for (int r = 0; r < rounds; r++)
        for (int i = 0; i < N; i++)
            check_product(sizes[i], sizes[(i * 4 + 5 * r + 3) % N], sizes[(i * 7 + 4 * r + 5) % N],
                          (i + r) % 2, (i / 2 + r) % 2);
}

static void assert_same(weft_tensor *a, weft_tensor *b) {
    double *x = values(a), *y = values(b);
    assert_int_equal(weft_elements(a), weft_elements(b));
    assert_memory_equal(x, y, (size_t)weft_elements(a) * sizeof *x);
    free(x);
    free(y);
}

static void one_buffer_for_source_and_destination(void **state) {
    (void)state;
    double x[300], w[150];
    rng r = {7};
    for (int i = 0; i < 300; i++) x[i] = rng_normal(&r);
    for (int i = 0; i < 150; i++) w[i] = rng_normal(&r);
    weft_tensor *a = from(WEFT_F32, weft_1d(150), x), *twin = from(WEFT_F32, weft_1d(150), x);
    assert_same(weft_add(a, a), weft_add(a, twin));
    weft_tensor *square = weft_mul(a, twin), *into = from(WEFT_F32, weft_1d(150), x);
    weft_copy(into, weft_mul(into, into));
    assert_same(into, square);
    weft_tensor *scale = from(WEFT_F32, weft_1d(150), w), *norm = weft_rms_norm(twin, scale, 1e-5f);
    into = from(WEFT_F32, weft_1d(150), x);
    assert_same(weft_copy(into, weft_rms_norm(into, scale, 1e-5f)), norm);
    into = from(WEFT_F32, weft_1d(150), w);
    assert_same(weft_copy(into, weft_rms_norm(a, into, 1e-5f)), norm);
    weft_tensor *both = from(WEFT_F32, weft_2d(2, 150), x);
    weft_tensor *gate = weft_slice(both, 1, 0, 75), *up = weft_slice(both, 1, 75, 75);
    assert_same(weft_silu_mul(gate, up), weft_silu_mul(weft_contiguous(gate), weft_contiguous(up)));
    assert_same(weft_add(weft_slice(a, 0, 0, 100), weft_slice(a, 0, 50, 100)),
                weft_add(weft_cast(weft_slice(a, 0, 0, 100), WEFT_F32),
                         weft_cast(weft_slice(a, 0, 50, 100), WEFT_F32)));
    /* Two writes into halves of one tensor, read by a third op. */
    weft_tensor *whole = weft_new(run_device(), WEFT_F32, weft_1d(300));
    weft_copy(weft_slice(whole, 0, 0, 150), a);
    weft_copy(weft_slice(whole, 0, 150, 150),
              weft_slice(from(WEFT_F32, weft_1d(300), x), 0, 150, 150));
    assert_same(weft_mul(whole, whole),
                weft_mul(from(WEFT_F32, weft_1d(300), x), from(WEFT_F32, weft_1d(300), x)));
    assert_still_works();
}

/* ---- indices --------------------------------------------------------------------------------- */

static void indices_out_of_range(void **state) {
    (void)state;
    weft_tensor *table = filled(WEFT_F32, weft_2d(10, 4), 1);
    static const double beyond[] = {0, 9, 10}, below[] = {-1}, far[] = {2147483647};
    assert_read_fails(weft_get_rows(table, from(WEFT_I32, weft_1d(3), beyond)), WEFT_INDEX,
                      "get_rows: id 10");
    assert_still_works();
    assert_read_fails(weft_get_rows(table, from(WEFT_I32, weft_1d(1), below)), WEFT_INDEX,
                      "get_rows: id -1");
    assert_read_fails(weft_get_rows(table, from(WEFT_I32, weft_1d(1), far)), WEFT_INDEX,
                      "get_rows: id 2147483647");
    weft_tensor *pages = filled(WEFT_F32, weft_4d(2, 1, KV_PAGE, 4), 0),
                *x = filled(WEFT_F32, weft_3d(1, 1, 4), 1);
    static const double slot[] = {512}, page[] = {2}, row[] = {0, 5}, sequence[] = {1, 5},
                        longer[] = {0, 257};
    assert_read_fails(
        weft_reshape(fused_kv_write(pages, x, from(WEFT_I32, weft_1d(1), slot)), weft_1d(-1)),
        WEFT_INDEX, "kv_write: slot 512");
    pages = filled(WEFT_F32, weft_4d(2, 1, KV_PAGE, 4), 0);
    weft_tensor *good = filled(WEFT_I32, weft_2d(1, 1), 0),
                *bad = from(WEFT_I32, weft_2d(1, 1), page);
    assert_read_fails(fused_attention(x, pages, pages, bad, from(WEFT_I32, weft_2d(1, 2), row), 1),
                      WEFT_INDEX, "attention");
    assert_read_fails(
        fused_attention(x, pages, pages, good, from(WEFT_I32, weft_2d(1, 2), sequence), 1),
        WEFT_INDEX, "attention");
    assert_read_fails(
        fused_attention(x, pages, pages, good, from(WEFT_I32, weft_2d(1, 2), longer), 1),
        WEFT_INDEX, "attention");
    assert_still_works();
}

/* ---- rope ------------------------------------------------------------------------------------ */

static void rope_pairs_and_partial_rotation(void **state) { /* G4-06 */
    (void)state;
    static const double x[] = {1, 2, 3, 4, 5, 6, 7, 8}, three = 3, zero = 0;
    static const struct {
        int n_dims;
        weft_rope_pairing pairing;
        double want[8];
    } rows[] = {
        {4, WEFT_ROPE_HALVES, {-1.413353, 1.879118, -2.828857, 4.058191, 5, 6, 7, 8}},
        {4, WEFT_ROPE_NEIGHBOURS, {-1.272233, -1.838865, 2.878668, 4.088187, 5, 6, 7, 8}},
        {8,
         WEFT_ROPE_HALVES,
         {-1.695593, 0.137552, 2.788682, 3.975982, -4.808842, 6.323059, 7.086837, 8.011964}},
        {8,
         WEFT_ROPE_NEIGHBOURS,
         {-1.272233, -1.838865, 1.683929, 4.707907, 4.817777, 6.147278, 6.975969, 8.020964}},
    };
    weft_tensor *t = from(WEFT_F32, weft_3d(1, 1, 8), x);
    for (int i = 0; i < 4; i++) {
        weft_rope_desc desc = {.n_dims = rows[i].n_dims, .pairing = rows[i].pairing};
        assert_near(weft_rope(t, from(WEFT_I32, weft_1d(1), &three), desc), rows[i].want, 8, 2e-6);
        assert_near(weft_rope(t, from(WEFT_I32, weft_1d(1), &zero), desc), x, 8, 0);
    }
    double far = 100000, want[8];
    for (int i = 0; i < 4; i++) {
        double angle = far * pow(10000, -i / 4.0);
        want[i] = x[i] * cos(angle) - x[i + 4] * sin(angle);
        want[i + 4] = x[i] * sin(angle) + x[i + 4] * cos(angle);
    }
    weft_rope_desc halves = {.pairing = WEFT_ROPE_HALVES};
    assert_near(weft_rope(t, from(WEFT_I32, weft_1d(1), &far), halves), want, 8, 1e-3);
}

/* The divisors of Llama 3.1's long contexts: pairs that turn fast stay, slow ones are divided by 8.
 * */
static void rope_divides_angles_by_factors(void **state) { /* G4-05 */
    (void)state;
    static const double middle[] = {1.207484, 1.553415, 2.026313, 2.694530, 3.684253, 5.257327};
    double factors[64], x[128], want[128], position = 8192;
    for (int i = 0; i < 64; i++) {
        factors[i] = i < 29 ? 1 : i < 35 ? middle[i - 29] : 8;
        x[i] = 1;
        x[i + 64] = 0;
        double angle = position * pow(500000, -i / 64.0) / round_to(WEFT_F32, factors[i]);
        want[i] = cos(angle);
        want[i + 64] = sin(angle);
    }
    weft_rope_desc desc = {.base = 500000,
                           .pairing = WEFT_ROPE_HALVES,
                           .factors = from(WEFT_F32, weft_1d(64), factors)};
    weft_tensor *t = from(WEFT_F32, weft_3d(1, 1, 128), x),
                *at = from(WEFT_I32, weft_1d(1), &position);
    assert_near(weft_rope(t, at, desc), want, 128, 2e-5);
    double *scaled = values(weft_rope(t, at, desc));
    desc.factors = NULL;
    double *plain = values(weft_rope(t, at, desc));
    double slow = atan2(plain[40 + 64], plain[40]), slower = atan2(scaled[40 + 64], scaled[40]);
    assert_true(fabs(slow / 8 - slower) < 1e-5);
    assert_true(fabs(plain[10] - scaled[10]) < 1e-6 &&
                fabs(plain[10 + 64] - scaled[10 + 64]) < 1e-6);
    free(plain);
    free(scaled);
}

/* ---- mixtures of experts --------------------------------------------------------------------- */

/* What 4 experts of which 2 are used make of n rows of router logits; expert e's result is 10^e. */
static weft_tensor *mixture(const double (*logits)[4], int64_t n, bool is_raw) {
    enum { K = 8, EXPERTS = 4, USED = 2, OUT = 3 };
    double *x = calloc((size_t)n * K, sizeof *x);
    double router[EXPERTS * K] = {0}, experts[EXPERTS * OUT * K] = {0};
    for (int64_t i = 0; i < n; i++) {
        memcpy(x + i * K, logits[i], sizeof *logits);
        x[i * K + EXPERTS] = 1;
    }
    for (int e = 0; e < EXPERTS; e++) {
        router[e * K + e] = 1;
        for (int j = 0; j < OUT; j++) experts[(e * OUT + j) * K + EXPERTS] = pow(10, e);
    }
    weft_tensor *rows = from(WEFT_F32, weft_2d(n, K), x);
    weft_tensor *scores = weft_linear(rows, from(WEFT_F32, weft_2d(EXPERTS, K), router), NULL);
    weft_tensor *ids = weft_top_k(scores, USED);
    weft_tensor *gates = is_raw ? weft_gather(weft_softmax(scores, -1), ids)
                                : weft_softmax(weft_gather(scores, ids), -1);
    weft_tensor *y = fused_linear_ids(weft_reshape(rows, weft_3d(n, 1, K)),
                                      from(WEFT_F32, weft_3d(EXPERTS, OUT, K), experts), ids);
    free(x);
    return weft_reshape(weft_matmul(weft_reshape(gates, weft_3d(n, 1, USED)), y), weft_2d(n, OUT));
}

/* The same in double; of equal logits the lower index goes first. */
static double mixed(const double logits[4], bool is_raw) {
    int best = 0;
    double sum = 0;
    for (int e = 0; e < 4; e++) {
        sum += exp(logits[e]);
        if (logits[e] > logits[best]) best = e;
    }
    int second = best == 0;
    for (int e = 0; e < 4; e++)
        if (e != best && logits[e] > logits[second]) second = e;
    if (!is_raw) sum = exp(logits[best]) + exp(logits[second]);
    return (exp(logits[best]) * pow(10, best) + exp(logits[second]) * pow(10, second)) / sum;
}

static void check_mixture(const double (*logits)[4], int64_t n) {
    for (int raw = 0; raw < 2; raw++) {
        double want[33 * 3];
        for (int64_t i = 0; i < n * 3; i++) want[i] = mixed(logits[i / 3], raw);
        assert_near(mixture(logits, n, raw), want, n * 3, 2e-3);
    }
}

static void experts_are_weighed(void **state) { /* G4-09 */
    (void)state;
    static const double one[1][4] = {{2, 1, 0, -1}};
    const double raw[] = {3.012744, 3.012744, 3.012744},
                 made_one[] = {3.420469, 3.420469, 3.420469};
    assert_near(mixture(one, 1, true), raw, 3, 5e-6);
    assert_near(mixture(one, 1, false), made_one, 3, 5e-6);
    double rows[33][4];
    for (int i = 0; i < 33; i++) memcpy(rows[i], *one, sizeof *one); /* two experts get nothing */
    check_mixture(rows, 33);
    for (int i = 0; i < 33; i++)
        for (int e = 0; e < 4; e++) rows[i][e] = (i * 7 + e * 5) % 11 / 4.0 + 3 * (e == 2);
    check_mixture(rows, 33); /* every row has expert 2 */
    for (int i = 0; i < 33; i++)
        for (int e = 0; e < 4; e++) rows[i][e] = (i + e) % (1 + i % 3); /* ties */
    check_mixture(rows, 1);
    check_mixture(rows, 33);
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, push, pop)

const struct CMUnitTest bug_cases[] = {
    CASE(more_than_65535_workgroups),
    CASE(a_table_larger_than_a_binding),
    CASE(sizes_that_are_no_multiple_of_four_bytes),
    CASE(silu_of_extremes),
    CASE(softmax_of_the_lowest_float),
    CASE(argmax_takes_the_first_of_equals),
    CASE(halves_overflow_to_infinity_and_round_to_even),
    CASE(what_is_not_finite_shows),
    CASE(empty_tensors),
    CASE(products_of_all_shapes),
    CASE(one_buffer_for_source_and_destination),
    CASE(indices_out_of_range),
    CASE(rope_pairs_and_partial_rotation),
    CASE(rope_divides_angles_by_factors),
    CASE(experts_are_weighed),
};
const size_t n_bug_cases = sizeof bug_cases / sizeof *bug_cases;
