/* weft: tensors on any GPU, in plain C. The manual for tensor users; models are in llm.h.
 *
 *     weft_device *dev = weft_open(NULL);                             // best device
 *     weft_tensor *a = weft_from(dev, WEFT_F32, weft_2d(2, 3), data); // yours until the scope ends
 *     weft_tensor *y = weft_silu(weft_matmul(a, b));                  // recorded, not waited for
 *     if (weft_read(y, out, sizeof out) != WEFT_OK) puts(weft_message());
 *     weft_close(dev);
 *
 * Rules that hold everywhere
 *
 * - Failure is a value. Functions return a weft_status (WEFT_OK is 0) or a pointer; weft_message()
 *   says what was wrong, in this thread. Ops never return NULL: one that fails returns an *error
 *   tensor*, which carries its own status and message, passes through every later op unchanged, and
 *   is reported by weft_read, weft_sync or weft_tensor_status. NULL inputs are accepted everywhere
 *   and give an error, not a crash.
 * - Ownership. A tensor belongs to the innermost scope open on its device and is freed with it;
 *   weft_keep takes it out (then you call weft_free). Each `open`/`new`/`load` of other objects has
 *   one `close`/`free`. Freeing a handle never cancels recorded work.
 * - Waiting. Ops are recorded in program order; only weft_read, weft_sync and functions that say so
 *   wait.
 * - Shapes are written outermost dimension first; the last dimension is contiguous: (rows,
 *   columns).
 * - Threads. A device and all that belongs to it is used by one thread at a time; a second thread
 *   that enters meanwhile gets WEFT_BUSY. Different devices are independent.
 * - Descriptor structs are passed by value and all-zero means defaults. They grow only at the end.
 * - The library prints nothing and never exits or aborts.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_WEFT_H
#define WEFT_WEFT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(WEFT_STATIC) || !defined(__GNUC__)
#define WEFT_API
#else
#define WEFT_API __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---- versions, errors, logging --------------------------------------------------------------- */

#define WEFT_VERSION_MAJOR 0
#define WEFT_VERSION_MINOR 1
#define WEFT_VERSION_PATCH 0

/* "major.minor.patch" of the library that is running (static string). */
WEFT_API const char *weft_version(void);

/* Status codes, listed in weft/errors.def: WEFT_OK (0), WEFT_INVALID, WEFT_SHAPE, WEFT_DTYPE,
 * WEFT_INDEX, WEFT_NO_MEMORY, WEFT_IO, WEFT_FORMAT, WEFT_UNSUPPORTED, WEFT_NO_DEVICE, WEFT_DEVICE,
 * WEFT_DEVICE_LOST, WEFT_LIMIT, WEFT_BUSY, WEFT_CANCELLED, WEFT_CONTEXT_FULL. */
typedef enum weft_status {
#define WEFT_STATUS(name, value, text) WEFT_##name = value,
#include "weft/errors.def"
#undef WEFT_STATUS
} weft_status;

/* The message of this thread's last failure, "" before the first. Valid until this thread's next
 * call. */
WEFT_API const char *weft_message(void);
/* The fixed text of a code (static string). */
WEFT_API const char *weft_status_text(weft_status status);

typedef enum weft_log_level {
    WEFT_LOG_ERROR,
    WEFT_LOG_WARN,
    WEFT_LOG_INFO,
    WEFT_LOG_DEBUG,
    WEFT_LOG_TRACE
} weft_log_level;
typedef void (*weft_log_fn)(void *user, weft_log_level level, const char *line);
/* Sends log lines up to `level` to `log` (NULL: nowhere, the default). Process-wide; set it before
 * other threads start. The environment variable WEFT_LOG=error|warn|info|debug|trace sends them to
 * stderr instead. */
WEFT_API void weft_set_log(weft_log_fn log, void *user, weft_log_level level);

/* ---- devices --------------------------------------------------------------------------------- */

typedef struct weft_device weft_device;
typedef struct weft_tensor weft_tensor;

/* WEFT_EXACT: f32 activations and f32 accumulation. WEFT_FAST: activations may be rounded to f16 or
 * 8 bits before a product; accumulation stays f32. 0 means "as the device says", for a device
 * "exact". */
