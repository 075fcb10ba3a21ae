#!/usr/bin/env python3
"""Random tokenizer.json pipelines and random texts: PyPI's `tokenizers` and weft must agree on ids and on decoded text.

    tokenizer_diff.py BATCH [--count N] [--seed S] [--show K] [--texts T]
    tokenizer_diff.py BATCH --regexes N      random regular expressions only, Oniguruma's against weft's translation

BATCH is the program built from tokenizer_batch.c. A pipeline is drawn part by part, its model trained by `tokenizers` on a
small corpus (Unigram: pieces of it with random scores) and then changed at random (unknown tokens, byte fallback, prefixes).
Where `tokenizers` fails on a text, weft must too. Known differences, which docs/tokenizers.md explains, are taken out here:
a second begin token, and U+FFFD for bytes that are no UTF-8. What weft refuses is counted apart, by message.
SPDX-License-Identifier: MIT
"""
import argparse
import array
import collections
import json
import random
import subprocess
import sys
import unicodedata

import tokenizers
import tokenizers.trainers

SPACE = "\u2581"
CORPUS = [
    "The quick brown fox jumps over the lazy dog, and it's done; they're happy that we'll do not don't 1234 567",
    "  leading and   multiple\tspaces\n\nnew lines\r\nand 3.14159 numbers 1,000,000 \u00bd \u00b2 \u2167",
    "na\u00efve caf\u00e9 d\u00e9j\u00e0 vu \u00c5ngstr\u00f6m stra\u00dfe \u0130stanbul \ufb01ne",
    "\u041f\u0440\u0438\u0432\u0435\u0442, \u043c\u0438\u0440! \u0435\u0449\u0451 \u043d\u0435\u0447\u0442\u043e \u0441\u0442\u0440\u0430\u043d\u043d\u043e\u0435",
    "\u4f60\u597d\u4e16\u754c \u65e5\u672c\u8a9e\u306e\u30c6\u30ad\u30b9\u30c8 \ud55c\uad6d\uc5b4 \u0e2a\u0e27\u0e31\u0e2a\u0e14\u0e35 \u0928\u092e\u0938\u094d\u0924\u0947",
    "def f(x):\n    return x**2 + [1, 2, 3][-1]  # <tag> & {braces} $5 + 3 = 8 ~ `tick` ^caret |pipe|",
    "e\u0301\u0323 a\u030a \u1e69 \u212b \u2126 \uac01 \u1100\u1161\u11a8 \u0958 x\u0323\u0307\u0301\u0327",
    "\U0001f600 \U0001f468\u200d\U0001f469\u200d\U0001f467 \u2764\ufe0f \U0001f1e9\U0001f1ea \u00a9 \u2122 \uff21\uff22\uff23 \u3000",
]
ODD = ["\x00", "\x01", "\x7f", "\u200b", "\u200d", "\u00ad", "\u2028", "\u2029", "\u3000", "\u00a0", "\u1680", "\u180e", "\ufeff",
       "\ufffd", "\u0085", "\x0b", "\x0c", "\u0301", "\u0345", "\u1b44", "\U000e0001", "\U0010ffff", "\ue000", "\u0130", "\u03a3",
       "\u1e9e", "\u2581", "##", "</w>", "\u0120", "\u010a", "<0x41>", "<unk>", "[UNK]", "\u30fc", "\uff70", "_", "\u203f", "'s", " 'm",
       " n't", "\u00bc", "\u2460", "\u24d0", "\u3007", "\U0001d7d8", "\u0660", "\u216b", "|", "<pad>"]
REGEXES = [r"\s+", r"\d+", r"\w+", r"[^\s]+", r"\p{L}+|\p{N}+", r"[[:punct:]]", r"\s+(?!\S)|\s+", r"[a-z&&[^aeiou]]+", r"(?i)the|a",
           r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+", r"\p{Han}+|[\p{Hiragana}\p{Katakana}]",
           r"(?<=\d)\D", r"\b", r"^\s*|\s*$", r".", r"a{1,2}?|o{2}+", r"[^\p{Lu}[0-9]]+", r"\h+", r"x*", r"(?<n>e)|(o)", r"[\]\[\-]",
           r"(?i:[ks\u00e9])", r"\R", r"[[:alpha:]]+|[[:^alpha:]]", r"\p{^Latin}+", r"\S\s", r"\A.|.\z", r"(?m:.+)", r"[\w&&\p{L}]+",
           r"(?x: a b # c" + "\n)", r"a(?i)b|C", r"\p{Alphabetic}+", r"[^\W\d_]+", r"\W", r"\u0065|\x{6f}", r"{|}", r"(?>a|an)d"]
