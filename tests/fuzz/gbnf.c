/* libFuzzer target: any bytes as a grammar in GBNF; what opens is followed, along the text after a
 * line "====" and along what the masks allow. SPDX-License-Identifier: MIT */
#include "lib/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    fuzz_followed followed = {0};
    fuzz_input in = fuzz_begin(data, n);
    fuzz_text text = {in.data, in.n}, source = fuzz_cut(&text);
    grammar *g = NULL;
    fuzz_arm(&in);
    weft_status status = grammar_open_gbnf(source.data, source.n, &g);
    if (fuzz_status(status, fuzz_disarm(&in), FUZZ_FILE)) fuzz_follow(g, &in, text, &followed);
    else fuzz_require(!g, "a grammar that failed is there");
    grammar_close(g);
    fuzz_end(&in);
    return 0;
}
