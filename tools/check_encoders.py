#!/usr/bin/env python3
"""Compares weft's encoders with those of llama.cpp's ggml library: the error of each and how many blocks are equal.

    python3 tools/check_encoders.py LIBGGML_BASE.so [MODEL.gguf] [FORMAT ...]

Data: 64 rows of 4,096 normal numbers, and rows of the model's blk.*.ffn_down.weight if a model is given; then the
normal numbers again with an importance of squared normal numbers, errors weighted by it. The formats are compiled here
from src/format. Needs a C compiler, numpy and (for the model) gguf. Exits with 1 if an error is more than 2% above the
library's. The speeds are weights a second of this process's time, one thread. SPDX-License-Identifier: MIT
"""
import ctypes
import glob
import os
import re
import subprocess
import sys
import tempfile
import time

import numpy as np

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
DRIVER = """
#include "format/format.h"
int encode(int t, const float *x, void *b, int64_t rows, int64_t n, int64_t row_bytes, const float *w) {
    const format_ops *f = format_find((weft_dtype)t);
    if (!f || !f->encode) return 0;
    for (int64_t i = 0; i < rows; i++) f->encode(x + i * n, (char *)b + i * row_bytes, n, w);
    return 1;
}
void decode(int t, const void *b, float *x, int64_t n) { format_find((weft_dtype)t)->decode(b, x, n); }
"""


def build():
    folder = tempfile.mkdtemp()
    driver, library = folder + "/driver.c", folder + "/formats.so"
    open(driver, "w").write(DRIVER)
    subprocess.check_call(["cc", "-O3", "-shared", "-fPIC", "-std=gnu11", "-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math",
                           f"-I{ROOT}/include", f"-I{ROOT}/src", driver, *glob.glob(ROOT + "/src/format/*.c"), "-o",
                           library, "-lm"])
    return ctypes.CDLL(library)


def pointer(array):
    return None if array is None else array.ctypes.data_as(ctypes.c_void_p)


def compare(ours, ggml, dtype, name, block, size, label, x, w):
    rows, n = x.shape
    row = n // block * size
    a, b = np.zeros((rows, row), np.uint8), np.zeros((rows, row), np.uint8)
    ggml.ggml_quantize_init(dtype)  # its tables, which would count otherwise
    start = time.process_time()
    if not ours.encode(dtype, pointer(x), pointer(a), ctypes.c_int64(rows), ctypes.c_int64(n), ctypes.c_int64(row), pointer(w)):
        print(f"{name:8} {label:9} no encoder")
        return True
    middle = time.process_time()
    needs = ggml.ggml_quantize_requires_imatrix(dtype) and w is None
    ggml.ggml_quantize_chunk(dtype, pointer(x), pointer(b), ctypes.c_int64(0), ctypes.c_int64(rows), ctypes.c_int64(n),
                             pointer(np.ones(n, np.float32) if needs else w))
    end = time.process_time()
    error = []
    for packed in (a, b):
        y = np.empty_like(x)
        ours.decode(dtype, pointer(packed), pointer(y), ctypes.c_int64(x.size))
        e = (x.astype(np.float64) - y) ** 2
        error.append(np.sqrt((e * w).sum() / w.sum() / rows if w is not None else e.mean()))
    equal = (a.reshape(-1, size) == b.reshape(-1, size)).all(axis=1).mean()
    ratio = error[0] / error[1] if error[1] else 1.0 + error[0]
    good = ratio <= 1.02
    mine, their = x.size / (middle - start) / 1e6, x.size / (end - middle) / 1e6
    print(f"{name:8} {label:9} error {error[0]:.6g} against {error[1]:.6g}: {ratio:.4f}{'' if good else ' TOO LARGE'}; "
          f"equal blocks {100 * equal:.1f}%; {mine:.2f} against {their:.2f} M/s: {mine / their:.2f}",
          flush=True)
    return good


def main():
    ggml = ctypes.CDLL(sys.argv[1])
    ggml.ggml_quantize_chunk.restype = ctypes.c_size_t
    ggml.ggml_quantize_requires_imatrix.restype = ctypes.c_bool
    ours = build()
    rng = np.random.default_rng(1)
    normal = rng.standard_normal((64, 4096)).astype(np.float32)
    data = [("normal", normal, None)]
    names = [a.upper() for a in sys.argv[2:] if not a.endswith(".gguf")]
    for path in (a for a in sys.argv[2:] if a.endswith(".gguf")):
        import gguf
        tensors = {t.name: t for t in gguf.GGUFReader(path).tensors}
        t = tensors["blk.5.ffn_down.weight"]
        down = gguf.quants.dequantize(t.data, t.tensor_type)
        data.append(("ffn_down", np.ascontiguousarray(down[:128], np.float32), None))
    data.append(("important", normal, (rng.standard_normal(4096) ** 2).astype(np.float32)))
    good = True
    for line in open(ROOT + "/include/weft/dtypes.def"):
        m = re.match(r'WEFT_DTYPE\((\w+), (\d+), (\d+), (\d+), "\w+", 1\)', line)
        if not m or m[1] in ("Q8_1", "Q8_K") or (names and m[1] not in names):
            continue
        for label, x, w in data:
            good &= compare(ours, ggml, int(m[2]), m[1], int(m[3]), int(m[4]), label, x, w)
    sys.exit(not good)


main()
