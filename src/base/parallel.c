/* See parallel.h. Pieces are equal in count: the callers' rows cost the same.
 * SPDX-License-Identifier: MIT */
#include "base/parallel.h"

#ifdef _OPENMP
#include <omp.h>
#endif

void parallel_for(int n_threads, int64_t n, int64_t grain,
                  void (*run)(void *context, int64_t first, int64_t last), void *context) {
    if (n <= 0) return;
    int64_t pieces = grain > 0 ? (n + grain - 1) / grain : n;
    if (pieces > n_threads) pieces = n_threads;
    if (pieces <= 1) {
        run(context, 0, n);
        return;
    }
#ifdef _OPENMP
#pragma omp parallel for num_threads((int)pieces) schedule(static, 1)
#endif
    for (int64_t i = 0; i < pieces; i++) {
        int64_t first = n / pieces * i + (i < n % pieces ? i : n % pieces);
        int64_t count = n / pieces + (i < n % pieces);
        run(context, first, first + count);
    }
}

int parallel_cores(void) {
#ifdef _OPENMP
    return omp_get_num_procs();
#else
    return 1;
#endif
}
