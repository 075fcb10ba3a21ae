#!/usr/bin/env python3
"""Compares the formats that weft_quantize gives each tensor with those of llama.cpp's llama_model_quantize.

    python3 tools/check_mixes.py LIBWEFT.so LIBLLAMA.so [TYPE ...]

Small random llama models of several shapes (grouped values or not, experts, a tied embedding, rows that fit no block of
256) are quantised by both under every name, with and without an importance matrix. Needs numpy and gguf (PyPI).
SPDX-License-Identifier: MIT
"""
import ctypes
import os
import struct
import sys
import tempfile

import gguf
import numpy as np


class Theirs(ctypes.Structure):  # llama_model_quantize_params
    _fields_ = [("nthread", ctypes.c_int32), ("ftype", ctypes.c_int), ("output_tensor_type", ctypes.c_int),
                ("token_embedding_type", ctypes.c_int), ("allow_requantize", ctypes.c_bool),
                ("quantize_output_tensor", ctypes.c_bool), ("only_copy", ctypes.c_bool), ("pure", ctypes.c_bool),
                ("keep_split", ctypes.c_bool), ("dry_run", ctypes.c_bool), ("imatrix", ctypes.c_void_p),
                ("kv_overrides", ctypes.c_void_p), ("tt_overrides", ctypes.c_void_p), ("prune_layers", ctypes.c_void_p)]


class Importance(ctypes.Structure):  # llama_model_imatrix_data
    _fields_ = [("name", ctypes.c_char_p), ("data", ctypes.c_void_p), ("size", ctypes.c_size_t)]


class Ours(ctypes.Structure):  # weft_quantize_desc
    _fields_ = [("type", ctypes.c_char_p), ("imatrix", ctypes.c_char_p), ("output_type", ctypes.c_char_p),
                ("is_pure", ctypes.c_bool), ("n_threads", ctypes.c_int), ("on_progress", ctypes.c_void_p),
                ("user", ctypes.c_void_p)]


NUMBERS = {}
for line in open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../src/llm/mixes.def")):
    if line.startswith("WEFT_MIX("):
        name, number, _ = line[len("WEFT_MIX("):].split(",")
        NUMBERS[name] = int(number)


def make_model(path, layers, embd, heads, kv_heads, experts, tied):
    w = gguf.GGUFWriter(path, "llama")
    rng = np.random.default_rng(3)
    for key, value in (("context_length", 64), ("embedding_length", embd), ("block_count", layers),
                       ("feed_forward_length", 2 * embd), ("attention.head_count", heads),
                       ("attention.head_count_kv", kv_heads)):
        w.add_uint32("llama." + key, value)
    w.add_float32("llama.attention.layer_norm_rms_epsilon", 1e-5)
    if experts:
        w.add_uint32("llama.expert_count", experts)
        w.add_uint32("llama.expert_used_count", 2)
    w.add_tokenizer_model("no_vocab")
    w.add_uint32("llama.vocab_size", 32)
    # Neither side looks at the number of rows: two keep this quick.
    shapes = {"token_embd.weight": (2, embd), "output_norm.weight": (embd,)}
    if not tied:
        shapes["output.weight"] = (2, embd)
    stack, suffix = ((experts,), "_exps.weight") if experts else ((), ".weight")
    for i in range(layers):
        b = f"blk.{i}."
        shapes |= {b + n + "_norm.weight": (embd,) for n in ("attn", "ffn")}
        shapes |= {b + n + ".weight": (2, embd) for n in ("attn_q", "attn_k", "attn_v", "attn_output")}
        shapes |= {b + n + suffix: stack + (2, embd) for n in ("ffn_gate", "ffn_up", "ffn_down")}
        if experts:
            shapes[b + "ffn_gate_inp.weight"] = (experts, embd)
    for name, shape in shapes.items():
        w.add_tensor(name, (rng.standard_normal(shape) * 0.02).astype(np.float32))
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()
    return shapes


