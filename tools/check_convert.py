#!/usr/bin/env python3
"""Converts the folders that tests/golden/checkpoint.py keeps and has llama.cpp answer the same prompts: its logits and its likeliest
tokens must be those of transformers.

    V/bin/python tests/golden/checkpoint.py DIR > /dev/null      (as that script says)
    tools/check_convert.py WEFT PEER DIR [TYPE]

WEFT is the program; PEER is run as `PEER logits MODEL GPU_LAYERS THREADS OUT ID...` and writes the f32 logits of every position.
TYPE is what to convert to, f32 by default. Needs numpy.
SPDX-License-Identifier: MIT
"""
import os
import subprocess
import sys
import tempfile

import numpy as np

STEP = 8
NOT_THERE = {"llama_yarn_beta": "llama.cpp reads YaRN's two betas for a few architectures only",
             "qwen3_moe_raw": "llama.cpp has no norm_topk_prob of false for it"}


def read_golden(path):
    """name -> {position: every STEP-th logit}"""
    models, current = {}, None
    for line in open(path):
        word = line.split()
        if word[0] == "model":
            current = models.setdefault(word[1], {})
        elif word[0] == "logits":
            current[int(word[1])] = np.array([float(x) for x in word[2:]])
    return models


def main(weft, peer, folder, type_="f32"):
    golden = read_golden(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../tests/golden/checkpoint.txt"))
    is_bad = False
    with tempfile.TemporaryDirectory() as work:
        for name, positions in golden.items():
            if name in NOT_THERE:
                print(f"{name}: left out, {NOT_THERE[name]}")
                continue
            gguf, out = os.path.join(work, name + ".gguf"), os.path.join(work, "logits")
            subprocess.run([weft, "convert", os.path.join(folder, name), gguf, type_], check=True, stdout=subprocess.DEVNULL)
            ids = open(os.path.join(folder, name, "ids.txt")).read().split()
            subprocess.run([peer, "logits", gguf, "0", "1", out, *ids], check=True, stdout=subprocess.DEVNULL)
            logits = np.fromfile(out, "<f4").reshape(len(ids), -1)
            off = max(float(np.abs(logits[p, ::STEP] - x).max()) for p, x in positions.items())
            first = max(positions)  # the prompt's last position
            wrong = sum(int(logits[i].argmax()) != int(ids[i + 1]) for i in range(first, len(ids) - 1))
            print(f"{name:14} {type_}: logits off by {off:.2g}, {wrong} of {len(ids) - 1 - first} tokens differ")
            is_bad |= wrong > 0 or (type_ == "f32" and off > 0.02)
    sys.exit(is_bad)


if __name__ == "__main__":
    main(*sys.argv[1:])
