/* Recording: every parameter reaches its dispatch however often the ring goes round; bind groups
 * are kept and dropped; any number of workgroups runs each once; bad indices come out of the
 * next read; what a library finds wrong is a status that names the kernel, poisons what was to
 * be written and harms nothing else; a lost device stays lost. SPDX-License-Identifier: MIT */
#include "harness.h"

#include "base/dl.h"
#include "base/mem.h"
#include "tensor/backend.h"
#include "webgpu/gpu.h"

#define GRID "../../../src/webgpu/shaders/lib/grid.wgsl"
#define FLAG "../../../src/webgpu/shaders/lib/flag.wgsl"

static const kernel_row add_value = {.name = "test_add_value", .source = "add_value.wgsl"};
static const kernel_row groups = {.name = "test_groups", .source = "groups.wgsl"};
static const kernel_row copy_word = {.name = "test_copy_word", .source = "copy_word.wgsl"};
static const kernel_row raise_flag = {
    .name = "test_raise", .source = "raise.wgsl", .needs = F_FLAG};
static const kernel_row broken = {.name = "test_broken", .source = "broken.wgsl"};

typedef struct params {
    uint32_t value, n_groups;
} params;

static weft_device *dev;
static gpu *g;

static weft_device *open_adapter(void) {
    weft_device *opened = weft_open(&(weft_device_desc){.name = "webgpu:0"});
    if (!opened) print_error("%s\n", weft_message());
    return opened;
}

static int setup(void **state) {
    (void)state;
    setenv("WEFT_SHADER_DIR", WEFT_SOURCE_DIR "/src/webgpu/shaders", 1);
    dev = open_adapter();
    if (!dev) return -1;
    g = device_state(dev);
    setenv("WEFT_SHADER_DIR", WEFT_SOURCE_DIR "/tests/webgpu/shaders", 1);
    return 0;
}

static int teardown(void **state) {
    (void)state;
    weft_close(dev);
    return 0;
}

static weft_status compile(gpu *on, plan_step *step, const kernel_row *row, const char *library,
                           int n_bindings, const gpu_pipeline **pipeline) {
    *step = (plan_step){.row = row, .n_bindings = n_bindings, .n_groups = 1};
    step->bindings[n_bindings - 1].is_written = true;
    step_source(step, row->source);
    if (library) step_source(step, library);
    return pipeline_get(on, step, pipeline);
}

static weft_status dispatch(gpu *on, const gpu_pipeline *pipeline, plan_step *step, uint32_t value,
                            gpu_buffer *in, gpu_buffer *out) {
    gpu_bound bound[2];
    int n = 0;
    if (in) bound[n++] = (gpu_bound){.buffer = in, .bytes = 16};
    bound[n] = (gpu_bound){.buffer = out, .bytes = out->capacity, .is_written = true};
    params p = {value, (uint32_t)step->n_groups};
    step_params(step, &p, sizeof p);
    return batch_dispatch(on, pipeline, step, bound);
}

static gpu_buffer *zeroed(gpu *on, uint64_t bytes) {
    gpu_buffer *b = buffer_new(on, bytes, "a test's buffer");
    if (!b) fail_msg("%s", weft_message());
    void *zeros = mem_alloc((size_t)bytes);
    assert_ok(buffer_write(on, b, bytes, 0, zeros, bytes));
    mem_free(zeros);
    return b;
}

/* Adds 1..n in n dispatches on a device; the ring of 1,024 slots goes round several times. */
static void add_up(gpu *on, uint32_t n) {
    plan_step step;
    const gpu_pipeline *pipeline;
    assert_ok(compile(on, &step, &add_value, NULL, 1, &pipeline));
    gpu_buffer *b = zeroed(on, 16);
    for (uint32_t i = 1; i <= n; i++) assert_ok(dispatch(on, pipeline, &step, i, NULL, b));
    uint32_t out[4];
    assert_ok(read_all(on, b, 0, out, 16));
    assert_int_equal(out[0], n * (n + 1) / 2);
    buffer_release(on, b);
}

static void test_ring(void **state) {
    (void)state;
    uint64_t submits = g->batch.n_submits;
    add_up(g, 5000);
    assert_in_range(g->batch.n_submits - submits, 5000 / 64, 5000 / 64 + 10);
}

static void test_many_submits(void **state) {
    (void)state;
    int limit = g->batch.limit;
    g->batch.limit = 1;
    add_up(g, 1500);
    g->batch.limit = 1000; /* longer than what is left of the ring: it wraps inside a batch */
    add_up(g, 2500);
    g->batch.limit = limit;
}

