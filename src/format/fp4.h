/* FP4 E2M1, the element of MXFP4 and NVFP4: a sign and 0 0.5 1 1.5 2 3 4 6 (OCP Microscaling specification 1.0). The
 * levels are doubled, to be integers; scales are halved to match. SPDX-License-Identifier: MIT */
#ifndef WEFT_FORMAT_FP4_H
#define WEFT_FORMAT_FP4_H

#include <stdint.h>

static const int8_t fp4_twice[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

#endif
