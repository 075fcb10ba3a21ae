/* Calls and plans: one look-up for a call seen before, whatever its data; bounded, and right
 * after all were dropped; a signature tells apart what must differ; tensors that share a storage
 * with the output (G1-16); splitting at a small binding limit; the GPU and the CPU agree on a
 * chain of ops in scopes. SPDX-License-Identifier: MIT */
#include "harness.h"

#include <math.h>

#include "tensor/backend.h"
#include "webgpu/gpu.h"

static weft_device *dev;
static gpu *g;

static int setup(void **state) {
    (void)state;
    dev = weft_open(&(weft_device_desc){.name = "webgpu:0"});
    if (!dev) {
        print_error("%s\n", weft_message());
        return -1;
    }
    g = device_state(dev);
    return 0;
}

static int teardown(void **state) {
    (void)state;
    weft_close(dev);
    return 0;
}

static weft_tensor *numbers(int64_t n, float first, float step) {
    static float x[40000];
    assert_in_range(n, 0, 40000);
    for (int64_t i = 0; i < n; i++) x[i] = first + step * (float)i;
    return weft_from(dev, WEFT_F32, weft_1d(n), x);
}

static void assert_line(weft_tensor *t, float first, float step) {
    static float x[40000];
    int64_t n = weft_elements(t);
    assert_ok(weft_read(t, x, (size_t)n * 4));
    for (int64_t i = 0; i < n; i++)
        if (x[i] != first + step * (float)i) fail_msg("element %d is %g", (int)i, (double)x[i]);
}

static void test_hits(void **state) {
    (void)state;
    assert_ok(weft_scope_push(dev));
    weft_tensor *a = numbers(77, 0, 1), *b = numbers(77, 5, 2);
    weft_add(a, b);
    uint64_t hits = g->memo.n_hits, misses = g->memo.n_misses;
    for (int i = 0; i < 20; i++) assert_ok(weft_tensor_status(weft_add(b, a)));
    assert_int_equal(g->memo.n_misses, misses);
    assert_int_equal(g->memo.n_hits, hits + 20);
    /* Another length, another offset and another op are other plans. */
    assert_line(weft_add(weft_slice(a, 0, 0, 76), weft_slice(b, 0, 0, 76)), 5, 3);
    assert_line(weft_add(weft_slice(a, 0, 1, 76), weft_slice(b, 0, 0, 76)), 6, 3);
    assert_line(weft_add(weft_slice(a, 0, 0, 76), weft_slice(b, 0, 1, 76)), 7, 3);
    assert_true(g->memo.n_misses >= misses + 3);
    assert_ok(weft_scope_pop(dev));
}

/* More signatures than are kept: all are dropped on the way, and results stay right. */
static void test_eviction(void **state) {
    (void)state;
    weft_tensor *a = weft_keep(numbers(9000, 0, 1));
    size_t most = 0;
    bool was_dropped = false;
    for (int64_t n = 1; n <= 9000; n++) {
        assert_ok(weft_scope_push(dev));
        weft_tensor *part = weft_slice(a, 0, 0, n), *sum = weft_add(part, part);
        assert_ok(weft_tensor_status(sum));
        if (n % 1500 == 0) assert_line(sum, 0, 2);
        assert_ok(weft_scope_pop(dev));
        was_dropped = was_dropped || g->memo.n < most;
        most = g->memo.n > most ? g->memo.n : most;
    }
    assert_true(was_dropped);
    assert_in_range(most, 1000, 8192);
    weft_free(a);
}

