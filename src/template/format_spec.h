/* What % formatting and str.format share: a number or text laid out in a width.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_TEMPLATE_FORMAT_SPEC_H
#define WEFT_TEMPLATE_FORMAT_SPEC_H

#include "template/run.h"

enum { TPL_MAX_WIDTH = 1 << 20, TPL_MAX_PRECISION = 1000 };

typedef struct tpl_spec {
    char fill[4];
    int fill_bytes;
    char align;    /* '<' '>' '^' '=', 0: the type's own */
    char sign;     /* '+', ' ', '-' or 0 */
    char grouping; /* ',' '_' or 0 */
    char type;     /* 0: none given */
    bool alternate, zero;
    int64_t width, precision; /* -1: none */
} tpl_spec;

/* `digits` begins with '-' for negative numbers; `prefix` such as "0x" goes between sign and
 * digits. */
weft_status tpl_lay_out_number(const tpl_spec *spec, const char *digits, size_t n,
                               const char *prefix, str *out);
weft_status tpl_lay_out_text(const tpl_spec *spec, const char *text, size_t n, char align,
                             str *out);
/* Digits of an integer in a base, '-' in front. */
weft_status tpl_int_digits(int64_t value, int base, bool upper, str *out);

#endif
