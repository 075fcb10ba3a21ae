/* The dialect of Dawn (seen: the build of October 2026 in PyPI's rillfacet 0.1.3).
 *
 * Waiting is WaitAny with a time-out. There is no way to list adapters from C, so they are
 * requested by power preference and as fallback, and doubles dropped. Run-time checks of shaders
 * are device toggles. Errors and lost devices never end the process. Toggles are chained on as
 * DawnTogglesDescriptor, whose number and layout are repeated here because no header of Dawn's
 * own is installed; so is DawnInstanceDescriptor, which takes its warnings to our log.
 * SPDX-License-Identifier: MIT */
#include <string.h>

#include "base/dl.h"
#include "base/log.h"
#include "webgpu/dialect.h"
#include "webgpu/plan.h"

enum { STYPE_INSTANCE = 0x00050006, STYPE_TOGGLES = 0x0005000A, NO_BACKEND_VALIDATION = 2 };
enum { FEATURE_SUBGROUP_MATRIX = 0x00050034 };

typedef struct toggles {
    WGPUChainedStruct chain;
    size_t n_enabled;
    const char *const *enabled;
    size_t n_disabled;
    const char *const *disabled;
} toggles;

/* DawnInstanceDescriptor: without it Dawn prints its warnings. */
typedef void (*logging_fn)(int type, WGPUStringView message, void *user1, void *user2);
typedef struct instance_options {
    WGPUChainedStruct chain;
    uint32_t n_search_paths;
    const char *const *search_paths;
    void *platform;
    uint32_t validation;
    bool captures;
    void *logging_next;
    logging_fn logging;
    void *user1, *user2;
} instance_options;

static void on_log(int type, WGPUStringView message, void *user1, void *user2) {
    (void)type;
    (void)user1;
    (void)user2;
    if (log_wants(WEFT_LOG_DEBUG))
        log_line(WEFT_LOG_DEBUG, "Dawn: %.*s", (int)message.length, message.data);
}

/* Unsafe APIs: the subgroup matrices are among them. f16: Dawn leaves it off on NVIDIA by
 * default. */
static const char *const instance_on[] = {"allow_unsafe_apis", "vulkan_enable_f16_on_nvidia"};
static const char *const unchecked_on[] = {"disable_robustness", "disable_workgroup_init"};
static const char *const device_off[] = {"timestamp_quantization"};

static bool recognises(void *library) {
    return dl_find(library, "wgpuDeviceTick") && dl_find(library, "wgpuAdapterCreateDevice") &&
           dl_find(library, "wgpuDeviceInjectError");
}

static WGPUInstance new_instance(const gpu_api *api) {
    instance_options options = {.chain = {.sType = (WGPUSType)STYPE_INSTANCE},
                                .validation = NO_BACKEND_VALIDATION,
                                .logging = on_log};
    toggles t = {.chain = {.next = &options.chain, .sType = (WGPUSType)STYPE_TOGGLES},
                 .n_enabled = 2,
                 .enabled = instance_on};
    WGPUInstanceFeatureName timed = WGPUInstanceFeatureName_TimedWaitAny;
    WGPUInstanceDescriptor desc = {
        .nextInChain = &t.chain, .requiredFeatureCount = 1, .requiredFeatures = &timed};
    return api->CreateInstance(&desc);
}

static bool is_same_text(WGPUStringView a, WGPUStringView b) {
    return a.length == b.length && (a.length == 0 || !memcmp(a.data, b.data, a.length));
}

static bool is_same(const gpu_api *api, WGPUAdapter a, WGPUAdapter b) {
    WGPUAdapterInfo x = {0}, y = {0};
    api->AdapterGetInfo(a, &x);
    api->AdapterGetInfo(b, &y);
    bool same = x.vendorID == y.vendorID && x.deviceID == y.deviceID &&
                x.backendType == y.backendType && x.adapterType == y.adapterType &&
                is_same_text(x.device, y.device);
    api->AdapterInfoFreeMembers(x);
    api->AdapterInfoFreeMembers(y);
    return same;
}

static int adapters(const gpu_api *api, WGPUInstance instance, WGPUAdapter *out, int cap) {
    static const struct {
        WGPUPowerPreference power;
        bool is_fallback;
    } requests[] = {{WGPUPowerPreference_HighPerformance, false},
                    {WGPUPowerPreference_LowPower, false},
                    {WGPUPowerPreference_Undefined, true}};
    int n = 0;
    for (int i = 0; i < 3 && n < cap; i++) {
        toggles t = {
            .chain = {.sType = (WGPUSType)STYPE_TOGGLES}, .n_enabled = 2, .enabled = instance_on};
        WGPURequestAdapterOptions options = {.nextInChain = &t.chain,
                                             .featureLevel = WGPUFeatureLevel_Core,
                                             .powerPreference = requests[i].power,
                                             .forceFallbackAdapter = requests[i].is_fallback};
        WGPUAdapter adapter = dialect_request_adapter(api, &dialect_dawn, instance, &options);
        bool is_new = adapter != NULL;
        for (int j = 0; j < n && is_new; j++) is_new = !is_same(api, adapter, out[j]);
        if (is_new) out[n++] = adapter;
        else if (adapter) api->AdapterRelease(adapter);
    }
    return n;
}

static bool wait(const gpu_api *api, WGPUInstance instance, WGPUDevice device, WGPUFuture future,
                 const volatile int *done, double seconds) {
    (void)device;
    if (*done) return true;
    WGPUFutureWaitInfo info = {.future = future};
    uint64_t nanoseconds = seconds >= 1e9 ? UINT64_MAX : (uint64_t)(seconds * 1e9);
    api->InstanceWaitAny(instance, 1, &info, nanoseconds);
    return *done;
}

static WGPUFuture request_device(const gpu_api *api, WGPUAdapter adapter,
                                 const WGPUDeviceDescriptor *desc, bool has_checks,
                                 WGPURequestDeviceCallbackInfo callback) {
    toggles t = {.chain = {.sType = (WGPUSType)STYPE_TOGGLES},
                 .n_enabled = has_checks ? 0 : 2,
                 .enabled = unchecked_on,
                 .n_disabled = 1,
                 .disabled = device_off};
    WGPUDeviceDescriptor with_toggles = *desc;
    with_toggles.nextInChain = &t.chain;
    return api->AdapterRequestDevice(adapter, &with_toggles, callback);
}

static const dialect_feature features[] = {
    {"f16", WGPUFeatureName_ShaderF16, F_F16, "enable f16;"},
    {"subgroups", WGPUFeatureName_Subgroups, F_SUBGROUPS, "enable subgroups;"},
    {"timestamps", WGPUFeatureName_TimestampQuery, 0, NULL},
    {"matrix", (WGPUFeatureName)FEATURE_SUBGROUP_MATRIX, F_MATRIX,
     "enable chromium_experimental_subgroup_matrix;"},
    {0},
};

const dialect dialect_dawn = {
    .name = "Dawn",
    .rank = 0,
    .aborts = false,
    .has_int_dot = true,
    .has_internal_scope = true,
    .features = features,
    .recognises = recognises,
    .new_instance = new_instance,
    .adapters = adapters,
    .wait = wait,
    .request_device = request_device,
    .new_module = dialect_plain_module,
};