typedef enum weft_precision { WEFT_PRECISION_DEFAULT, WEFT_EXACT, WEFT_FAST } weft_precision;

typedef struct weft_device_desc {
    /* "cpu", "webgpu" (its best adapter), "webgpu:K" (line K of weft_list_devices), "null" (shapes
     * only, no arithmetic), NULL or "" or "best": the best GPU, else the CPU. A software adapter is
     * taken only when named. */
    const char *name;
    int n_threads; /* CPU threads, 0 = all cores */
    weft_precision precision;
} weft_device_desc;

typedef enum weft_device_kind {
    WEFT_KIND_CPU,
    WEFT_KIND_GPU,
    WEFT_KIND_SOFTWARE,
    WEFT_KIND_NULL
} weft_device_kind;

typedef struct weft_device_info {
    char name[16];         /* what weft_device_desc.name takes: "cpu", "webgpu:0" */
    weft_device_kind kind; /* SOFTWARE: a GPU emulated on the CPU */
    bool is_discrete;      /* a GPU with memory of its own */
    bool is_default;       /* weft_open(NULL) takes this one */
    char adapter[128];     /* "NVIDIA H200", "llvmpipe (LLVM 19, 256 bits)" */
    char driver[128];      /* the driver's own words */
    char api[32];          /* "Vulkan", "Metal", "D3D12", "-" */
    char library[256];     /* the WebGPU library's path and kind, "-" for the CPU */
    uint64_t memory_bytes, max_buffer_bytes, max_binding_bytes; /* 0 = unknown */
    uint32_t subgroup_size;                                     /* 0 = unknown or none */
    char features[256];                                         /* "f16 subgroups timestamps ..." */
    char note[256]; /* why it is, or is not, the default; why it cannot be used */
    bool is_usable;
} weft_device_info;

/* Fills out[0..cap) with every device found and returns how many there are. Order: CPU, then all
 * (library, adapter) pairs. `out` may be NULL when cap is 0. */
WEFT_API int weft_list_devices(weft_device_info *out, int cap);
/* Opens a device; NULL desc = all defaults. NULL on failure. weft_close frees it with every tensor
 * that belongs to it, at once or, while models are loaded on it, with the last of them. */
WEFT_API weft_device *weft_open(const weft_device_desc *desc);
WEFT_API void weft_close(weft_device *dev);
WEFT_API weft_status weft_get_device_info(weft_device *dev, weft_device_info *out);
/* Waits for all recorded work. Returns the device's error (lost, out of memory, a bad index met by
 * a kernel). */
WEFT_API weft_status weft_sync(weft_device *dev);

/* The precision of the ops that follow (WEFT_PRECISION_DEFAULT: what the device was opened with).
 * Returns the one that held before. */
WEFT_API weft_precision weft_set_precision(weft_device *dev, weft_precision precision);

/* What ran where since the device was opened (or since `reset`). */
typedef struct weft_counters {
    uint64_t n_calls;    /* ops given to the backend */
    uint64_t n_fallback; /* ops a GPU could not run and the CPU did instead */
    uint64_t n_dispatches, n_submits, n_reads, n_writes;
    uint64_t bytes_allocated, bytes_peak; /* device memory, scratch included */
} weft_counters;
WEFT_API weft_status weft_get_counters(weft_device *dev, weft_counters *out);

/* ---- tensors --------------------------------------------------------------------------------- */

/* Element formats: WEFT_F32, WEFT_F16, WEFT_BF16, WEFT_I32 ... and every GGML block format
 * (WEFT_Q4_1, WEFT_Q8_0, ...), listed in weft/dtypes.def. The numbers are GGML's. */
typedef enum weft_dtype {
#define WEFT_DTYPE(name, id, block, bytes, text, is_quantized) WEFT_##name = id,
#include "weft/dtypes.def"
#undef WEFT_DTYPE
    WEFT_DTYPE_NUMBERS = 64 /* above every id */
} weft_dtype;

/* "f32", "q4_1" ...; NULL for a number that is no dtype. */
WEFT_API const char *weft_dtype_name(weft_dtype dtype);

