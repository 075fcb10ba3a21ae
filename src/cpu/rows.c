/* Rows of f32: every op that is not a matrix product loads pieces of rows to f32, works on them,
 * and stores them, so that dtypes and strides are dealt with here alone. f32 that lies contiguous
 * is read and written in place. SPDX-License-Identifier: MIT */
#include <string.h>

#include "cpu/cpu.h"
#include "format/format.h"

bool cpu_is_float(const weft_tensor *t) {
    return t->dtype == WEFT_F32 || t->dtype == WEFT_F16 || t->dtype == WEFT_BF16;
}

bool cpu_is_readable(const weft_tensor *t) { return cpu_is_float(t) || format_find(t->dtype); }

void *cpu_address(const weft_tensor *t, int64_t at) {
    const dtype_info *type = dtype_find(t->dtype);
    return (char *)t->storage->host + at / type->block * type->bytes;
}

void cpu_decode(const cpu_kernels *k, weft_dtype dtype, const void *w, float *out, int64_t n) {
    if (k->decode[dtype]) k->decode[dtype](w, out, n);
    else format_find(dtype)->decode(w, out, n);
}

static void gather_16(const uint16_t *from, int64_t stride, int64_t n, uint16_t *to) {
    for (int64_t i = 0; i < n; i++) to[i] = from[i * stride];
}

static const float *broadcast(float value, int64_t n, float *buffer) {
    for (int64_t i = 0; i < n; i++) buffer[i] = value;
    return buffer;
}

const float *cpu_load(const cpu_kernels *k, const weft_tensor *t, int64_t at, int64_t stride,
                      int64_t n, float *buffer) {
    const void *from = cpu_address(t, at);
    if (t->dtype == WEFT_F32) {
        const float *f = from;
        if (stride == 1) return f;
        if (stride == 0) return broadcast(*f, n, buffer);
        for (int64_t i = 0; i < n; i++) buffer[i] = f[i * stride];
        return buffer;
    }
    if (t->dtype == WEFT_I32) {
        const int32_t *v = from;
        for (int64_t i = 0; i < n; i++) buffer[i] = (float)v[i * stride];
        return buffer;
    }
    if (stride == 0) {
        float value;
        cpu_decode(k, t->dtype, from, &value, 1);
        return broadcast(value, n, buffer);
    }
    uint16_t packed[CPU_CHUNK];
    if (stride != 1) {
        gather_16(from, stride, n, packed);
        from = packed;
    }
    cpu_decode(k, t->dtype, from, buffer, n);
    return buffer;
}

void cpu_copy_row(const cpu_kernels *k, const weft_tensor *t, int64_t at, int64_t stride, int64_t n,
                  float *out) {
    const float *from = cpu_load(k, t, at, stride, n, out);
    if (from != out) memcpy(out, from, (size_t)n * sizeof *out);
}

float *cpu_target(const weft_tensor *t, int64_t at, int64_t stride, float *buffer) {
    return t->dtype == WEFT_F32 && stride == 1 ? cpu_address(t, at) : buffer;
}

static int32_t to_i32(float v) {
    if (v >= 0x1p31f) return INT32_MAX;
    if (v < -0x1p31f) return INT32_MIN;
    return v == v ? (int32_t)v : 0;
}

void cpu_store(const cpu_kernels *k, const weft_tensor *t, int64_t at, int64_t stride, int64_t n,
               const float *values) {
    void *to = cpu_address(t, at);
    if (t->dtype == WEFT_F32) {
        float *f = to;
        if (f == values) return;
        for (int64_t i = 0; i < n; i++) f[i * stride] = values[i];
        return;
    }
    if (t->dtype == WEFT_I32) {
        int32_t *v = to;
        for (int64_t i = 0; i < n; i++) v[i * stride] = to_i32(values[i]);
        return;
    }
    uint16_t packed[CPU_CHUNK], *place = stride == 1 ? to : packed;
    if (t->dtype == WEFT_F16) k->to_f16(values, place, n);
    else k->to_bf16(values, place, n);
    for (int64_t i = 0; place == packed && i < n; i++) ((uint16_t *)to)[i * stride] = packed[i];
}

int64_t cpu_outer_at(const layout *l, int tensor, int64_t i) {
    int64_t at = 0;
    for (int d = l->rank - 2; d >= 0; d--) {
        at += i % l->dim[d] * l->stride[tensor][d];
        i /= l->dim[d];
    }
    return at;
}

int64_t cpu_outer_count(const layout *l) {
    int64_t n = 1;
    for (int d = 0; d < l->rank - 1; d++) n *= l->dim[d];
    return n;
}

/* Waking a thread costs some microseconds, which this many steps repay. */
int64_t cpu_grain(int64_t cost) {
    const int64_t steps = 65536;
    return cost >= steps ? 1 : steps / (cost > 0 ? cost : 1);
}
