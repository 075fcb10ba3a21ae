/* What every test file includes: cmocka with the headers it needs, and weft's own assertions.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_HARNESS_H
#define WEFT_HARNESS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "weft/weft.h"

/* Fails the test with weft's own message unless `expr` is WEFT_OK. */
#define assert_ok(expr)                                                                            \
    do {                                                                                           \
        weft_status assert_status_ = (expr);                                                       \
        if (assert_status_ != WEFT_OK)                                                             \
            fail_msg("%s: %s (%s)", #expr, weft_message(), weft_status_text(assert_status_));      \
    } while (0)

/* Fails unless `expr` gives `status` and a message that contains `part`. */
#define assert_fails(expr, status, part)                                                           \
    do {                                                                                           \
        weft_status assert_status_ = (expr);                                                       \
        if (assert_status_ != (status) || !strstr(weft_message(), part))                           \
            fail_msg("%s: got %s, message \"%s\"; expected %s and \"%s\"", #expr,                  \
                     weft_status_text(assert_status_), weft_message(), weft_status_text(status),   \
                     part);                                                                        \
    } while (0)

/* Prints why a test cannot run here and skips it. Where WEFT_TEST_STRICT is set (CI) it fails
 * instead when `required` is true. */
void skip_because(bool required, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* A path under the folder of shared test data ($WEFT_TEXT_DATA, else ~/.cache/weft-text), or NULL
 * when that file is absent. Static buffer. */
const char *text_data(const char *relative);

/* A reproducible generator: the same seed gives the same numbers on every machine. */
typedef struct rng {
    uint64_t state;
} rng;
uint64_t rng_next(rng *r);
double rng_uniform(rng *r); /* [0, 1) */
double rng_normal(rng *r);
int64_t rng_below(rng *r, int64_t n);

#endif
