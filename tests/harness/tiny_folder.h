/* Tiny Hugging Face folders made on the spot: the models of tests/golden/checkpoint.txt, whose
 * weights are a formula, and what `transformers` answers for them.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_TINY_FOLDER_H
#define WEFT_TINY_FOLDER_H

#include "base/str.h"
#include "harness.h"

enum { FOLDER_VOCAB = 272, FOLDER_PROMPT = 48, FOLDER_ANSWER = 12, FOLDER_POSITIONS = 3 };
enum { FOLDER_STEP = 8, FOLDER_SHOWN = FOLDER_VOCAB / FOLDER_STEP, FOLDER_MOST_TENSORS = 96 };

typedef struct tiny_folder {
    char name[32], dtype[16], config[1024];
    int n_shards, n_tensors;
    struct {
        char name[80];
        int64_t rows, columns; /* rows 0: a vector */
    } tensor[FOLDER_MOST_TENSORS];
    int32_t prompt[FOLDER_PROMPT], answer[FOLDER_ANSWER];
    int position[FOLDER_POSITIONS];
    float logits[FOLDER_POSITIONS][FOLDER_SHOWN]; /* every FOLDER_STEP-th of the vocabulary */
    /* What is wrong with the folder that is written; all-zero is nothing. */
    const char *skip;             /* a tensor or file to leave out */
    const char *extra;            /* a tensor nobody knows, of four elements */
    const char *widen;            /* a tensor that gets one row more */
    const char *type;             /* what the files call every tensor's type */
    const char *index;            /* the index file's whole text */
    const char *generation;       /* generation_config.json's whole text; NULL: no such file */
    const char *template;         /* chat_template.jinja's; NULL: no such file */
    const char *tokenizer_config; /* tokenizer_config.json's; NULL: as usual */
    bool is_off_by_one;           /* data at odd addresses */
    bool has_tied_output;         /* lm_head.weight, the embedding's copy */
    bool has_other_output;        /* lm_head.weight, another */
} tiny_folder;

/* Reads the model of that name; the caller frees it. */
tiny_folder *tiny_folder_read(const char *name);
/* The i-th name, NULL past the end. */
const char *tiny_folder_name(int i);
/* Replaces `from` in config.json, which must be there, by `to`. */
void tiny_folder_change(tiny_folder *f, const char *from, const char *to);
/* Writes the folder, the same for each call, and gives its path; removed at exit. */
const char *tiny_folder_write(const tiny_folder *f);
/* Writes into a folder of the caller's, which is there. */
void tiny_folder_write_into(const tiny_folder *f, const char *path);

#endif