EMPTY = [r"\b", r"x*", r"^\s*|\s*$", ""]  # may match nothing; as a normalizer's Replace a text's beginning confuses `tokenizers`
LITERALS = [" ", "e", "th", "a", "", "\n", SPACE, ".", "  ", "\u00e9", "1", "$", "("]
BEHAVIORS = ["Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous"]


class Weft:
    """The program built from tokenizer_batch.c."""

    def __init__(self, path):
        self.process = subprocess.Popen([path], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def ask(self, command, data, a, b):
        self.process.stdin.write(f"{command} {a} {b}\n".encode() + data)
        self.process.stdin.flush()
        head = self.process.stdout.readline().split()
        if len(head) != 2:
            raise RuntimeError(f"the batch program died on {command} {data[:2000]!r}")
        return int(head[0]), self.process.stdout.read(int(head[1]))

    def open(self, way, data, config=b""):
        status, message = self.ask(way, data + config, len(data), len(config))
        return status, message.decode()

    def encode(self, text, flags):
        status, out = self.ask("encode", text, len(text), flags)
        return f"error {status}: {out.decode()}" if status else [int(i) for i in out.split()]

    def decode(self, ids, special, way="decode"):
        data = array.array("i", ids).tobytes()
        status, out = self.ask(way, data, len(data), int(special))
        return f"error {status}: {out.decode()}" if status else out


def sequence(parts, key):
    return None if not parts else parts[0] if len(parts) == 1 else {"type": "Sequence", key: parts}


def pattern(r, without=()):
    if r.random() < 0.6:
        return {"Regex": r.choice([x for x in REGEXES if x not in without])}
    return {"String": r.choice([x for x in LITERALS if x not in without])}


def a_bool(r):
    return r.random() < 0.5


def normalizer(r):
    kind = r.choice(["NFC", "NFD", "NFKC", "NFKD", "Lowercase", "StripAccents", "Strip", "Replace", "Replace", "Prepend",
                     "BertNormalizer", "ByteLevel", "Nmt"])
    part = {"type": kind}
    if kind == "Strip":
        part |= {"strip_left": a_bool(r), "strip_right": a_bool(r)}
    if kind == "Replace":
        part |= {"pattern": pattern(r, EMPTY), "content": r.choice(["", " ", SPACE, "x", "\u00e9\u0301", "ab"])}
    if kind == "Prepend":
        part |= {"prepend": r.choice([SPACE, " ", "x", "\u0301", "ab"])}
    if kind == "BertNormalizer":
        part |= {"clean_text": a_bool(r), "handle_chinese_chars": a_bool(r), "strip_accents": r.choice([None, True, False]),
                 "lowercase": a_bool(r)}
    return part


def metaspace(r):
    return {"type": "Metaspace", "replacement": r.choice([SPACE, SPACE, "_"]),
            "prepend_scheme": r.choice(["always", "first", "never"]), "split": a_bool(r)}


def byte_level(r):
    return {"type": "ByteLevel", "add_prefix_space": a_bool(r), "trim_offsets": True, "use_regex": a_bool(r)}


def pre_tokenizer(r):
    kind = r.choice(["ByteLevel", "ByteLevel", "Split", "Split", "Split", "Metaspace", "Metaspace", "Whitespace", "WhitespaceSplit",
                     "Digits", "Punctuation", "BertPreTokenizer", "CharDelimiterSplit", "UnicodeScripts", "FixedLength"])
    part = {"type": kind}
    if kind == "ByteLevel":
        return byte_level(r)
    if kind == "Metaspace":
        return metaspace(r)
    if kind == "Split":
        part |= {"pattern": pattern(r), "behavior": r.choice(BEHAVIORS), "invert": r.random() < 0.3}
    if kind == "Digits":
        part |= {"individual_digits": a_bool(r)}
    if kind == "Punctuation":
        part |= {"behavior": r.choice(BEHAVIORS)}
    if kind == "CharDelimiterSplit":
        part |= {"delimiter": r.choice([" ", "e", SPACE, ","])}
    if kind == "FixedLength":
        part |= {"length": r.randint(1, 6)}
    return part


def decoder(r):
    kind = r.choice(["ByteLevel", "ByteLevel", "Metaspace", "WordPiece", "BPEDecoder", "ByteFallback", "Fuse", "Strip", "Replace",
                     "CTC"])
    part = {"type": kind}
    if kind == "ByteLevel":
        return byte_level(r)
    if kind == "Metaspace":
        return metaspace(r)
    if kind == "WordPiece":
        part |= {"prefix": r.choice(["##", "##", "e"]), "cleanup": a_bool(r)}
    if kind == "BPEDecoder":
        part |= {"suffix": r.choice(["</w>", "</w>", "e"])}
    if kind == "Strip":
        part |= {"content": r.choice([" ", "e", SPACE]), "start": r.randint(0, 2), "stop": 0}
    if kind == "Replace":
        part |= {"pattern": pattern(r), "content": r.choice(["", " ", "x"])}
    if kind == "CTC":
        part |= {"pad_token": "<pad>", "word_delimiter_token": r.choice(["|", "e"]), "cleanup": a_bool(r)}
    return part


def several(r, draw, key, most=3):
    parts = [draw(r) for _ in range(r.choice([0, 1, 1, 2, 2, 3][: most + 3]))]
    if parts and r.random() < 0.1:
        parts = [{"type": "Sequence", key: parts}]
    return sequence(parts, key)


def template(r, marks):
    pieces = [{"Sequence": {"id": "A", "type_id": 0}}]
    for _ in range(r.randint(0, 2)):
        pieces.insert(r.choice([0, len(pieces)]), {"SpecialToken": {"id": r.choice(marks)[0], "type_id": 0}})
    return {"type": "TemplateProcessing", "single": pieces, "pair": pieces + [{"Sequence": {"id": "B", "type_id": 1}}],
            "special_tokens": {t: {"id": t, "ids": [i], "tokens": [t]} for t, i in marks}}


def post_processor(r, marks):
    kind = r.choice([None, "Template", "Template", "BertProcessing", "RobertaProcessing", "ByteLevel", "Sequence"])
    if kind in (None, "Template"):
        return kind and template(r, marks)
    if kind == "ByteLevel":
        return byte_level(r)
    if kind == "Sequence":
        return {"type": "Sequence", "processors": [byte_level(r), template(r, marks)]}
    part = {"type": kind, "sep": list(r.choice(marks)), "cls": list(r.choice(marks))}
    return part | ({"trim_offsets": True, "add_prefix_space": True} if kind == "RobertaProcessing" else {})


def words_of(spec):
    """What the pipeline makes of the corpus: the words a vocabulary is made from."""
    shell = dict(spec, model={"type": "WordLevel", "vocab": {"x": 0}, "unk_token": "x"}, added_tokens=[], post_processor=None,
                 decoder=None)
    t = tokenizers.Tokenizer.from_str(json.dumps(shell))
    words = []
    for line in CORPUS:
        if t.normalizer:
            line = t.normalizer.normalize_str(line)
        words += [w for w, _ in t.pre_tokenizer.pre_tokenize_str(line)] if t.pre_tokenizer else [line]
    return words


def bpe_model(r, spec, words):
    prefix, suffix = r.choice([None, None, None, "##", "e"]), r.choice([None, None, None, "</w>", "e"])
    marks = {k: v for k, v in (("continuing_subword_prefix", prefix), ("end_of_word_suffix", suffix)) if v}
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=r.choice([60, 150, 400, 700]), show_progress=False, special_tokens=["<unk>"] if a_bool(r) else [],
        initial_alphabet=tokenizers.pre_tokenizers.ByteLevel.alphabet() if r.random() < 0.4 else [],
        limit_alphabet=r.choice([30, 1000]), **marks)
    t = tokenizers.Tokenizer(tokenizers.models.BPE(**marks))
    t.train_from_iterator(words, trainer)
    model = json.loads(t.to_str())["model"]
    vocabulary = model["vocab"]
    if a_bool(r) and "<unk>" not in vocabulary:
        vocabulary["<unk>"] = len(vocabulary)
    if a_bool(r):
        share = r.choice([1, 1, 0.5])
        for i in range(256):
            if r.random() < share:
                vocabulary.setdefault(f"<0x{i:02X}>", len(vocabulary))
    model |= {"unk_token": r.choice([None, "<unk>", "<unk>"]), "byte_fallback": a_bool(r), "fuse_unk": a_bool(r),
              "ignore_merges": r.random() < 0.3}
    if a_bool(r):
        model["merges"] = [" ".join(m) if isinstance(m, list) else m for m in model["merges"]]
        if any(m.count(" ") != 1 for m in model["merges"]):
            model["merges"] = json.loads(t.to_str())["model"]["merges"]
    return model


