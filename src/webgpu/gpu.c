/* One opened device: request, limits, features, errors, loss, and the self test at the start.
 *
 * Errors are caught by error scopes round whatever may fail; what no scope catches is kept and
 * returned by the next submit. A lost device is sticky. The self test runs two tiny kernels
 * through the same code as everything else (explicit layout, dynamic offset, dispatch, read
 * back), so a library that does not do what we think is refused before it can give wrong
 * numbers; it also measures the subgroup size, which not every library tells.
 * SPDX-License-Identifier: MIT */
#include "webgpu/gpu.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "shaders.h"

WGPUStringView gpu_text(const char *text) { return (WGPUStringView){text, strlen(text)}; }

void gpu_text_copy(WGPUStringView view, char *out, size_t cap) {
    size_t n = view.data ? (view.length == WGPU_STRLEN ? strlen(view.data) : view.length) : 0;
    if (n >= cap) {
        n = cap - 1;
        while (n > 0 && ((unsigned char)view.data[n] & 0xC0) == 0x80) n--;
    }
    for (size_t i = 0; i < n; i++) out[i] = view.data[i] == '\n' ? ' ' : view.data[i];
    while (n > 0 && out[n - 1] == ' ') n--;
    out[n] = 0;
}

/* ---- errors ---------------------------------------------------------------------------------- */

static void on_lost(WGPUDevice const *device, WGPUDeviceLostReason reason, WGPUStringView message,
                    void *user1, void *user2) {
    (void)device;
    (void)user2;
    gpu *g = user1;
    if (reason == WGPUDeviceLostReason_CallbackCancelled || g->is_lost) return;
    gpu_text_copy(message, g->lost_message, sizeof g->lost_message);
    g->is_lost = 1;
}

static void on_error(WGPUDevice const *device, WGPUErrorType type, WGPUStringView message,
                     void *user1, void *user2) {
    (void)device;
    (void)type;
    (void)user2;
    gpu *g = user1;
    if (g->has_error) return;
    gpu_text_copy(message, g->error, sizeof g->error);
    g->has_error = 1;
}

weft_status gpu_check(gpu *g) {
    REQUIRE(!g->is_lost, WEFT_DEVICE_LOST, "the device %s was lost: %s", g->info.adapter,
            g->lost_message[0] ? g->lost_message : "no reason given");
    return WEFT_OK;
}

weft_status gpu_take_error(gpu *g) {
    if (!g->has_error) return WEFT_OK;
    g->has_error = 0;
    return error_set(WEFT_DEVICE, "%s: %s", g->dialect->name, g->error);
}

bool gpu_wait(gpu *g, WGPUFuture future, const volatile int *done) {
    while (!*done) {
        g->dialect->wait(&g->api, g->instance, g->device, future, done, 1e10);
        if (g->is_lost) break;
    }
    return *done;
}

static void on_pop(WGPUPopErrorScopeStatus status, WGPUErrorType type, WGPUStringView message,
                   void *user1, void *user2) {
    (void)user2;
    gpu *g = user1;
    bool is_known = status == WGPUPopErrorScopeStatus_Success;
    g->popped.type = is_known ? type : WGPUErrorType_NoError;
    if (is_known) gpu_text_copy(message, g->popped.message, sizeof g->popped.message);
    g->popped.done = 1;
}

static const WGPUErrorFilter filters[] = {WGPUErrorFilter_OutOfMemory, WGPUErrorFilter_Validation,
                                          WGPUErrorFilter_Internal};

static int n_filters(const gpu *g) { return g->dialect->has_internal_scope ? 3 : 2; }

void gpu_scope_push(gpu *g) {
    for (int i = 0; i < n_filters(g); i++) g->api.DevicePushErrorScope(g->device, filters[i]);
}

weft_status gpu_scope_pop(gpu *g) {
    weft_status status = WEFT_OK;
    for (int i = n_filters(g) - 1; i >= 0; i--) {
        g->popped.done = 0;
        WGPUPopErrorScopeCallbackInfo info = {
            .mode = WGPUCallbackMode_AllowProcessEvents, .callback = on_pop, .userdata1 = g};
        WGPUFuture future = g->api.DevicePopErrorScope(g->device, info);
        bool is_answered = gpu_wait(g, future, &g->popped.done);
        if (!is_answered || g->popped.type == WGPUErrorType_NoError || status != WEFT_OK) continue;
        if (filters[i] == WGPUErrorFilter_OutOfMemory)
            status =
                error_set(WEFT_NO_MEMORY, "the device is out of memory: %s", g->popped.message);
        else status = error_set(WEFT_DEVICE, "%s: %s", g->dialect->name, g->popped.message);
    }
    return status;
}

/* ---- opening --------------------------------------------------------------------------------- */

typedef struct device_request {
    volatile int done;
    WGPUDevice device;
    char message[300];
} device_request;

