/* The tensor core on the null backend: shapes, views, scopes, error tensors, threads. Arithmetic is
 * in tests/ops.
 * SPDX-License-Identifier: MIT */
#include <pthread.h>

#include "base/mem.h"
#include "harness.h"
#include "tensor/device.h"

static weft_device *dev;

static int open_null(void **state) {
    (void)state;
    dev = weft_open(&(weft_device_desc){.name = "null"});
    return dev ? 0 : -1;
}

static int close_null(void **state) {
    (void)state;
    weft_close(dev);
    return 0;
}

static void assert_shape(const weft_tensor *t, weft_shape want) {
    if (weft_tensor_status(t) != WEFT_OK) fail_msg("error tensor: %s", weft_tensor_message(t));
    weft_shape got = weft_tensor_shape(t);
    assert_int_equal(got.rank, want.rank);
    for (int d = 0; d < want.rank; d++) assert_int_equal(got.dim[d], want.dim[d]);
}

static void assert_error(const weft_tensor *t, weft_status status, const char *part) {
    assert_int_equal(weft_tensor_status(t), status);
    if (!strstr(weft_tensor_message(t), part))
        fail_msg("\"%s\" does not contain \"%s\"", weft_tensor_message(t), part);
}

static weft_tensor *f32(weft_shape shape) { return weft_new(dev, WEFT_F32, shape); }

static void shapes_follow_numpy(void **state) {
    (void)state;
    assert_shape(weft_add(f32(weft_3d(4, 1, 3)), f32(weft_2d(5, 1))), weft_3d(4, 5, 3));
    assert_shape(weft_add(f32((weft_shape){0}), f32(weft_2d(2, 3))), weft_2d(2, 3));
    assert_shape(weft_add(f32(weft_4d(2, 1, 1, 0)), f32(weft_4d(2, 1, 1, 0))), weft_4d(2, 1, 1, 0));
    assert_error(weft_add(f32(weft_2d(2, 3)), f32(weft_2d(2, 4))), WEFT_SHAPE, "3 and 4");
    assert_shape(weft_matmul(f32(weft_4d(2, 1, 3, 4)), f32(weft_3d(5, 4, 6))), weft_4d(2, 5, 3, 6));
    assert_shape(weft_matmul(f32(weft_1d(4)), f32(weft_2d(4, 6))), weft_1d(6));
    assert_shape(weft_matmul(f32(weft_3d(2, 3, 4)), f32(weft_1d(4))), weft_2d(2, 3));
    assert_shape(weft_matmul(f32(weft_1d(4)), f32(weft_1d(4))), (weft_shape){0});
    assert_shape(weft_matmul(f32(weft_2d(0, 4)), f32(weft_2d(4, 5))), weft_2d(0, 5));
    assert_shape(weft_matmul(f32(weft_2d(3, 0)), f32(weft_2d(0, 4))), weft_2d(3, 4));
    assert_error(weft_matmul(f32(weft_2d(3, 4)), f32(weft_2d(3, 4))), WEFT_SHAPE,
                 "(..., 3, 4) @ (..., 3, 4)");
    assert_shape(
        weft_linear(f32(weft_3d(2, 3, 64)), weft_new(dev, WEFT_Q4_1, weft_2d(5, 64)), NULL),
        weft_3d(2, 3, 5));
    assert_error(weft_linear(f32(weft_2d(2, 32)), weft_new(dev, WEFT_Q4_1, weft_2d(5, 64)), NULL),
                 WEFT_SHAPE, "rows of 32");
    assert_shape(weft_softmax(f32(weft_3d(2, 3, 4)), 0), weft_3d(2, 3, 4));
    assert_shape(weft_softmax(f32(weft_2d(4, 0)), -1), weft_2d(4, 0));
    assert_shape(weft_argmax(f32(weft_3d(2, 3, 4)), 1), weft_2d(2, 4));
    assert_int_equal(weft_tensor_dtype(weft_argmax(f32(weft_1d(7)), 0)), WEFT_I32);
    assert_error(weft_argmax(f32(weft_2d(4, 0)), 1), WEFT_SHAPE, "empty axis");
    assert_error(weft_softmax(f32(weft_1d(4)), 1), WEFT_INVALID, "axis 1");
    weft_tensor *ids = weft_new(dev, WEFT_I32, weft_2d(2, 3));
    assert_shape(weft_get_rows(weft_new(dev, WEFT_Q8_0, weft_2d(10, 32)), ids), weft_3d(2, 3, 32));
    assert_shape(weft_get_rows(f32(weft_2d(3, 3)), weft_new(dev, WEFT_I32, weft_1d(0))),
                 weft_2d(0, 3));
    assert_error(weft_get_rows(f32(weft_2d(10, 32)), f32(weft_1d(2))), WEFT_DTYPE, "ids are f32");
}

