/* Device memory: bytes come back as they went in, whatever their number and place; a write into
 * a part leaves the neighbours alone; host writes do not overtake recorded work; the k-th
 * allocation of a scope gets its buffer again; limits are named. SPDX-License-Identifier: MIT */
#include "harness.h"

#include "base/mem.h"
#include "tensor/backend.h"
#include "webgpu/gpu.h"

static weft_device *dev;
static gpu *g;

static int setup(void **state) {
    (void)state;
    dev = weft_open(&(weft_device_desc){.name = "webgpu:0"});
    if (!dev) {
        print_error("%s\n", weft_message());
        return -1;
    }
    g = device_state(dev);
    return 0;
}

static int teardown(void **state) {
    (void)state;
    weft_close(dev);
    return 0;
}

static void fill(uint8_t *bytes, size_t n, uint32_t seed) {
    rng r = {seed};
    for (size_t i = 0; i < n; i++) bytes[i] = (uint8_t)rng_next(&r);
}

/* Sizes that are no multiple of 4 (G1-04): f16 of 1, 3, 5, 257 elements, single blocks; beside
 * others. */
static void test_odd_sizes(void **state) {
    (void)state;
    static const struct {
        weft_dtype dtype;
        int64_t n;
    } cases[] = {{WEFT_F16, 1},    {WEFT_F16, 3},    {WEFT_F16, 5},   {WEFT_F16, 257},
                 {WEFT_Q4_0, 32},  {WEFT_Q4_0, 96},  {WEFT_Q8_0, 32}, {WEFT_Q8_0, 96},
                 {WEFT_Q6_K, 256}, {WEFT_Q6_K, 768}, {WEFT_I8, 1},    {WEFT_I8, 2},
                 {WEFT_I8, 4099},  {WEFT_F32, 1}};
    enum { N = sizeof cases / sizeof *cases, MOST = 8192 };
    weft_tensor *t[N];
    static uint8_t in[N][MOST], out[MOST];
    for (int i = 0; i < N; i++) {
        fill(in[i], MOST, (uint32_t)i + 1);
        t[i] = weft_from(dev, cases[i].dtype, weft_1d(cases[i].n), in[i]);
        assert_ok(weft_tensor_status(t[i]));
    }
    for (int i = 0; i < N; i++) {
        size_t bytes = weft_bytes(t[i]);
        memset(out, 0xEE, sizeof out);
        assert_ok(weft_read(t[i], out, bytes));
        assert_memory_equal(out, in[i], bytes);
        assert_int_equal(out[bytes], 0xEE);
    }
}

/* Every place and length within a few words, against a model in host memory. */
static void test_partial_writes(void **state) {
    (void)state;
    enum { N = 23 };
    uint8_t model[N], out[N], piece[N];
    weft_storage s = {.dev = dev, .n_refs = 1, .bytes = N};
    assert_ok(buffer_alloc(g, &s));
    fill(model, N, 7);
    assert_ok(buffer_write(g, s.handle, N, 0, model, N));
    for (uint32_t at = 0; at < N; at += 1) {
        for (uint32_t n = 1; n <= 9 && at + n <= N; n++) {
            fill(piece, n, at * 100 + n);
            assert_ok(buffer_write(g, s.handle, N, at, piece, n));
            memcpy(model + at, piece, n);
            assert_ok(read_all(g, s.handle, 0, out, N));
            assert_memory_equal(out, model, N);
            assert_ok(read_all(g, s.handle, at, out, n));
            assert_memory_equal(out, piece, n);
        }
    }
    assert_fails(buffer_write(g, s.handle, N, 20, piece, 4), WEFT_INVALID, "ends past");
    buffer_free(g, &s);
}

static void test_empty_tensors(void **state) {
    (void)state;
    weft_tensor *t = weft_zeros(dev, WEFT_F32, weft_2d(0, 5));
    assert_ok(weft_tensor_status(t));
    assert_ok(weft_read(t, NULL, 0));
}

static void test_large_upload(void **state) {
    (void)state;
    size_t n = 40u << 20; /* several pieces of a write and of a read */
    uint8_t *in = mem_alloc(n), *out = mem_alloc(n);
    for (size_t i = 0; i < n; i++) in[i] = (uint8_t)(i * 7 + i / 4093);
    weft_tensor *t = weft_keep(weft_from(dev, WEFT_I8, weft_1d((int64_t)n), in));
    assert_ok(weft_read(t, out, n));
    assert_int_equal(memcmp(in, out, n), 0);
    weft_free(t);
    mem_free(in);
    mem_free(out);
}

/* A recorded copy must see what was there when it was recorded. */
static void test_overtaking_write(void **state) {
    (void)state;
    uint32_t first[8] = {1, 2, 3, 4, 5, 6, 7, 8}, second[8] = {9}, out[8];
    gpu_buffer *a = buffer_new(g, 32, "a"), *b = buffer_new(g, 32, "b");
    assert_ok(buffer_write(g, a, 32, 0, first, 32));
    uint64_t submits = g->batch.n_submits;
    assert_ok(batch_copy(g, a, 0, b, 0, 32));
    assert_ok(buffer_write(g, a, 32, 0, second, 32));
    assert_int_equal(g->batch.n_submits, submits + 1);
    assert_ok(read_all(g, b, 0, out, 32));
    assert_memory_equal(out, first, 32);
    assert_ok(read_all(g, a, 0, out, 32));
    assert_memory_equal(out, second, 32);
    /* One that nobody reads does not submit. */
    submits = g->batch.n_submits;
    assert_ok(buffer_write(g, a, 32, 0, first, 32));
    assert_int_equal(g->batch.n_submits, submits);
    buffer_release(g, a);
    buffer_release(g, b);
}