static void on_device(WGPURequestDeviceStatus status, WGPUDevice device, WGPUStringView message,
                      void *user1, void *user2) {
    (void)user2;
    device_request *r = user1;
    if (status == WGPURequestDeviceStatus_Success) r->device = device;
    else gpu_text_copy(message, r->message, sizeof r->message);
    r->done = 1;
}

static bool is_on(const char *variable) {
    const char *value = getenv(variable);
    return value && value[0] && strcmp(value, "off") != 0 && strcmp(value, "0") != 0;
}

static weft_status request_device(gpu *g) {
    WGPULimits limits = {0};
    g->api.AdapterGetLimits(g->adapter, &limits);
    WGPUFeatureName features[16];
    size_t n = 0;
    for (const dialect_feature *f = g->dialect->features; f->name && n < 16; f++) {
        if (gpu_feature_allowed(f->name) && g->api.AdapterHasFeature(g->adapter, f->feature))
            features[n++] = f->feature;
    }
    WGPUDeviceDescriptor desc = {.label = gpu_text("weft"),
                                 .requiredFeatureCount = n,
                                 .requiredFeatures = features,
                                 .requiredLimits = &limits};
    desc.deviceLostCallbackInfo.mode = WGPUCallbackMode_AllowSpontaneous;
    desc.deviceLostCallbackInfo.callback = on_lost;
    desc.deviceLostCallbackInfo.userdata1 = g;
    desc.uncapturedErrorCallbackInfo.callback = on_error;
    desc.uncapturedErrorCallbackInfo.userdata1 = g;
    device_request r = {0};
    WGPURequestDeviceCallbackInfo callback = {0};
    callback.mode = WGPUCallbackMode_AllowProcessEvents;
    callback.callback = on_device;
    callback.userdata1 = &r;
    WGPUFuture future =
        g->dialect->request_device(&g->api, g->adapter, &desc, g->has_checks, callback);
    g->dialect->wait(&g->api, g->instance, NULL, future, &r.done, 1e10);
    REQUIRE(r.device, WEFT_NO_DEVICE, "%s (%s) gives no device: %s", g->info.adapter,
            g->dialect->name, r.message[0] ? r.message : "no reason given");
    g->device = r.device;
    g->queue = g->api.DeviceGetQueue(g->device);
    g->is_lost = 0;
    return WEFT_OK;
}

static bool has_feature(const gpu *g, const char *name) {
    const char *found = strstr(g->info.features, name);
    return found && (found == g->info.features || found[-1] == ' ');
}

/* A smaller limit for tests, so that splitting can be tried on small tensors. */
static uint64_t limited(const char *variable, uint64_t limit) {
    const char *text = getenv(variable);
    uint64_t wanted = text ? strtoull(text, NULL, 10) : 0;
    return wanted && wanted < limit ? wanted : limit;
}

static void fill_caps(gpu *g) {
    WGPULimits limits = {0};
    g->api.DeviceGetLimits(g->device, &limits);
    g->caps = (gpu_caps){
        .has_f16 = has_feature(g, "f16"),
        .has_subgroups = has_feature(g, "subgroups"),
        .has_timestamps = has_feature(g, "timestamps"),
        .has_matrix = has_feature(g, "matrix"),
        .has_int_dot = g->dialect->has_int_dot && gpu_feature_allowed("int-dot"),
        .is_software = g->info.kind == WEFT_KIND_SOFTWARE,
        .max_buffer = limited("WEFT_WEBGPU_MAX_BUFFER", limits.maxBufferSize) / 256 * 256,
        .max_groups = limits.maxComputeWorkgroupsPerDimension,
        .max_invocations = limits.maxComputeInvocationsPerWorkgroup,
        .max_workgroup_bytes = limits.maxComputeWorkgroupStorageSize,
        .offset_alignment = 256, /* what every device accepts, so that all behave the same */
    };
    uint64_t binding = limits.maxStorageBufferBindingSize;
    if (binding > g->caps.max_buffer) binding = g->caps.max_buffer;
    g->caps.max_binding = limited("WEFT_WEBGPU_MAX_BINDING", binding) / 256 * 256;
    g->uniform_alignment = limits.minUniformBufferOffsetAlignment;
    g->info.max_buffer_bytes = g->caps.max_buffer;
    g->info.max_binding_bytes = g->caps.max_binding;
    size_t n = strlen(g->info.features);
    if (g->caps.has_int_dot)
        snprintf(g->info.features + n, sizeof g->info.features - n, "%sint-dot", n ? " " : "");
}

/* ---- the self test --------------------------------------------------------------------------- */

static const kernel_row self_test_row = {.name = "self_test", .source = "self_test.wgsl"};
static const kernel_row subgroup_row = {
    .name = "subgroup_size", .source = "subgroup_size.wgsl", .needs = F_SUBGROUPS};
enum { SELF_TEST_WORDS = 256 };

/* Runs `row` twice, the second time at another dynamic offset with other parameters, each
 * writing half of out. */
