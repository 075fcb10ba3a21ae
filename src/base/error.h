/* Failure as a value: a status code, and a message in a thread-local that names what was wrong.
 *
 * Every function that can fail returns weft_status (0 = ok) or a pointer (NULL = failed) and has
 * called weft_fail() once, at the place that knows most. TRY passes a status up, REQUIRE makes one.
 * Here is no abort, no exit and no print. SPDX-License-Identifier: MIT */
#ifndef WEFT_BASE_ERROR_H
#define WEFT_BASE_ERROR_H

#include <stdarg.h>

#include "weft/weft.h"

/* Returns `expr`'s status from the calling function unless it is WEFT_OK. */
#define TRY(expr)                                                                                  \
    do {                                                                                           \
        weft_status try_status_ = (expr);                                                          \
        if (try_status_ != WEFT_OK) return try_status_;                                            \
    } while (0)

/* Fails the calling function with `status` and a message unless `cond` holds. */
#define REQUIRE(cond, status, ...)                                                                 \
    do {                                                                                           \
        if (!(cond)) return error_set(status, __VA_ARGS__);                                        \
    } while (0)

/* Sets this thread's message (printf format, cut at 511 bytes, always valid UTF-8) and returns
 * `status`. */
weft_status error_set(weft_status status, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
weft_status error_set_v(weft_status status, const char *format, va_list args)
    __attribute__((format(printf, 2, 0)));

/* Puts "prefix: " before this thread's message, so that a file's or an op's name leads. Returns
 * `status`. */
weft_status error_prefix(weft_status status, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* This thread's last message ("" before the first failure) and its status. */
const char *error_message(void);
weft_status error_status(void);

#ifdef __clang_analyzer__ /* static analysis is told that none of these gives WEFT_OK */
#define error_set(status, ...) (error_set(status, __VA_ARGS__), (status))
#define error_prefix(status, ...) (error_prefix(status, __VA_ARGS__), (status))
#define error_status() WEFT_NO_MEMORY
#endif

/* The fixed text of a code, "unknown status" for a number that is none. */
const char *error_text(weft_status status);

#endif
