#!/usr/bin/env python3
"""Exports a llama GGUF file as a Hugging Face folder, and looks whether weft makes the same model of it again.

    tools/check_folder.py WEFT MODEL.gguf

The folder has the file's weights decoded to f32, in two files, and its byte-level BPE tokenizer as tokenizer.json. `weft convert`
must give back every tensor and every key, bit for bit, but for two that say the same otherwise (tokenizer.ggml.pre, whose names
are several for one way to cut, and add_space_prefix, whose default is false here): a text's tokens are compared. MODEL, the folder, the converted file and the file quantised
from the folder to F16 must continue a prompt with the same tokens. Needs numpy and gguf (PyPI).
SPDX-License-Identifier: MIT
"""
import json
import os
import struct
import subprocess
import sys
import tempfile

import gguf
import numpy as np

PROMPT, TOKENS = "Write two sentences about the sea.", 40
TEXT = "The 1,234.5 lö<|im_end|>st  \t\n\n ships' masts: don't; 東京 🦜🦜 x=[i*2 for i in range(10)]\r\n    end"
NAMES = {"attn_norm": "input_layernorm", "ffn_norm": "post_attention_layernorm", "attn_q": "self_attn.q_proj",
         "attn_k": "self_attn.k_proj", "attn_v": "self_attn.v_proj", "attn_output": "self_attn.o_proj", "ffn_gate": "mlp.gate_proj",
         "ffn_up": "mlp.up_proj", "ffn_down": "mlp.down_proj", "token_embd": "model.embed_tokens", "output_norm": "model.norm",
         "output": "lm_head"}


def value(reader, key):
    return reader.fields[key].contents()


def tensors(reader):
    """The folder's names and f32 data; rows of queries and keys in the order they were trained in."""
    heads = {"attn_q": value(reader, "llama.attention.head_count"), "attn_k": value(reader, "llama.attention.head_count_kv")}
    for t in reader.tensors:
        *layer, kind, _ = t.name.split(".")
        data = gguf.dequantize(t.data, t.tensor_type).astype(np.float32).reshape([int(n) for n in t.shape[::-1]])
        if kind in heads:
            data = data.reshape(heads[kind], -1, 2, data.shape[1]).swapaxes(1, 2).reshape(data.shape)
        yield (f"model.layers.{layer[1]}." if layer else "") + NAMES[kind] + ".weight", np.ascontiguousarray(data)


def write_safetensors(path, items):
    header, at = {}, 0
    for name, data in items:
        header[name] = {"dtype": "F32", "shape": list(data.shape), "data_offsets": [at, at + data.nbytes]}
        at += data.nbytes
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text)
        for _, data in items:
            f.write(data.tobytes())


def write_folder(reader, folder):
    def number(key):
        return value(reader, "llama." + key)

    items = list(tensors(reader))
    index = {}
    for k in range(2):
        file = f"model-{k + 1:05}-of-00002.safetensors"
        write_safetensors(os.path.join(folder, file), items[k::2])
        index.update({name: file for name, _ in items[k::2]})
    tokens, kinds = value(reader, "tokenizer.ggml.tokens"), value(reader, "tokenizer.ggml.token_type")
    bos, eos = value(reader, "tokenizer.ggml.bos_token_id"), value(reader, "tokenizer.ggml.eos_token_id")
    added = [{"id": i, "content": t, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
             for i, t in enumerate(tokens) if kinds[i] == 3]
    files = {
        "model.safetensors.index.json": {"metadata": {}, "weight_map": index},
        "config.json": {
            "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_act": "silu", "vocab_size": len(tokens),
            "hidden_size": number("embedding_length"), "intermediate_size": number("feed_forward_length"),
            "num_hidden_layers": number("block_count"), "num_attention_heads": number("attention.head_count"),
            "num_key_value_heads": number("attention.head_count_kv"), "max_position_embeddings": number("context_length"),
            "rms_norm_eps": float(number("attention.layer_norm_rms_epsilon")), "rope_theta": float(number("rope.freq_base")),
            "tie_word_embeddings": "lm_head.weight" not in index},
        "tokenizer.json": {
            "version": "1.0", "added_tokens": added, "normalizer": None, "post_processor": None,
            # the tokenizer that GGUF calls "smollm"
            "pre_tokenizer": {"type": "Sequence", "pretokenizers": [
                {"type": "Digits", "individual_digits": True},
                {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}]},
            "decoder": {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True},
            "model": {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None,
                      "end_of_word_suffix": None, "fuse_unk": False, "byte_fallback": False,
                      "vocab": {t: i for i, t in enumerate(tokens)}, "merges": value(reader, "tokenizer.ggml.merges")}},
        "tokenizer_config.json": {
            "add_bos_token": False, "bos_token": tokens[bos], "eos_token": tokens[eos], "unk_token": tokens[0],
            "pad_token": tokens[value(reader, "tokenizer.ggml.padding_token_id")],
            "chat_template": value(reader, "tokenizer.chat_template")},
    }
    for name, content in files.items():
        with open(os.path.join(folder, name), "w") as f:
            json.dump(content, f)


def compare(before, after):
    is_bad = False
    ours = {t.name: t for t in after.tensors}
    for t in before.tensors:
        expected = gguf.dequantize(t.data, t.tensor_type).astype(np.float32).tobytes()
        if t.name not in ours or ours[t.name].data.tobytes() != expected:
            print(f"tensor {t.name} is not the same")
            is_bad = True
    print(f"{len(before.tensors)} tensors, of which {len(ours)} are in the converted file")
    is_bad |= len(ours) != len(before.tensors)
    for key in before.fields:
        if not key.startswith(("tokenizer.", "llama.")):
            continue
        if key in ("tokenizer.ggml.pre", "tokenizer.ggml.add_space_prefix"):
            continue
        if key not in after.fields or value(before, key) != value(after, key):
            print(f"key {key}: {str(value(after, key) if key in after.fields else None)[:60]}, not {str(value(before, key))[:60]}")
            is_bad = True
    return is_bad


def main(weft, model):
    before = gguf.GGUFReader(model)
    with tempfile.TemporaryDirectory() as work:
        folder, copy, half = os.path.join(work, "folder"), os.path.join(work, "f32.gguf"), os.path.join(work, "f16.gguf")
        os.mkdir(folder)
        write_folder(before, folder)
        subprocess.run([weft, "convert", folder, copy, "f32"], check=True)
        subprocess.run([weft, "quantize", folder, half, "F16"], check=True)
        is_bad = compare(before, gguf.GGUFReader(copy))
        texts, ids = [], []
        for path in (model, folder, copy, half):
            command = [weft, "run", path, "-p", PROMPT, "-n", str(TOKENS), "--temp", "0", "--exact", "--device", "cpu"]
            texts.append(subprocess.run(command, check=True, capture_output=True).stdout)
            ids.append(subprocess.run([weft, "tokenize", path, TEXT, "--ids"], check=True, capture_output=True).stdout)
        print(texts[0].decode().strip())
        is_bad |= any(t != texts[0] for t in texts) or any(i != ids[0] for i in ids)
        print("other tokens" if any(i != ids[0] for i in ids) else f"the same {len(ids[0].split())} tokens of a text from all four")
        print("other text" if any(t != texts[0] for t in texts) else "the same text from all four")
    sys.exit(is_bad)


if __name__ == "__main__":
    main(*sys.argv[1:])