enum { WEFT_MAX_RANK = 6 };
typedef struct weft_shape {
    int rank; /* 0 = a scalar, at most WEFT_MAX_RANK */
    int64_t dim[WEFT_MAX_RANK];
} weft_shape;
WEFT_API weft_shape weft_1d(int64_t a);
WEFT_API weft_shape weft_2d(int64_t a, int64_t b);
WEFT_API weft_shape weft_3d(int64_t a, int64_t b, int64_t c);
WEFT_API weft_shape weft_4d(int64_t a, int64_t b, int64_t c, int64_t d);

/* A tensor of unspecified contents; of zeros; of a copy of `data` (contiguous, weft_bytes long). */
WEFT_API weft_tensor *weft_new(weft_device *dev, weft_dtype dtype, weft_shape shape);
WEFT_API weft_tensor *weft_zeros(weft_device *dev, weft_dtype dtype, weft_shape shape);
WEFT_API weft_tensor *weft_from(weft_device *dev, weft_dtype dtype, weft_shape shape,
                                const void *data);
/* A read-only tensor over the caller's memory: used in place by the CPU, copied to the device by a
 * GPU. `data` must stay valid and unchanged until `done(user)` is called (NULL: until the device is
 * closed). */
WEFT_API weft_tensor *weft_wrap(weft_device *dev, weft_dtype dtype, weft_shape shape,
                                const void *data, void (*done)(void *user), void *user);

/* Copies to and from host memory, contiguous, exactly weft_bytes(t) of them. weft_read waits. */
WEFT_API weft_status weft_write(weft_tensor *t, const void *data, size_t bytes);
WEFT_API weft_status weft_read(weft_tensor *t, void *out, size_t bytes);

WEFT_API weft_dtype weft_tensor_dtype(const weft_tensor *t);
WEFT_API weft_shape weft_tensor_shape(const weft_tensor *t);
WEFT_API int64_t weft_elements(const weft_tensor *t);
WEFT_API size_t weft_bytes(const weft_tensor *t); /* of its contents when contiguous */
WEFT_API weft_device *weft_tensor_device(const weft_tensor *t);
/* An error tensor's own status and message (static or the tensor's; "" when it is fine). */
WEFT_API weft_status weft_tensor_status(const weft_tensor *t);
WEFT_API const char *weft_tensor_message(const weft_tensor *t);

/* Scopes: tensors made after a push die at the matching pop. pop_keep moves one tensor into the
 * enclosing scope. weft_keep takes a tensor out of all scopes: it is the caller's, who calls
 * weft_free. weft_free of a tensor in a scope frees it early. */
WEFT_API weft_status weft_scope_push(weft_device *dev);
WEFT_API weft_status weft_scope_pop(weft_device *dev);
WEFT_API weft_tensor *weft_scope_pop_keep(weft_device *dev, weft_tensor *result);
WEFT_API weft_tensor *weft_keep(weft_tensor *t);
WEFT_API void weft_free(weft_tensor *t);

/* Views: no copy, same storage. One dimension of a reshape may be -1. Quantised tensors: the last
 * dimension stays whole. slice takes [first, first + count) of one axis (negative axis counts from
 * the end). permute: axes[i] is the old axis that becomes axis i. broadcast follows NumPy. */
/* copies when strides do not allow a view */
WEFT_API weft_tensor *weft_reshape(weft_tensor *t, weft_shape shape);
WEFT_API weft_tensor *weft_slice(weft_tensor *t, int axis, int64_t first, int64_t count);
WEFT_API weft_tensor *weft_permute(weft_tensor *t, const int *axes);
WEFT_API weft_tensor *weft_transpose(weft_tensor *t); /* the last two axes */
WEFT_API weft_tensor *weft_broadcast(weft_tensor *t, weft_shape shape);

/* ---- ops ------------------------------------------------------------------------------------- */
/* Float inputs may be f32, f16 or bf16; results have the (NumPy-promoted) type of the inputs,
 * arithmetic is in f32. docs/OPS.md has the table of dtypes per op and backend. Axis arguments may
 * be negative. */

/* The same values as `dtype`, contiguous: converts among f32, f16, bf16, i32, and decodes quantised
 * weights. */
