/* The table of kernel rows, expanded from kernels.def. Not here: what a row does (plan_*.c and
 * the shaders). SPDX-License-Identifier: MIT */
#include "webgpu/plan.h"

const kernel_row kernel_rows[] = {
#define KERNEL(name, op, applies, plan, needs, is_exact, source, variant)                          \
    {#name, OP_##op, applies, plan, needs, is_exact, source, variant},
#include "webgpu/kernels.def"
#undef KERNEL
    {0}, /* an end, so that the table is never empty */
};

const int n_kernel_rows = (int)(sizeof kernel_rows / sizeof *kernel_rows) - 1;
