#!/usr/bin/env python3
"""Writes N bytes of reproducible mixed text: prose and names in many scripts (words by Zipf's law), source code,
numbers, emoji, punctuation, white space of all kinds and some control characters. `--bad` puts bytes that are no UTF-8
between the characters.   mixed_text.py N SEED FILE [--bad]
SPDX-License-Identifier: MIT"""
import random
import sys
import unicodedata

RANGES = [(0x61, 0x7a)] * 10 + [
    (0x41, 0x5a), (0xc0, 0x24f), (0x370, 0x3ff), (0x400, 0x44f), (0x400, 0x44f), (0x531, 0x586), (0x5d0, 0x5ea),
    (0x620, 0x64a), (0x904, 0x939), (0x985, 0x9b9), (0xb85, 0xbb9), (0xe01, 0xe3a), (0x10d0, 0x10f0), (0x1200, 0x135a),
    (0x1780, 0x17b3), (0x1e00, 0x1eff), (0x3041, 0x3096), (0x30a1, 0x30fa), (0x4e00, 0x9fa5), (0x4e00, 0x4fff),
    (0xac00, 0xd7a3), (0x10400, 0x1044f), (0x20000, 0x2a6d6)]
MARKS = [chr(c) for c in range(0x300, 0x370)]
EMOJI = [chr(c) for c in range(0x1f300, 0x1f64f)] + ["\U0001f468\u200d\U0001f469\u200d\U0001f467", "\U0001f44d\U0001f3fd"]
PUNCTUATION = list("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~") + list("\u2013\u2014\u2018\u2019\u201c\u201d\u2026\xab\xbb\xbf\u3001\u3002\uff01\u060c\u0964\u20ac\u2192\u2260")
SPACES = [" "] * 60 + ["  ", "\n", "\n\n", "\t", "\r\n", "    ", "\xa0", "\u3000", " \n", "\u2003"]
CODE = ["if (x[{n}] != {w}) return {w}({n}, \"{w}\");\n", "    for (int i = 0; i < {n}; i++) {w} += {w}[i];\n",
        "def {w}(self, {w}=None):\n        return self.{w}['{w}'] + 0x{n:x}\n", "<a href=\"https://{w}.org/{w}?q={n}\">{w}</a>\n",
        "{{\"{w}\": {n}, \"{w}\": [{n}.{n}, null, true]}}\n", "// {w} {w}: {w} {w} {n}\n"]
BAD = [b"\xff", b"\x80", b"\xbf\xbf", b"\xfe", b"\xc3", b"\xe2\x82", b"\xf0\x9f\x98", b"\xf8"]


def assigned(first, last):
    return [chr(c) for c in range(first, last + 1) if unicodedata.category(chr(c)) not in ("Cn", "Cs")]


def make(n_bytes, seed, bad):
    r = random.Random(seed)
    alphabets = [assigned(a, b) for a, b in RANGES]
    words = [["".join(r.choice(a) for _ in range(r.randint(1, 9))) for _ in range(2000)] for a in alphabets]

    def word(k):
        return words[k][int(2000 ** r.random()) - 1]

    def piece(k):
        x = r.random()
        if x < 0.80: return word(k)
        if x < 0.85: return str(r.randrange(10 ** r.randint(1, 9)))
        if x < 0.87: return r.choice(EMOJI) * r.randint(1, 2)
        if x < 0.90: return word(k) + "'" + r.choice(["s", "t", "re", "ve", "ll", "S", "LL", "x"])
        if x < 0.91: return "".join(c + (r.choice(MARKS) if r.random() < 0.3 else "") for c in word(k))
        if x < 0.912: return r.choice(["<s>", "</s>", "<|endoftext|>", "[CLS]", "\u2581", "<0x0A>"])
        if x < 0.915: return chr(r.choice(list(range(32)) + [127] + list(range(0x80, 0xa0))))
        return r.choice(PUNCTUATION) * r.randint(1, 3)

    parts, n = [], 0
    while n < n_bytes:
        k = r.randrange(len(alphabets))
        if r.random() < 0.25:
            line = r.choice(CODE)
            while "{w}" in line: line = line.replace("{w}", word(r.randrange(10)), 1)
            text = line.format(n=r.randrange(10 ** r.randint(1, 5))).encode()
        else:
            text = "".join(p for _ in range(r.randint(1, 20))
                           for p in (piece(k), r.choice(PUNCTUATION) if r.random() < 0.1 else "", r.choice(SPACES))).encode()
        if bad and r.random() < 0.3:
            at = r.randrange(len(text))
            while text[at] & 0xc0 == 0x80: at += 1 if at + 1 < len(text) else -at
            text = text[:at] + r.choice(BAD) + text[at:]
        parts.append(text)
        n += len(text)
    return b"".join(parts)


if __name__ == "__main__":
    with open(sys.argv[3], "wb") as f:
        f.write(make(int(sys.argv[1]), int(sys.argv[2]), "--bad" in sys.argv))
