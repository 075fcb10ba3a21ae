#!/usr/bin/env python3
"""Compares the formats that weft_quantize gives each tensor with those of llama.cpp's llama_model_quantize.

    python3 tools/check_mixes.py LIBWEFT.so LIBLLAMA.so [TYPE ...]

Small random models of several shapes (grouped values or not, experts, shared experts, layers without a feed-forward, a
tied embedding, rows that fit no block of 256) and of every architecture that llama.cpp treats in its own way are
quantised by both under every name, with and without an importance matrix. Needs numpy and gguf (PyPI).
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


class Model:
    """What a test model is like. `keys` are more metadata, without the architecture's name before them."""

    def __init__(self, layers, embd, heads, kv_heads, experts=0, tied=False, arch="llama", keys=(), shared=False,
                 fused=False, every=1, stacked_values=False):
        self.__dict__.update(locals())
        self.label = f"{arch} {layers} layers, rows of {embd}, {heads}/{kv_heads} heads" + "".join(
            f", {what}" for what, holds in ((f"{experts} experts", experts), ("shared experts", shared), ("tied", tied),
                                            (f"every {every}nd feeds forward", every > 1)) if holds)

    def shapes(self):
        """Neither side looks at the number of rows: two keep this quick."""
        embd = self.embd
        shapes = {"token_embd.weight": (2, embd), "output_norm.weight": (embd,)}
        if not self.tied:
            shapes["output.weight"] = (2, embd)
        stack, suffix = ((self.experts,), "_exps.weight") if self.experts else ((), ".weight")
        attention = ("attn_qkv", "attn_output") if self.fused else ("attn_q", "attn_k", "attn_v", "attn_output")
        feed = ("ffn_up", "ffn_down") if self.fused else ("ffn_gate", "ffn_up", "ffn_down")
        for i in range(self.layers):
            b = f"blk.{i}."
            shapes |= {b + n + "_norm.weight": (embd,) for n in ("attn", "ffn")}
            shapes |= {b + n + ".weight": (2, embd) for n in attention}
            if self.stacked_values:
                shapes |= {b + n + ".weight": (2, 2, embd) for n in ("attn_k_b", "attn_v_b")}
            if i % self.every:
                continue
            shapes |= {b + n + suffix: stack + (2, embd) for n in feed}
            if self.shared:
                shapes |= {b + n + "_shexp.weight": (2, embd) for n in feed}
            if self.experts:
                shapes[b + "ffn_gate_inp.weight"] = (self.experts, embd)
        return shapes

    def write(self, path):
        w = gguf.GGUFWriter(path, self.arch)
        rng = np.random.default_rng(3)
        keys = {"context_length": 64, "embedding_length": self.embd, "block_count": self.layers,
                "feed_forward_length": 2 * self.embd, "attention.head_count": self.heads,
                "attention.head_count_kv": self.kv_heads, "attention.layer_norm_rms_epsilon": 1e-5,
                "attention.layer_norm_epsilon": 1e-5, "vocab_size": 32} | dict(self.keys)
        if self.experts:
            keys |= {"expert_count": self.experts, "expert_used_count": 2}
        for key, value in keys.items():
            (w.add_float32 if isinstance(value, float) else w.add_uint32)(f"{self.arch}.{key}", value)
        w.add_tokenizer_model("no_vocab")
        shapes = self.shapes()
        for name, shape in shapes.items():
            w.add_tensor(name, (rng.standard_normal(shape) * 0.02).astype(np.float32))
        w.write_header_to_file()
        w.write_kv_data_to_file()
        w.write_tensors_to_file()
        w.close()
        return shapes


BAILING = {"attention.key_length_mla": 1, "attention.value_length_mla": 1, "attention.kv_lora_rank": 16,
           "ssm.conv_kernel": 1, "kda.head_dim": 16, "kda.gate_lower_bound": -1.0, "expert_feed_forward_length": 1,
           "expert_shared_count": 1, "leading_dense_block_count": 1, "expert_gating_func": 1}
MODELS = (
    Model(20, 256, 8, 8), Model(33, 256, 8, 2, tied=True), Model(16, 256, 8, 2, 8), Model(9, 256, 4, 4, 4),
    Model(12, 192, 4, 4, tied=True), Model(80, 256, 8, 1), Model(80, 256, 8, 8, tied=True), Model(4, 80, 4, 4),
    Model(16, 256, 8, 2, 8, shared=True), Model(24, 256, 8, 4, 16, shared=True), Model(40, 256, 8, 4, every=2),
    Model(33, 256, 8, 1, arch="falcon", fused=True), Model(60, 256, 8, 8, tied=True, arch="falcon", fused=True),
    Model(9, 192, 4, 4, arch="falcon", fused=True), Model(16, 256, 8, 2, 8, arch="falcon", fused=True),
    Model(80, 256, 8, 8, arch="qwen2"), Model(80, 256, 8, 1, arch="qwen3"), Model(80, 256, 8, 8, arch="deci"),
    Model(80, 256, 8, 1, arch="olmo"), Model(68, 256, 8, 8, arch="jais2"),
    Model(12, 256, 8, 1, 4, arch="bailingmoe3", keys=BAILING, stacked_values=True),
)


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
    for model in MODELS:
        shapes = model.write(source)
        rows = {n: s for n, s in shapes.items() if len(s) > 1}
        ones = np.ones(1 << 16, np.float32)
        entries = (Importance * (len(rows) + 1))()
        with open(matrix, "wb") as f:
            f.write(struct.pack("<i", len(rows)))
            for i, (name, shape) in enumerate(rows.items()):
                n = shape[-1] * (shape[0] if len(shape) == 3 else 1)
                entries[i] = Importance(name.encode(), ones.ctypes.data, n)
                f.write(struct.pack("<i", len(name)) + name.encode() + struct.pack("<ii", 1, n) + ones[:n].tobytes())
        print(model.label, flush=True)
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
                        sys.exit(f"{model.label} {name}: {weft.weft_message().decode()}")
                    ours, theirs = types(weft, a), types(weft, b)
                    n_compared += 1
                    wrong = [f"{t}: {ours[t]}, theirs {theirs[t]}" for t in theirs if ours[t] != theirs[t]]
                    if wrong or ours.keys() != theirs.keys():
                        n_different += 1
                        print("   ", name, "matrix" if with_matrix else "", "pure" if pure else "", len(wrong),
                              wrong[:4], flush=True)
    print(f"{n_compared} files compared, {n_different} differ")
    sys.exit(n_different > 0 or n_compared == 0)


main()