static void types_are_promoted(void **state) {
    (void)state;
    weft_tensor *h = weft_new(dev, WEFT_F16, weft_1d(3)), *b = weft_new(dev, WEFT_BF16, weft_1d(3));
    weft_tensor *i = weft_new(dev, WEFT_I32, weft_1d(3));
    assert_int_equal(weft_tensor_dtype(weft_add(h, h)), WEFT_F16);
    assert_int_equal(weft_tensor_dtype(weft_add(h, b)), WEFT_F32);
    assert_int_equal(weft_tensor_dtype(weft_add(i, i)), WEFT_I32);
    assert_error(weft_add(i, h), WEFT_DTYPE, "i32 and f16");
    assert_error(weft_silu(i), WEFT_DTYPE, "input 0 is i32");
}

static void views_share_storage(void **state) {
    (void)state;
    weft_tensor *t = f32(weft_3d(4, 6, 8));
    uint64_t before = dev->counters.bytes_allocated;
    weft_tensor *s = weft_slice(t, -1, 2, 3);
    assert_shape(s, weft_3d(4, 6, 3));
    assert_int_equal(s->offset, 2);
    assert_shape(weft_transpose(t), weft_3d(4, 8, 6));
    weft_tensor *merged = weft_reshape(s, weft_2d(24, 3)); /* strides allow it */
    assert_shape(merged, weft_2d(24, 3));
    assert_ptr_equal(merged->storage, t->storage);
    assert_int_equal(merged->stride[0], 8);
    weft_tensor *split = weft_reshape(weft_slice(t, 1, 0, 2), weft_4d(2, 2, -1, 4));
    assert_shape(split, weft_4d(2, 2, 4, 4));
    assert_int_equal(dev->counters.bytes_allocated, before);
    weft_tensor *copied = weft_reshape(s, weft_1d(72)); /* and here they do not */
    assert_shape(copied, weft_1d(72));
    assert_ptr_not_equal(copied->storage, t->storage);
    assert_error(weft_reshape(t, weft_2d(5, -1)), WEFT_SHAPE, "192 elements do not divide by 5");
    assert_error(weft_slice(t, 0, 3, 2), WEFT_INDEX, "[3, 3 + 2) of a dimension of 4");
    assert_error(weft_slice(weft_new(dev, WEFT_Q4_1, weft_2d(2, 64)), 1, 16, 32), WEFT_SHAPE,
                 "multiples of 32");
    assert_error(weft_transpose(weft_new(dev, WEFT_Q4_1, weft_2d(2, 64))), WEFT_UNSUPPORTED,
                 "last axis");
    int axes[] = {0, 0, 1};
    assert_error(weft_permute(t, axes), WEFT_INVALID, "axes[1] = 0");
    assert_shape(weft_broadcast(f32(weft_2d(1, 3)), weft_3d(5, 4, 3)), weft_3d(5, 4, 3));
    int64_t huge = (int64_t)1 << 62; /* no storage is needed for it, but numbers that fit are */
    assert_error(weft_broadcast(f32(weft_1d(1)), weft_2d(huge, huge)), WEFT_SHAPE,
                 "more than fits");
    assert_error(weft_reshape(f32(weft_1d(0)), weft_3d(0, huge, huge)), WEFT_SHAPE,
                 "more than fits");
}

