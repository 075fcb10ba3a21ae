#!/usr/bin/env python3
"""tiktoken with the vocabulary of a byte-level GGUF and GPT-2's expression, one thread, processor time.
   tokenize_peer.py MODEL TEXT REPEATS IDS
SPDX-License-Identifier: MIT"""
import struct
import sys
import time

import gguf
import tiktoken

model, text, repeats, ids_path = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4]
fields = gguf.GGUFReader(model).fields
tokens = fields["tokenizer.ggml.tokens"].contents()
kinds = fields["tokenizer.ggml.token_type"].contents()
plain = list(range(33, 127)) + list(range(161, 173)) + list(range(174, 256))
letters = {chr(b): b for b in plain}
letters.update({chr(256 + i): b for i, b in enumerate(b for b in range(256) if b not in plain)})
ranks = {bytes(letters[c] for c in t): i for i, (t, k) in enumerate(zip(tokens, kinds)) if k == 1}
pattern = r"""'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s"""
encoding = tiktoken.Encoding("bench", pat_str=pattern, mergeable_ranks=ranks, special_tokens={})
data = open(text, encoding="utf-8", newline="").read()
n, best = len(data.encode()), None
for _ in range(repeats):
    start = time.thread_time()
    ids = encoding.encode_ordinary(data)
    seconds = time.thread_time() - start
    best = seconds if best is None else min(best, seconds)
print(f"tiktoken {tiktoken.__version__} {len(ids)} tokens, {n / best / 1e6:.2f} MB/s")
with open(ids_path, "wb") as f:
    f.write(struct.pack(f"<{len(ids)}i", *ids))
