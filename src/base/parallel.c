/* See parallel.h. Pieces are equal in count: the callers' rows cost the same.
 * SPDX-License-Identifier: MIT */
#include "base/parallel.h"

#ifdef _OPENMP
#include <omp.h>
#include <pthread.h>
#include <stdbool.h>

#include "base/mem.h"
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

#ifdef _OPENMP
typedef struct gate {
    pthread_mutex_t mutex;
    pthread_cond_t opened;
    bool is_open;
} gate;

static void *wait_at(void *context) {
    gate *g = context;
    pthread_mutex_lock(&g->mutex);
    while (!g->is_open) pthread_cond_wait(&g->opened, &g->mutex);
    pthread_mutex_unlock(&g->mutex);
    return NULL;
}

/* How many threads more than this one can be there at once, as OpenMP's will be. */
static int count_threads(int want) {
    enum { MOST = 1024 };
    gate g = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, false};
    pthread_t *threads = mem_array((size_t)want, sizeof *threads);
    int n = 0;
    while (threads && n < want && n < MOST && pthread_create(&threads[n], NULL, wait_at, &g) == 0)
        n++;
    pthread_mutex_lock(&g.mutex);
    g.is_open = true;
    pthread_cond_broadcast(&g.opened);
    pthread_mutex_unlock(&g.mutex);
    for (int i = 0; i < n; i++) pthread_join(threads[i], NULL);
    mem_free(threads);
    return n;
}
#endif

int parallel_open(int n_threads) {
#ifdef _OPENMP
    int want = n_threads - 1;
    if (want <= 0) return 1;
    int got = count_threads(want);
    if (got < want) got /= 2; /* near a limit: leave room for the rest of the program */
#pragma omp parallel num_threads(got + 1)
    { /* makes the pool while the room for it is known to be there */
    }
    return got + 1;
#else
    (void)n_threads;
    return 1;
#endif
}

int parallel_cores(void) {
#ifdef _OPENMP
    return omp_get_num_procs();
#else
    return 1;
#endif
}