static void errors_pass_through(void **state) {
    (void)state;
    weft_tensor *bad = weft_new(dev, WEFT_Q4_1, weft_1d(33));
    assert_error(bad, WEFT_SHAPE, "rows of 33 are no multiple of q4_1's block of 32");
    weft_tensor *y = weft_silu(weft_add(bad, f32(weft_1d(3))));
    assert_error(y, WEFT_SHAPE, "rows of 33");
    float x[3];
    assert_fails(weft_read(y, x, sizeof x), WEFT_SHAPE, "rows of 33");
    assert_error(weft_add(NULL, f32(weft_1d(3))), WEFT_INVALID, "NULL");
    assert_error(weft_linear(f32(weft_1d(3)), NULL, NULL), WEFT_INVALID, "linear: input 1 is NULL");
    assert_error(weft_silu(NULL), WEFT_INVALID, "NULL");
    assert_fails(weft_read(f32(weft_1d(3)), x, 8), WEFT_SHAPE, "8 bytes given, the tensor has 12");
    assert_error(weft_new(NULL, WEFT_F32, weft_1d(1)), WEFT_INVALID, "device is NULL");
    assert_error(weft_new(dev, (weft_dtype)4, weft_1d(1)), WEFT_DTYPE, "4 is no dtype");
    assert_error(weft_new(dev, WEFT_F32, weft_2d(INT64_MAX, 2)), WEFT_SHAPE, "more than fits");
    assert_error(weft_new(dev, WEFT_F32, weft_1d(-1)), WEFT_SHAPE, "negative");
    assert_ok(weft_read(f32(weft_1d(3)), x, sizeof x)); /* others are unharmed */
}

static void failed_copy_poisons_its_destination(void **state) {
    (void)state;
    weft_tensor *dst = f32(weft_1d(3)), *other = f32(weft_1d(3));
    float x[3];
    assert_error(weft_copy(dst, f32(weft_1d(4))), WEFT_SHAPE, "dimension of 4 to 3");
    assert_fails(weft_read(dst, x, sizeof x), WEFT_SHAPE, "earlier write into this tensor failed");
    assert_ok(weft_read(other, x, sizeof x));
    assert_error(weft_copy(weft_broadcast(f32(weft_1d(1)), weft_1d(3)), other), WEFT_INVALID,
                 "broadcast view");
    assert_error(weft_copy(weft_wrap(dev, WEFT_F32, weft_1d(3), x, NULL, NULL), other),
                 WEFT_INVALID, "read-only memory");
    weft_device *second = weft_open(&(weft_device_desc){.name = "null"});
    assert_error(weft_copy(other, weft_new(second, WEFT_F32, weft_1d(3))), WEFT_INVALID,
                 "different devices");
    weft_close(second);
}

static void scopes_free_what_was_made_in_them(void **state) {
    (void)state;
    uint64_t before = dev->counters.bytes_allocated;
    assert_ok(weft_scope_push(dev));
    weft_tensor *a = f32(weft_1d(100)), *kept = weft_keep(f32(weft_1d(10)));
    weft_tensor *y =
        weft_add(weft_transpose(weft_reshape(a, weft_2d(10, 10))), f32(weft_2d(10, 10)));
    y = weft_scope_pop_keep(dev, y);
    assert_shape(y, weft_2d(10, 10));
    assert_int_equal(dev->counters.bytes_allocated, before + 400 + 40);
    weft_free(y);
    weft_free(kept);
    assert_int_equal(dev->counters.bytes_allocated, before);
    assert_fails(weft_scope_pop(dev), WEFT_INVALID, "without a weft_scope_push");
    int depth = 0;
    while (weft_scope_push(dev) == WEFT_OK) depth++;
    assert_int_equal(depth, SCOPE_MAX_DEPTH);
    while (depth--) assert_ok(weft_scope_pop(dev));
}

