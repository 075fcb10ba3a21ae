/* weft_convert: a Hugging Face folder in, a GGUF file out (rewrite.c). Quantising is
 * weft_quantize's business: here are only the formats in which nothing is chosen.
 * SPDX-License-Identifier: MIT */
#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "base/parallel.h"
#include "checkpoint/checkpoint.h"
#include "llm/mixes.h"
#include "llm/rewrite.h"
#include "weft/llm.h"

static const char *const types[] = {
    "auto",
#define WEFT_MIX_CONVERT(name) #name,
#include "llm/mixes.def"
};

enum { N_TYPES = sizeof types / sizeof *types, AUTO = 0 };

const char *weft_convert_type(size_t i) { return i < N_TYPES ? types[i] : NULL; }

/* -1: there is none of that name. */
static int find_type(const char *name) {
    for (int i = 0; i < N_TYPES; i++)
        if (!name || !strcasecmp(types[i], name)) return i;
    return -1;
}

/* Every tensor as it is stored; the file's type is that of most of its weights. */
static uint32_t keep_types(const gguf_file *f, weft_dtype *out) {
    uint64_t bytes[WEFT_DTYPE_NUMBERS] = {0};
    int most = 0;
    for (size_t i = 0; i < gguf_n_tensors(f); i++) {
        const gguf_tensor *t = gguf_tensor_at(f, i);
        out[i] = t->dtype;
        bytes[t->dtype] += t->bytes;
    }
    for (int d = 0; d < WEFT_DTYPE_NUMBERS; d++)
        if (bytes[d] > bytes[most]) most = d;
    return mix_file_type(mix_find(weft_dtype_name((weft_dtype)most)));
}

static weft_status plan(const gguf_file *f, int type, weft_dtype *out, uint32_t *file_type) {
    if (type == AUTO) {
        *file_type = keep_types(f, out);
    } else {
        mix_request request = {.mix = mix_find(types[type])};
        *file_type = mix_file_type(request.mix);
        TRY(mix_plan(f, request, out));
    }
    mix_widen_rest(f, out);
    return WEFT_OK;
}

static weft_status run(rewrite *r, gguf_file *in, int type, weft_dtype *out_types,
                       const char *path) {
    uint32_t file_type;
    TRY(plan(in, type, out_types, &file_type));
    TRY(gguf_writer_new(0, &r->out));
    TRY(rewrite_metadata(r, file_type));
    return rewrite_run(r, path);
}

weft_status weft_convert(const char *folder, const char *out, weft_convert_desc desc) {
    REQUIRE(folder && out, WEFT_INVALID, "folder and output must be given");
    int type = find_type(desc.type);
    REQUIRE(type >= 0, WEFT_INVALID, "'%s' is no type to convert to (weft_convert_type lists them)",
            desc.type);
    REQUIRE(file_is_folder(folder), WEFT_INVALID, "%s is no folder", folder);
    char problem[CHECKPOINT_PROBLEM];
    gguf_file *in;
    TRY(checkpoint_open_path(folder, problem, &in));
    weft_status status =
        problem[0] ? error_set(WEFT_UNSUPPORTED, "%s: %s", folder, problem) : WEFT_OK;
    weft_dtype *out_types = mem_array(gguf_n_tensors(in), sizeof *out_types);
    int n_threads = desc.n_threads > 0 ? desc.n_threads : parallel_cores();
    rewrite r = {.in = in,
                 .types = out_types,
                 .n_threads = n_threads,
                 .on_progress = desc.on_progress,
                 .user = desc.user};
    if (!out_types) status = WEFT_NO_MEMORY;
    if (status == WEFT_OK) status = run(&r, in, type, out_types, out);
    gguf_writer_free(r.out);
    mem_free(out_types);
    gguf_close(in);
    return status;
}
