/* Checks shared by the shape rules. SPDX-License-Identifier: MIT */
#ifndef WEFT_TENSOR_SHAPE_H
#define WEFT_TENSOR_SHAPE_H

#include "tensor/device.h"

bool shape_is_float(weft_dtype dtype); /* f32, f16, bf16 */
weft_status shape_need_float(const weft_call *call, int i);
/* The common type of inputs 0 and 1: equal types stay, different floats give f32, i32 goes with i32
 * only. */
weft_status shape_promote(const weft_call *call, weft_dtype *out);
/* NumPy's broadcast of the first rank_a (rank_b) dimensions of inputs 0 and 1. */
weft_status shape_broadcast(const weft_call *call, int rank_a, int rank_b, int64_t *dim, int *rank);
weft_status shape_same(op_shape *out, const weft_tensor *t);
/* Replaces input i by a copy in `dtype` unless it has it (absent inputs stay absent). */
weft_status shape_cast_input(weft_call *call, int i, weft_dtype dtype);
/* Replaces input i by a view (or dense copy) of another shape with as many elements. */
weft_status shape_reshape_input(weft_call *call, int i, int rank, const int64_t *dim);

#endif
