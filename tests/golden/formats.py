#!/usr/bin/env python3
"""Writes tests/golden/formats.txt: random blocks of every format and what the `gguf` package decodes them to.

    python3 tests/golden/formats.py > tests/golden/formats.txt
    python3 tests/golden/formats.py LIBGGML > /dev/null     also compares with that library's dequantisers

Needs numpy and gguf 0.19.0 (PyPI). A line is: format, blocks (hex), CRC-32 of each block's f32 values, the first block's
values (hex). Lines that begin with "encode" have a format with one right answer, f32 values and their blocks.
Q8_1, Q8_K, Q1_0 and Q2_0, which the package lacks, are computed here from their definitions.
SPDX-License-Identifier: MIT
"""
import ctypes
import sys
import zlib

import gguf
import gguf.quants as quants
import numpy as np

SIZES = {t.name: size for t, size in gguf.GGML_QUANT_SIZES.items()}
SIZES["Q2_0"] = (64, 18)
SIZES["Q8_1"] = (32, 36)  # the package still has 40: two f32 where GGML has had two f16 since 2024
# Offsets of f16 scales in a block; everything else is random bytes.
SCALES = {
    "Q4_0": [0], "Q4_1": [0, 2], "Q5_0": [0], "Q5_1": [0, 2], "Q8_0": [0], "Q8_1": [0, 2], "Q2_K": [80, 82], "Q3_K": [108],
    "Q4_K": [0, 2], "Q5_K": [0, 2], "Q6_K": [208], "Q8_K": [], "IQ2_XXS": [0], "IQ2_XS": [0], "IQ3_XXS": [0], "IQ1_S": [0],
    "IQ4_NL": [0], "IQ3_S": [0], "IQ2_S": [0], "IQ4_XS": [0], "IQ1_M": [], "TQ1_0": [52], "TQ2_0": [64], "MXFP4": [],
    "NVFP4": [], "Q1_0": [0], "Q2_0": [0],
}
LIBRARY = {"Q8_1": None, "Q2_K": "q2_K", "Q3_K": "q3_K", "Q4_K": "q4_K", "Q5_K": "q5_K", "Q6_K": "q6_K", "Q8_K": "q8_K"}


def finite_f16(rng, n):
    """Any sign, subnormals and zero included, small enough that no product overflows."""
    h = (rng.integers(0, 2, n) << 15 | rng.integers(0, 19, n) << 10 | rng.integers(0, 1024, n)).astype(np.uint16)
    h[::5] &= 0x83FF
    return h


def blocks_of(rng, name, n):
    b = rng.integers(0, 256, (n, SIZES[name][1])).astype(np.uint8)
    for at in SCALES[name]:
        b[:, at:at + 2] = finite_f16(rng, n).view(np.uint8).reshape(n, 2)
    if name == "Q8_K":
        b[:, :4] = rng.standard_normal(n).astype(np.float32).view(np.uint8).reshape(n, 4)
    if name == "IQ1_M":  # the scale's nibbles top four words
        words, h = b[:, 48:].copy().view(np.uint16), finite_f16(rng, n)
        for i in range(4):
            words[:, i] = words[:, i] & 0x0FFF | (h >> 4 * i & 15) << 12
        b[:, 48:] = words.view(np.uint8)
    if name == "MXFP4":
        b[0, 0], b[1, 0], b[2, 0] = 0, 1, 2  # a subnormal scale and the first normal ones
        b[3:, 0] = rng.integers(100, 150, n - 3)
    return b


def decode(name, b):
    n, f32 = len(b), np.float32
    if name == "Q8_1":
        return b[:, :2].copy().view(np.float16).astype(f32) * b[:, 4:].view(np.int8).astype(f32)
    if name == "Q8_K":
        return b[:, :4].copy().view(f32) * b[:, 4:260].view(np.int8).astype(f32)
    if name == "Q1_0":
        bits = np.unpackbits(b[:, 2:], axis=1, bitorder="little").astype(f32)
        return b[:, :2].copy().view(np.float16).astype(f32) * (2 * bits - 1).astype(f32)
    if name == "Q2_0":
        twos = b[:, 2:, None] >> np.array([0, 2, 4, 6], np.uint8) & 3
        return b[:, :2].copy().view(np.float16).astype(f32) * (twos.reshape(n, 64).astype(f32) - 1)
    return quants.dequantize(b, gguf.GGMLQuantizationType[name]).reshape(n, SIZES[name][0])


def library_decode(library, name, b):
    out = np.empty((len(b), SIZES[name][0]), np.float32)
    function = getattr(library, "dequantize_row_" + LIBRARY.get(name, name.lower()))
    function(b.ctypes.data_as(ctypes.c_void_p), out.ctypes.data_as(ctypes.c_void_p), ctypes.c_int64(out.size))
    return out


def main():
    library = ctypes.CDLL(sys.argv[1]) if len(sys.argv) > 1 else None
    rng = np.random.default_rng(20240601)
    for name in SCALES:
        n = 12
        b = blocks_of(rng, name, n)
        x = np.ascontiguousarray(decode(name, b), np.float32)
        assert np.isfinite(x).all(), name
        if library and LIBRARY.get(name, "") is not None:
            y = library_decode(library, name, b)
            same = (x.view(np.uint32) == y.view(np.uint32)).mean()
            ulps = np.abs(x.view(np.int32).astype(np.int64) - y.view(np.int32)).max()
            print(f"{name}: {same:.6f} of values have the library's bits, largest difference {ulps} ulp", file=sys.stderr)
        print(name, b.tobytes().hex(), ",".join(f"{zlib.crc32(row.tobytes()):08x}" for row in x), x[0].tobytes().hex())
    for name in ("F16", "BF16", "Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "TQ1_0", "TQ2_0"):
        x = rng.standard_normal((1, 256)).astype(np.float32)
        x[0, 32:64] *= 1e-3
        x[0, 96:128] = 0
        b = quants.quantize(x, gguf.GGMLQuantizationType[name])
        print("encode", name, x.tobytes().hex(), b.tobytes().hex())


main()
