/* Finding libraries and adapters: what is no WebGPU library, or an older or incomplete one, is
 * refused with a sentence and never called (the fakes abort when called); a library known by
 * webgpu.h alone works; two libraries work in one process; where something is missing the
 * message names it, quickly, and the CPU still works. SPDX-License-Identifier: MIT */
#include "harness.h"

#include <unistd.h>

#include "base/clock.h"
#include "tensor/backend.h"
#include "webgpu/gpu.h"

static char *real_library;

static weft_device *open_named(const char *name) {
    return weft_open(&(weft_device_desc){.name = name});
}

static void use_library(const char *path) { setenv("WEFT_WEBGPU_LIB", path, 1); }

static int restore(void **state) {
    (void)state;
    if (real_library) use_library(real_library);
    else unsetenv("WEFT_WEBGPU_LIB");
    return 0;
}

/* The line of the only library, which must be unusable; its note must hold `part`. */
static void assert_refused(const char *path, const char *part) {
    use_library(path);
    gpu_api api;
    assert_fails(loader_open(path, &api), WEFT_NO_DEVICE, part);
    weft_device_info list[16];
    int n = weft_list_devices(list, 16), found = 0;
    for (int i = 0; i < n && i < 16; i++) {
        if (strncmp(list[i].name, "webgpu", 6) != 0) continue;
        found++;
        assert_false(list[i].is_usable);
        assert_false(list[i].is_default);
        if (!strstr(list[i].note, part)) fail_msg("note \"%s\" lacks \"%s\"", list[i].note, part);
    }
    assert_int_equal(found, 1);
    assert_null(open_named("webgpu"));
    assert_non_null(strstr(weft_message(), part));
    assert_null(open_named("webgpu:0"));
    assert_non_null(strstr(weft_message(), part));
    weft_device *cpu = weft_open(NULL); /* the default still works */
    assert_non_null(cpu);
    weft_close(cpu);
}

static void test_refusals(void **state) {
    (void)state;
    assert_refused("/nonexistent/libwebgpu.so", "cannot open library /nonexistent/libwebgpu.so");
    assert_refused(FAKE_NONE, "is no WebGPU library");
    assert_refused(FAKE_OLD, "speaks an older WebGPU interface");
    assert_refused(FAKE_PARTIAL, "is incomplete: it does not export wgpu");
    assert_refused(WEFT_SOURCE_DIR "/README.md", "cannot open library");
}

static void test_no_library(void **state) {
    (void)state;
    char folder[] = "/tmp/weft-empty-XXXXXX";
    assert_non_null(mkdtemp(folder));
    char *cache = getenv("WEFT_CACHE") ? strdup(getenv("WEFT_CACHE")) : NULL;
    setenv("WEFT_CACHE", folder, 1);
    unsetenv("WEFT_WEBGPU_LIB");
    gpu_library libraries[LOADER_MAX];
    bool system_has_one = loader_find(libraries) > 0;
    if (!system_has_one) {
        double start = clock_seconds();
        assert_null(open_named("webgpu"));
        assert_true(clock_seconds() - start < 5);
        assert_non_null(strstr(weft_message(), "no WebGPU library was found"));
        assert_non_null(strstr(weft_message(), folder));
    }
    if (cache) setenv("WEFT_CACHE", cache, 1);
    else unsetenv("WEFT_CACHE");
    free(cache);
    rmdir(folder);
    if (system_has_one) skip_because(false, "the system has a WebGPU library of its own");
}

static void test_no_adapter(void **state) {
    (void)state;
    char *driver = getenv("VK_DRIVER_FILES") ? strdup(getenv("VK_DRIVER_FILES")) : NULL;
    setenv("VK_DRIVER_FILES", "/nonexistent", 1);
    char *older = getenv("VK_ICD_FILENAMES") ? strdup(getenv("VK_ICD_FILENAMES")) : NULL;
    unsetenv("VK_ICD_FILENAMES");
    double start = clock_seconds();
    assert_null(open_named("webgpu"));
    assert_true(clock_seconds() - start < 5);
    assert_non_null(strstr(weft_message(), "no adapter"));
    weft_device_info info;
    weft_device *dev = weft_open(NULL);
    assert_non_null(dev);
    assert_ok(weft_get_device_info(dev, &info));
    assert_int_equal(info.kind, WEFT_KIND_CPU);
    weft_close(dev);
    if (driver) setenv("VK_DRIVER_FILES", driver, 1);
    else unsetenv("VK_DRIVER_FILES");
    if (older) setenv("VK_ICD_FILENAMES", older, 1);
    free(driver);
    free(older);
}

