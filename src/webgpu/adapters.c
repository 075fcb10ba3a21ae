/* Which adapters there are, over all libraries, and which one is taken.
 *
 * Order: hardware before software, discrete before integrated, and for the same adapter Dawn
 * before wgpu-native (the dialect's rank). An adapter is software when it says so or when its
 * name is a known rasteriser's; such a one is taken only when the caller names it, or asks for
 * "webgpu" and there is nothing else. Libraries that cannot be used get a line too, so that
 * `weft devices` can say why. SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/dl.h"
#include "base/log.h"
#include "base/mem.h"
#include "webgpu/gpu.h"

static const char *const software_names[] = {"llvmpipe", "lavapipe",     "swiftshader",
                                             "softpipe", "basic render", "warp"};

/* Case-insensitive search, ASCII. */
static bool holds(const char *text, const char *part) {
    size_t n = strlen(part);
    for (; *text; text++) {
        size_t i = 0;
        while (i < n && text[i] && (text[i] | 32) == (part[i] | 32)) i++;
        if (i == n) return true;
    }
    return false;
}

bool gpu_feature_allowed(const char *name) {
    const char *list = getenv("WEFT_WEBGPU_FEATURES");
    if (!list) return true;
    while (*list) {
        size_t n = strcspn(list, ",");
        if (n == 4 && !strncmp(list, "none", 4)) return false;
        if (n == strlen(name) + 3 && !strncmp(list, "no-", 3) && !strncmp(list + 3, name, n - 3))
            return false;
        list += n + (list[n] == ',');
    }
    return true;
}

static const char *api_name(WGPUBackendType type) {
    switch (type) {
    case WGPUBackendType_Vulkan: return "Vulkan";
    case WGPUBackendType_Metal: return "Metal";
    case WGPUBackendType_D3D12: return "D3D12";
    case WGPUBackendType_D3D11: return "D3D11";
    case WGPUBackendType_OpenGL:
    case WGPUBackendType_OpenGLES: return "OpenGL";
    default: return "-";
    }
}

static void add_word(char *text, size_t cap, const char *word) {
    size_t n = strlen(text);
    snprintf(text + n, cap - n, "%s%s", n ? " " : "", word);
}

static void describe(const gpu_library *l, WGPUAdapter adapter, weft_device_info *out) {
    const gpu_api *api = &l->api;
    WGPUAdapterInfo info = {0};
    api->AdapterGetInfo(adapter, &info);
    gpu_text_copy(info.device, out->adapter, sizeof out->adapter);
    gpu_text_copy(info.description, out->driver, sizeof out->driver);
    snprintf(out->api, sizeof out->api, "%s", api_name(info.backendType));
    snprintf(out->library, sizeof out->library, "%.200s (%s)", api->path, api->dialect->name);
    bool is_software = info.adapterType == WGPUAdapterType_CPU;
    for (size_t i = 0; i < sizeof software_names / sizeof *software_names; i++)
        is_software = is_software || holds(out->adapter, software_names[i]);
    out->kind = is_software ? WEFT_KIND_SOFTWARE : WEFT_KIND_GPU;
    out->is_discrete = info.adapterType == WGPUAdapterType_DiscreteGPU && !is_software;
    if (info.subgroupMinSize == info.subgroupMaxSize) out->subgroup_size = info.subgroupMaxSize;
    api->AdapterInfoFreeMembers(info);

    WGPULimits limits = {0};
    api->AdapterGetLimits(adapter, &limits);
    out->max_buffer_bytes = limits.maxBufferSize;
    out->max_binding_bytes = limits.maxStorageBufferBindingSize;
    for (const dialect_feature *f = api->dialect->features; f->name; f++) {
        if (api->AdapterHasFeature(adapter, f->feature) && gpu_feature_allowed(f->name))
            add_word(out->features, sizeof out->features, f->name);
    }
    out->is_usable =
        limits.maxStorageBuffersPerShaderStage >= PLAN_MAX_BINDINGS && limits.maxBindGroups >= 2;
    if (!out->is_usable)
        snprintf(out->note, sizeof out->note,
                 "not usable: it allows %u storage buffers in a kernel, weft needs %d",
                 limits.maxStorageBuffersPerShaderStage, PLAN_MAX_BINDINGS);
}

/* Why a library that works found nothing: Linux has one usual suspect. */
static void explain_nothing(const gpu_api *api, char *note, size_t cap) {
    bool has_loader = dl_open("libvulkan.so.1") != NULL;
    const char *drivers = getenv("VK_DRIVER_FILES");
    if (!drivers) drivers = getenv("VK_ICD_FILENAMES");
    if (!has_loader)
        snprintf(note, cap, "no adapter: the Vulkan loader libvulkan.so.1 is not installed");
    else if (drivers)
        snprintf(note, cap,
                 "no adapter: %s accepts none of the Vulkan drivers VK_DRIVER_FILES names (%.120s)",
                 api->dialect->name, drivers);
    else
        snprintf(note, cap,
                 "no adapter: there is a Vulkan loader, but no Vulkan driver that %s accepts",
                 api->dialect->name);
}

