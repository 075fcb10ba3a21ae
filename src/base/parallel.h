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
/* How many of n_threads this process can really have (its limits on threads and address space), at
 * least 1; their pool is ready afterwards. OpenMP's library ends the process when a thread cannot
 * be made, so ask here first. */
int parallel_open(int n_threads);
/* The machine's usable cores (affinity respected). */
int parallel_cores(void);

#endif
