/* The filters' functions, for the table in filters.c. SPDX-License-Identifier: MIT */
#ifndef WEFT_TEMPLATE_FILTERS_H
#define WEFT_TEMPLATE_FILTERS_H

#include "template/run.h"

/* filters_seq.c */
tpl_raw_fn filter_map, filter_select, filter_reject, filter_selectattr, filter_rejectattr;
tpl_fn filter_batch, filter_slice, filter_unique, filter_items, filter_reverse, filter_sort,
    filter_dictsort, filter_groupby, filter_min, filter_max, filter_sum, filter_first, filter_last,
    filter_list, filter_length, filter_join;

/* filters_text.c */
tpl_fn filter_capitalize, filter_center, filter_escape, filter_forceescape, filter_indent,
    filter_lower, filter_replace, filter_safe, filter_string, filter_striptags, filter_title,
    filter_trim, filter_truncate, filter_upper, filter_urlencode, filter_wordcount, filter_wordwrap,
    filter_xmlattr;
tpl_raw_fn filter_format;

#endif
