/* The matrix product behind linear and matmul: blocks of weight rows are brought to f32 once and
 * multiplied with all rows of x, in tiles of TILE_W x TILE_X dot products.
 *
 * A block is BLOCK_W rows by CPU_CHUNK of k, which stays in the second cache while x passes by;
 * each chunk's sums are added to the output, so that a sum over k takes CPU_CHUNK / lanes + k /
 * CPU_CHUNK roundings. Threads share the columns of the output. SPDX-License-Identifier: MIT */
#include "cpu/cpu.h"

enum { BLOCK_W = 16, BLOCK_X = 24 };

static void multiply(const cpu_kernels *k, const float *w, int64_t w_stride, int64_t n_w,
                     const float *x, int64_t x_stride, int64_t n_x, int64_t n, float *out,
                     int64_t out_stride) {
    int64_t tiled_w = n_w / TILE_W * TILE_W, tiled_x = n_x / TILE_X * TILE_X;
    for (int64_t i = 0; i < tiled_w; i += TILE_W)
        for (int64_t j = 0; j < tiled_x; j += TILE_X)
            k->tile(w + i * w_stride, w_stride, x + j * x_stride, x_stride, n,
                    out + j * out_stride + i, out_stride);
    for (int64_t j = 0; j < n_x; j++)
        for (int64_t i = j < tiled_x ? tiled_w : 0; i < n_w; i++)
            out[j * out_stride + i] += k->dot[WEFT_F32](w + i * w_stride, x + j * x_stride, n);
}

float cpu_weights_dot(const cpu_kernels *k, const weft_tensor *w, int64_t at, const float *x,
                      int64_t n) {
    enum { PIECE = 2048 }; /* bounds the terms of one partial sum */
    float sum = 0;
    for (int64_t i = 0; i < n; i += PIECE)
        sum += k->dot[w->dtype](cpu_address(w, at + i), x + i, n - i < PIECE ? n - i : PIECE);
    return sum;
}

void cpu_product_run(const cpu_product *p, int64_t first, int64_t last) {
    float w_buffer[BLOCK_W * CPU_CHUNK], x_buffer[BLOCK_X * CPU_CHUNK];
    for (int64_t j = 0; j < p->n_x; j++)
        for (int64_t i = first; i < last; i++) p->out[j * p->out_stride + i] = 0;
    for (int64_t i = first; i < last; i += BLOCK_W) {
        int64_t n_w = last - i < BLOCK_W ? last - i : BLOCK_W;
        for (int64_t at = 0; at < p->n_k; at += CPU_CHUNK) {
            int64_t n = p->n_k - at < CPU_CHUNK ? p->n_k - at : CPU_CHUNK, w_stride = CPU_CHUNK;
            const float *w = p->fetch_w(p->context, i, n_w, at, n, w_buffer, &w_stride);
            for (int64_t j = 0; j < p->n_x; j += BLOCK_X) {
                int64_t n_x = p->n_x - j < BLOCK_X ? p->n_x - j : BLOCK_X, x_stride = CPU_CHUNK;
                const float *x = p->fetch_x(p->context, j, n_x, at, n, x_buffer, &x_stride);
                multiply(p->kernels, w, w_stride, n_w, x, x_stride, n_x, n,
                         p->out + j * p->out_stride + i, p->out_stride);
            }
        }
    }
}
