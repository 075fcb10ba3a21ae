/* The dialect of a library of which nothing is known but that it speaks the current webgpu.h:
 * nothing outside that header is used. Also what the dialects share.
 * SPDX-License-Identifier: MIT */
#include "base/clock.h"
#include "base/mem.h"
#include "webgpu/dialect.h"
#include "webgpu/plan.h"

const dialect *const dialects[] = {&dialect_dawn, &dialect_wgpu, &dialect_generic, NULL};

typedef struct request {
    WGPUAdapter adapter;
    volatile int done;
} request;

static void on_adapter(WGPURequestAdapterStatus status, WGPUAdapter adapter, WGPUStringView message,
                       void *user1, void *user2) {
    (void)message;
    (void)user2;
    request *r = user1;
    r->adapter = status == WGPURequestAdapterStatus_Success ? adapter : NULL;
    r->done = 1;
}

WGPUAdapter dialect_request_adapter(const gpu_api *api, const dialect *d, WGPUInstance instance,
                                    const WGPURequestAdapterOptions *options) {
    /* On the heap, and left there when the wait times out: a late callback would still write it. */
    request *r = mem_alloc(sizeof *r);
    if (!r) return NULL;
    WGPURequestAdapterCallbackInfo info = {
        .mode = WGPUCallbackMode_AllowProcessEvents, .callback = on_adapter, .userdata1 = r};
    WGPUFuture future = api->InstanceRequestAdapter(instance, options, info);
    if (!d->wait(api, instance, NULL, future, &r->done, 4.0)) return NULL;
    WGPUAdapter adapter = r->adapter;
    mem_free(r);
    return adapter;
}

bool dialect_wait_by_events(const gpu_api *api, WGPUInstance instance, WGPUDevice device,
                            WGPUFuture future, const volatile int *done, double seconds) {
    (void)device;
    (void)future;
    double end = clock_seconds() + seconds, pause = 0;
    for (;;) {
        api->InstanceProcessEvents(instance);
        if (*done || clock_seconds() >= end) return *done;
        clock_sleep(pause);
        pause = pause < 1e-3 ? pause + 2e-5 : 1e-3;
    }
}

WGPUFuture dialect_plain_request_device(const gpu_api *api, WGPUAdapter adapter,
                                        const WGPUDeviceDescriptor *desc, bool has_checks,
                                        WGPURequestDeviceCallbackInfo callback) {
    (void)has_checks;
    return api->AdapterRequestDevice(adapter, desc, callback);
}

WGPUShaderModule dialect_plain_module(const gpu_api *api, WGPUDevice device,
                                      const WGPUShaderModuleDescriptor *desc, bool has_checks) {
    (void)has_checks;
    return api->DeviceCreateShaderModule(device, desc);
}

static bool recognises(void *library) {
    (void)library;
    return true;
}

static WGPUInstance new_instance(const gpu_api *api) {
    WGPUInstanceDescriptor desc = {0};
    return api->CreateInstance(&desc);
}

static int adapters(const gpu_api *api, WGPUInstance instance, WGPUAdapter *out, int cap) {
    WGPURequestAdapterOptions options = {.featureLevel = WGPUFeatureLevel_Core,
                                         .powerPreference = WGPUPowerPreference_HighPerformance};
    if (cap < 1) return 0;
    out[0] = dialect_request_adapter(api, &dialect_generic, instance, &options);
    return out[0] != NULL;
}

static const dialect_feature features[] = {
    {"f16", WGPUFeatureName_ShaderF16, F_F16, "enable f16;"},
    {"subgroups", WGPUFeatureName_Subgroups, F_SUBGROUPS, "enable subgroups;"},
    {"timestamps", WGPUFeatureName_TimestampQuery, 0, NULL},
    {0},
};

const dialect dialect_generic = {
    .name = "another WebGPU library",
    .rank = 2,
    .aborts = true, /* unknown, so the careful way */
    .has_int_dot = false,
    .features = features,
    .recognises = recognises,
    .new_instance = new_instance,
    .adapters = adapters,
    .wait = dialect_wait_by_events,
    .request_device = dialect_plain_request_device,
    .new_module = dialect_plain_module,
};
