/* Merging of dimensions: the fewest that still describe a view, or several views of one shape at
 * once, so that kernels walk short index lists. Two neighbouring dimensions merge when, for every
 * tensor, one step of the outer is a whole walk of the inner. SPDX-License-Identifier: MIT */
#include <string.h>

#include "tensor/tensor.h"

static layout merge(const weft_tensor *const *tensors, int n, int n_fixed) {
    layout l = {0};
    int rank = tensors[0]->rank;
    int first_fixed = rank - n_fixed;
    for (int d = 0; d < rank; d++) {
        int64_t size = tensors[0]->dim[d];
        if (size == 1 && d < first_fixed) continue;
        bool merges = l.rank > 0 && d < first_fixed;
        for (int i = 0; merges && i < n; i++)
            merges = l.stride[i][l.rank - 1] == size * tensors[i]->stride[d];
        if (merges) {
            l.dim[l.rank - 1] *= size;
        } else {
            l.dim[l.rank++] = size;
        }
        for (int i = 0; i < n; i++) l.stride[i][l.rank - 1] = tensors[i]->stride[d];
    }
    if (l.rank == 0) {
        l.rank = 1;
        l.dim[0] = 1;
    }
    return l;
}

layout layout_merge(const weft_tensor *const *tensors, int n) { return merge(tensors, n, 0); }

layout layout_merge_rows(const weft_tensor *const *tensors, int n) {
    layout l = merge(tensors, n, tensors[0]->rank > 0);
    if (l.rank > 1) return l;
    /* One row: give it an outer dimension, so that callers always see (rows, columns). */
    layout two = {.rank = 2, .dim = {1, l.dim[0]}};
    for (int i = 0; i < n; i++) two.stride[i][1] = l.stride[i][0];
    return two;
}

int64_t tensor_elements(const weft_tensor *t) {
    int64_t n = 1;
    for (int d = 0; d < t->rank; d++) n *= t->dim[d];
    return n;
}

bool tensor_is_dense(const weft_tensor *t) {
    int64_t step = 1;
    for (int d = t->rank - 1; d >= 0; d--) {
        if (t->dim[d] == 0) return true;
        if (t->dim[d] != 1 && t->stride[d] != step) return false;
        step *= t->dim[d];
    }
    return true;
}
