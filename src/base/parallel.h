/* The one way to use several cores: parallel_for over a range, OpenMP behind it. Without OpenMP it
 * runs in the calling thread. SPDX-License-Identifier: MIT */
#ifndef WEFT_BASE_PARALLEL_H
#define WEFT_BASE_PARALLEL_H

#include <stdint.h>

/* Calls run(context, first, last) on disjoint pieces of [0, n), each at least `grain` long (but the
 * last), on at most n_threads threads; returns when all are done. `run` must not fail: checks come
 * before. */
void parallel_for(int n_threads, int64_t n, int64_t grain,
                  void (*run)(void *context, int64_t first, int64_t last), void *context);
/* The machine's usable cores (affinity respected). */
int parallel_cores(void);

#endif
