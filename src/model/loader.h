/* What the two halves of loading share: load.c finds and checks tensors, place.c puts them on the
 * device.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_MODEL_LOADER_H
#define WEFT_MODEL_LOADER_H

#include "model/model.h"

typedef struct loader {
    model *m;
    const gguf_file *file;
    bool copies;    /* the device does not use the map */
    size_t n_found; /* tensors of the file that are used */
    uint64_t done, total;
    model_progress on_progress;
    void *user;
} loader;

/* A tensor of its own: in place, copied, or (vectors) converted to f32. The model owns it. */
weft_status loader_put(loader *l, const gguf_tensor *t, weft_tensor **out);
/* YaRN's factors, which no file has. */
weft_status loader_put_yarn(loader *l, weft_tensor **out);
/* run->count siblings t[0..) of one format as one matrix, with their biases (each may be NULL). */
weft_status loader_put_run(loader *l, const gguf_tensor *const *t, const gguf_tensor *const *bias,
                           model_run *run);

#endif
