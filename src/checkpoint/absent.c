/* In the place of all other files of this folder where weft is built without jansson: models are
 * GGUF files then. SPDX-License-Identifier: MIT */
#include "checkpoint/checkpoint.h"

static weft_status refuse(void) {
    return error_set(WEFT_UNSUPPORTED,
                     "this weft was built without jansson, which the folders of models need");
}

weft_status checkpoint_open(const char *folder, char *tokenizer_problem, gguf_file **out) {
    (void)folder;
    tokenizer_problem[0] = 0;
    *out = NULL;
    return refuse();
}

weft_status checkpoint_open_path(const char *path, char *tokenizer_problem, gguf_file **out) {
    if (file_is_folder(path)) return checkpoint_open(path, tokenizer_problem, out);
    tokenizer_problem[0] = 0;
    return gguf_open(path, out);
}

weft_status checkpoint_open_vocabulary(const char *path, char *tokenizer_problem, gguf_file **out) {
    return checkpoint_open_path(path, tokenizer_problem, out);
}

weft_status checkpoint_open_tokenizer(const char *folder, size_t n_vocab, tokenizer **out) {
    (void)folder;
    (void)n_vocab;
    *out = NULL;
    return refuse();
}
