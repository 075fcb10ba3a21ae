#!/usr/bin/env python3
"""Runs the program on broken copies of a model file, and looks how it ends.

    mutate.py PROGRAM MODEL [--count 2000] [--seed 1] [--first 0] [--keep FOLDER]

PROGRAM is best built with sanitizers (make sanitize: build/asan/weft). Copy number i is the same for the same seed:
some bits, bytes, numbers or stretches changed, mostly in the header, or the end cut off. One command is run on it (info,
tokenize, template, run, quantize), which must end within a minute with status 0 or with a sentence on standard error,
never by a signal and never with a sanitizer's report. What did not is printed (and kept with --keep); the exit status
says whether there was any. SPDX-License-Identifier: MIT
"""
import argparse
import collections
import os
import random
import shutil
import struct
import subprocess
import sys
import tempfile

NUMBERS = [0, 1, 2, 3, 7, 8, 12, 0x7F, 0xFF, 0xFFFF, 0x10000, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0x7FFFFFFFFFFFFFFF,
           0x8000000000000000, 0xFFFFFFFFFFFFFFFF]


def changes(rng, size, header, data):
    """(place, new bytes) of one copy, and where it is cut (None: not)."""
    out = []
    for _ in range(rng.choice([1, 1, 2, 4, 16])):
        limit = header if rng.random() < 0.85 else size
        if rng.random() < 0.4:
            limit = min(limit, 4096)  # the keys before the vocabulary
        at = rng.randrange(limit)
        kind = rng.randrange(5)
        old = data[at:at + 64]
        if kind == 0:
            new = bytes([old[0] ^ 1 << rng.randrange(8)])
        elif kind == 1:
            new = bytes([rng.randrange(256)])
        elif kind == 2:
            new = struct.pack("<Q", rng.choice(NUMBERS))[:rng.choice([1, 2, 4, 8])]
        elif kind == 3:
            source = rng.randrange(limit)
            new = data[source:source + rng.randrange(1, 64)]
        else:
            new = bytes(rng.randrange(256) for _ in range(rng.randrange(1, 16)))
        out.append((at, new[:size - at]))
    cut = None
    if rng.random() < 0.15:
        cut = rng.randrange(header if rng.random() < 0.7 else size)
    return out, cut


def command(rng, program, path, folder):
    text = rng.choice(["Hello, world", "a  b\n\tc 123", "<|im_start|>user\nx<|im_end|>", "Grüße 東京 🗼"])
    return rng.choices([
        [program, "info", path, "--device", "cpu"],
        [program, "info", path, "--device", "cpu", "--tensors"],
        [program, "tokenize", path, text],
        [program, "tokenize", path, text, "--special"],
        [program, "template", path, os.path.join(folder, "messages.json")],
        [program, "run", path, "-p", "hi", "-n", "1", "--device", "cpu", "--seed", "1"],
        [program, "quantize", path, os.path.join(folder, "out.gguf"), rng.choice(["Q4_0", "Q8_0", "F16"])],
    ], [20, 10, 20, 10, 20, 14, 6])[0]


def run(argv):
    """What is wrong with how it ended, "" when nothing, and a word for the count."""
    env = dict(os.environ, OMP_WAIT_POLICY="passive", ASAN_OPTIONS="allocator_may_return_null=1:detect_leaks=1",
               UBSAN_OPTIONS="print_stacktrace=1")
    try:
        p = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, timeout=60, env=env)
    except subprocess.TimeoutExpired:
        return "it took more than a minute", "slow"
    err = p.stderr.decode("utf-8", "replace")
    if "Sanitizer" in err or "runtime error" in err:
        return err, "sanitizer"
    if p.returncode < 0:
        return f"signal {-p.returncode}\n{err}", "signal"
    if p.returncode != 0 and not err.strip().splitlines()[-1:]:
        return f"status {p.returncode} without a word", "mute"
    if p.returncode not in (0, 1):
        return f"status {p.returncode}\n{err}", "status"
    return "", argv[1] + (" ended normally" if p.returncode == 0 else " ended with a sentence")


def main():
    a = argparse.ArgumentParser()
    a.add_argument("program")
    a.add_argument("model")
    a.add_argument("--count", type=int, default=2000)
    a.add_argument("--seed", type=int, default=1)
    a.add_argument("--first", type=int, default=0)
    a.add_argument("--keep")
    a = a.parse_args()
    folder = tempfile.mkdtemp(prefix="weft-mutate-")
    path = os.path.join(folder, "model.gguf")
    with open(os.path.join(folder, "messages.json"), "w", encoding="utf-8") as f:
        f.write('[{"role": "user", "content": "Hi <|im_end|>"}]')
    with open(a.model, "rb") as f:
        data = f.read()
    size = len(data)
    header = min(size, max(4096, data.find(b"token_embd.weight") + 20000))  # where the tensors' records are, too
    shutil.copyfile(a.model, path)
    count, bad = collections.Counter(), 0
    for i in range(a.first, a.first + a.count):
        rng = random.Random(a.seed * 1000003 + i)
        what, cut = changes(rng, size, header, data)
        with open(path, "r+b") as f:
            for at, new in what:
                f.seek(at)
                f.write(new)
            if cut is not None:
                f.truncate(cut)
        argv = command(rng, a.program, path, folder)
        problem, word = run(argv)
        count[word] += 1
        if problem:
            bad += 1
            print(f"copy {i}: {' '.join(argv)}\n{problem}", flush=True)
            if a.keep:
                shutil.copyfile(path, os.path.join(a.keep, f"broken-{a.seed}-{i}.gguf"))
        with open(path, "r+b") as f:
            for at, new in what:
                f.seek(at)
                f.write(data[at:at + len(new)])
            if cut is not None:
                f.seek(cut)
                f.write(data[cut:])
    shutil.rmtree(folder)
    for word, n in sorted(count.items()):
        print(f"{n:6} {word}")
    print(f"{a.count} copies, {bad} problems")
    return bad != 0


if __name__ == "__main__":
    sys.exit(main())