static void test_group_cache(void **state) {
    (void)state;
    plan_step step;
    const gpu_pipeline *pipeline;
    assert_ok(compile(g, &step, &add_value, NULL, 1, &pipeline));
    gpu_buffer *a = zeroed(g, 16), *b = zeroed(g, 16);
    uint64_t made = g->groups.n_misses, found = g->groups.n_hits;
    size_t kept = g->groups.n;
    for (int i = 0; i < 10; i++) {
        assert_ok(dispatch(g, pipeline, &step, 1, NULL, a));
        assert_ok(dispatch(g, pipeline, &step, 1, NULL, b));
    }
    assert_int_equal(g->groups.n_misses - made, 2);
    assert_int_equal(g->groups.n_hits - found, 18);
    assert_int_equal(g->groups.n, kept + 2);
    assert_ok(weft_sync(dev));
    buffer_release(g, a);
    assert_int_equal(g->groups.n, kept + 1);
    assert_ok(dispatch(g, pipeline, &step, 1, NULL, b));
    buffer_release(g, b); /* recorded: goes after the submit */
    assert_int_equal(g->groups.n, kept + 1);
    assert_ok(weft_sync(dev));
    assert_int_equal(g->groups.n, kept);
}

static void test_pipeline_cache(void **state) {
    (void)state;
    plan_step step;
    const gpu_pipeline *first, *again, *other;
    assert_ok(compile(g, &step, &add_value, NULL, 1, &first));
    uint64_t compiled = g->pipelines.n_compiled;
    assert_ok(compile(g, &step, &add_value, NULL, 1, &again));
    assert_ptr_equal(first, again);
    step_const(&step, "UNUSED", 3);
    assert_ok(pipeline_get(g, &step, &other));
    assert_ptr_not_equal(first, other);
    assert_int_equal(g->pipelines.n_compiled, compiled + 1);
}

/* Constants keep their exact value. */
static void test_consts(void **state) {
    (void)state;
    static const float values[] = {0.0f,   1.0f,    -0.125f,  3.14159274f,
                                   1e-38f, 3.4e38f, 65519.9f, 1.5e-5f};
    plan_step step;
    const gpu_pipeline *pipeline;
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        step = (plan_step){.row = &add_value, .n_bindings = 1, .n_groups = 1};
        step.bindings[0].is_written = true;
        step_source(&step, "add_value.wgsl");
        step_const_f(&step, "F", values[i]);
        step_flag(&step, "B", true);
        step_alias(&step, "T", "vec4<f32>");
        assert_ok(pipeline_get(g, &step, &pipeline));
        double read = 0;
        const char *at = strstr(pipeline->key, "const F: f32 = ");
        assert_non_null(at);
        read = strtod(at + 15, NULL);
        assert_true((float)read == values[i]);
    }
    step_const_f(&step, "N", __builtin_inff());
    assert_fails(pipeline_get(g, &step, &pipeline), WEFT_INVALID, "not a finite number");
}

static void test_grid_arithmetic(void **state) {
    (void)state;
    static const uint32_t limits[] = {65535, 7, 1000};
    rng r = {5};
    for (int l = 0; l < 3; l++) {
        uint64_t limit = limits[l], most = limit * limit * limit;
        if (most > UINT32_MAX) most = UINT32_MAX;
        for (int i = 0; i < 3000; i++) {
            uint64_t n = i < 200 ? (uint64_t)i + 1 : 1 + rng_next(&r) % most;
            if (i == 200) n = limit;
            if (i == 201) n = limit + 1;
            if (i == 202) n = most;
            uint32_t grid[3];
            batch_grid(n, (uint32_t)limit, grid);
            uint64_t all = (uint64_t)grid[0] * grid[1] * grid[2];
            assert_true(all >= n);
            assert_true(all - n <= (uint64_t)grid[1] * grid[2] + grid[2]); /* little is wasted */
            for (int d = 0; d < 3; d++) assert_in_range(grid[d], 1, limit);
        }
    }
}

/* More workgroups than one dimension takes: each number runs exactly once. */
static void test_grid(void **state) {
    (void)state;
    static const uint32_t counts[] = {1, 65535, 65536, 70001, 131071};
    plan_step step;
    const gpu_pipeline *pipeline;
    assert_ok(compile(g, &step, &groups, GRID, 1, &pipeline));
    for (int i = 0; i < 5; i++) {
        uint32_t n = counts[i], bytes = (n + 1) * 4;
        gpu_buffer *b = zeroed(g, bytes);
        step.n_groups = n;
        assert_ok(dispatch(g, pipeline, &step, 0, NULL, b));
        uint32_t *out = mem_array(n + 1, 4);
        assert_ok(read_all(g, b, 0, out, bytes));
        for (uint32_t k = 0; k < n; k++)
            if (out[k] != 1) fail_msg("of %u workgroups, number %u ran %u times", n, k, out[k]);
        mem_free(out);
        buffer_release(g, b);
    }
    step.n_groups = (uint64_t)1 << 33;
    gpu_buffer *b = zeroed(g, 16);
    assert_fails(dispatch(g, pipeline, &step, 0, NULL, b), WEFT_LIMIT, "test_groups");
    buffer_release(g, b);
}

