/* The monotonic clock, POSIX. SPDX-License-Identifier: MIT */
#include "base/clock.h"

#include <time.h>

double clock_seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

void clock_sleep(double seconds) {
    if (!(seconds > 0)) return;
    struct timespec t = {.tv_sec = (time_t)seconds};
    t.tv_nsec = (long)((seconds - (double)t.tv_sec) * 1e9);
    nanosleep(&t, 0);
}