class Tensor(ctypes.Structure):  # weft_gguf_tensor
    _fields_ = [("name", ctypes.c_char_p), ("dtype", ctypes.c_int), ("rank", ctypes.c_int), ("dim", ctypes.c_int64 * 6),
                ("bytes", ctypes.c_uint64)]


def types(weft, path):  # the package's reader refuses formats that it does not know
    weft.weft_gguf_open.restype, weft.weft_dtype_name.restype = ctypes.c_void_p, ctypes.c_char_p
    file, tensor, out = ctypes.c_void_p(weft.weft_gguf_open(path.encode())), Tensor(), {}
    assert file, path
    while weft.weft_gguf_get_tensor(file, ctypes.c_size_t(len(out)), ctypes.byref(tensor)) == 0:
        out[tensor.name.decode()] = weft.weft_dtype_name(tensor.dtype).decode()
    weft.weft_gguf_close(file)
    return out


def main():
    weft, llama = ctypes.CDLL(os.path.abspath(sys.argv[1])), ctypes.CDLL(os.path.abspath(sys.argv[2]))
    weft.weft_message.restype = ctypes.c_char_p
    weft.weft_quantize.argtypes = [ctypes.c_char_p, ctypes.c_char_p, Ours]
    llama.llama_model_quantize_default_params.restype = Theirs
    silent = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p)(lambda *a: None)
    llama.llama_log_set(silent, None)
    default = llama.llama_model_quantize_default_params()
    assert default.quantize_output_tensor and not default.pure and not default.imatrix, "the parameters' layout has changed"
    folder = tempfile.mkdtemp()
    source, a, b, matrix = (os.path.join(folder, n) for n in ("in.gguf", "a.gguf", "b.gguf", "m.dat"))
    n_compared = n_different = 0
    models = ((20, 256, 8, 8, 0, False), (33, 256, 8, 2, 0, True), (16, 256, 8, 2, 8, False), (9, 256, 4, 4, 4, False),
              (12, 192, 4, 4, 0, True), (80, 256, 8, 1, 0, False), (80, 256, 8, 8, 0, True), (4, 80, 4, 4, 0, False))
    for model in models:
        shapes = make_model(source, *model)
        rows = {n: s for n, s in shapes.items() if len(s) > 1}
        ones = np.ones(1 << 16, np.float32)
        entries = (Importance * (len(rows) + 1))()
        with open(matrix, "wb") as f:
            f.write(struct.pack("<i", len(rows)))
            for i, (name, shape) in enumerate(rows.items()):
                n = shape[-1] * (shape[0] if len(shape) == 3 else 1)
                entries[i] = Importance(name.encode(), ones.ctypes.data, n)
                f.write(struct.pack("<i", len(name)) + name.encode() + struct.pack("<ii", 1, n) + ones[:n].tobytes())
        print(model, flush=True)
        for name, number in NUMBERS.items():
            if sys.argv[3:] and name not in sys.argv[3:]:
                continue
            for with_matrix in (False, True):
                for pure in (False, True):
                    p = llama.llama_model_quantize_default_params()
                    p.nthread, p.ftype, p.pure = 2, number, pure
                    p.imatrix = ctypes.addressof(entries) if with_matrix else None
                    if llama.llama_model_quantize(source.encode(), b.encode(), ctypes.byref(p)):
                        continue  # it asks for an importance matrix, or knows no fallback
                    desc = Ours(name.encode(), matrix.encode() if with_matrix else None, None, pure, 2, None, None)
                    if weft.weft_quantize(source.encode(), a.encode(), desc):
                        sys.exit(f"{model} {name}: {weft.weft_message().decode()}")
                    ours, theirs = types(weft, a), types(weft, b)
                    n_compared += 1
                    wrong = [f"{t}: {ours[t]}, theirs {theirs[t]}" for t in theirs if ours[t] != theirs[t]]
                    if wrong or ours.keys() != theirs.keys():
                        n_different += 1
                        print(model, name, "matrix" if with_matrix else "", "pure" if pure else "", len(wrong),
                              wrong[:4], flush=True)
    print(f"{n_compared} files compared, {n_different} differ")
    sys.exit(n_different > 0 or n_compared == 0)


main()
