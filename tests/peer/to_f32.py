#!/usr/bin/env python3
"""Writes a copy of a GGUF file with every tensor decoded to f32 (needs PyPI's `gguf` and numpy).

    to_f32.py IN.gguf OUT.gguf

Two engines that read the copy do the same arithmetic but for rounding, so their logits can be compared closely.
SPDX-License-Identifier: MIT
"""
import sys

import gguf
import numpy


def main():
    source = gguf.GGUFReader(sys.argv[1])
    arch = source.fields["general.architecture"].contents()
    out = gguf.GGUFWriter(sys.argv[2], arch)
    for key, field in source.fields.items():
        if key.startswith("GGUF.") or key in ("general.architecture", "general.file_type"):
            continue
        kind = field.types[0]
        sub = field.types[-1] if kind == gguf.GGUFValueType.ARRAY else None
        out.add_key_value(key, field.contents(), kind, sub)
    out.add_file_type(0)
    for tensor in source.tensors:
        data = gguf.dequantize(tensor.data, tensor.tensor_type).astype(numpy.float32)
        out.add_tensor(tensor.name, numpy.ascontiguousarray(data).reshape([int(n) for n in tensor.shape[::-1]]))
    out.write_header_to_file()
    out.write_kv_data_to_file()
    out.write_tensors_to_file()
    out.close()


main()
