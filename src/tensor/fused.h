/* Fused ops that models use: not public yet, but ops like any other (rows of ops.def, references,
 * conformance).
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_TENSOR_FUSED_H
#define WEFT_TENSOR_FUSED_H

#include "weft/weft.h"

/* A model keeps its device: after weft_close the device lives on until the last release. */
void device_retain(weft_device *dev);
void device_release(weft_device *dev);

enum { KV_PAGE = 256 }; /* positions in a page of a key or value cache */

/* Writes rows into a cache: pages (n_pages, n_kv_heads, KV_PAGE, head_dim) f16 or f32, x (n_rows,
 * n_kv_heads, head_dim) f32, slots i32 (n_rows): row i goes to page slots[i] / KV_PAGE, position
 * slots[i] % KV_PAGE, converted to the cache's dtype. Slots must differ. A slot outside writes
 * nothing and is a WEFT_INDEX error (CPU: the op's; GPU: the next read's). Returns pages. */
weft_tensor *fused_kv_write(weft_tensor *pages, weft_tensor *x, weft_tensor *slots);

/* Attention over a paged cache: q (n_rows, n_heads, head_dim) f32; k_pages, v_pages as above with
 * n_heads a multiple of n_kv_heads (query head h reads KV head h / (n_heads / n_kv_heads)); table
 * i32 (n_sequences, max_pages): a sequence's pages in order; rows i32 (n_rows, 2): (sequence,
 * length). Row r attends to positions 0 .. length-1 of its sequence: softmax(scale * q k^T) v ->
 * f32 (n_rows, n_heads, head_dim). length 0 gives zeros. A sequence, length or page outside is a
 * WEFT_INDEX error as above. scale 0 = 1 / sqrt(head_dim). */
weft_tensor *fused_attention(weft_tensor *q, weft_tensor *k_pages, weft_tensor *v_pages,
                             weft_tensor *table, weft_tensor *rows, float scale);

/* Products with matrices picked by index (mixture of experts: Shazeer et al. 2017): x (n, 1 or u,
 * k), w (n_experts, m, k) plain or quantised, ids i32 (n, u): row (i, j) of the result is x[i, j]
 * (or x[i, 0]) times w[ids[i, j]]^T -> f32 (n, u, m). An id outside 0..n_experts-1 is a WEFT_INDEX
 * error as above, on the GPU with zeros there. */
weft_tensor *fused_linear_ids(weft_tensor *x, weft_tensor *w, weft_tensor *ids);

#endif
