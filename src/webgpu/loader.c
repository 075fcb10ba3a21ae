/* Finding, recognising and filling WebGPU libraries.
 *
 * The current interface exports wgpuComputePassEncoderSetImmediates; a library without it speaks
 * an older one, whose first call would crash, so it is refused unasked. What a library is beyond
 * that (its dialect) is told by symbols only that one exports. Libraries are never closed:
 * drivers leave threads and exit handlers behind. SPDX-License-Identifier: MIT */
#include "webgpu/loader.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/dl.h"
#include "base/log.h"
#include "webgpu/dialect.h"

static const char *const names[] = {"webgpu_dawn", "wgpu_native", "webgpu"};
enum { N_NAMES = 3 };

static weft_status recognise(void *library, const char *path, gpu_api *out) {
    REQUIRE(dl_find(library, "wgpuCreateInstance"), WEFT_NO_DEVICE,
            "%s is no WebGPU library: it does not export wgpuCreateInstance", path);
    REQUIRE(dl_find(library, "wgpuComputePassEncoderSetImmediates"), WEFT_NO_DEVICE,
            "%s speaks an older WebGPU interface (it does not export "
            "wgpuComputePassEncoderSetImmediates); weft needs the one of webgpu.h of 2026",
            path);
    memset(out, 0, sizeof *out);
    out->library = library;
    snprintf(out->path, sizeof out->path, "%s", path);
    const char *missing = NULL;
#define WEBGPU_FN(name)                                                                            \
    *(void **)&out->name = dl_find(library, "wgpu" #name);                                         \
    if (!out->name && !missing) missing = "wgpu" #name;
#include "webgpu/api.def"
#undef WEBGPU_FN
    REQUIRE(!missing, WEFT_NO_DEVICE, "%s is incomplete: it does not export %s", path, missing);
    for (int i = 0; dialects[i]; i++) {
        if (!dialects[i]->recognises(library)) continue;
        out->dialect = dialects[i];
        break;
    }
    return WEFT_OK;
}

weft_status loader_open(const char *path, gpu_api *out) {
    void *library = dl_open(path);
    if (!library) return WEFT_NO_DEVICE;
    return recognise(library, path, out);
}

/* Adds a library unless it is there already under another path. */
static int add(gpu_library *out, int n, const char *path) {
    if (n == LOADER_MAX) return n;
    gpu_library *l = &out[n];
    memset(l, 0, sizeof *l);
    snprintf(l->api.path, sizeof l->api.path, "%s", path);
    l->is_usable = loader_open(path, &l->api) == WEFT_OK;
    for (int i = 0; i < n; i++) {
        if (l->is_usable && out[i].is_usable && out[i].api.library == l->api.library) return n;
    }
    if (l->is_usable) {
        log_line(WEFT_LOG_DEBUG, "webgpu: %s is %s", path, l->api.dialect->name);
    } else {
        snprintf(l->note, sizeof l->note, "%s", error_message());
        log_line(WEFT_LOG_DEBUG, "webgpu: %s", l->note);
    }
    return n + 1;
}

/* The same, but a library that cannot be opened at all is no entry: it is one of several places
 * to look. */
static int try(gpu_library *out, int n, const char *path) {
    int more = add(out, n, path);
    bool is_absent = more > n && !out[n].is_usable && !out[n].api.library &&
                     !strncmp(out[n].note, "cannot open", 11);
    return is_absent ? n : more;
}

static bool cache_folder(char *out, size_t cap) {
    const char *cache = getenv("WEFT_CACHE"), *home = getenv("HOME");
    if (cache && cache[0]) snprintf(out, cap, "%s/lib", cache);
    else if (home && home[0]) snprintf(out, cap, "%s/.cache/weft/lib", home);
    else return false;
    return true;
}

static bool exists(const char *path) {
    FILE *f = fopen(path, "rb");
    if (f) fclose(f);
    return f != NULL;
}

/* Dawn before wgpu-native before others, whatever order they were named in. */
static void sort(gpu_library *list, int n) {
    for (int i = 1; i < n; i++) {
        for (int j = i; j > 0 && list[j].is_usable; j--) {
            bool before =
                !list[j - 1].is_usable || list[j].api.dialect->rank < list[j - 1].api.dialect->rank;
            if (!before) break;
            gpu_library t = list[j];
            list[j] = list[j - 1];
            list[j - 1] = t;
        }
    }
}

int loader_find(gpu_library out[LOADER_MAX]) {
    int n = 0;
    char folder[200], file[64], path[280];
    const char *wanted = getenv("WEFT_WEBGPU_LIB");
    if (wanted && wanted[0]) {
        while (*wanted) {
            size_t length = strcspn(wanted, ":");
            snprintf(path, sizeof path, "%.*s", (int)(length < 250 ? length : 250), wanted);
            if (length) n = add(out, n, path);
            wanted += length + (wanted[length] == ':');
        }
        sort(out, n);
        return n;
    }
    bool has_folder = cache_folder(folder, sizeof folder);
    for (int i = 0; i < N_NAMES && has_folder; i++) {
        dl_name(names[i], file, sizeof file);
        snprintf(path, sizeof path, "%s/%s", folder, file);
        if (exists(path)) n = add(out, n, path);
    }
    for (int i = 0; i < N_NAMES; i++) {
        dl_name(names[i], file, sizeof file);
        n = try(out, n, file);
    }
    sort(out, n);
    return n;
}

void loader_missing(char *text, size_t cap) {
    char folder[200], file[64];
    if (!cache_folder(folder, sizeof folder)) snprintf(folder, sizeof folder, "~/.cache/weft/lib");
    dl_name(names[0], file, sizeof file);
    snprintf(text, cap,
             "no WebGPU library was found: %s or libwgpu_native is looked for in %s and in the "
             "system (tools/setup.sh webgpu fetches both; WEFT_WEBGPU_LIB names another)",
             file, folder);
}
