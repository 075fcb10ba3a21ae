#!/usr/bin/env python3
"""Writes tests/golden/checkpoint.txt and tests/golden/checkpoint/tokenizer*.json: tiny models as Hugging Face folders, and what
`transformers` makes of them.

    python3 -m venv V && V/bin/pip install torch transformers tokenizers numpy
    V/bin/python tests/golden/checkpoint.py > tests/golden/checkpoint.txt
    V/bin/python tests/golden/checkpoint.py DIR     also keeps the folders, DIR/NAME each, and the ids of prompt and answer

A block per model: `model NAME DTYPE SHARDS`, its config.json in one line, `tensor NAME DIM ...` for each tensor, `greedy ID ...`
(what follows the prompt), and for some positions of the prompt `logits POSITION VALUE ...`, every 8th of the vocabulary.
Weights are a formula that tests/harness/tiny_folder.c has too. The prompt is ids(i) = (7 i^2 + 13 i + 5) mod vocabulary, 48 tokens.
SPDX-License-Identifier: MIT
"""
import json
import os
import sys
import tempfile

import numpy as np
import torch
from safetensors.torch import save_file
from splitmix import MASK, uniform
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import AutoModelForCausalLM

VOCAB, PROMPT, ANSWER, POSITIONS = 272, 48, 12, (0, 17, 47)


def weight(name, shape):
    """Seeded by FNV-1a of the name."""
    seed = 0xCBF29CE484222325
    for byte in name.encode():
        seed = (seed ^ byte) * 0x100000001B3 & MASK
    u = uniform(seed, int(np.prod(shape))).reshape(shape)
    if name.endswith("norm.weight"):
        w = 0.8 + 0.4 * u
    elif name.endswith(".bias"):
        w = 0.2 * (2 * u - 1)
    elif "embed" in name:
        w = 2 * u - 1
    else:
        w = (2 * u - 1) * 1.7 / np.sqrt(shape[-1])
    return torch.from_numpy(w.astype(np.float32))


def tensors(c):
    embd, ff, d = c["hidden_size"], c["intermediate_size"], c.get("head_dim") or c["hidden_size"] // c["num_attention_heads"]
    q, kv = c["num_attention_heads"] * d, c.get("num_key_value_heads", c["num_attention_heads"]) * d
    qkv_bias = c["model_type"] == "qwen2" or c.get("attention_bias")
    yield "model.embed_tokens.weight", (c["vocab_size"], embd)
    yield "model.norm.weight", (embd,)
    if not c["tie_word_embeddings"]:
        yield "lm_head.weight", (c["vocab_size"], embd)
    for i in range(c["num_hidden_layers"]):
        p = f"model.layers.{i}."
        yield p + "input_layernorm.weight", (embd,)
        yield p + "post_attention_layernorm.weight", (embd,)
        for name, shape in (("q", (q, embd)), ("k", (kv, embd)), ("v", (kv, embd)), ("o", (embd, q))):
            yield f"{p}self_attn.{name}_proj.weight", shape
            if qkv_bias and (name != "o" or c.get("attention_bias")):
                yield f"{p}self_attn.{name}_proj.bias", shape[:1]
            if name in "qk" and c["model_type"].startswith("qwen3"):
                yield f"{p}self_attn.{name}_norm.weight", (d,)
        if "num_experts" not in c:
            yield p + "mlp.gate_proj.weight", (ff, embd)
            yield p + "mlp.up_proj.weight", (ff, embd)
            yield p + "mlp.down_proj.weight", (embd, ff)
            continue
        ff_e = c["moe_intermediate_size"]
        yield p + "mlp.gate.weight", (c["num_experts"], embd)
        for e in range(c["num_experts"]):
            yield f"{p}mlp.experts.{e}.gate_proj.weight", (ff_e, embd)
            yield f"{p}mlp.experts.{e}.up_proj.weight", (ff_e, embd)
            yield f"{p}mlp.experts.{e}.down_proj.weight", (embd, ff_e)


def config(kind, **more):
    names = {"llama": "Llama", "mistral": "Mistral", "qwen2": "Qwen2", "qwen3": "Qwen3", "qwen3_moe": "Qwen3Moe"}
    c = dict(architectures=[names[kind] + "ForCausalLM"], model_type=kind, vocab_size=VOCAB, hidden_size=32, intermediate_size=48,
             num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=512, rms_norm_eps=1e-5,
             hidden_act="silu", tie_word_embeddings=False, rope_theta=10000.0, bos_token_id=256, eos_token_id=257)
    if kind.startswith("qwen3"):
        c["head_dim"] = 8
    if kind == "mistral":
        c["sliding_window"] = None
    return {**c, **more}


