/* A library of which only the current webgpu.h can be told: it passes every call on to the
 * library WEFT_TEST_REAL_LIB names, and exports none of that one's own functions. Each function
 * jumps, so that arguments and results pass untouched whatever they are.
 * SPDX-License-Identifier: MIT */
#include <dlfcn.h>
#include <stdlib.h>

#define EXPORT __attribute__((visibility("default")))

#ifdef __x86_64__
#define JUMP(name) __asm__("jmp *real_" #name "(%rip)")

#define WEBGPU_FN(name)                                                                            \
    __attribute__((visibility("hidden"), used)) void *real_##name;                                 \
    EXPORT __attribute__((naked)) void wgpu##name(void);                                           \
    void wgpu##name(void) { JUMP(name); }
#include "webgpu/api.def"
WEBGPU_FN(ComputePassEncoderSetImmediates)
#undef WEBGPU_FN

__attribute__((constructor)) static void find(void) {
    const char *path = getenv("WEFT_TEST_REAL_LIB");
    void *library = path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
    if (!library) return;
#define WEBGPU_FN(name) real_##name = dlsym(library, "wgpu" #name);
#include "webgpu/api.def"
    WEBGPU_FN(ComputePassEncoderSetImmediates)
#undef WEBGPU_FN
}
#endif

EXPORT int plain_library(void);
int plain_library(void) { return 1; }