/* G6-01: software adapters are listed as such and never the default. */
static void test_software(void **state) {
    (void)state;
    weft_device_info list[16], info;
    int n = weft_list_devices(list, 16), found = 0;
    for (int i = 0; i < n; i++) {
        if (list[i].kind != WEFT_KIND_SOFTWARE) continue;
        found++;
        assert_true(list[i].is_usable);
        assert_false(list[i].is_default || list[i].is_discrete);
        assert_true(list[i].note[0]);
        assert_true(list[i].max_binding_bytes >= 128 << 20);
    }
    if (getenv("WEFT_TEST_ADAPTER")) assert_true(found > 0);
    weft_device *dev = weft_open(NULL);
    assert_non_null(dev);
    assert_ok(weft_get_device_info(dev, &info));
    if (found) assert_int_equal(info.kind, WEFT_KIND_CPU);
    weft_close(dev);
    assert_null(open_named("webgpu:40"));
    assert_non_null(strstr(weft_message(), "there is no device webgpu:40"));
}

static void check_sum(weft_device *dev) {
    enum { N = 1000 };
    static float a[N], b[N], out[N];
    for (int i = 0; i < N; i++) {
        a[i] = (float)i;
        b[i] = (float)(i * 3);
    }
    assert_ok(weft_scope_push(dev));
    weft_tensor *sum =
        weft_add(weft_from(dev, WEFT_F32, weft_1d(N), a), weft_from(dev, WEFT_F32, weft_1d(N), b));
    for (int i = 0; i < 5; i++) sum = weft_add(sum, sum);
    assert_ok(weft_read(sum, out, sizeof out));
    for (int i = 0; i < N; i++) assert_true(out[i] == (float)(i * 4 * 32));
    weft_counters counters;
    assert_ok(weft_get_counters(dev, &counters));
    assert_int_equal(counters.n_fallback, 0);
    assert_ok(weft_scope_pop(dev));
}

/* Only webgpu.h is known of this library: the generic dialect. */
static void test_plain_library(void **state) {
    (void)state;
#ifndef __x86_64__
    skip_because(false, "the library that passes calls on is written for x86-64");
#else
    if (!real_library) skip_because(false, "WEFT_WEBGPU_LIB names no library");
    setenv("WEFT_TEST_REAL_LIB", real_library, 1);
    use_library(PLAIN_LIBRARY);
    weft_device *dev = open_named("webgpu:0");
    if (!dev) fail_msg("%s", weft_message());
    assert_string_equal(((gpu *)device_state(dev))->dialect->name, "another WebGPU library");
    check_sum(dev);
    weft_close(dev);
#endif
}

/* Both libraries open in one process, used in turn. */
static void test_two_libraries(void **state) {
    (void)state;
    const char *cache = getenv("WEFT_CACHE");
    char both[600];
    if (!cache) skip_because(false, "WEFT_CACHE is not set");
    snprintf(both, sizeof both, "%s/lib/libwgpu_native.so:%s/lib/libwebgpu_dawn.so", cache, cache);
    use_library(both);
    weft_device *first = open_named("webgpu:0"), *second = open_named("webgpu:1");
    if (!first || !second) {
        weft_close(first);
        weft_close(second);
        skip_because(false, "this adapter is not for both libraries: %s", weft_message());
    }
    const char *name = ((gpu *)device_state(first))->dialect->name;
    assert_string_equal(name, "Dawn"); /* whatever the order they were named in */
    assert_string_equal(((gpu *)device_state(second))->dialect->name, "wgpu-native");
    for (int i = 0; i < 3; i++) {
        check_sum(first);
        check_sum(second);
    }
    weft_close(first);
    check_sum(second);
    weft_close(second);
}

static void test_open_close(void **state) {
    (void)state;
    for (int i = 0; i < 5; i++) {
        weft_device *dev = open_named("webgpu");
        if (!dev) fail_msg("%s", weft_message());
        check_sum(dev);
        weft_close(dev);
    }
}

static void test_select(void **state) {
    (void)state;
    weft_device *dev = open_named("webgpu:0");
    assert_non_null(dev);
    void *g = device_state(dev);
    assert_fails(device_backend(dev)->select(g, "no_such_kernel"), WEFT_INVALID, "no_such_kernel");
    assert_ok(device_backend(dev)->select(g, kernel_rows[0].name));
    check_sum(dev); /* a row that does not fit changes nothing */
    assert_ok(device_backend(dev)->select(g, NULL));
    weft_close(dev);
}

int main(void) {
    const char *named = getenv("WEFT_WEBGPU_LIB");
    real_library = named ? strdup(named) : NULL;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_refusals, restore),
        cmocka_unit_test_teardown(test_no_library, restore),
        cmocka_unit_test(test_no_adapter),
        cmocka_unit_test(test_software),
        cmocka_unit_test_teardown(test_plain_library, restore),
        cmocka_unit_test_teardown(test_two_libraries, restore),
        cmocka_unit_test(test_open_close),
        cmocka_unit_test(test_select),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    free(real_library);
    return failed;
}
