/* Out of host memory at any point: opening, allocating, recording, reading. The status says so,
 * nothing crashes, and the device (if it was opened) works on. SPDX-License-Identifier: MIT */
#include "harness.h"

#include "base/mem.h"
#include "tensor/backend.h"
#include "webgpu/gpu.h"

static bool is_expected(weft_status status) {
    return status == WEFT_OK || status == WEFT_NO_MEMORY;
}

static void assert_expected(weft_status status) {
    if (!is_expected(status)) fail_msg("%s: %s", weft_status_text(status), weft_message());
}

/* Another length each time, so that no plan is known already. */
static weft_status use(weft_device *dev, int64_t n) {
    static float numbers[2000], out[2000];
    for (int64_t i = 0; i < n; i++) numbers[i] = (float)(i % 10);
    weft_status status = weft_scope_push(dev);
    if (status != WEFT_OK) return status;
    weft_tensor *a = weft_from(dev, WEFT_F32, weft_1d(n), numbers);
    weft_tensor *b = weft_add(a, weft_silu(a));
    weft_tensor *c = weft_softmax(weft_mul(a, b), 0);
    status = weft_read(c, out, (size_t)n * sizeof *out);
    weft_scope_pop(dev);
    return status;
}

static void test_open(void **state) {
    (void)state;
    bool is_done = false;
    mem_fail_at(0);
    for (uint64_t k = 1; !is_done; k++) {
        mem_fail_at(k);
        weft_device *dev = weft_open(&(weft_device_desc){.name = "webgpu:0"});
        is_done = mem_fail_at(0) < k;
        if (!dev && !strstr(weft_message(), "memory") && !strstr(weft_message(), "webgpu:0"))
            fail_msg("allocation %d: %s", (int)k, weft_message());
        if (is_done && !dev) fail_msg("%s", weft_message());
        weft_close(dev);
        assert_true(k < 1000);
    }
}

static void test_use(void **state) {
    (void)state;
    weft_device *dev = weft_open(&(weft_device_desc){.name = "webgpu:0"});
    if (!dev) fail_msg("%s", weft_message());
    bool is_done = false;
    for (uint64_t k = 1; !is_done; k++) {
        if (k % 16 == 0) { /* fresh, so that nothing is compiled already */
            weft_close(dev);
            dev = weft_open(&(weft_device_desc){.name = "webgpu:0"});
            assert_non_null(dev);
        }
        mem_fail_at(k);
        weft_status status = use(dev, 100 + (int64_t)k);
        is_done = mem_fail_at(0) < k;
        assert_expected(status);
        assert_ok(use(dev, 99));
        assert_true(k < 1000);
    }
    weft_close(dev);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_open), cmocka_unit_test(test_use)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