def wordpiece_model(r, spec, words):
    trainer = tokenizers.trainers.WordPieceTrainer(vocab_size=r.choice([100, 300]), show_progress=False,
                                                   special_tokens=["[UNK]"], continuing_subword_prefix=r.choice(["##", "##", "e"]))
    t = tokenizers.Tokenizer(tokenizers.models.WordPiece(unk_token="[UNK]"))
    t.train_from_iterator(words, trainer)
    model = json.loads(t.to_str())["model"]
    model["max_input_chars_per_word"] = r.choice([100, 100, 8])
    return model


def wordlevel_model(r, spec, words):
    vocabulary = {w: i for i, w in enumerate(dict.fromkeys(w for w in words if r.random() < 0.8))}
    if r.random() < 0.9:
        vocabulary.setdefault("<unk>", len(vocabulary))
    return {"type": "WordLevel", "vocab": vocabulary, "unk_token": "<unk>"}


def unigram_model(r, spec, words):
    pieces = dict.fromkeys(c for w in words for c in w if r.random() < 0.9)
    for w in words:
        for _ in range(4):
            i = r.randrange(len(w))
            pieces[w[i:i + r.randint(1, 6)]] = None
    if a_bool(r):
        pieces |= dict.fromkeys(f"<0x{i:02X}>" for i in range(256))
    vocabulary = [["<unk>", 0.0]] + [[p, -r.randint(64, 768) / 64] for p in pieces if p != "<unk>"]
    return {"type": "Unigram", "vocab": vocabulary, "unk_id": r.choice([0, 0, 0, None]), "byte_fallback": a_bool(r)}


