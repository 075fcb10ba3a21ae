/* See fuzz.h. SPDX-License-Identifier: MIT */
#include "lib/fuzz.h"

#include <stdio.h>

#include "base/mem.h"
#include "base/utf8.h"
#include "lib/bytes.h"

bool fuzz_talks;

fuzz_input fuzz_begin(const uint8_t *data, size_t n) {
    fuzz_input in = {.n = n ? n - 1 : 0, .state = UINT64_C(0xCBF29CE484222325)};
    in.data = malloc(in.n ? in.n : 1);
    fuzz_require(in.data, "the input cannot be copied");
    if (in.n) memcpy(in.data, data, in.n);
    unsigned last = n ? data[n - 1] : 0, k = last < '0' ? 0 : last - '0' + 1;
    in.fails_at = k <= 64 ? k : 64 + (k - 64) * (k - 64);
    for (size_t i = 0; i < n; i++) in.state = (in.state ^ data[i]) * UINT64_C(0x100000001B3);
    return in;
}

fuzz_input fuzz_begin_bytes(const uint8_t *data, size_t n) {
    fuzz_input in = fuzz_begin(data, n);
    if (!in.n || in.data[0] != '#') return in;
    size_t n_bytes;
    char *bytes = bytes_read(in.data, in.n, &n_bytes),
         *exact = malloc(bytes && n_bytes ? n_bytes : 1);
    fuzz_require(exact, "the input cannot be copied");
    if (bytes && n_bytes) memcpy(exact, bytes, n_bytes);
    free(bytes);
    fuzz_end(&in);
    in.data = exact;
    in.n = bytes ? n_bytes : 0;
    return in;
}

void fuzz_end(fuzz_input *in) { free(in->data); }

fuzz_text fuzz_cut(fuzz_text *text) {
    static const char line[] = "\n====\n";
    fuzz_text before = *text;
    bool is_first = text->n >= sizeof line - 2 && !memcmp(text->data, line + 1, sizeof line - 2);
    const char *at = text->n ? memmem(text->data, text->n, line, sizeof line - 1) : NULL;
    *text = (fuzz_text){"", 0};
    if (!at && !is_first) return before;
    size_t n = is_first ? 0 : (size_t)(at - before.data),
           skipped = is_first ? sizeof line - 2 : n + sizeof line - 1;
    *text = (fuzz_text){before.data + skipped, before.n - skipped};
    before.n = n;
    return before;
}

size_t fuzz_below(fuzz_input *in, size_t n) {
    in->state = in->state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (size_t)((in->state >> 33) % (n ? n : 1));
}

void fuzz_arm(const fuzz_input *in) { mem_fail_at(in->fails_at); }

bool fuzz_disarm(const fuzz_input *in) {
    uint64_t made = mem_fail_at(0);
    return in->fails_at && made >= in->fails_at;
}

void fuzz_require(bool holds, const char *sentence) {
    if (holds) return;
    fprintf(stderr, "fuzz: %s (last message: %s)\n", sentence, error_message());
    abort();
}

bool fuzz_status(weft_status status, bool has_failed, unsigned allowed) {
    fuzz_require(!has_failed || status == WEFT_NO_MEMORY,
                 "an allocation failed and the call did not say so");
    if (status == WEFT_OK) return true;
    const char *message = error_message();
    if (fuzz_talks && status != WEFT_INVALID) printf("  %s\n", message);
    size_t n = strlen(message);
    fuzz_require(n > 0, "a failure has no message");
    fuzz_require(utf8_complete(message, n) == n, "a message ends inside a character");
    for (size_t i = 0; i < n; i++)
        fuzz_require((unsigned char)message[i] >= ' ' || message[i] == '\n' || message[i] == '\t',
                     "a message has a control character");
    if (status == WEFT_NO_MEMORY && !has_failed)
        fuzz_require(false, "a call wants more memory than there is");
    fuzz_require(has_failed || (allowed >> status & 1), "a failure of a kind that is not expected");
    return false;
}
