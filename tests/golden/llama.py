#!/usr/bin/env python3
"""Writes tests/golden/llama.txt: logits of the tiny models of tests/harness/tiny_model.c, computed in double with numpy,
straight from the papers' formulas and sharing nothing with weft.

    python3 tests/golden/llama.py > tests/golden/llama.txt

A block per model: its name, then for some positions a line with the position and the logits of the whole vocabulary.
The prompt is ids(i) = (7 i^2 + 13 i + 5) mod n_vocab, 300 tokens: past the 256 positions of a cache page.
SPDX-License-Identifier: MIT
"""
import numpy as np

from splitmix import MASK, uniform

EMBD, OUT_NORM, OUT, FACTORS, ATTN_NORM, Q, K, V, QB, KB, VB, O, OB, FFN_NORM, GATE, UP, DOWN, QN, KN, ROUTER, GATE_EXPS, UP_EXPS, DOWN_EXPS = range(23)
POSITIONS = (0, 1, 7, 255, 256, 299)


class Model:
    def __init__(self, seed, layers=2, embd=32, ff=48, heads=4, kv_heads=2, head_dim=8, n_rot=8, output=False,
                 bias=False, factors=False, linear=1.0,
                 halves=False, head_norms=False, out_bias=True, yarn=0.0, yarn_ctx=64,
                 experts=0, used=0, ff_expert=0, raw_gates=False):
        self.__dict__.update(locals())
        self.vocab = 2 + 257

    def weight(self, role, layer, rows, columns):
        u = uniform(self.seed * 1000003 + layer * 100 + role & MASK, rows * columns).reshape(rows, columns)
        if role in (OUT_NORM, ATTN_NORM, FFN_NORM, QN, KN):
            w = 0.8 + 0.4 * u
        elif role == FACTORS:
            w = 1 + 3 * u
        elif role in (QB, KB, VB, OB):
            w = 0.2 * (2 * u - 1)
        elif role == EMBD:
            w = 2 * u - 1
        else:
            w = (2 * u - 1) * 1.7 / np.sqrt(columns)
        return w.astype(np.float32).astype(np.float64)

    def vector(self, role, layer, n):
        return self.weight(role, layer, 1, n)[0]

    def norm(self, x, w):
        return x / np.sqrt((x * x).mean(-1, keepdims=True) + float(np.float32(1e-5))) * w

    def rates(self):
        """What a pair's angle grows by from one position to the next."""
        pairs = self.n_rot // 2
        factors = self.vector(FACTORS, 0, pairs) if self.factors else np.ones(pairs)
        rate = 10000.0 ** (-2.0 * np.arange(pairs) / self.n_rot) / factors / self.linear
        if self.yarn:  # the paper's gamma(r) of the number of turns, with the ramp between whole pairs
            at = lambda turns: self.n_rot * np.log(self.yarn_ctx / (2 * np.pi * turns)) / (2 * np.log(10000.0))
            low, high = max(np.floor(at(32)), 0), min(np.ceil(at(1)), self.n_rot - 1)
            slow = np.clip((np.arange(pairs) - low) / max(high - low, 0.001), 0, 1)
            rate = rate * (1 - slow) + rate / self.yarn * slow
        return rate

    def rope(self, x):
        """x (n, heads, head_dim): neighbours (2i, 2i+1) of the first n_rot dimensions turn, or halves (i, i + n_rot/2)."""
        n, pairs = x.shape[0], self.n_rot // 2
        angle = np.arange(n)[:, None] * self.rates()
        c, s = np.cos(angle)[:, None, :], np.sin(angle)[:, None, :]
        first = slice(0, pairs) if self.halves else slice(0, self.n_rot, 2)
        second = slice(pairs, self.n_rot) if self.halves else slice(1, self.n_rot, 2)
        out = x.copy()
        a, b = x[..., first], x[..., second]
        out[..., first] = a * c - b * s
        out[..., second] = a * s + b * c
        return out * (0.1 * np.log(self.yarn) + 1) if self.yarn else out

    def head_norm(self, x, role, layer):
        return self.norm(x, self.vector(role, layer, self.head_dim)) if self.head_norms else x

    def project(self, x, layer, role, bias_role, rows):
        y = x @ self.weight(role, layer, rows, x.shape[-1]).T
        return y + self.vector(bias_role, layer, rows) if self.bias and bias_role is not None else y

    def attention(self, x, layer):
        n, d, h, g = x.shape[0], self.head_dim, self.heads, self.kv_heads
        q = self.rope(self.head_norm(self.project(x, layer, Q, QB, h * d).reshape(n, h, d), QN, layer))
        k = self.rope(self.head_norm(self.project(x, layer, K, KB, g * d).reshape(n, g, d), KN, layer))
        v = self.project(x, layer, V, VB, g * d).reshape(n, g, d)
        out = np.empty((n, h, d))
        hidden = np.triu(np.full((n, n), -np.inf), 1)
        for i in range(h):
            kv = i // (h // g)
            scores = q[:, i] @ k[:, kv].T / np.sqrt(d) + hidden
            p = np.exp(scores - scores.max(-1, keepdims=True))
            out[:, i] = p / p.sum(-1, keepdims=True) @ v[:, kv]
        return self.project(out.reshape(n, h * d), layer, O, OB if self.out_bias else None, self.embd)

    def feed_forward(self, y, layer):
        gate, up = (self.project(y, layer, role, None, self.ff) for role in (GATE, UP))
        return self.project(gate / (1 + np.exp(-gate)) * up, layer, DOWN, None, self.embd)

    def mixture(self, y, layer):
        """Softmax over all experts; the most probable ones' results, weighted by their probabilities."""
        stack = lambda role, rows, columns: self.weight(
            role, layer, self.experts * rows, columns).reshape(self.experts, rows, columns)
        gates, ups = (stack(role, self.ff_expert, self.embd) for role in (GATE_EXPS, UP_EXPS))
        downs = stack(DOWN_EXPS, self.embd, self.ff_expert)
        out = np.zeros_like(y)
        for i, row in enumerate(y):
            scores = self.weight(ROUTER, layer, self.experts, self.embd) @ row
            p = np.exp(scores - scores.max())
            p /= p.sum()
            picked = np.argsort(-p)[:self.used]
            for e in picked:
                gate = gates[e] @ row
                result = downs[e] @ (gate / (1 + np.exp(-gate)) * (ups[e] @ row))
                out[i] += p[e] / (1 if self.raw_gates else p[picked].sum()) * result
        return out

    def logits(self, ids):
        table = self.weight(EMBD, 0, self.vocab, self.embd)
        x = table[ids]
        for layer in range(self.layers):
            x = x + self.attention(self.norm(x, self.vector(ATTN_NORM, layer, self.embd)), layer)
            y = self.norm(x, self.vector(FFN_NORM, layer, self.embd))
            x = x + (self.mixture(y, layer) if self.experts else self.feed_forward(y, layer))
        x = self.norm(x, self.vector(OUT_NORM, 0, self.embd))
        return x @ (self.weight(OUT, 0, self.vocab, self.embd) if self.output else table).T


MODELS = {
    "plain": Model(1),
    "rich": Model(2, output=True, bias=True, factors=True, n_rot=6, linear=2.0, kv_heads=1),
    "yarn": Model(4, yarn=4.0),
    "qwen2": Model(5, halves=True, bias=True, out_bias=False, output=True),
    "qwen3": Model(6, halves=True, head_norms=True, head_dim=16, n_rot=16),
    "qwen3moe": Model(7, halves=True, head_norms=True, head_dim=16, n_rot=16, experts=6, used=2, ff_expert=24),
    "rawgates": Model(8, halves=True, head_norms=True, head_dim=16, n_rot=16, experts=5, used=3, ff_expert=8, raw_gates=True),
}
for name, model in MODELS.items():
    ids = np.array([(7 * i * i + 13 * i + 5) % model.vocab for i in range(300)])
    logits = model.logits(ids)
    print(name, len(POSITIONS), model.vocab)
    for position in POSITIONS:
        print(position, *(f"{x:.7g}" for x in logits[position]))
