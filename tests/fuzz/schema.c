/* libFuzzer target: any bytes as a JSON Schema; what opens is followed, along the text after a line
 * "====" and along what the masks allow. A text that ended is JSON.
 * SPDX-License-Identifier: MIT */
#include "lib/fuzz.h"

#ifdef WEFT_HAVE_JANSSON
#include <jansson.h>

static void check_json(const char *text, size_t n) {
    json_t *value =
        json_loadb(text, n, JSON_DECODE_ANY | JSON_DECODE_INT_AS_REAL | JSON_ALLOW_NUL, NULL);
    fuzz_require(value, "a text of a schema is no JSON");
    json_decref(value);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    fuzz_followed followed = {0};
    fuzz_input in = fuzz_begin(data, n);
    fuzz_text text = {in.data, in.n}, source = fuzz_cut(&text);
    grammar *g = NULL;
    fuzz_arm(&in);
    weft_status status = grammar_open_json_schema(source.data, source.n, &g);
    if (fuzz_status(status, fuzz_disarm(&in), FUZZ_FILE)) fuzz_follow(g, &in, text, &followed);
    else fuzz_require(!g, "a grammar that failed is there");
    if (followed.has_ended) check_json(followed.made, followed.n_made);
    if (followed.is_known && followed.fits) check_json(text.data, text.n);
    grammar_close(g);
    fuzz_end(&in);
    return 0;
}
#else
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    (void)data;
    (void)n;
    return 0;
}
#endif
