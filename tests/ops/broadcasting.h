/* Shared by the tests of add and mul; see broadcasting.c. SPDX-License-Identifier: MIT */
#ifndef WEFT_TESTS_BROADCASTING_H
#define WEFT_TESTS_BROADCASTING_H

#include "runner.h"

/* A whole number as an i32 keeps it: modulo 2^32. */
double ref_wrap(double v);
/* Pairs of float types and of integers over all kinds of broadcasting, sizes round the tiles. */
void broadcasting_cases(void);

#endif
