/* libFuzzer target: a Hugging Face folder, used as a model and converted. Between lines "====" are
 * config.json, tokenizer.json, tokenizer_config.json, generation_config.json, the weights' index
 * (model.safetensors.index.json) and the weights, as text (lib/bytes.h); what is empty is no file.
 * With an index the weights are in a.safetensors, which it may name.
 * SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <unistd.h>

#include "lib/bytes.h"
#include "lib/use_model.h"
#include "weft/llm.h"

static const char *const names[] = {
    "config.json",
    "tokenizer.json",
    "tokenizer_config.json",
    "generation_config.json",
    "model.safetensors.index.json",
    "model.safetensors",
    "a.safetensors",
    "out.gguf",
};
enum { N_NAMES = sizeof names / sizeof *names, INDEX = 4, ONE = 5, PART = 6, OUT = 7 };

static char folder[] = "/tmp/weft-fuzz-XXXXXX", paths[N_NAMES][80];
static bool is_made;

static void remove_files(void) {
    for (int i = 0; i < N_NAMES; i++) unlink(paths[i]);
    rmdir(folder);
}

static bool make_folder(void) {
    if (is_made || !mkdtemp(folder)) return is_made;
    for (int i = 0; i < N_NAMES; i++)
        snprintf(paths[i], sizeof paths[i], "%s/%s", folder, names[i]);
    atexit(remove_files);
    is_made = true;
    return true;
}

static void write_file(int name, const char *data, size_t n) {
    unlink(paths[name]);
    FILE *file = n ? fopen(paths[name], "wb") : NULL;
    if (!file) return;
    fwrite(data, 1, n, file);
    fclose(file);
}

static void write_folder(fuzz_text text) {
    bool has_index = false;
    for (int i = 0; i <= INDEX; i++) {
        fuzz_text part = fuzz_cut(&text);
        write_file(i, part.data, part.n);
        has_index = i == INDEX && part.n;
    }
    size_t n = 0;
    char *weights = bytes_read(text.data, text.n, &n);
    write_file(ONE, weights, has_index || !weights ? 0 : n);
    write_file(PART, weights, has_index && weights ? n : 0);
    free(weights);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    fuzz_input in = fuzz_begin(data, n);
    if (make_folder()) {
        write_folder((fuzz_text){in.data, in.n});
        if (fuzz_use_model(&in, folder, paths[OUT])) {
            fuzz_arm(&in);
            weft_status status =
                weft_convert(folder, paths[OUT], (weft_convert_desc){.n_threads = 1});
            bool has_failed = fuzz_disarm(&in);
            fuzz_status(status, has_failed, FUZZ_FILE);
        }
    }
    fuzz_end(&in);
    return 0;
}
