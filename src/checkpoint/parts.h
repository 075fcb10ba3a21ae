/* What the files of this folder share. SPDX-License-Identifier: MIT */
#ifndef WEFT_CHECKPOINT_PARTS_H
#define WEFT_CHECKPOINT_PARTS_H

#include "base/mem.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/config.h"
#include "gguf/gguf_write.h"
#include "gguf/safetensors.h"

/* What an open folder keeps for its gguf_file. */
typedef struct checkpoint {
    config config;
    safetensors *weights;
    mem_arena arena; /* names, rows, small tensors */
    str metadata;    /* the header of a GGUF file without tensors */
} checkpoint;

/* FOLDER/NAME, appended to an empty `out`. */
weft_status checkpoint_path(const char *folder, const char *name, str *out);

/* vocabulary.c: a JSON file of the folder; *out is NULL where there is no such file. */
weft_status checkpoint_read_json(const char *folder, const char *name, conf_value **out);

/* weights.c: opens model.safetensors, or the files that the index names. */
weft_status checkpoint_open_weights(const char *folder, safetensors **out);

/* metadata.c: the architecture's keys. */
weft_status checkpoint_put_sizes(const checkpoint *c, const char *folder, gguf_writer *w);
/* vocabulary.c: those of the tokenizer (`problem` as in checkpoint_open) and the chat templates. */
weft_status checkpoint_put_tokenizer(const char *folder, size_t n_vocab, gguf_writer *w,
                                     char *problem);
weft_status checkpoint_put_templates(const char *folder, gguf_writer *w);
/* sampling.c: what generation_config.json recommends. */
weft_status checkpoint_put_sampling(const char *folder, gguf_writer *w);

/* tensors.c: whether the embedding has the shape that config.json claims, so that a vocabulary is
 * not filled up to a size that is only claimed. */
weft_status checkpoint_check_embedding(const checkpoint *c);
/* Adds every tensor of the model to the file; all of the folder's must be used. */
weft_status checkpoint_add_tensors(checkpoint *c, gguf_file *f);

#endif
