#!/usr/bin/env python3
"""weft's masks beside llguidance's: the same grammars, texts and tokens, one thread, processor time.

    grammar_peer.py MODEL BENCH_GRAMMAR [NAME ...]

MODEL is a GGUF with GPT-2's vocabulary. For each case of grammar_cases.py bench_grammar follows the texts, then
llguidance follows the same tokens; a new matcher for each text, so nothing was worked out before. Times in us.
SPDX-License-Identifier: MIT
"""
import json
import os
import subprocess
import sys
import tempfile
import time

import llguidance
import numpy
import tiktoken
from llguidance import LLMatcher
from llguidance.gbnf_to_lark import any_to_lark
from llguidance.tiktoken import lltokenizer_from_encoding

import grammar_cases
from grammar_vocab import byte_tokens


def peer_tokenizer(model):
    tokens, kinds = byte_tokens(model)
    ranks = {t: i for i, (t, k) in enumerate(zip(tokens, kinds)) if k == 1}
    special = {t.decode(): i for i, (t, k) in enumerate(zip(tokens, kinds)) if k != 1}
    pattern = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
    return lltokenizer_from_encoding(tiktoken.Encoding("bench", pat_str=pattern, mergeable_ranks=ranks, special_tokens=special),
                                     eos_token=special["<|endoftext|>"])


def peer_grammar(kind, source):
    if kind == "json-schema":
        return LLMatcher.grammar_from_json_schema(source)
    return LLMatcher.grammar_from_lark(any_to_lark(source)) if kind == "gbnf" else LLMatcher.grammar_from_regex(source)


def follow(tokenizer, grammar, tokens, masks, steps):
    matcher = LLMatcher(tokenizer, grammar)
    row = numpy.zeros((tokenizer.vocab_size + 31) // 32, dtype=numpy.int32)
    at, size = row.ctypes.data, row.nbytes
    for i, token in enumerate(tokens):
        start = time.thread_time_ns()
        matcher.unsafe_compute_mask_ptr(at, size)
        masked = time.thread_time_ns()
        ok = matcher.consume_token(token)
        steps.append((time.thread_time_ns() - masked) / 1e3)
        masks.append((masked - start) / 1e3)
        if not ok:
            print(f"  llguidance does not allow token {i} of a text: {matcher.get_error()[:200]!r}")
            return


def compile_time(tokenizer, grammar):
    times = []
    for _ in range(9):
        start = time.thread_time_ns()
        matcher = LLMatcher(tokenizer, grammar)
        times.append((time.thread_time_ns() - start) / 1e3)
        if matcher.is_error():
            return None, matcher.get_error()
    return float(numpy.median(times)), None


def show(name, who, compiled, masks, steps):
    m = numpy.array(masks)
    row = [compiled, numpy.median(m), m.mean(), numpy.percentile(m, 99), m.max(), numpy.mean(steps)]
    print(f"{name:10} {who:10} " + " ".join(f"{x:9.1f}" for x in row))
    return row


def main():
    model, bench, only = sys.argv[1], sys.argv[2], sys.argv[3:]
    tokenizer = peer_tokenizer(model)
    print(f"llguidance {llguidance.__version__ if hasattr(llguidance, '__version__') else ''}")
    print(f"{'':21} " + " ".join(f"{x:>9}" for x in ("compile", "median", "mean", "p99", "most", "step")))
    for name, kind, source, texts in grammar_cases.cases():
        if only and name not in only:
            continue
        with tempfile.TemporaryDirectory() as work:
            paths = []
            for i, text in enumerate([source] + texts):
                paths.append(os.path.join(work, str(i)))
                with open(paths[-1], "w", encoding="utf-8", newline="") as f:
                    f.write(text)
            times = os.path.join(work, "times")
            done = subprocess.run([bench, model, kind, paths[0], times] + paths[1:], capture_output=True, text=True)
            if done.returncode:
                print(f"{name:10} {done.stderr.strip()}")
                continue
            lines = open(times).read().split("\n")[:-1]
        rows = [tuple(map(float, line.split())) for line in lines[1:]]
        ours = show(name, "weft", float(lines[0].split()[1]), [r[2] for r in rows], [r[3] for r in rows])
        grammar = peer_grammar(kind, source)
        compiled, error = compile_time(tokenizer, grammar)
        if error:
            print(f"{name:10} llguidance: {error[:200]!r}")
            continue
        masks, steps = [], []
        for i in range(len(texts)):
            follow(tokenizer, grammar, [int(r[1]) for r in rows if r[0] == i], masks, steps)
        theirs = show(name, "llguidance", compiled, masks, steps)
        print(f"{name:10} {'ratio':10} " + " ".join(f"{t / o:9.2f}" for o, t in zip(ours, theirs)))


if __name__ == "__main__":
    main()
