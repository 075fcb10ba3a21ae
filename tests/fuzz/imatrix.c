/* libFuzzer target: any bytes as an importance matrix, of either kind; all values are read.
 * SPDX-License-Identifier: MIT */
#include "gguf/imatrix.h"

#include <math.h>

#include "lib/fuzz.h"

static void walk(const imatrix *m) {
    fuzz_require(imatrix_count(m) > 0 && !imatrix_at(m, imatrix_count(m)), "wrong count");
    for (size_t i = 0; i < imatrix_count(m); i++) {
        const imatrix_entry *e = imatrix_at(m, i);
        fuzz_require(imatrix_find(m, e->name, strlen(e->name)) == e, "an entry is not found");
        for (size_t k = 0; k < e->n; k++)
            fuzz_require(e->values[k] >= 0 && isfinite(e->values[k]), "a value is out of range");
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    fuzz_input in = fuzz_begin_bytes(data, n);
    imatrix *m;
    fuzz_arm(&in);
    weft_status status = imatrix_open_memory(in.data, in.n, &m);
    if (fuzz_status(status, fuzz_disarm(&in), FUZZ_FILE)) walk(m);
    else fuzz_require(!m, "a matrix that failed is there");
    imatrix_close(m);
    fuzz_end(&in);
    return 0;
}
