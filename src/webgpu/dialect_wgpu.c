/* The dialect of wgpu-native (seen: 29.0.1.1, from PyPI's wgpu 0.32.0).
 *
 * WaitAny is not implemented there and aborts, so waiting is wgpuDevicePoll; adapters are listed
 * by a function of its own. QueueSubmit aborts the process on anything invalid and on a lost
 * device. Its subgroups need no `enable` line (it is an error). Cooperative matrices are listed
 * but the device is then refused, so they are not asked for. Its own declarations are repeated
 * here as far as they are used, because webgpu.h alone may be installed.
 * SPDX-License-Identifier: MIT */
#include "base/clock.h"
#include "base/dl.h"
#include "base/mem.h"
#include "webgpu/dialect.h"
#include "webgpu/plan.h"

enum { STYPE_INSTANCE_EXTRAS = 0x00030004, FEATURE_SUBGROUP = 0x00030021 };
enum {
    BACKENDS_PRIMARY = 1 | 4 | 8
}; /* Vulkan, Metal, D3D12: not GL, which cannot run our shaders */

/* WGPUInstanceExtras of version 29; what is behind `flags` stays zero, which means defaults. */
typedef struct instance_extras {
    WGPUChainedStruct chain;
    uint64_t backends, flags;
    uint64_t rest[32];
} instance_extras;

typedef uint32_t (*get_version_fn)(void);
typedef size_t (*enumerate_fn)(WGPUInstance instance, const void *options, WGPUAdapter *adapters);
typedef WGPUBool (*poll_fn)(WGPUDevice device, WGPUBool wait, const uint64_t *submission);
typedef WGPUShaderModule (*trusted_fn)(WGPUDevice device, const WGPUShaderModuleDescriptor *desc,
                                       uint64_t runtime_checks);

static bool recognises(void *library) {
    return dl_find(library, "wgpuDevicePoll") &&
           dl_find(library, "wgpuInstanceEnumerateAdapters") &&
           dl_find(library, "wgpuDeviceCreateShaderModuleTrusted") &&
           dl_find(library, "wgpuGetVersion");
}

static WGPUInstance new_instance(const gpu_api *api) {
    get_version_fn version;
    *(void **)&version = dl_find(api->library, "wgpuGetVersion");
    instance_extras extras = {.chain = {.sType = (WGPUSType)STYPE_INSTANCE_EXTRAS},
                              .backends = BACKENDS_PRIMARY};
    WGPUInstanceDescriptor desc = {0};
    if (version() >> 24 == 29) desc.nextInChain = &extras.chain;
    return api->CreateInstance(&desc);
}

static int adapters(const gpu_api *api, WGPUInstance instance, WGPUAdapter *out, int cap) {
    enumerate_fn enumerate;
    *(void **)&enumerate = dl_find(api->library, "wgpuInstanceEnumerateAdapters");
    size_t n = enumerate(instance, NULL, NULL);
    WGPUAdapter *all = mem_array(n, sizeof *all);
    if (!all) return 0;
    size_t again = n ? enumerate(instance, NULL, all) : 0;
    int kept = 0;
    for (size_t i = 0; i < n && i < again; i++) {
        if (kept < cap) out[kept++] = all[i];
        else api->AdapterRelease(all[i]);
    }
    mem_free(all);
    return kept;
}

static bool wait(const gpu_api *api, WGPUInstance instance, WGPUDevice device, WGPUFuture future,
                 const volatile int *done, double seconds) {
    (void)future;
    poll_fn poll;
    *(void **)&poll = dl_find(api->library, "wgpuDevicePoll");
    double end = clock_seconds() + seconds;
    for (;;) {
        if (*done) return true;
        if (device) poll(device, seconds > 0, NULL);
        if (!*done) api->InstanceProcessEvents(instance);
        if (*done || clock_seconds() >= end) return *done;
        clock_sleep(1e-4);
    }
}

static WGPUShaderModule new_module(const gpu_api *api, WGPUDevice device,
                                   const WGPUShaderModuleDescriptor *desc, bool has_checks) {
    trusted_fn trusted;
    *(void **)&trusted = dl_find(api->library, "wgpuDeviceCreateShaderModuleTrusted");
    if (has_checks) return api->DeviceCreateShaderModule(device, desc);
    return trusted(device, desc, 0);
}

static const dialect_feature features[] = {
    {"f16", WGPUFeatureName_ShaderF16, F_F16, "enable f16;"},
    {"subgroups", (WGPUFeatureName)FEATURE_SUBGROUP, F_SUBGROUPS, NULL},
    {"timestamps", WGPUFeatureName_TimestampQuery, 0, NULL},
    {0},
};

const dialect dialect_wgpu = {
    .name = "wgpu-native",
    .rank = 1,
    .aborts = true,
    .has_int_dot = true,
    .features = features,
    .recognises = recognises,
    .new_instance = new_instance,
    .adapters = adapters,
    .wait = wait,
    .request_device = dialect_plain_request_device,
    .new_module = new_module,
};
