/* Libraries that are not what they seem, for testing that none is called before it is
 * recognised: every function aborts. FAKE_OLD: an older interface (no SetImmediates).
 * FAKE_PARTIAL: the current one, but incomplete. Neither: no WebGPU at all.
 * SPDX-License-Identifier: MIT */
#include <stdlib.h>

#define EXPORT __attribute__((visibility("default")))

#if defined(FAKE_OLD) || defined(FAKE_PARTIAL)
EXPORT void wgpuCreateInstance(void);
void wgpuCreateInstance(void) { abort(); }
EXPORT void wgpuInstanceRequestAdapter(void);
void wgpuInstanceRequestAdapter(void) { abort(); }
EXPORT void wgpuDevicePoll(void);
void wgpuDevicePoll(void) { abort(); }
#endif

#ifdef FAKE_PARTIAL
EXPORT void wgpuComputePassEncoderSetImmediates(void);
void wgpuComputePassEncoderSetImmediates(void) { abort(); }
#endif

EXPORT int fake_library(void);
int fake_library(void) { return 1; }
