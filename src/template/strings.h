/* The methods of str, which filters use as well. Each takes the text as `self`, which must be one.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_TEMPLATE_STRINGS_H
#define WEFT_TEMPLATE_STRINGS_H

#include "template/run.h"

tpl_fn string_capitalize, string_casefold, string_center, string_count, string_endswith,
    string_expandtabs, string_find, string_index, string_join, string_ljust, string_lower,
    string_lstrip, string_partition, string_removeprefix, string_removesuffix, string_replace,
    string_rfind, string_rindex, string_rjust, string_rpartition, string_rsplit, string_rstrip,
    string_split, string_splitlines, string_startswith, string_strip, string_swapcase, string_title,
    string_upper, string_zfill;
tpl_fn string_isalnum, string_isalpha, string_isascii, string_isdecimal, string_isdigit,
    string_isidentifier, string_islower, string_isnumeric, string_isprintable, string_isspace,
    string_istitle, string_isupper;
tpl_raw_fn string_format;

#endif