static weft_status run_self_test(gpu *g, const kernel_row *row, uint32_t out[SELF_TEST_WORDS]) {
    gpu_buffer *b = buffer_new(g, SELF_TEST_WORDS * 4, "the self test");
    if (!b) return error_status();
    plan_step step = {.row = row, .n_sources = 2, .n_bindings = 1, .n_groups = 2};
    step.sources[0] = row->source;
    step.sources[1] = "lib/grid.wgsl";
    step.bindings[0].is_written = true;
    const gpu_pipeline *pipeline;
    weft_status status = pipeline_get(g, &step, &pipeline);
    for (uint32_t i = 0; i < 2 && status == WEFT_OK; i++) {
        params_self_test p = {.first = i * SELF_TEST_WORDS / 2, .value = 1000 + i};
        step_params(&step, &p, sizeof p);
        gpu_bound bound = {.buffer = b, .bytes = SELF_TEST_WORDS * 4, .is_written = true};
        status = batch_dispatch(g, pipeline, &step, &bound);
    }
    if (status == WEFT_OK) status = read_all(g, b, 0, out, SELF_TEST_WORDS * 4);
    buffer_release(g, b);
    return status;
}

static weft_status self_test(gpu *g) {
    uint32_t out[SELF_TEST_WORDS] = {0};
    weft_status status = run_self_test(g, &self_test_row, out);
    if (status != WEFT_OK)
        return error_prefix(status, "the start-up self test of %s fails", g->info.library);
    for (uint32_t i = 0; i < SELF_TEST_WORDS; i++) {
        uint32_t expected = (1000 + i / 128) * 4096 + i % 128;
        REQUIRE(out[i] == expected, WEFT_NO_DEVICE,
                "%s on %s fails the start-up self test (word %u is %u, not %u), so it is not used",
                g->info.library, g->info.adapter, i, out[i], expected);
    }
    return WEFT_OK;
}

/* Word i is the subgroup size when its thread finds everything as kernels assume it, else 0. */
static void measure_subgroups(gpu *g) {
    uint32_t out[SELF_TEST_WORDS] = {0};
    if (!g->caps.has_subgroups) return;
    weft_status status = run_self_test(g, &subgroup_row, out);
    bool is_uniform = status == WEFT_OK && out[0] >= 4 && out[0] <= 128;
    for (int i = 1; i < SELF_TEST_WORDS && is_uniform; i++) is_uniform = out[i] == out[0];
    g->caps.subgroup_size = is_uniform ? out[0] : 0;
    g->info.subgroup_size = g->caps.subgroup_size;
    if (status != WEFT_OK) {
        g->caps.has_subgroups = false;
        log_line(WEFT_LOG_WARN, "webgpu: subgroups are left unused: %s", error_message());
    } else if (!is_uniform) {
        log_line(WEFT_LOG_DEBUG, "webgpu: the subgroup size is not uniform");
    }
}

static weft_status start(gpu *g) {
    double t0 = clock_seconds();
    TRY(request_device(g));
    fill_caps(g);
    TRY(pipelines_open(g));
    TRY(batch_open(g));
    double t1 = clock_seconds();
    TRY(self_test(g));
    measure_subgroups(g);
    TRY(profile_open(g));
    log_line(WEFT_LOG_INFO,
             "webgpu: %s (%s) through %s: device %.0f ms, self test %.0f ms, subgroup size %u, "
             "features: %s",
             g->info.adapter, g->info.driver, g->info.library, (t1 - t0) * 1e3,
             (clock_seconds() - t1) * 1e3, g->caps.subgroup_size, g->info.features);
    return WEFT_OK;
}

weft_status gpu_open(gpu_list *list, int index, gpu **out) {
    gpu_candidate *c = &list->items[index];
    gpu *g = mem_alloc(sizeof *g);
    if (!g) return WEFT_NO_MEMORY;
    g->api = c->library->api;
    g->dialect = g->api.dialect;
    g->info = c->info;
    g->has_checks = is_on("WEFT_CHECKS") || is_on("WEFT_SHADER_DIR");
    g->adapter = c->adapter;
    g->instance = c->instance;
    c->adapter = NULL;
    for (int i = 0; i < list->n_libraries; i++) {
        if (list->instances[i] == c->instance) list->instances[i] = NULL;
    }
    /* The other adapters of this instance must go before it does. */
    for (int i = 0; i < list->n; i++) {
        gpu_candidate *other = &list->items[i];
        if (other->instance != g->instance || !other->adapter) continue;
        g->api.AdapterRelease(other->adapter);
        other->adapter = NULL;
    }
    weft_status status = start(g);
    if (status != WEFT_OK) {
        gpu_close(g);
        return status;
    }
    *out = g;
    return WEFT_OK;
}

void gpu_close(gpu *g) {
    if (!g) return;
    if (g->device) {
        profile_log(g);
        profile_close(g);
        buffers_close(g);
        batch_close(g);
        pipelines_close(g);
        g->api.QueueRelease(g->queue);
        g->api.DeviceRelease(g->device);
    }
    if (g->adapter) g->api.AdapterRelease(g->adapter);
    if (g->instance) g->api.InstanceRelease(g->instance);
    mem_free(g);
}
