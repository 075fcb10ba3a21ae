/* weft_quantize: a model in, the same one in other formats out (rewrite.c), laid out by a mix
 * (mixes.c).
 * SPDX-License-Identifier: MIT */
#include <string.h>

#include "base/mem.h"
#include "base/parallel.h"
#include "checkpoint/checkpoint.h"
#include "llm/mixes.h"
#include "llm/rewrite.h"
#include "weft/llm.h"

typedef struct job {
    weft_quantize_desc desc;
    int mix;
    gguf_file *in;
    imatrix *importance;
    weft_dtype *types;
    rewrite rewrite;
} job;

static weft_status write_metadata(job *j) {
    gguf_writer *w = j->rewrite.out;
    TRY(rewrite_metadata(&j->rewrite, mix_file_type(j->mix)));
    if (!j->importance) return WEFT_OK;
    uint32_t n = (uint32_t)imatrix_count(j->importance);
    TRY(gguf_writer_set_string(w, "quantize.imatrix.file", j->desc.imatrix,
                               strlen(j->desc.imatrix)));
    return gguf_writer_set_u32(w, "quantize.imatrix.entries_count", n);
}

static weft_status open_input(job *j, const char *in) {
    char problem[CHECKPOINT_PROBLEM];
    TRY(checkpoint_open_path(in, problem, &j->in));
    REQUIRE(!problem[0], WEFT_UNSUPPORTED, "%s", problem);
    if (j->desc.imatrix) TRY(imatrix_open(j->desc.imatrix, &j->importance));
    return WEFT_OK;
}

static weft_status run(job *j, const char *in, const char *out) {
    TRY(open_input(j, in));
    j->types = mem_array(gguf_n_tensors(j->in), sizeof *j->types);
    if (!j->types) return WEFT_NO_MEMORY;
    mix_request request = {j->mix, j->desc.is_pure, j->importance != NULL, j->desc.output_type};
    TRY(mix_plan(j->in, request, j->types));
    if (file_is_folder(in)) mix_widen_rest(j->in, j->types);
    int n_threads = j->desc.n_threads > 0 ? j->desc.n_threads : parallel_cores();
    j->rewrite = (rewrite){.in = j->in,
                           .types = j->types,
                           .importance = j->importance,
                           .n_threads = n_threads,
                           .on_progress = j->desc.on_progress,
                           .user = j->desc.user};
    TRY(gguf_writer_new(0, &j->rewrite.out));
    TRY(write_metadata(j));
    return rewrite_run(&j->rewrite, out);
}

weft_status weft_quantize(const char *in, const char *out, weft_quantize_desc desc) {
    REQUIRE(in && out && desc.type, WEFT_INVALID, "input, output and type must be given");
    job j = {.desc = desc, .mix = mix_find(desc.type)};
    REQUIRE(j.mix >= 0, WEFT_INVALID, "'%s' is no type of quantisation", desc.type);
    weft_status status = run(&j, in, out);
    gguf_writer_free(j.rewrite.out);
    imatrix_close(j.importance);
    gguf_close(j.in);
    mem_free(j.types);
    return status;
}

const char *weft_quantize_type(size_t i) { return mix_name(i); }
