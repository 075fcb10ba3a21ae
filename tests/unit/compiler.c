/* The compiler with the flags it is given, on code that gcc 12.2 gets wrong without them:
 * docs/decisions/0009-gcc-drops-calls.md. Functions are kept from being inlined, which is what the
 * fault needs. SPDX-License-Identifier: MIT */
#include "harness.h"

enum { N = 400 };
typedef struct marks {
    int n;
    double x[N];
    uint8_t out[N];
} marks;

__attribute__((noinline)) static void mark(marks *m, double bound) {
    for (int i = 0; i < m->n; i++) m->out[i] = m->x[i] < bound;
}

__attribute__((noinline)) static void add_marks(marks *m, double bound) {
    for (int i = 0; i < m->n; i++) m->out[i] = (uint8_t)(m->out[i] | (m->x[i] < bound));
}

static int n_marked(const marks *m) {
    int n = 0;
    for (int i = 0; i < N; i++) n += m->out[i];
    return n;
}

static marks shared;

static void calls_that_store_bytes_are_made(void **state) {
    (void)state;
    marks own = {.n = N};
    shared.n = N;
    for (int i = 0; i < N; i++) own.x[i] = shared.x[i] = i % 4;
    mark(&own, 1.5);
    mark(&shared, 1.5);
    assert_int_equal(own.out[1], 1);
    assert_int_equal(n_marked(&own), N / 2);
    assert_int_equal(n_marked(&shared), N / 2);
    add_marks(&own, 2.5);
    add_marks(&shared, 2.5);
    assert_int_equal(n_marked(&own), N / 4 * 3);
    assert_int_equal(n_marked(&shared), N / 4 * 3);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(calls_that_store_bytes_are_made)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