LLAMA3 = dict(rope_type="llama3", factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0, original_max_position_embeddings=32)
MODELS = {
    "llama": (config("llama", tie_word_embeddings=True), "float32", 1),
    "llama3": (config("llama", attention_bias=True, head_dim=16, rope_scaling=LLAMA3, rope_theta=500000), "bfloat16", 3),
    "llama_linear": (config("llama", rope_scaling={"type": "linear", "factor": 2.5}, num_key_value_heads=4), "float16", 1),
    "llama_yarn": (config("llama", rope_parameters={"rope_type": "yarn", "rope_theta": 5000.0, "factor": 8.0,
                                                    "attention_factor": 1.25, "original_max_position_embeddings": 64}),
                   "float32", 2),
    "llama_yarn_beta": (config("llama", rope_parameters={"rope_type": "yarn", "rope_theta": 5000.0, "factor": 8.0, "beta_fast": 8,
                                                         "beta_slow": 2, "mscale": 0.7, "mscale_all_dim": 1.2,
                                                         "original_max_position_embeddings": 64}), "float32", 1),
    "mistral": (config("mistral", head_dim=12, num_key_value_heads=1), "bfloat16", 1),
    "qwen2": (config("qwen2", tie_word_embeddings=True, rope_theta=1e6, use_sliding_window=False, sliding_window=64), "bfloat16", 2),
    "qwen2_yarn": (config("qwen2", rope_scaling={"type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32}),
                   "float32", 1),
    "qwen3": (config("qwen3", tie_word_embeddings=True, head_dim=16, rope_parameters={"rope_type": "default", "rope_theta": 1e6}),
              "float32", 2),
    "qwen3_linear": (config("qwen3", rope_scaling={"rope_type": "linear", "factor": 4.0}), "float16", 1),
    "qwen3_moe": (config("qwen3_moe", head_dim=16, num_experts=6, num_experts_per_tok=2, moe_intermediate_size=24,
                         norm_topk_prob=True, decoder_sparse_step=1, mlp_only_layers=[]), "bfloat16", 2),
    "qwen3_moe_raw": (config("qwen3_moe", tie_word_embeddings=True, num_experts=4, num_experts_per_tok=3, moe_intermediate_size=32,
                             norm_topk_prob=False), "float32", 1),
}


def write_tokenizer(folder):
    """Byte-level BPE: the 256 bytes, <s> and </s>, a few merges; the ids up to VOCAB stay unused."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocab = {c: i for i, c in enumerate(alphabet)}
    merges = [("h", "e"), ("l", "l"), ("he", "ll"), ("Ġ", "t")]
    for name in ["<s>", "</s>"] + [a + b for a, b in merges]:
        vocab[name] = len(vocab)
    t = Tokenizer(models.BPE(vocab, merges))
    t.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    t.decoder = decoders.ByteLevel()
    t.add_special_tokens(["<s>", "</s>"])
    t.save(os.path.join(folder, "tokenizer.json"))
    with open(os.path.join(folder, "tokenizer_config.json"), "w") as f:
        json.dump({"tokenizer_class": "PreTrainedTokenizerFast", "bos_token": "<s>", "eos_token": "</s>",
                   "chat_template": "{% for m in messages %}<s>{{ m.content }}</s>{% endfor %}"}, f)


def write_folder(folder, c, dtype, shards):
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "config.json"), "w") as f:
        json.dump(c, f)
    all_tensors = {name: weight(name, shape).to(getattr(torch, dtype)) for name, shape in tensors(c)}
    if shards == 1:
        save_file(all_tensors, os.path.join(folder, "model.safetensors"))
    else:
        index = {}
        for k in range(shards):
            file = f"model-{k + 1:05}-of-{shards:05}.safetensors"
            part = {name: t for i, (name, t) in enumerate(all_tensors.items()) if i % shards == k}
            save_file(part, os.path.join(folder, file))
            index.update({name: file for name in part})
        with open(os.path.join(folder, "model.safetensors.index.json"), "w") as f:
            json.dump({"metadata": {"total_size": sum(t.nbytes for t in all_tensors.values())}, "weight_map": index}, f)
    write_tokenizer(folder)


def main(keep):
    here = os.path.join(os.path.dirname(os.path.abspath(__file__)), "checkpoint")
    os.makedirs(here, exist_ok=True)
    write_tokenizer(here)
    prompt = [(7 * i * i + 13 * i + 5) % VOCAB for i in range(PROMPT)]
    for name, (c, dtype, shards) in MODELS.items():
        folder = os.path.join(keep, name)
        write_folder(folder, c, dtype, shards)
        model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32, attn_implementation="eager").eval()
        ids = list(prompt)
        with torch.no_grad():
            logits = model(torch.tensor([ids])).logits[0]
            for _ in range(ANSWER):
                ids.append(int(model(torch.tensor([ids])).logits[0, -1].argmax()))
        with open(os.path.join(folder, "ids.txt"), "w") as f:
            print(*ids, file=f)
        print("model", name, dtype, shards)
        print(json.dumps(c))
        for tensor, shape in tensors(c):
            print("tensor", tensor, *shape)
        print("greedy", *ids[PROMPT:])
        for position in POSITIONS:
            print("logits", position, *(f"{x:.7g}" for x in logits[position, ::8].tolist()))


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(sys.argv[1])
    else:
        with tempfile.TemporaryDirectory() as folder:
            main(folder)