static void test_flag(void **state) {
    (void)state;
    plan_step step;
    const gpu_pipeline *pipeline;
    assert_ok(compile(g, &step, &raise_flag, FLAG, 1, &pipeline));
    gpu_buffer *b = zeroed(g, 64), *other = zeroed(g, 16);
    uint32_t out[16];
    assert_ok(dispatch(g, pipeline, &step, 9, NULL, b));
    assert_ok(read_all(g, b, 0, out, 64));
    assert_int_equal(out[9], 1);
    assert_ok(dispatch(g, pipeline, &step, 12, NULL, b));
    assert_ok(dispatch(g, pipeline, &step, 2, NULL, b));
    assert_fails(read_all(g, other, 0, out, 16), WEFT_INDEX, "index 12 is outside 0..9");
    assert_non_null(strstr(weft_message(), "test_raise"));
    assert_ok(read_all(g, b, 0, out, 64)); /* told once */
    assert_int_equal(out[2], 1);
    assert_ok(dispatch(g, pipeline, &step, 0xFFFFFFFFu, NULL, b));
    assert_fails(weft_sync(dev), WEFT_INDEX, "index -1 is outside 0..9");
    assert_ok(weft_sync(dev));
    buffer_release(g, b);
    buffer_release(g, other);
}

static void test_broken_shader(void **state) {
    (void)state;
    plan_step step;
    const gpu_pipeline *pipeline;
    assert_fails(compile(g, &step, &broken, NULL, 1, &pipeline), WEFT_DEVICE,
                 "kernel test_broken does not compile");
    assert_non_null(strstr(weft_message(), "no_such_function"));
    kernel_row absent = {.name = "test_absent", .source = "absent.wgsl"};
    assert_int_equal(compile(g, &step, &absent, NULL, 1, &pipeline), WEFT_IO);
    assert_non_null(strstr(weft_message(), "kernel test_absent"));
    add_up(g, 10);
}

/* A dispatch that both libraries refuse: one buffer read and written. Nothing of that batch
 * runs. */
static void test_invalid_batch(void **state) {
    (void)state;
    plan_step step, good;
    const gpu_pipeline *pipeline, *adder;
    float numbers[4] = {1, 2, 3, 4}, out[4];
    weft_tensor *mine = weft_from(dev, WEFT_F32, weft_1d(4), numbers);
    weft_tensor *others = weft_from(dev, WEFT_F32, weft_1d(4), numbers);
    assert_ok(weft_sync(dev));
    assert_ok(compile(g, &step, &copy_word, NULL, 2, &pipeline));
    assert_ok(compile(g, &good, &add_value, NULL, 1, &adder));
    gpu_buffer *a = zeroed(g, 16), *b = mine->storage->handle;
    assert_ok(dispatch(g, adder, &good, 5, NULL, a));
    assert_fails(dispatch(g, pipeline, &step, 1, b, b), WEFT_INVALID,
                 "kernel test_copy_word reads and writes one buffer");
    uint32_t limit = g->caps.max_groups;
    g->caps.max_groups = 1 << 20;
    step.n_groups = 70000;
    assert_ok(dispatch(g, pipeline, &step, 1, a, b));
    g->caps.max_groups = limit;
    assert_fails(weft_sync(dev), WEFT_DEVICE, "kernel test_copy_word");
    assert_int_equal(weft_read(mine, out, sizeof out), WEFT_DEVICE);
    assert_ok(weft_read(others, out, sizeof out));
    assert_memory_equal(out, numbers, sizeof out);
    uint32_t words[4];
    assert_ok(read_all(g, a, 0, words, 16));
    assert_int_equal(words[0], 0);
    add_up(g, 100);
    buffer_release(g, a);
}

/* A binding past the end of its buffer is found when the group is made. */
static void test_invalid_group(void **state) {
    (void)state;
    plan_step step;
    const gpu_pipeline *pipeline;
    assert_ok(compile(g, &step, &add_value, NULL, 1, &pipeline));
    gpu_buffer *b = zeroed(g, 16);
    gpu_bound bound = {.buffer = b, .bytes = 4096, .is_written = true};
    assert_fails(batch_dispatch(g, pipeline, &step, &bound), WEFT_DEVICE, "kernel test_add_value");
    add_up(g, 10);
    buffer_release(g, b);
}