WEFT_API weft_tensor *weft_cast(weft_tensor *t, weft_dtype dtype);
/* `t` itself when contiguous, else a contiguous copy. */
WEFT_API weft_tensor *weft_contiguous(weft_tensor *t);
/* Writes src (broadcast, converted) into dst, which may be a view; src may overlap it: it is
 * then read first. Returns dst, or an error tensor (and reading dst reports the failure too). The
 * only op that writes into an existing tensor. */
WEFT_API weft_tensor *weft_copy(weft_tensor *dst, weft_tensor *src);

/* Pointwise with broadcasting. silu(x) = x / (1 + exp(-x)); silu_mul(g, u) = silu(g) * u. */
WEFT_API weft_tensor *weft_add(weft_tensor *a, weft_tensor *b);
WEFT_API weft_tensor *weft_mul(weft_tensor *a, weft_tensor *b);
WEFT_API weft_tensor *weft_silu(weft_tensor *x);
WEFT_API weft_tensor *weft_silu_mul(weft_tensor *gate, weft_tensor *up);

/* NumPy's matmul: (..., m, k) @ (..., k, n) -> (..., m, n), leading dimensions broadcast,
 * transposed views read in place. Vectors (rank 1) as NumPy has them. Result f32 when either is
 * f32, else the inputs' type. */
WEFT_API weft_tensor *weft_matmul(weft_tensor *a, weft_tensor *b);
/* x (..., k), w (n, k) plain or quantised, bias (n) or NULL: x @ w^T + bias -> (..., n), f32. */
WEFT_API weft_tensor *weft_linear(weft_tensor *x, weft_tensor *w, weft_tensor *bias);

/* exp(x - max) / sum along `axis`, never NaN for finite input. */
WEFT_API weft_tensor *weft_softmax(weft_tensor *x, int axis);
/* The index (i32) of the largest element along `axis`, which disappears from the shape; the lowest
 * index among equals; a NaN counts as largest (NumPy's rule). An empty axis is an error. */
WEFT_API weft_tensor *weft_argmax(weft_tensor *x, int axis);
/* The indices (i32) of the k largest elements of the last axis, the largest first: (..., n) ->
 * (..., k). Equal elements by index, lowest first; NaN counts as largest. k is 1 to n. */
WEFT_API weft_tensor *weft_top_k(weft_tensor *x, int k);
/* x * weight / sqrt(mean(x^2) + eps) over the last axis; weight (k) or NULL (Zhang and Sennrich
 * 2019). */
WEFT_API weft_tensor *weft_rms_norm(weft_tensor *x, weft_tensor *weight, float eps);

/* Rows of a table: table (rows, k) plain or quantised, ids i32 (...) -> f32 (..., k). An id outside
 * 0..rows-1 makes the op's result an error (CPU), or 0 there and an error WEFT_INDEX at the next
 * read or sync (GPU). */
WEFT_API weft_tensor *weft_get_rows(weft_tensor *table, weft_tensor *ids);
/* Elements of the last axis by index: x (..., n), ids i32 (..., k) with the same leading
 * dimensions -> f32 (..., k), NumPy's take_along_axis. Bad ids as above. */
WEFT_API weft_tensor *weft_gather(weft_tensor *x, weft_tensor *ids);

typedef enum weft_rope_pairing { WEFT_ROPE_NEIGHBOURS, WEFT_ROPE_HALVES } weft_rope_pairing;
typedef struct weft_rope_desc {
    int n_dims; /* rotated dimensions of each head, even; 0 = the whole head */
    float base; /* 0 = 10000 */
    /* (2i, 2i+1), as GGUF's llama; or (i, i + n_dims/2), as NeoX and Qwen */
    weft_rope_pairing pairing;
    float scale; /* positions are multiplied by this; 0 = 1 */
    /* f32 (n_dims/2): the angle of pair i is divided by factors[i]; NULL = 1 */
    weft_tensor *factors;
} weft_rope_desc;
/* Rotary position embedding (Su et al. 2021): x (n_tokens, n_heads, head_dim), positions i32
 * (n_tokens); pair i turns by position * scale * base^(-2i/n_dims) / factors[i]. */
WEFT_API weft_tensor *weft_rope(weft_tensor *x, weft_tensor *positions, weft_rope_desc desc);

#ifdef __cplusplus
}
#endif
#endif