static gpu_candidate *add_line(gpu_list *list, const gpu_library *library) {
    if (list->n == GPU_MAX_ADAPTERS) return NULL;
    gpu_candidate *c = &list->items[list->n++];
    memset(c, 0, sizeof *c);
    c->library = library;
    c->info.kind = WEFT_KIND_GPU;
    snprintf(c->info.adapter, sizeof c->info.adapter, "-");
    snprintf(c->info.driver, sizeof c->info.driver, "-");
    snprintf(c->info.api, sizeof c->info.api, "-");
    snprintf(c->info.library, sizeof c->info.library, "%s", library ? library->api.path : "-");
    return c;
}

static void add_library(gpu_list *list, int number) {
    gpu_library *l = &list->libraries[number];
    gpu_candidate *c;
    if (!l->is_usable) {
        c = add_line(list, l);
        if (c) snprintf(c->info.note, sizeof c->info.note, "%s", l->note);
        return;
    }
    double start = clock_seconds();
    WGPUInstance instance = l->api.dialect->new_instance(&l->api);
    list->instances[number] = instance;
    WGPUAdapter adapters[GPU_MAX_ADAPTERS];
    int n = instance ? l->api.dialect->adapters(&l->api, instance, adapters, GPU_MAX_ADAPTERS) : 0;
    log_line(WEFT_LOG_DEBUG, "webgpu: %s lists %d adapter(s) in %.0f ms", l->api.dialect->name, n,
             (clock_seconds() - start) * 1e3);
    for (int i = 0; i < n; i++) {
        c = add_line(list, l);
        if (!c) {
            l->api.AdapterRelease(adapters[i]);
            continue;
        }
        c->instance = instance;
        c->adapter = adapters[i];
        describe(l, adapters[i], &c->info);
    }
    if (n > 0) return;
    c = add_line(list, l);
    if (!c) return;
    if (instance) explain_nothing(&l->api, c->info.note, sizeof c->info.note);
    else snprintf(c->info.note, sizeof c->info.note, "%s makes no instance", l->api.dialect->name);
}

static int score(const gpu_candidate *c) {
    if (!c->info.is_usable) return 1000;
    int kind = c->info.kind == WEFT_KIND_SOFTWARE ? 2 : c->info.is_discrete ? 0 : 1;
    return kind * 10 + c->library->api.dialect->rank;
}

gpu_list *gpu_list_new(void) {
    gpu_list *list = mem_alloc(sizeof *list);
    if (!list) return NULL;
    list->n_libraries = loader_find(list->libraries);
    for (int i = 0; i < list->n_libraries; i++) add_library(list, i);
    if (list->n == 0) {
        gpu_candidate *c = add_line(list, NULL);
        loader_missing(c->info.note, sizeof c->info.note);
    }
    for (int i = 1; i < list->n; i++) {
        for (int j = i; j > 0 && score(&list->items[j]) < score(&list->items[j - 1]); j--) {
            gpu_candidate t = list->items[j];
            list->items[j] = list->items[j - 1];
            list->items[j - 1] = t;
        }
    }
    for (int i = 0; i < list->n; i++) {
        weft_device_info *info = &list->items[i].info;
        snprintf(info->name, sizeof info->name, "webgpu:%d", i % GPU_MAX_ADAPTERS);
        log_line(WEFT_LOG_DEBUG, "%s: %s, %s, %s%s%s", info->name, info->adapter, info->driver,
                 info->library, info->note[0] ? ": " : "", info->note);
    }
    return list;
}

void gpu_list_free(gpu_list *list) {
    if (!list) return;
    for (int i = 0; i < list->n; i++) {
        gpu_candidate *c = &list->items[i];
        if (c->adapter) c->library->api.AdapterRelease(c->adapter);
    }
    for (int i = 0; i < list->n_libraries; i++) {
        if (list->instances[i]) list->libraries[i].api.InstanceRelease(list->instances[i]);
    }
    mem_free(list);
}

weft_status gpu_list_choose(const gpu_list *list, int index, int *chosen) {
    REQUIRE(index < list->n, WEFT_NO_DEVICE,
            "there is no device webgpu:%d: the list ends at webgpu:%d", index, list->n - 1);
    if (index >= 0) {
        const weft_device_info *info = &list->items[index].info;
        REQUIRE(info->is_usable, WEFT_NO_DEVICE, "%s: %s", info->name, info->note);
        *chosen = index;
        return WEFT_OK;
    }
    const weft_device_info *best = &list->items[0].info;
    REQUIRE(best->is_usable, WEFT_NO_DEVICE, "no WebGPU device: %s", best->note);
    *chosen = 0;
    if (best->kind == WEFT_KIND_SOFTWARE)
        log_line(WEFT_LOG_WARN, "webgpu: %s is a software adapter, taken because there is no GPU",
                 best->adapter);
    return WEFT_OK;
}
