/* Cases of public bug reports that need more than one op or special data. SPDX-License-Identifier:
 * MIT */
#include "runner.h"

const struct CMUnitTest bug_cases[1];
const size_t n_bug_cases = 0;
