/* The WebGPU libraries found at run time, each behind a table of function pointers, so that
 * several may be open in one process. A library is recognised by what it exports before anything
 * of it is called. SPDX-License-Identifier: MIT */
#ifndef WEFT_WEBGPU_LOADER_H
#define WEFT_WEBGPU_LOADER_H

#include <webgpu.h>

#include "base/error.h"

typedef struct gpu_api {
    void *library;
    char path[256];
    const struct dialect *dialect;
#define WEBGPU_FN(name) WGPUProc##name name;
#include "webgpu/api.def"
#undef WEBGPU_FN
} gpu_api;

typedef struct gpu_library {
    gpu_api api;
    bool is_usable;
    char note[256]; /* why it is refused */
} gpu_library;

enum { LOADER_MAX = 8 };

/* Opens every library there is, Dawn first: those WEFT_WEBGPU_LIB names (a colon-separated list,
 * then no others are tried), else those in $WEFT_CACHE/lib (default ~/.cache/weft/lib), else the
 * system's. Fills out[] with usable and refused ones, and returns how many. Nothing found is 0,
 * and loader_missing() says where it looked. */
int loader_find(gpu_library out[LOADER_MAX]);
/* Recognises and fills one library; WEFT_NO_DEVICE and a sentence when it is refused. */
weft_status loader_open(const char *path, gpu_api *out);
/* "no WebGPU library: looked for ... in ..." */
void loader_missing(char *text, size_t cap);

#endif
