/* Dynamic libraries, opened RTLD_NOW | RTLD_LOCAL and never closed (GPU drivers leave threads and
 * exit handlers behind). SPDX-License-Identifier: MIT */
#ifndef WEFT_BASE_DL_H
#define WEFT_BASE_DL_H

#include <stddef.h>

#include "base/error.h"

/* NULL and a message that names the library and the loader's reason. */
void *dl_open(const char *path);
/* "libNAME.so", as this system spells it, into out[0..cap). */
void dl_name(const char *name, char *out, size_t cap);
/* NULL when the library does not export it (no message). */
void *dl_find(void *library, const char *symbol);

#endif
