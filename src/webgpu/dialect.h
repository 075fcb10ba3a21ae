/* What differs between WebGPU libraries, one struct each; the only place that knows which
 * library is talked to. The facts come from calling the libraries from C (wgpu-native 29, Dawn
 * of October 2026). SPDX-License-Identifier: MIT */
#ifndef WEFT_WEBGPU_DIALECT_H
#define WEFT_WEBGPU_DIALECT_H

#include "webgpu/loader.h"

/* An optional device feature that weft can use. */
typedef struct dialect_feature {
    const char *name; /* as in WEFT_WEBGPU_FEATURES and in weft_device_info.features */
    WGPUFeatureName feature;
    uint32_t need;      /* the F_* of plan.h that kernel rows ask for it with, or 0 */
    const char *enable; /* the line it needs in a shader, or NULL */
} dialect_feature;

typedef struct dialect {
    const char *name; /* "Dawn" */
    int rank;         /* of several libraries that offer the same adapter the lowest is preferred */
    /* True when QueueSubmit of an invalid command buffer, or on a lost device, ends the process:
     * then errors must be known before, and a lost device cannot be survived. */
    bool aborts;
    bool has_int_dot;        /* WGSL has dot4I8Packed */
    bool has_internal_scope; /* knows error scopes for internal errors (else asking aborts) */
    const dialect_feature *features; /* ends with a NULL name */
    bool (*recognises)(void *library);
    WGPUInstance (*new_instance)(const gpu_api *api);
    /* Fills out[0..cap) with the adapters, each to be released; returns how many. Waits at most
     * a few seconds. */
    int (*adapters)(const gpu_api *api, WGPUInstance instance, WGPUAdapter *out, int cap);
    /* Waits until *done is set by a callback that `future` stands for, at most `seconds` (0 =
     * looks once), and returns *done. `device` is NULL while there is none. */
    bool (*wait)(const gpu_api *api, WGPUInstance instance, WGPUDevice device, WGPUFuture future,
                 const volatile int *done, double seconds);
    /* Requests a device with what the library needs to leave out run-time checks (has_checks
     * false) chained on. */
    WGPUFuture (*request_device)(const gpu_api *api, WGPUAdapter adapter,
                                 const WGPUDeviceDescriptor *desc, bool has_checks,
                                 WGPURequestDeviceCallbackInfo callback);
    WGPUShaderModule (*new_module)(const gpu_api *api, WGPUDevice device,
                                   const WGPUShaderModuleDescriptor *desc, bool has_checks);
} dialect;

/* Most particular first; the last recognises everything. NULL-terminated. */
extern const dialect *const dialects[];
extern const dialect dialect_dawn, dialect_wgpu, dialect_generic;

/* Shared by the dialects: requests one adapter and waits for it; NULL when there is none. `wait`
 * is the dialect's. */
WGPUAdapter dialect_request_adapter(const gpu_api *api, const dialect *d, WGPUInstance instance,
                                    const WGPURequestAdapterOptions *options);
/* Waits by processing events with short sleeps between: what every library understands. */
bool dialect_wait_by_events(const gpu_api *api, WGPUInstance instance, WGPUDevice device,
                            WGPUFuture future, const volatile int *done, double seconds);
/* The plain forms of request_device and new_module. */
WGPUFuture dialect_plain_request_device(const gpu_api *api, WGPUAdapter adapter,
                                        const WGPUDeviceDescriptor *desc, bool has_checks,
                                        WGPURequestDeviceCallbackInfo callback);
WGPUShaderModule dialect_plain_module(const gpu_api *api, WGPUDevice device,
                                      const WGPUShaderModuleDescriptor *desc, bool has_checks);

#endif
