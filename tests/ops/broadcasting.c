/* What the broadcasting binary ops (add, mul) have in common: their cases, and integers that wrap.
 * Each op's own arithmetic is in its own file. SPDX-License-Identifier: MIT */
#include "broadcasting.h"

double ref_wrap(double v) { return (double)(int32_t)(uint32_t)(int64_t)fmod(v, 0x1p52); }

static void two(op_input a, op_input b) { run_case(&(op_case){.in = {a, b}}); }

static op_input whole(weft_shape shape) {
    op_input in = integers(shape, -60000, 60000);
    in.is_index = false;
    return in;
}

void broadcasting_cases(void) {
    for (int i = 0; i < N_TILE_SIZES; i++) {
        int64_t n = tile_size(64, i);
        for (int d = 0; d < 3; d++)
            two(normal(float_dtypes[d], weft_2d(7, n)), normal(float_dtypes[d], weft_2d(7, n)));
        two(normal(WEFT_F32, weft_3d(3, 2, n)), normal(WEFT_F32, weft_1d(n)));
        two(whole(weft_2d(3, n)), whole(weft_2d(1, n)));
    }
    two(normal(WEFT_F32, weft_3d(4, 1, 5)), normal(WEFT_F16, weft_2d(6, 1)));
    two(normal(WEFT_BF16, weft_2d(1, 300)), normal(WEFT_F16, weft_2d(11, 1)));
    two(normal(WEFT_F16, weft_2d(5, 33)), normal(WEFT_F16, (weft_shape){0}));
    two(normal(WEFT_F32, weft_1d(20011)), normal(WEFT_F32, weft_1d(20011)));
    two(normal(WEFT_F16, weft_1d(20011)), normal(WEFT_F16, weft_1d(20011)));
    two(normal(WEFT_F32, (weft_shape){6, {2, 1, 2, 3, 1, 5}}),
        normal(WEFT_F32, (weft_shape){6, {2, 3, 1, 3, 2, 5}}));
}
