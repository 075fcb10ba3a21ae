/* See harness.h. SPDX-License-Identifier: MIT */
#include "harness.h"

#include <math.h>
#include <unistd.h>

void skip_because(bool required, const char *format, ...) {
    char why[512];
    va_list args;
    va_start(args, format);
    vsnprintf(why, sizeof why, format, args);
    va_end(args);
    if (required && getenv("WEFT_TEST_STRICT")) fail_msg("must run here, but: %s", why);
    printf("SKIPPED: %s\n", why);
    skip();
}

const char *text_data(const char *relative) {
    static char path[1024];
    const char *base = getenv("WEFT_TEXT_DATA");
    if (base) snprintf(path, sizeof path, "%s/%s", base, relative);
    else
        snprintf(path, sizeof path, "%s/.cache/weft-text/%s", getenv("HOME") ? getenv("HOME") : ".",
                 relative);
    return access(path, R_OK) == 0 ? path : NULL;
}

uint64_t rng_next(rng *r) { /* splitmix64 (Steele, Lea, Flood 2014) */
    uint64_t z = r->state += 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
}

double rng_uniform(rng *r) { return (double)(rng_next(r) >> 11) * 0x1p-53; }

double rng_normal(rng *r) {
    double u = 1 - rng_uniform(r), v = rng_uniform(r);
    return sqrt(-2 * log(u)) * cos(6.283185307179586 * v);
}

int64_t rng_below(rng *r, int64_t n) { return (int64_t)(rng_next(r) % (uint64_t)n); }
