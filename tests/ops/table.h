/* docs/OPS.md: which dtypes each op takes, on the CPU and on a WebGPU adapter without any optional
 * feature, found by asking both backends' own tables about the calls that the cases make.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_TESTS_TABLE_H
#define WEFT_TESTS_TABLE_H

#include "tensor/tensor.h"

/* Prints the page's head. */
void table_begin(void);
/* Notes a call as the backend would get it, and whether the CPU takes it. */
void table_note(const weft_call *call, bool cpu);
/* Prints what was noted since the last op. */
void table_end_op(const char *name);

#endif
