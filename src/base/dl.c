/* See dl.h. SPDX-License-Identifier: MIT */
#include "base/dl.h"

#include <dlfcn.h>

void *dl_open(const char *path) {
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        const char *why = dlerror();
        error_set(WEFT_NO_DEVICE, "cannot open library %s: %s", path,
                  why ? why : "no reason given");
    }
    return library;
}

void *dl_find(void *library, const char *symbol) { return dlsym(library, symbol); }