static void test_profile(void **state) {
    (void)state;
    if (!g->caps.has_timestamps) skip_because(false, "%s has no timestamps", g->info.adapter);
    setenv("WEFT_PROFILE", "1", 1);
    setenv("WEFT_SHADER_DIR", WEFT_SOURCE_DIR "/src/webgpu/shaders", 1);
    weft_device *timed = open_adapter();
    setenv("WEFT_SHADER_DIR", WEFT_SOURCE_DIR "/tests/webgpu/shaders", 1);
    unsetenv("WEFT_PROFILE");
    assert_non_null(timed);
    add_up(device_state(timed), 150);
    uint64_t n = 0;
    double seconds = -1;
    assert_true(profile_find(device_state(timed), "test_add_value", &n, &seconds));
    assert_in_range(n, 140, 150); /* a clock that goes back loses a sample */
    assert_true(seconds >= 0 && seconds < 60);
    assert_false(profile_find(device_state(timed), "nothing", &n, &seconds));
    weft_close(timed);
}

static void test_features_off(void **state) {
    (void)state;
    setenv("WEFT_WEBGPU_FEATURES", "none", 1);
    setenv("WEFT_SHADER_DIR", WEFT_SOURCE_DIR "/src/webgpu/shaders", 1);
    weft_device *plain = open_adapter();
    setenv("WEFT_WEBGPU_FEATURES", "no-subgroups,no-f16", 1);
    weft_device *some = open_adapter();
    unsetenv("WEFT_WEBGPU_FEATURES");
    setenv("WEFT_SHADER_DIR", WEFT_SOURCE_DIR "/tests/webgpu/shaders", 1);
    assert_non_null(plain);
    assert_non_null(some);
    const gpu_caps *caps = &((gpu *)device_state(plain))->caps;
    assert_false(caps->has_f16 || caps->has_subgroups || caps->has_timestamps || caps->has_matrix ||
                 caps->has_int_dot || caps->subgroup_size);
    add_up(device_state(plain), 20);
    caps = &((gpu *)device_state(some))->caps;
    assert_false(caps->has_f16 || caps->has_subgroups);
    assert_int_equal(caps->has_timestamps, g->caps.has_timestamps);
    weft_close(plain);
    weft_close(some);
}

static void test_lost_device(void **state) {
    (void)state;
    setenv("WEFT_SHADER_DIR", WEFT_SOURCE_DIR "/src/webgpu/shaders", 1);
    weft_device *doomed = open_adapter();
    setenv("WEFT_SHADER_DIR", WEFT_SOURCE_DIR "/tests/webgpu/shaders", 1);
    assert_non_null(doomed);
    gpu *d = device_state(doomed);
    float numbers[4] = {1, 2, 3, 4}, out[4];
    weft_tensor *t = weft_from(doomed, WEFT_F32, weft_1d(4), numbers);
    plan_step step;
    const gpu_pipeline *pipeline;
    assert_ok(compile(d, &step, &add_value, NULL, 1, &pipeline));
    gpu_buffer *b = zeroed(d, 16);
    assert_ok(dispatch(d, pipeline, &step, 1, NULL, b));
    d->api.DeviceDestroy(d->device); /* as near to a loss as can be had on purpose */
    assert_fails(weft_read(t, out, sizeof out), WEFT_DEVICE_LOST, "was lost");
    assert_fails(weft_sync(doomed), WEFT_DEVICE_LOST, "was lost");
    assert_int_equal(weft_tensor_status(weft_from(doomed, WEFT_F32, weft_1d(4), numbers)),
                     WEFT_DEVICE_LOST);
    assert_fails(dispatch(d, pipeline, &step, 1, NULL, b), WEFT_DEVICE_LOST, "was lost");
    buffer_release(d, b);
    weft_close(doomed);
    add_up(g, 50); /* the other device lives */
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ring),          cmocka_unit_test(test_many_submits),
        cmocka_unit_test(test_group_cache),   cmocka_unit_test(test_pipeline_cache),
        cmocka_unit_test(test_consts),        cmocka_unit_test(test_grid_arithmetic),
        cmocka_unit_test(test_grid),          cmocka_unit_test(test_flag),
        cmocka_unit_test(test_broken_shader), cmocka_unit_test(test_invalid_batch),
        cmocka_unit_test(test_invalid_group), cmocka_unit_test(test_profile),
        cmocka_unit_test(test_features_off),  cmocka_unit_test(test_lost_device),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
