/* The CPU backend's own parts: exp, rounding to half precision at each level, memory that is used
 * again, wrapped memory, the choice of a level. What ops compute is in tests/ops.
 * SPDX-License-Identifier: MIT */
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <math.h>

#include "cpu/cpu.h"
#include "cpu/exp.h"
#include "format/half.h"
#include "harness.h"

static void exp_is_within_two_ulp(void **state) {
    (void)state;
    double worst = 0;
    for (double x = -104; x < 88.72; x += 0.000917) {
        float in = (float)x;
        double want = exp((double)in), got = (double)exp_f32(in);
        double ulp = want < 0x1p-126 ? 0x1p-149 : ldexp(1, ilogb(want) - 23);
        worst = fmax(worst, fabs(got - want) / ulp);
    }
    if (!(worst <= 2)) fail_msg("exp is off by %g ulp", worst);
    assert_true(exp_f32(0) == 1);
    assert_true(exp_f32(-INFINITY) == 0 && exp_f32(-3e38f) == 0);
    assert_true(isinf(exp_f32(89)) && isinf(exp_f32(INFINITY)));
    assert_true(isnan(exp_f32(NAN)));
}

/* Every half, and the numbers halfway between two and beside that, at each level. */
static void rounding_to_half_is_the_same_at_each_level(void **state) {
    (void)state;
    cpu_kernels levels[2];
    kernels_c(&levels[0]);
    levels[1] = levels[0];
    int n_levels = kernels_avx2(&levels[1]) ? 2 : 1;
    for (uint32_t h = 0; h < 0x7C00; h++) {
        float low = f16_to_f32((uint16_t)h),
              high = h == 0x7BFF ? 65536 : f16_to_f32((uint16_t)(h + 1));
        float middle = (low + high) / 2,
              x[9] = {low, middle, nextafterf(middle, 0), nextafterf(middle, 1e9f)};
        uint16_t want[4] = {(uint16_t)h, (uint16_t)(h + (h & 1)), (uint16_t)h, (uint16_t)(h + 1)},
                 got[9];
        for (int i = 4; i < 8; i++) x[i] = -x[i - 4];
        x[8] = NAN;
        for (int l = 0; l < n_levels; l++) {
            levels[l].to_f16(x, got, 9);
            for (int i = 0; i < 4; i++) {
                assert_int_equal(got[i], want[i]);
                assert_int_equal(got[i + 4], want[i] | 0x8000);
            }
            assert_true(isnan(f16_to_f32(got[8])));
        }
    }
}

/* Which calls take codes: few rows, WEFT_FAST, a format that has products with them. */
static void fast_calls_take_codes(void **state) {
    (void)state;
    weft_device *dev = weft_open(&(weft_device_desc){.name = "cpu"});
    static const uint8_t blocks[34 * 2];
    weft_tensor *w[] = {weft_from(dev, WEFT_Q8_0, weft_2d(2, 32), blocks),
                        weft_zeros(dev, WEFT_F32, weft_2d(2, 32))};
    for (int i = 0; i < 8; i++) {
        int64_t rows = i & 1 ? 3 : 2;
        weft_tensor *x = weft_zeros(dev, WEFT_F32, weft_2d(rows, 32));
        weft_tensor *out = weft_zeros(dev, WEFT_F32, weft_2d(rows, 2));
        weft_call call = {.op = OP_linear, .n_in = 3, .in = {x, w[i >> 1 & 1]}, .out = out};
        call.precision = i & 4 ? WEFT_FAST : WEFT_EXACT;
        const char *names[CPU_MAX_LEVELS];
        int n = device_backend(dev)->variants(device_state(dev), &call, names, CPU_MAX_LEVELS);
        assert_true(n >= 1 && n <= CPU_MAX_LEVELS);
        assert_string_equal(names[0], i == 4 ? "c_fast" : "c");
    }
    weft_close(dev);
}

/* Codes of each level: the nearest integers of x / d, ties to even, and their sum. */
static void codes_are_the_same_at_each_level(void **state) {
    (void)state;
    cpu_kernels levels[2];
    kernels_c(&levels[0]);
    levels[1] = levels[0];
    int n_levels = kernels_avx2(&levels[1]) ? 2 : 1;
    float x[4 * CODES] = {CODES_TOP, -0.5f, 1.5f, 2.5f, -CODES_TOP, 0x1p-20f};
    x[CODES + 7] = -0x1p-61f; /* counts as zero */
    x[2 * CODES + 31] = -3e38f;
    x[3 * CODES + 9] = -NAN;
    for (int l = 0; l < n_levels; l++) {
        int16_t q[4 * CODES];
        float d[4], s[4];
        levels[l].codes(x, 4 * CODES, (cpu_codes){q, d, s});
        static const int16_t first[] = {CODES_TOP, 0, 2, 2, -CODES_TOP, 0, 0};
        assert_memory_equal(q, first, sizeof first);
        assert_true(d[0] == 1 && s[0] == 4);
        for (int i = 0; i < 2 * CODES; i++)
            assert_int_equal(q[CODES + i], i == 63 ? -CODES_TOP : 0);
        assert_true(d[1] == 0 && s[1] == 0);
        assert_true(d[2] == 3e38f / CODES_TOP && isfinite(s[2]));
        assert_true(isnan(d[3]) && isnan(s[3]));
    }
}

