/* See use_model.c. SPDX-License-Identifier: MIT */
#ifndef WEFT_FUZZ_USE_MODEL_H
#define WEFT_FUZZ_USE_MODEL_H

#include "lib/fuzz.h"

/* Whether the model loads; `out` is a path to write to. */
bool fuzz_use_model(const fuzz_input *in, const char *path, const char *out);

#endif