static void allocations_of_a_scope_are_numbered(void **state) {
    (void)state;
    int arenas = 0;
    for (int round = 0; round < 4; round++) {
        assert_ok(weft_scope_push(dev));
        weft_tensor *a = f32(weft_1d(4)), *b = weft_add(a, a);
        assert_int_equal(a->storage->scope_depth, 1);
        assert_int_equal(a->storage->slot, 0);
        assert_int_equal(b->storage->slot, 1);
        arenas |= 1 << (a->storage->arena * 2 + round % 2);
        assert_ok(weft_scope_pop(dev));
    }
    assert_true(arenas == 0x6 || arenas == 0x9); /* the two alternate */
}

static void *other_thread(void *status) {
    *(weft_status *)status = weft_sync(dev);
    return NULL;
}

static void second_thread_is_busy(void **state) {
    (void)state;
    weft_status status = WEFT_OK;
    pthread_t thread;
    assert_ok(device_enter(dev));
    pthread_create(&thread, NULL, other_thread, &status);
    pthread_join(thread, NULL);
    assert_int_equal(status, WEFT_BUSY);
    device_leave(dev);
    pthread_create(&thread, NULL, other_thread, &status);
    pthread_join(thread, NULL);
    assert_int_equal(status, WEFT_OK);
}

static void every_failing_allocation_is_survived(void **state) {
    (void)state;
    for (uint64_t k = 1; k < 60; k++) {
        mem_fail_at(k);
        weft_scope_push(dev);
        weft_tensor *a = f32(weft_2d(4, 6));
        weft_tensor *y = weft_softmax(weft_add(weft_transpose(a), f32(weft_1d(4))), 0);
        weft_copy(y, weft_matmul(weft_slice(a, 0, 0, 1), a));
        weft_linear(y, a, NULL);
        while (dev->scope->parent) weft_scope_pop(dev);
    }
    mem_fail_at(0);
    assert_ok(weft_sync(dev));
}

static void names_of_devices_are_checked(void **state) {
    (void)state;
    assert_null(weft_open(&(weft_device_desc){.name = "tpu"}));
    assert_non_null(strstr(weft_message(), "there is no device \"tpu\""));
    assert_null(weft_open(&(weft_device_desc){.name = "webgpu:x"}));
    weft_device_info info;
    assert_ok(weft_get_device_info(dev, &info));
    assert_string_equal(info.name, "null");
    weft_close(NULL);
    weft_free(NULL);
}

static void precision_can_be_set(void **state) {
    (void)state;
    assert_int_equal(weft_set_precision(dev, WEFT_FAST), WEFT_EXACT);
    assert_int_equal(weft_set_precision(dev, WEFT_PRECISION_DEFAULT), WEFT_FAST);
    assert_int_equal(weft_set_precision(dev, WEFT_EXACT), WEFT_EXACT);
    assert_int_equal(weft_set_precision(NULL, WEFT_EXACT), WEFT_PRECISION_DEFAULT);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shapes_follow_numpy),
        cmocka_unit_test(types_are_promoted),
        cmocka_unit_test(views_share_storage),
        cmocka_unit_test(errors_pass_through),
        cmocka_unit_test(failed_copy_poisons_its_destination),
        cmocka_unit_test(scopes_free_what_was_made_in_them),
        cmocka_unit_test(allocations_of_a_scope_are_numbered),
        cmocka_unit_test(second_thread_is_busy),
        cmocka_unit_test(every_failing_allocation_is_survived),
        cmocka_unit_test(names_of_devices_are_checked),
        cmocka_unit_test(precision_can_be_set),
    };
    return cmocka_run_group_tests(tests, open_null, close_null);
}
