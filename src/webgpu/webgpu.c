/* The WebGPU backend's table of functions. SPDX-License-Identifier: MIT */
#include "tensor/backend.h"

static int list(weft_device_info *out, int cap) {
    (void)out;
    (void)cap;
    return 0;
}

static weft_status open_device(weft_device *dev, const weft_device_desc *desc, int index,
                               void **state) {
    (void)dev;
    (void)desc;
    (void)index;
    *state = NULL;
    return error_set(WEFT_NO_DEVICE, "no WebGPU adapter was found");
}

extern const weft_backend webgpu_backend;
const weft_backend webgpu_backend = {.name = "webgpu", .list = list, .open = open_device};