def added_tokens(r, model):
    vocabulary = [p[0] for p in model["vocab"]] if model["type"] == "Unigram" else list(model["vocab"])
    known = {t: i for i, t in enumerate(vocabulary)} if model["type"] == "Unigram" else model["vocab"]
    texts = ["<s>", "</x>"] + r.sample(["<|a|>", "<tag>", " sp ", "The", "1", "\u00e9", "e\u0301", "<0x41>", "\n\n", SPACE + "z", "qu",
                                        "\u4f60", "<s>x", "[MASK]", "a b"], r.randint(0, 5))
    texts += [t for t in ("<unk>", "[UNK]") if t in known and a_bool(r)]
    added, free = [], max(known.values()) + 1
    for text in texts:
        i = known.get(text)
        if i is None:
            i, free = free, free + 1
        added.append({"id": i, "content": text, "single_word": r.random() < 0.2, "lstrip": r.random() < 0.3,
                      "rstrip": r.random() < 0.3, "normalized": a_bool(r), "special": a_bool(r) or text in ("<s>", "</x>")})
    return added


def settle(spec):
    """Added tokens whose normal forms are empty or the same: which of them counts is chance in `tokenizers`."""
    normal = tokenizers.Tokenizer.from_str(json.dumps(dict(spec, added_tokens=[]))).normalizer
    seen = {""}
    for token in spec["added_tokens"]:
        form = normal.normalize_str(token["content"]) if normal else token["content"]
        if form in seen | {a["content"] for a in spec["added_tokens"] if a is not token}:
            token["normalized"] = False
        if token["normalized"]:
            seen.add(form)


