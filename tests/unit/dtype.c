/* The dtype table: every row is found by number and by name, holes and strangers are not.
 * SPDX-License-Identifier: MIT */
#include "tensor/dtype.h"
#include "harness.h"

static void rows_are_found(void **state) {
    (void)state;
    weft_dtype back = WEFT_F32;
#define WEFT_DTYPE(name, id, block_size, block_bytes, text, quantized)                             \
    assert_int_equal(dtype_find(WEFT_##name)->block, block_size);                                  \
    assert_int_equal(dtype_find(WEFT_##name)->bytes, block_bytes);                                 \
    assert_string_equal(weft_dtype_name(WEFT_##name), text);                                       \
    assert_true(dtype_parse(#name, &back) && back == WEFT_##name);
#include "weft/dtypes.def"
#undef WEFT_DTYPE
}

static void strangers_are_not(void **state) {
    (void)state;
    int strangers[] = {4, 5, 31, 33, 36, 38, 63, 64, 1000, -1};
    for (size_t i = 0; i < sizeof strangers / sizeof *strangers; i++) {
        assert_null(dtype_find((weft_dtype)strangers[i]));
        assert_null(weft_dtype_name((weft_dtype)strangers[i]));
    }
    weft_dtype d;
    assert_false(dtype_parse("q9_9", &d));
    assert_false(dtype_parse(NULL, &d));
}

static void sizes_are_checked(void **state) {
    (void)state;
    int64_t bytes;
    assert_true(dtype_bytes(WEFT_Q4_K, 512, &bytes) && bytes == 288);
    assert_true(dtype_bytes(WEFT_F32, 0, &bytes) && bytes == 0);
    assert_false(dtype_bytes(WEFT_Q4_0, 33, &bytes));
    assert_false(dtype_bytes(WEFT_F32, -1, &bytes));
    assert_false(dtype_bytes(WEFT_F32, INT64_MAX / 2, &bytes));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_found),
        cmocka_unit_test(strangers_are_not),
        cmocka_unit_test(sizes_are_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