/* A buffer released while a recorded copy uses it stays until the copy is done. */
static void test_release_while_recorded(void **state) {
    (void)state;
    uint32_t in[4] = {4, 3, 2, 1}, out[4];
    gpu_buffer *a = buffer_new(g, 16, "a"), *b = buffer_new(g, 16, "b");
    assert_ok(buffer_write(g, a, 16, 0, in, 16));
    assert_ok(batch_copy(g, a, 0, b, 0, 16));
    buffer_release(g, a);
    assert_int_equal(g->buffers.n_dead, 1);
    assert_ok(read_all(g, b, 0, out, 16));
    assert_int_equal(g->buffers.n_dead, 0);
    assert_memory_equal(out, in, 16);
    buffer_release(g, b);
}

/* The k-th allocation of every second scope gets the same buffer; a kept tensor keeps its own. */
static void test_arena_reuse(void **state) {
    (void)state;
    enum { ROUNDS = 6, N = 3 };
    void *seen[ROUNDS][N];
    weft_storage s[N];
    for (int round = 0; round < ROUNDS; round++) {
        for (uint32_t k = 0; k < N; k++) {
            s[k] = (weft_storage){.dev = dev,
                                  .n_refs = 1,
                                  .bytes = 1000 + 10 * k,
                                  .scope_depth = 3,
                                  .arena = round % 2,
                                  .slot = k};
            assert_ok(buffer_alloc(g, &s[k]));
            seen[round][k] = s[k].handle;
        }
        for (int k = 0; k < N; k++) buffer_free(g, &s[k]);
    }
    for (int round = 2; round < ROUNDS; round++)
        for (int k = 0; k < N; k++) assert_ptr_equal(seen[round][k], seen[round - 2][k]);
    for (int k = 0; k < N; k++) assert_ptr_not_equal(seen[0][k], seen[1][k]);

    /* Kept over the end of its scope: the next one gets another buffer, and the kept bytes stay. */
    uint32_t in[2] = {11, 12}, out[2];
    weft_storage kept = {
        .dev = dev, .n_refs = 1, .bytes = 8, .scope_depth = 3, .arena = 0, .slot = 0};
    assert_ok(buffer_alloc(g, &kept));
    assert_ok(buffer_write(g, kept.handle, 8, 0, in, 8));
    weft_storage next = kept;
    next.handle = NULL;
    assert_ok(buffer_alloc(g, &next));
    assert_ptr_not_equal(next.handle, kept.handle);
    assert_ok(read_all(g, kept.handle, 0, out, 8));
    assert_memory_equal(out, in, 8);
    buffer_free(g, &kept);
    buffer_free(g, &next);
}

/* Slots that two scopes in a row did not need are given back. */
static void test_arena_trim(void **state) {
    (void)state;
    uint64_t before = g->buffers.bytes;
    for (int round = 0; round < 4; round++) {
        uint32_t n = round == 0 ? 50 : 1;
        weft_storage s[50];
        for (uint32_t k = 0; k < n; k++) {
            s[k] = (weft_storage){
                .dev = dev, .n_refs = 1, .bytes = 1 << 16, .scope_depth = 4, .arena = 0, .slot = k};
            assert_ok(buffer_alloc(g, &s[k]));
        }
        for (uint32_t k = 0; k < n; k++) buffer_free(g, &s[k]);
    }
    assert_in_range(g->buffers.bytes, before, before + (2 << 16));
}

static void test_limits(void **state) {
    (void)state;
    int64_t n = (int64_t)(g->caps.max_buffer / 4) + 64;
    weft_tensor *t = weft_new(dev, WEFT_F32, weft_1d(n));
    assert_int_equal(weft_tensor_status(t), WEFT_LIMIT);
    assert_non_null(strstr(weft_tensor_message(t), "more than the largest buffer"));
    assert_ok(weft_sync(dev)); /* the device is none the worse */
}

/* Several reads under way at once, finished out of order. */
static void test_read_begin(void **state) {
    (void)state;
    uint32_t in[64], out[8];
    for (uint32_t i = 0; i < 64; i++) in[i] = i * i;
    gpu_buffer *b = buffer_new(g, sizeof in, "b");
    assert_ok(buffer_write(g, b, sizeof in, 0, in, sizeof in));
    gpu_reading *r[GPU_READ_SLOTS];
    for (int i = 0; i < GPU_READ_SLOTS - 1; i++)
        assert_ok(read_begin(g, b, (uint64_t)i * 32, 32, &r[i]));
    assert_fails(read_begin(g, b, 0, 32, &r[3]), WEFT_BUSY, "under way");
    assert_ok(read_all(g, b, 128, out, 32)); /* the blocking read has a slot of its own */
    assert_memory_equal(out, in + 32, 32);
    for (int i = GPU_READ_SLOTS - 2; i >= 0; i--) {
        for (int tries = 0; tries < 100000 && !read_poll(g, r[i]); tries++) continue;
        assert_ok(read_end(g, r[i], out));
        assert_memory_equal(out, in + i * 8, 32);
    }
    assert_ok(read_begin(g, b, 0, 32, &r[0]));
    assert_ok(read_end(g, r[0], out));
    buffer_release(g, b);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_odd_sizes),        cmocka_unit_test(test_partial_writes),
        cmocka_unit_test(test_empty_tensors),    cmocka_unit_test(test_large_upload),
        cmocka_unit_test(test_overtaking_write), cmocka_unit_test(test_release_while_recorded),
        cmocka_unit_test(test_arena_reuse),      cmocka_unit_test(test_arena_trim),
        cmocka_unit_test(test_limits),           cmocka_unit_test(test_read_begin),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