def pipeline(r):
    spec = {"version": "1.0", "truncation": None, "padding": None, "added_tokens": [],
            "normalizer": several(r, normalizer, "normalizers"),
            "pre_tokenizer": several(r, pre_tokenizer, "pretokenizers"),
            "post_processor": None, "decoder": several(r, decoder, "decoders")}
    words = [w for w in words_of(spec) if w]
    if not words:
        return None
    spec["model"] = r.choice([bpe_model, bpe_model, wordpiece_model, wordlevel_model, unigram_model])(r, spec, words)
    if not spec["model"]["vocab"]:
        return None
    spec["added_tokens"] = added_tokens(r, spec["model"])
    settle(spec)
    marks = [(a["content"], a["id"]) for a in spec["added_tokens"][:2]]
    spec["post_processor"] = post_processor(r, marks)
    return spec


def random_text(r, spec):
    parts = []
    contents = [a["content"] for a in spec["added_tokens"]]
    for _ in range(r.choice([0, 1, 2, 5, 9])):
        kind = r.random()
        if kind < 0.35:
            line = r.choice(CORPUS)
            i = r.randrange(len(line))
            parts.append(line[i:i + r.randint(1, 30)])
        elif kind < 0.6:
            parts.append(r.choice(ODD))
        elif kind < 0.8 and contents:
            parts.append(r.choice(contents))
        elif kind < 0.9:
            parts.append(" " * r.randint(1, 4))
        else:
            c = chr(r.choice([r.randrange(0x20, 0x250), r.randrange(0x250, 0x3000), r.randrange(0x3000, 0xd800),
                              r.randrange(0x10000, 0x20000)]))
            if unicodedata.ucd_3_2_0.category(c) != "Cn":  # characters that every version of Unicode in use knows
                parts.append(c)
    return "".join(parts)


def around(spec):
    """What the post-processor puts around a text, None for the text."""
    ids = [None]
    post = spec["post_processor"]
    for part in [] if not post else post["processors"] if post["type"] == "Sequence" else [post]:
        if part["type"] == "TemplateProcessing":
            ids = [part["special_tokens"][p["SpecialToken"]["id"]]["ids"][0] if "SpecialToken" in p else None
                   for p in part["single"]]
        elif part["type"] in ("BertProcessing", "RobertaProcessing"):
            ids = [part["cls"][1], None, part["sep"][1]]
    return ids


def same_text(want, got):
    if isinstance(want, str) and isinstance(got, bytes):
        return want == got.decode(errors="replace") or "\ufffd" in want
    return False


def attempt(call):
    try:
        return call()
    except BaseException as e:  # pyo3's panics are no Exceptions
        if isinstance(e, KeyboardInterrupt):
            raise
        return e


def panicked(e):
    """A bug in `tokenizers` itself."""
    return type(e).__name__ == "PanicException"


def check_text(r, weft, reference, spec, text, report):
    data = text.encode()
    frame = around(spec)
    kept = None
    for flags in (0, 2, 3):
        reference.encode_special_tokens = not flags & 2
        want = attempt(lambda: reference.encode(text, add_special_tokens=bool(flags & 1)).ids)
        got = weft.encode(data, flags)
        if isinstance(want, BaseException):
            if not isinstance(got, str) and not panicked(want):
                report("encode error", text, flags, repr(want), got)
            continue
        if flags == 2:
            kept = want
        second = flags & 1 and kept and len(frame) > 1 and frame[0] is not None and frame[1] is None and kept[0] == frame[0]
        if second:
            want = want[:1] + want[2:]
        if want != got:
            report("encode", text, flags, want, got)
    return kept or []


