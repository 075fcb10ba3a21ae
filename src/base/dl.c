/* See dl.h. SPDX-License-Identifier: MIT */
#include "base/dl.h"

#include <dlfcn.h>
#include <stdio.h>

void *dl_open(const char *path) {
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        const char *why = dlerror();
        error_set(WEFT_NO_DEVICE, "cannot open library %s: %s", path,
                  why ? why : "no reason given");
    }
    return library;
}

void dl_name(const char *name, char *out, size_t cap) { snprintf(out, cap, "lib%s.so", name); }

void *dl_find(void *library, const char *symbol) { return dlsym(library, symbol); }
