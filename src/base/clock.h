/* Time that passes: a monotonic clock and a short sleep. SPDX-License-Identifier: MIT */
#ifndef WEFT_BASE_CLOCK_H
#define WEFT_BASE_CLOCK_H

/* Seconds since some fixed moment; never goes back. */
double clock_seconds(void);
/* Sleeps about that long (it may wake earlier). */
void clock_sleep(double seconds);

#endif
