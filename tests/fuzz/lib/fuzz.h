/* What the fuzz targets share: how an input is cut, allocations that fail, and checks of what comes
 * back.
 *
 * The last byte of every input chooses which allocation fails (none where it is below '0', as the
 * newline is with which a text file ends), so that the ways out are walked too.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_FUZZ_H
#define WEFT_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "grammar/grammar.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

typedef struct fuzz_input {
    char *data; /* a copy of exactly n bytes, so that a read behind it is seen */
    size_t n;
    uint64_t fails_at; /* the k-th allocation, 0 = none */
    uint64_t state;    /* of fuzz_below */
} fuzz_input;

fuzz_input fuzz_begin(const uint8_t *data, size_t n);
void fuzz_end(fuzz_input *in);
/* The same for binary files: an input that begins with '#' is one written as text (bytes.h). */
fuzz_input fuzz_begin_bytes(const uint8_t *data, size_t n);

/* Cuts a text at its first line "====": returns what comes before, *text is what follows it. */
typedef struct fuzz_text {
    const char *data;
    size_t n;
} fuzz_text;
fuzz_text fuzz_cut(fuzz_text *text);

/* A number below n, drawn from the input. */
size_t fuzz_below(fuzz_input *in, size_t n);

/* From fuzz_arm on the input's allocation fails; fuzz_disarm says whether it did. */
void fuzz_arm(const fuzz_input *in);
bool fuzz_disarm(const fuzz_input *in);

/* Ends the process with the sentence when `holds` is false. */
void fuzz_require(bool holds, const char *sentence);

/* A call that returned `status`: a failure has one readable message; WEFT_NO_MEMORY comes exactly
 * when an allocation failed; and it is one of `allowed` (bits, 1 << status) otherwise. Returns
 * whether it is WEFT_OK. */
extern bool fuzz_talks; /* print what failed, to see what an input comes to (replay --talk) */
bool fuzz_status(weft_status status, bool has_failed, unsigned allowed);
enum {
    FUZZ_FILE = 1U << WEFT_FORMAT | 1U << WEFT_UNSUPPORTED | 1U << WEFT_LIMIT,
};

/* Follows a grammar with a vocabulary of bytes and pieces, and holds masks, steps and ends against
 * each other; first along `text`, then along what the masks allow. */
typedef struct fuzz_followed {
    bool is_known, fits; /* whether `text` is a whole text of the grammar; not known: a limit */
    bool has_ended;      /* `made` is one */
    char made[4096];
    size_t n_made;
} fuzz_followed;
void fuzz_follow(const grammar *g, fuzz_input *in, fuzz_text text, fuzz_followed *out);

#endif