static void memory_is_used_again(void **state) {
    (void)state;
    weft_device *dev = weft_open(&(weft_device_desc){.name = "cpu", .n_threads = 2});
    assert_non_null(dev);
    weft_tensor *w = weft_zeros(dev, WEFT_F32, weft_2d(300, 200));
    weft_counters first, last;
    for (int i = 0; i < 200; i++) {
        assert_ok(weft_scope_push(dev));
        weft_tensor *x = weft_zeros(dev, WEFT_F32, weft_2d(1 + i % 3, 200));
        for (int k = 0; k < 5; k++)
            assert_ok(weft_tensor_status(weft_silu(weft_linear(x, w, NULL))));
        assert_ok(weft_scope_pop(dev));
        if (i == 5) assert_ok(weft_get_counters(dev, &first));
    }
    assert_ok(weft_get_counters(dev, &last));
    assert_int_equal(first.bytes_allocated, last.bytes_allocated);
    assert_int_equal(first.bytes_peak, last.bytes_peak);
    weft_close(dev);
}

static void pool_gives_memory_back(void **state) {
    (void)state;
    pool p = {0};
    void *a = pool_alloc(&p, 1000, true), *b = pool_alloc(&p, 1000, true);
    assert_true(a != b && (uintptr_t)a % 64 == 0 && (uintptr_t)b % 64 == 0);
    pool_free(&p, a);
    assert_ptr_equal(pool_alloc(&p, 990, true), a);
    void *own = pool_alloc(&p, 1000, false);
    uint64_t held = p.bytes_held;
    pool_free(&p, own);
    assert_int_equal(p.bytes_held, held - 1000);
    pool_free(&p, a);
    pool_free(&p, b);
    void *huge = pool_alloc(&p, 100 << 20, true);
    pool_free(&p, huge); /* too large to be kept */
    assert_true(p.bytes_held < 4096);
    assert_null(pool_alloc(&p, UINT64_MAX - 5, true));
    assert_int_equal(error_status(), WEFT_NO_MEMORY);
    pool_clear(&p);
    assert_int_equal(p.bytes_held, 0);
}

static void wrapped_memory_may_lie_anywhere(void **state) {
    (void)state;
    weft_device *dev = weft_open(&(weft_device_desc){.name = "cpu"});
    static _Alignas(64) char bytes[64 + 8];
    const float values[4] = {1.5f, -2, 3, 1e30f};
    for (int shift = 0; shift < 8; shift++) {
        memcpy(bytes + shift, values, sizeof values);
        float out[4];
        weft_tensor *t = weft_wrap(dev, WEFT_F32, weft_1d(4), bytes + shift, NULL, NULL);
        assert_ok(weft_read(weft_cast(t, WEFT_F32), out, sizeof out));
        assert_memory_equal(out, values, sizeof out);
    }
    weft_close(dev);
}

static void the_level_can_be_limited(void **state) {
    (void)state;
    setenv("WEFT_CPU", "c", 1);
    weft_device *dev = weft_open(&(weft_device_desc){.name = "cpu"});
    weft_device_info info;
    assert_ok(weft_get_device_info(dev, &info));
    assert_string_equal(info.features, "c");
    assert_int_equal(info.kind, WEFT_KIND_CPU);
    weft_close(dev);
    setenv("WEFT_CPU", "mmx", 1);
    assert_null(weft_open(&(weft_device_desc){.name = "cpu"}));
    assert_non_null(strstr(weft_message(), "WEFT_CPU=mmx"));
    unsetenv("WEFT_CPU");
    assert_null(weft_open(&(weft_device_desc){.name = "cpu:1"}));
    assert_non_null(strstr(weft_message(), "cpu:1"));
}

/* In a process of its own, before OpenMP has made its threads here: with room for a few threads a
 * device that is asked for many works with those. */
static void few_threads_are_enough(void **state) {
    (void)state;
    if (getenv("WEFT_TEST_CHECKED")) skip_because(false, "a checker needs the address space");
    pid_t child = fork();
    if (child == 0) {
        unsigned long pages = 0;
        FILE *f = fopen("/proc/self/statm", "r");
        if (!f || fscanf(f, "%lu", &pages) != 1) _exit(0);
        fclose(f);
        rlim_t room = pages * (rlim_t)sysconf(_SC_PAGESIZE) + ((rlim_t)100 << 20);
        if (setrlimit(RLIMIT_AS, &(struct rlimit){room, room})) _exit(3);
        weft_device *dev = weft_open(&(weft_device_desc){.name = "cpu", .n_threads = 64});
        weft_tensor *x = weft_zeros(dev, WEFT_F32, weft_1d(1 << 20));
        _exit(weft_tensor_status(weft_add(x, x)) == WEFT_OK ? 0 : 4);
    }
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    if (!WIFEXITED(status) || WEXITSTATUS(status))
        fail_msg("the process ended with status %d", status);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(few_threads_are_enough),
        cmocka_unit_test(exp_is_within_two_ulp),
        cmocka_unit_test(rounding_to_half_is_the_same_at_each_level),
        cmocka_unit_test(fast_calls_take_codes),
        cmocka_unit_test(codes_are_the_same_at_each_level),
        cmocka_unit_test(memory_is_used_again),
        cmocka_unit_test(pool_gives_memory_back),
        cmocka_unit_test(wrapped_memory_may_lie_anywhere),
        cmocka_unit_test(the_level_can_be_limited),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
