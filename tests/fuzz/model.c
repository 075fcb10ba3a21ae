/* libFuzzer target: any bytes as the file of a whole model (as text too: lib/bytes.h), used through
 * the public functions. What the gguf target sees refused is here too, but most of the time goes
 * into models that run. SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <unistd.h>

#include "lib/use_model.h"

static char path[] = "/tmp/weft-fuzz-XXXXXX", quantized[sizeof path + 2];
static int file = -1;

static void remove_files(void) {
    unlink(path);
    unlink(quantized);
}

static bool write_file(const fuzz_input *in) {
    if (file < 0) {
        file = mkstemp(path);
        snprintf(quantized, sizeof quantized, "%s.q", path);
        if (file >= 0) atexit(remove_files);
    }
    return file >= 0 && !ftruncate(file, 0) && pwrite(file, in->data, in->n, 0) == (ssize_t)in->n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    fuzz_input in = fuzz_begin_bytes(data, n);
    if (write_file(&in)) fuzz_use_model(&in, path, quantized);
    fuzz_end(&in);
    return 0;
}
