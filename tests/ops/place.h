/* Tensors laid out for a test: values put into a view of a larger tensor whose other bytes are a
 * pattern, and the check that those bytes are still there. SPDX-License-Identifier: MIT */
#ifndef WEFT_TESTS_PLACE_H
#define WEFT_TESTS_PLACE_H

#include "runner.h"

typedef enum place_kind { PLAIN, OFFSET, PERMUTED, GAPS, BROADCAST, OUTPUT, N_PLACES } place_kind;

enum { PATTERN = 0xFF }; /* of every byte: a NaN in each float type, -1 as an integer */

typedef struct placed {
    weft_tensor *view, *parent;
    uint8_t *bytes; /* the parent's contents, as they must be */
    size_t n_bytes;
} placed;

/* A tensor of this shape and layout on dev; its bytes and those around it are the pattern. Outputs
 * are dense, fenced, and start 256 bytes into their parent. */
placed place_new(weft_device *dev, weft_dtype dtype, weft_shape shape, place_kind kind);
/* Another view of the same parent (aliasing): the bytes stay p's. */
placed place_alias(const placed *p, weft_tensor *view);
/* Puts contiguous `data` into the view's bytes, and sends the parent to the device. */
void place_write(placed *p, const void *data);
/* Reads the parent back; takes the view's elements out into `data` (contiguous) if it is not NULL,
 * and returns NULL or what is wrong with the bytes around it. With slack, bytes from the
 * view's end to the next multiple of 16 may change: an output is an allocation of its own, which
 * every backend rounds up to 16 bytes. */
const char *place_read(placed *p, void *data, bool has_slack);
/* Whether a tensor like this can have the layout. */
bool place_fits(weft_dtype dtype, weft_shape shape, place_kind kind);
/* The axis a BROADCAST view repeats. */
int place_broadcast_axis(weft_shape shape);
void place_free(placed *p);

#endif
