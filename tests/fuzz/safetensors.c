/* libFuzzer target: any bytes as a safetensors file; every tensor and every byte of it is read.
 * SPDX-License-Identifier: MIT */
#include "gguf/safetensors.h"

#include "lib/fuzz.h"

static void walk(const safetensors *s, const fuzz_input *in) {
    uint64_t total = 0;
    unsigned sum = 0;
    for (size_t i = 0; i < safetensors_count(s); i++) {
        const safetensors_tensor *t = safetensors_at(s, i);
        fuzz_require(safetensors_find(s, t->name) == t, "a tensor is not found by its name");
        fuzz_require(t->rank >= 0 && t->rank <= SAFETENSORS_MAX_RANK, "a rank is out of range");
        fuzz_require(t->bytes <= in->n, "a tensor is larger than the file");
        for (size_t k = 0; k < t->bytes; k++) sum += t->data[k];
        total += t->bytes;
    }
    volatile unsigned seen = sum; /* so that the reads stay */
    (void)seen;
    fuzz_require(total <= in->n, "the tensors are larger than the file");
    fuzz_require(!safetensors_at(s, safetensors_count(s)), "there is a tensor past the last");
    safetensors_metadata(s, "format");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    fuzz_input in = fuzz_begin_bytes(data, n);
    safetensors *s;
    fuzz_arm(&in);
    weft_status status = safetensors_open_memory(in.data, in.n, &s);
    if (fuzz_status(status, fuzz_disarm(&in), FUZZ_FILE)) walk(s, &in);
    else fuzz_require(!s, "a file that failed is there");
    safetensors_close(s);
    fuzz_end(&in);
    return 0;
}