def check_decode(weft, reference, spec, ids, report):
    for special in (False, True):
        want = attempt(lambda: reference.decode(ids, skip_special_tokens=not special))
        if isinstance(want, BaseException):
            continue
        got = weft.decode(ids, special)
        odd = {a["id"] for a in spec["added_tokens"] if a["special"] and a["normalized"]}
        if not same_text(want, got) and not odd & set(ids):
            report("decode", ids, special, want, got)


def class_item(r, depth):
    kind = r.random()
    if kind < 0.3:
        return r.choice("aeiouxyzABZ019 _") + r.choice(["", "", "-z" if depth else ""])
    if kind < 0.5:
        return r.choice([r"\d", r"\s", r"\w", r"\D", r"\S", r"\W", r"\h", r"\n", r"\t", r"\-", r"\]", r"\x41", "\\u00e9", r"\x{3042}"])
    if kind < 0.65:
        return r.choice([r"\p{L}", r"\p{Lu}", r"\p{Han}", r"\P{L}", r"\p{^N}", r"\p{Alpha}", r"\p{Greek}", r"\p{Letter}", r"\p{Punct}"])
    if kind < 0.75:
        return "[:" + r.choice(["", "^"]) + r.choice(["alpha", "digit", "punct", "space", "upper", "lower", "alnum", "word", "xdigit",
                                                      "cntrl", "graph", "print", "blank"]) + ":]"
    if kind < 0.85 and depth < 2:
        return a_class(r, depth + 1)
    return r.choice(["a-f", "0-9", "\u4e00-\u9fff", "\u0430-\u044f", "!-/"])


def a_class(r, depth=0):
    body = "".join(class_item(r, depth) for _ in range(r.randint(1, 3)))
    if r.random() < 0.15:
        body += "&&" + "".join(class_item(r, depth) for _ in range(r.randint(1, 2)))
    return "[" + r.choice(["", "", "^"]) + body + "]"


def atom(r, depth):
    kind = r.random()
    if kind < 0.3:
        return r.choice(["a", "e", "th", "1", " ", ".", r"\.", "\u00e9", "'", r"\$", "K", "s"])
    if kind < 0.5:
        return r.choice([r"\d", r"\s", r"\w", r"\D", r"\S", r"\W", r"\h", r"\H", r"\p{L}", r"\p{N}", r"\p{P}", r"\P{L}", r"\p{Lu}", r"\R",
                         r"\N", r"\O"])
    if kind < 0.7:
        return a_class(r)
    if kind < 0.8:
        return r.choice(["^", "$", r"\b", r"\B", r"\A", r"\z", r"\Z", r"(?!\S)", r"(?<=a)", r"(?<!\w)", r"(?=\d)"])
    if depth > 2:
        return "a"
    return r.choice(["(?:", "(", "(?>", "(?i:", "(?m:", "(?<x>", "(?=", "(?!"]) + regex(r, depth + 1) + ")"


def regex(r, depth=0):
    branches = []
    for _ in range(r.choice([1, 1, 2, 3])):
        parts = []
        for _ in range(r.randint(1, 3)):
            a = atom(r, depth)
            may_repeat = a not in ("^", "$") and not a.startswith(("\\b", "\\B", "\\A", "\\z", "\\Z", "(?=", "(?!", "(?<=", "(?<!"))
            repeat = r.choice(["", "", "", "?", "*", "+", "+?", "*?", "++", "*+", "{2}", "{1,2}", "{,2}", "{2,}", "{1,3}?", "{2}?"])
            parts.append(a + repeat if may_repeat else a)
        branches.append("".join(parts))
    return r.choice(["", "", "", "(?i)"] if depth == 0 else [""]) + "|".join(branches)