static void test_shared_storage(void **state) {
    (void)state;
    assert_ok(weft_scope_push(dev));
    weft_tensor *x = numbers(150, 0, 1);
    assert_line(weft_add(x, x), 0, 2);
    assert_line(weft_add(weft_slice(x, 0, 0, 100), weft_slice(x, 0, 50, 100)), 50, 2);
    /* Into another part of the same tensor, and the product of a tensor with itself into it. */
    weft_copy(weft_slice(x, 0, 100, 50), weft_slice(x, 0, 0, 50));
    assert_line(weft_slice(x, 0, 0, 100), 0, 1);
    assert_line(weft_slice(x, 0, 100, 50), 0, 1);
    weft_tensor *y = numbers(100, 3, 0);
    weft_copy(y, weft_mul(y, y));
    assert_line(y, 9, 0);
    weft_copy(y, y);
    assert_line(y, 9, 0);
    assert_ok(weft_sync(dev));
    assert_ok(weft_scope_pop(dev));
}

/* A binding limit of 16 KiB: longer tensors are split or refused by name, and never wrong. */
static void test_small_bindings(void **state) {
    (void)state;
    setenv("WEFT_WEBGPU_MAX_BINDING", "16384", 1);
    weft_device *whole = dev;
    dev = weft_open(&(weft_device_desc){.name = "webgpu:0"});
    unsetenv("WEFT_WEBGPU_MAX_BINDING");
    assert_non_null(dev);
    assert_int_equal(((gpu *)device_state(dev))->caps.max_binding, 16384);
    weft_tensor *a = numbers(20001, 1, 1), *b = numbers(20001, 2, 1);
    assert_line(weft_add(a, b), 3, 2);
    weft_tensor *t = weft_new(dev, WEFT_F32, weft_1d(20001));
    weft_copy(t, a);
    assert_line(t, 1, 1);
    float out[20001];
    weft_tensor *s = weft_softmax(weft_reshape(a, weft_2d(1, 20001)), -1);
    weft_status status = weft_read(s, out, sizeof out);
    if (status == WEFT_OK) {
        double sum = 0;
        for (int i = 0; i < 20001; i++) sum += (double)out[i];
        assert_true(fabs(sum - 1) < 1e-3);
    } else {
        assert_int_equal(status, WEFT_LIMIT);
        if (!strstr(weft_message(), "16384")) fail_msg("no limit named: %s", weft_message());
    }
    weft_close(dev);
    dev = whole;
}

/* A small network, run often enough for every buffer to be reused, against the CPU. */
static void test_chain(void **state) {
    (void)state;
    enum { K = 64, ROUNDS = 12 };
    static float w[K * K], x[K], got[K], expected[K];
    rng r = {3};
    for (int i = 0; i < K * K; i++) w[i] = (float)rng_normal(&r) / 8;
    weft_device *devices[2] = {dev, weft_open(&(weft_device_desc){.name = "cpu"})};
    float *results[2] = {got, expected};
    for (int d = 0; d < 2; d++) {
        weft_tensor *weights = weft_keep(weft_from(devices[d], WEFT_F32, weft_2d(K, K), w));
        uint64_t groups = 0;
        for (int i = 0; i < K; i++) x[i] = (float)i / K;
        for (int round = 0; round < ROUNDS; round++) {
            assert_ok(weft_scope_push(devices[d]));
            weft_tensor *h = weft_from(devices[d], WEFT_F32, weft_2d(1, K), x);
            for (int layer = 0; layer < 6; layer++) {
                weft_tensor *n = weft_rms_norm(h, NULL, 1e-5f);
                h = weft_add(h, weft_silu_mul(weft_linear(n, weights, NULL), n));
            }
            assert_ok(weft_read(weft_softmax(h, -1), x, sizeof x));
            assert_ok(weft_scope_pop(devices[d]));
            if (d == 0 && round == 3) groups = g->groups.n_misses;
            if (d == 0 && round > 3) assert_int_equal(g->groups.n_misses, groups); /* all kept */
        }
        memcpy(results[d], x, sizeof x);
        weft_free(weights);
    }
    for (int i = 0; i < K; i++) assert_true(fabs((double)got[i] - (double)expected[i]) < 1e-5);
    weft_close(devices[1]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hits),           cmocka_unit_test(test_eviction),
        cmocka_unit_test(test_shared_storage), cmocka_unit_test(test_small_bindings),
        cmocka_unit_test(test_chain),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
