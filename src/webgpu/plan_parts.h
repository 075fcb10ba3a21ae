/* What the plan functions share: views as the shaders have them, cutting big tensors into parts
 * that can be bound, and the weights' formats. The kernels' own plans are in plan_<op>.c.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_WEBGPU_PLAN_PARTS_H
#define WEFT_WEBGPU_PLAN_PARTS_H

#include "shaders.h"
#include "webgpu/plan.h"

/* What a plan function was given, in one piece, for the callbacks of plan_split. */
typedef struct plan_job {
    const gpu_caps *caps;
    const kernel_row *row;
    const weft_call *call;
    gpu_plan *plan;
} plan_job;

/* What one dispatch does: a box of a (merged) layout. Offsets are each tensor's first element in
 * its storage. */
typedef struct plan_part {
    layout box;
    int64_t offset[4];
} plan_part;

typedef weft_status (*plan_part_fn)(const plan_job *job, const plan_part *part);

/* Halves the box of `l` until every tensor's share can be bound, and calls `each` with the parts in
 * order: along its outermost dimensions, so that the share of a dense tensor is dense, or where it
 * helps most (any_axis). The last `n_fixed` dimensions stay whole: WEFT_LIMIT names the tensor when
 * that is not enough. */
weft_status plan_split(const plan_job *job, const layout *l, const weft_tensor *const *tensors,
                       int n, int n_fixed, bool any_axis, plan_part_fn each);
/* How many elements lie between the first and the last of tensor i's share, both included. */
int64_t plan_span(const plan_part *part, int i);
int64_t plan_elements(const layout *l);
/* True when `bytes` can be bound wherever they start. */
bool plan_can_bind(const gpu_caps *caps, int64_t bytes);
/* Bytes that can be bound wherever they start. */
int64_t plan_room(const gpu_caps *caps);

/* Binds a span of plain elements; returns the first one's index from the binding's start. */
uint32_t plan_bind(const plan_job *job, plan_step *s, int tensor, bool is_written, weft_dtype dtype,
                   int64_t offset, int64_t span);
/* Binds all of a dense input, plain type. */
uint32_t plan_bind_input(const plan_job *job, plan_step *s, int i);

/* Adds a step that copies input 0's f32 elements from `at` on, (m, k) with these strides, into
 * scratch memory from element `to` on, dense. */
void plan_copy_rows(const plan_job *job, int64_t at, int64_t stride, int64_t step, int64_t m,
                    int64_t k, int64_t to);

/* The first n_dims dimensions of a layout (outermost first there) as the shaders number them
 * (innermost first). */
void plan_dims(wgsl_dims *dims, const layout *l, int n_dims);
void plan_view(wgsl_view *view, const layout *l, int n_dims, int tensor, uint32_t offset);

bool plan_is_float(weft_dtype dtype); /* f32, f16, bf16 */
bool plan_is_plain(weft_dtype dtype); /* these and i32 */
bool plan_is_small(weft_dtype dtype); /* f16, bf16: two to a word */
/* The byte in its storage where a tensor's element `offset` lies (quantised: a whole block). */
uint64_t plan_byte(weft_dtype dtype, int64_t offset);

/* The shader file of a weight format, or NULL: the formats there are. */
const char *plan_format(weft_dtype dtype);
/* Adds the sources that read weights, for rows of `row_bytes` that begin `at` bytes into the
 * binding. After the step's other bindings: a format may add one, its codebook. */
void plan_weights(const plan_job *job, plan_step *s, weft_dtype dtype, uint64_t row_bytes,
                  uint64_t at);

/* Words of a dense output of n elements, for lib/out_dense.wgsl. */
int64_t plan_words(weft_dtype dtype, int64_t n);
/* True when whole vectors of 16 bytes may be written to a dense tensor: its end is one, or nothing
 * of its storage follows. */
bool plan_owns_vectors(const weft_tensor *t);
/* Adds the library that stores scattered elements of a type: plain or by compare-exchange. */
void plan_scatter(plan_step *s, weft_dtype dtype);
/* The library for sums over teams of `lanes` threads of a workgroup of `threads`, with its
 * constants. A row that needs subgroups gets those, if the team is whole subgroups. */
void plan_lanes(const plan_job *job, plan_step *s, uint32_t threads, uint32_t lanes);
/* The power of two in low..high nearest above `wanted`. */
uint32_t plan_power(int64_t wanted, uint32_t low, uint32_t high);
uint64_t plan_groups(int64_t items, int64_t per_group);
/* True for rows with F_SUBGROUPS on a device whose subgroups are 4 to 128 neighbouring threads. */
bool plan_has_subgroups(const gpu_caps *caps);

#endif