def check_regexes(weft, count, seed, show):
    """Splits texts; the model spells every character, one that begins a word otherwise."""
    letters = sorted(set("".join(CORPUS) + "".join(ODD)) - {"\0"})  # jansson knows no NUL in keys
    vocabulary = {"[UNK]": 0}
    for c in letters:
        vocabulary.setdefault(c, len(vocabulary))
        vocabulary.setdefault("##" + c, len(vocabulary))
    counts, refused = collections.Counter(), collections.Counter()
    for i in range(count):
        r = random.Random(seed * 1000003 + i)
        expression = regex(r)
        spec = {"version": "1.0", "truncation": None, "padding": None, "added_tokens": [], "normalizer": None,
                "pre_tokenizer": {"type": "Split", "pattern": {"Regex": expression}, "behavior": "Isolated", "invert": False},
                "post_processor": None, "decoder": None,
                "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
                          "max_input_chars_per_word": 1000, "vocab": vocabulary}}
        data = json.dumps(spec).encode()
        reference = attempt(lambda: tokenizers.Tokenizer.from_str(data.decode()))
        status, message = weft.open("open", data)
        if isinstance(reference, BaseException):
            counts["no expression" if status else "only weft"] += 1
            continue
        if status:
            counts["refused"] += 1
            refused[message.split(": ")[-1]] += 1
            continue
        same = True
        for _ in range(8):
            text = "".join(r.choice([r.choice(CORPUS)[r.randrange(20):][:25], r.choice(ODD), " ", "\n"]) for _ in range(r.randint(1, 5)))
            want = attempt(lambda: reference.encode(text).ids)
            got = weft.encode(text.encode(), 0)
            if want != got and not isinstance(want, BaseException):
                same = False
                if counts["different"] < show:
                    spelled = [[t for t, k in vocabulary.items() if k == x][0] for x in want]
                    mine = got if isinstance(got, str) else [[t for t, k in vocabulary.items() if k == x][0] for x in got]
                    print(f"--- {expression!r}\n  {text!r}\n  tokenizers {spelled}\n  weft       {mine}")
                break
        counts["same" if same else "different"] += 1
    print(dict(counts))
    for message, n in refused.most_common(20):
        print(f"  refused {n}: {message[:150]}")
    return counts["different"] > 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("batch")
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--show", type=int, default=5)
    parser.add_argument("--texts", type=int, default=12)
    parser.add_argument("--only", type=int)
    parser.add_argument("--regexes", type=int)
    args = parser.parse_args()
    weft = Weft(args.batch)
    if args.regexes:
        return check_regexes(weft, args.regexes, args.seed, args.show)
    counts, refused = collections.Counter(), collections.Counter()
    for i in range(args.count) if args.only is None else [args.only]:
        r = random.Random(args.seed * 1000003 + i)
        spec = attempt(lambda: pipeline(r))
        data = json.dumps(spec if isinstance(spec, dict) else None, ensure_ascii=a_bool(r)).encode()
        reference = attempt(lambda: tokenizers.Tokenizer.from_str(data.decode()))
        if isinstance(spec, TypeError):
            raise spec
        if not isinstance(spec, dict) or isinstance(reference, BaseException):
            counts["no pipeline"] += 1
            if args.only is not None:
                print(spec if not isinstance(spec, dict) else reference)
            continue
        status, message = weft.open("open", data)
        if status:
            counts["refused"] += 1
            refused[message] += 1
            continue
        shown = []

        def report(what, given, how, want, got):
            counts[f"different: {what}"] += 1
            if not shown and sum(v for k, v in counts.items() if k.startswith("different pipe")) < args.show:
                brief = {k: v for k, v in spec.items() if k not in ("model", "version", "truncation", "padding")}
                model = {k: v for k, v in spec["model"].items() if k not in ("vocab", "merges")}
                print(f"--- {args.seed}:{i} {what} {how}\n  {json.dumps(brief)}\n  {json.dumps(model)}\n  given {given!r}\n"
                      f"  tokenizers {want!r}\n  weft       {got!r}", flush=True)
            shown.append(what)

        size = reference.get_vocab_size()
        for _ in range(args.texts):
            ids = check_text(r, weft, reference, spec, random_text(r, spec), report)
            check_decode(weft, reference, spec, ids, report)
            check_decode(weft, reference, spec, [r.randrange(size) for _ in range(r.randint(0, 8))], report)
        counts["different pipelines" if shown else "same"] += 1
    print(dict(counts))
    for message, n in refused.most_common(30):
        print(f"  refused {n}: {message[:200]}")
    return any(k.startswith("different") for k in counts)


if __name__ == "__main__":
    sys.exit(main())
