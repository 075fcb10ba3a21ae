#!/usr/bin/env python3
"""Makes tests/golden/tokenizer_json/*.json: small tokenizers of every kind, and what PyPI's `tokenizers` does with them.

    tokenizer_json.py [FOLDER]        (needs PyPI's tokenizers 0.23, sentencepiece and protobuf)

Each file has a tokenizer.json ("tokenizer"), and cases: a text, its ids plain (special tokens in the text are text), parsed
(they count), marked (the post-processor ran too), and the text decoded from the marked ids with and without special tokens.
Trainers break ties by chance, so that another run may make other tokens. Read by tests/unit/tokenizer_json.c. SPDX-License-Identifier: MIT
"""
import base64
import json
import pathlib
import random
import sys
import tempfile

import sentencepiece
import sentencepiece.sentencepiece_model_pb2 as sentencepiece_pb2
import tokenizers
from tokenizers import models, trainers

SPACE = "\u2581"
LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|"
          r"\s+(?!\S)|\s+")
CORPUS = [
    "the quick brown fox jumps over the lazy dog and then the other dog jumps back over the fox",
    "they're here, it's there, and we'll see what that is; don't you think? I don't! 12 345 6789",
    "def the(x):\n    return x + 1  # the other thing\n\n",
    "le caf\u00e9 est d\u00e9j\u00e0 ferm\u00e9, la for\u00eat aussi",
    "\u043f\u0440\u0438\u0432\u0435\u0442 \u043c\u0438\u0440, \u043a\u0430\u043a \u0434\u0435\u043b\u0430",
    "\u4f60\u597d\u4e16\u754c \u4f60\u597d",
] * 3
TEXTS = [
    "", " ", "   ", "\n", "the quick brown fox", " the", "the ", "  the   other\t\tthing \n\n x", "Don't SHOUT, they're 12345 of 'em!",
    "caf\u00e9 cafe\u0301 \u00c5\u212b \ufb01ne \uff34\uff28\uff25", "\u041f\u0440\u0438\u0432\u0435\u0442, \u043c\u0438\u0440!",
    "\u4f60\u597d\u4e16\u754c\u3002 \u65e5\u672c\u8a9e\u3067\u3059 \ud55c\uad6d\uc5b4", "\u0e2a\u0e27\u0e31\u0e2a\u0e14\u0e35 \u0928\u092e\u0938\u094d\u0924\u0947",
    "\U0001f600\U0001f468\u200d\U0001f469\u200d\U0001f467 \u2764\ufe0f\U0001f1e9\U0001f1ea", "\x00\x01\x07 \x7f\u200b\u00ad\ufeff\u2028x\u2029",
    "a\u00a0b\u3000c\u1680d\u180ee", "x\u0323\u0307\u0301\u0327 \u1e69 \u0958", "<s>the</s>", "the <s> fox</s>dog <tag>the<tag> the<tag>",
    "  <mask>  the<mask>\n", "<TAG> <Tag><tagging> thetag tag", "x<s", "</s></s> <s><s>", "<unk> [UNK] [CLS] ##the the##", SPACE + "the " + SPACE,
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa " * 4, "the" * 50, "(a)[b]{c}<d>|e|`f`~g^h$i+j=k", "1\u00bd2\u00b23\u2167\u0663", "\t the\r\nother\r",
]


def added(*tokens):
    return [dict({"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}, **t) for t in tokens]


def byte_level(**options):
    return {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True} | options


def template(*pieces):
    return {"type": "TemplateProcessing",
            "single": [{"Sequence": {"id": "A", "type_id": 0}} if p == "A" else {"SpecialToken": {"id": p, "type_id": 0}}
                       for p in pieces],
            "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 0}}],
            "special_tokens": {p: {"id": p, "ids": [p], "tokens": [p]} for p in pieces if p != "A"}}


def sequence(key, *parts):
    return {"type": "Sequence", key: list(parts)}


def words_of(spec):
    shell = tokenizers.Tokenizer.from_str(json.dumps(
        {"version": "1.0", "truncation": None, "padding": None, "added_tokens": [], "normalizer": spec["normalizer"],
         "pre_tokenizer": spec["pre_tokenizer"], "post_processor": None, "decoder": None,
         "model": {"type": "WordLevel", "vocab": {"x": 0}, "unk_token": "x"}}))
    for line in CORPUS:
        line = shell.normalizer.normalize_str(line) if shell.normalizer else line
        yield from [w for w, _ in shell.pre_tokenizer.pre_tokenize_str(line)] if shell.pre_tokenizer else [line]


def train(model, trainer, spec):
    t = tokenizers.Tokenizer(model)
    t.train_from_iterator(list(words_of(spec)), trainer)
    return json.loads(t.to_str())["model"]


def bpe(spec, size=330, bytes_too=False, letters=False, unknown=False, options=None, **marks):
    trainer = trainers.BpeTrainer(vocab_size=size, show_progress=False, special_tokens=["<unk>"] if bytes_too or unknown else [],
                                  initial_alphabet=sorted(tokenizers.pre_tokenizers.ByteLevel.alphabet()) if letters else [], **marks)
    model = train(models.BPE(**marks), trainer, spec)
    if bytes_too:
        old = sorted(model["vocab"], key=model["vocab"].get)
        old[1:1] = [f"<0x{i:02X}>" for i in range(256)]
        model["vocab"] = {t: i for i, t in enumerate(old)}
        model |= {"unk_token": "<unk>", "byte_fallback": True, "fuse_unk": True}
    return model | (options or {})


def wordpiece(spec):
    trainer = trainers.WordPieceTrainer(vocab_size=220, show_progress=False, special_tokens=["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"])
    return train(models.WordPiece(unk_token="[UNK]"), trainer, spec) | {"unk_token": "[UNK]", "max_input_chars_per_word": 100}


def unigram(spec, byte_fallback=False):
    r = random.Random(7)
    pieces = {}
    for word in words_of(spec):
        for c in word:
            pieces[c] = None
        for _ in range(2):
            i = r.randrange(len(word))
            pieces[word[i:i + r.randint(2, 5)]] = None
    extra = [f"<0x{i:02X}>" for i in range(256)] if byte_fallback else []
    vocabulary = [["<unk>", 0.0], ["<s>", 0.0], ["</s>", 0.0]] + [[p, 0.0] for p in extra]
    vocabulary += [[p, -r.randint(128, 768) / 64] for p in sorted(pieces) if p not in ("<unk>", "<s>", "</s>")]
    return {"type": "Unigram", "unk_id": 0, "vocab": vocabulary, "byte_fallback": byte_fallback}


def sentencepiece_bpe():
    """A SentencePiece BPE model as `transformers` turns it into a tokenizer.json: every pair that makes a token is a merge."""
    with tempfile.TemporaryDirectory() as folder:
        (pathlib.Path(folder) / "text").write_text("\n".join(CORPUS))
        sentencepiece.SentencePieceTrainer.train(input=f"{folder}/text", model_prefix=f"{folder}/m", vocab_size=420, minloglevel=2,
                                                 model_type="bpe", byte_fallback=True, hard_vocab_limit=False)
        pieces = sentencepiece_pb2.ModelProto.FromString((pathlib.Path(folder) / "m.model").read_bytes()).pieces
    ids = {p.piece: i for i, p in enumerate(pieces)}
    merges = [(-p.score, p.piece[:k], p.piece[k:]) for p in pieces if p.type == 1 for k in range(1, len(p.piece))
              if p.piece[:k] in ids and p.piece[k:] in ids]
    return {"type": "BPE", "dropout": None, "unk_token": "<unk>", "continuing_subword_prefix": None, "end_of_word_suffix": None,
            "fuse_unk": True, "byte_fallback": True, "ignore_merges": False, "vocab": ids,
            "merges": [list(m[1:]) for m in sorted(merges, key=lambda m: (m[0], -len(m[1])))]}


SOME_RULES = [("FF34", "54"), ("FF28", "48"), ("FF25", "45"), ("FB01", "66 69"), ("3000", "20"), ("A0", "20"), ("9", "20"),
              ("E9", "65 301"), ("65 301", "E9"), ("200B", ""), ("BD", "31 2044 32"), ("7", "")]
SPACES = [(c, "20") for c in ("9", "A", "B", "C", "D", "85", "A0", "1680", "2028", "2029", "3000")]


def charsmap(rules):
    """A character map as SentencePiece compiles it."""
    with tempfile.TemporaryDirectory() as folder:
        (pathlib.Path(folder) / "rules.tsv").write_text("".join(f"{a}\t{b}\n" for a, b in rules))
        (pathlib.Path(folder) / "text").write_text("\n".join(CORPUS))
        sentencepiece.SentencePieceTrainer.train(input=f"{folder}/text", model_prefix=f"{folder}/m", vocab_size=100, minloglevel=2,
                                                 normalization_rule_tsv=f"{folder}/rules.tsv", hard_vocab_limit=False)
        model = sentencepiece_pb2.ModelProto.FromString((pathlib.Path(folder) / "m.model").read_bytes())
    return base64.b64encode(model.normalizer_spec.precompiled_charsmap).decode()


SPM_DECODER = sequence("decoders", {"type": "Replace", "pattern": {"String": SPACE}, "content": " "}, {"type": "ByteFallback"},
                       {"type": "Fuse"}, {"type": "Strip", "content": " ", "start": 1, "stop": 0})
MARKS = added({"content": "<s>"}, {"content": "</s>"}, {"content": "<mask>", "lstrip": True, "rstrip": True},
              {"content": "<tag>", "special": False, "single_word": True, "normalized": True})


def metaspace(scheme, split):
    return {"type": "Metaspace", "replacement": SPACE, "prepend_scheme": scheme, "split": split}


def kinds():
    yield "bpe_byte_level", {
        "normalizer": None, "pre_tokenizer": byte_level(), "post_processor": template("<s>", "A", "</s>"), "decoder": byte_level(),
        "added": MARKS}, lambda s: bpe(s, letters=True)
    yield "bpe_llama3", {
        "normalizer": {"type": "NFC"},
        "pre_tokenizer": sequence("pretokenizers", {"type": "Split", "pattern": {"Regex": LLAMA3}, "behavior": "Isolated", "invert": False},
                                  byte_level(use_regex=False)),
        "post_processor": sequence("processors", byte_level(), template("<s>", "A")), "decoder": byte_level(),
        "added": added({"content": "<s>"}, {"content": "</s>"}, {"content": "<tag>", "special": False})
    }, lambda s: bpe(s, letters=True, options={"ignore_merges": True})
    yield "bpe_bytes", {
        "normalizer": sequence("normalizers", {"type": "Prepend", "prepend": SPACE},
                               {"type": "Replace", "pattern": {"String": " "}, "content": SPACE}),
        "pre_tokenizer": None, "post_processor": template("<s>", "A"), "decoder": SPM_DECODER,
        "added": added({"content": "<unk>"}, {"content": "<s>"}, {"content": "</s>"}, {"content": "<tag>", "special": False})
    }, lambda s: bpe(s, 200, bytes_too=True)
    yield "bpe_spm", {
        "normalizer": sequence("normalizers", {"type": "Prepend", "prepend": SPACE},
                               {"type": "Replace", "pattern": {"String": " "}, "content": SPACE}),
        "pre_tokenizer": None, "post_processor": template("<s>", "A"), "decoder": SPM_DECODER,
        "added": added({"content": "<unk>"}, {"content": "<s>"}, {"content": "</s>"}, {"content": "<tag>", "special": False})
    }, lambda s: sentencepiece_bpe()
    yield "bpe_metaspace", {
        "normalizer": None, "pre_tokenizer": metaspace("first", False), "post_processor": template("A", "</s>"), "decoder": SPM_DECODER,
        "added": MARKS}, lambda s: bpe(s, 150, bytes_too=True)
    yield "bpe_clip", {
        "normalizer": sequence("normalizers", {"type": "NFC"}, {"type": "Replace", "pattern": {"Regex": r"\s+"}, "content": " "},
                               {"type": "Lowercase"}),
        "pre_tokenizer": sequence("pretokenizers", {
            "type": "Split", "pattern": {"Regex": r"<s>|</s>|'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+"},
            "behavior": "Removed", "invert": True}, byte_level()),
        "post_processor": {"type": "RobertaProcessing", "sep": ["</s>", "</s>"], "cls": ["<s>", "<s>"], "trim_offsets": False,
                           "add_prefix_space": False},
        "decoder": sequence("decoders", byte_level(), {"type": "BPEDecoder", "suffix": "</w>"}),
        "added": MARKS}, lambda s: bpe(s, 420, letters=True, end_of_word_suffix="</w>", options={"unk_token": None})
    yield "bpe_prefix", {
        "normalizer": {"type": "NFKD"}, "pre_tokenizer": {"type": "Whitespace"}, "post_processor": None,
        "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": False},
        "added": added({"content": "<unk>"}, {"content": "<tag>", "special": False, "normalized": True})
    }, lambda s: bpe(s, 200, unknown=True, continuing_subword_prefix="##", options={"unk_token": "<unk>"})
    yield "wordpiece_bert", {
        "normalizer": {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True, "strip_accents": None, "lowercase": True},
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "post_processor": {"type": "BertProcessing", "sep": ["[SEP]", "[SEP]"], "cls": ["[CLS]", "[CLS]"]},
        "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": True},
        "added": added(*[{"content": t} for t in ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")])}, wordpiece
    yield "unigram_precompiled", {
        "normalizer": sequence("normalizers", {"type": "Precompiled", "precompiled_charsmap": charsmap(SOME_RULES)},
                               {"type": "Strip", "strip_left": False, "strip_right": True},
                               {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": SPACE}),
        "pre_tokenizer": metaspace("always", True), "post_processor": template("A", "</s>"), "decoder": metaspace("always", True),
        "added": added({"content": "<unk>"}, {"content": "<s>"}, {"content": "</s>"}, {"content": "<mask>", "lstrip": True})}, unigram
    yield "unigram_words", {
        "normalizer": {"type": "Precompiled", "precompiled_charsmap": charsmap(SPACES)},
        "pre_tokenizer": sequence("pretokenizers", {"type": "WhitespaceSplit"}, metaspace("always", True)),
        "post_processor": template("A", "</s>"), "decoder": metaspace("always", True),
        "added": added({"content": "<unk>"}, {"content": "<s>"}, {"content": "</s>"})}, unigram
    yield "unigram_bytes", {
        "normalizer": sequence("normalizers", {"type": "Nmt"}, {"type": "NFKC"}, {"type": "StripAccents"}),
        "pre_tokenizer": sequence("pretokenizers", {"type": "WhitespaceSplit"}, metaspace("first", True)),
        "post_processor": template("<s>", "A", "</s>"),
        "decoder": sequence("decoders", {"type": "ByteFallback"}, metaspace("always", True)),
        "added": MARKS}, lambda s: unigram(s, True)
    yield "wordlevel", {
        "normalizer": sequence("normalizers", {"type": "Strip", "strip_left": True, "strip_right": True}, {"type": "Lowercase"}),
        "pre_tokenizer": sequence("pretokenizers", {"type": "WhitespaceSplit"}, {"type": "Digits", "individual_digits": True},
                                  {"type": "Punctuation", "behavior": "MergedWithPrevious"}, {"type": "UnicodeScripts"},
                                  {"type": "CharDelimiterSplit", "delimiter": "|"}, {"type": "FixedLength", "length": 6}),
        "post_processor": None, "decoder": None,
        "added": added({"content": "<unk>", "normalized": True}, {"content": "<tag>", "special": False, "normalized": True})
    }, lambda s: {"type": "WordLevel", "unk_token": "<unk>",
                  "vocab": {w: i for i, w in enumerate(["<unk>"] + sorted(set(words_of(s))))}}


def number(spec):
    """Gives the added tokens their ids, and the post-processor those of its tokens."""
    vocabulary = spec["model"]["vocab"]
    ids = {p[0]: i for i, p in enumerate(vocabulary)} if isinstance(vocabulary, list) else dict(vocabulary)
    for token in spec["added_tokens"]:
        token["id"] = ids.setdefault(token["content"], len(ids))
    post = spec["post_processor"]
    for part in [] if not post else post.get("processors", [post]):
        for token in part.get("special_tokens", {}).values():
            token["ids"] = [ids[t] for t in token["ids"]]
        for key in ("cls", "sep"):
            if key in part:
                part[key][1] = ids[part[key][1]]


def main():
    folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent / "tokenizer_json")
    folder.mkdir(exist_ok=True)
    for name, parts, make in kinds():
        spec = {"version": "1.0", "truncation": None, "padding": None, "added_tokens": parts["added"],
                "normalizer": parts["normalizer"], "pre_tokenizer": parts["pre_tokenizer"], "post_processor": parts["post_processor"],
                "decoder": parts["decoder"]}
        spec = json.loads(json.dumps(spec))
        spec["model"] = make(spec)
        number(spec)
        t = tokenizers.Tokenizer.from_str(json.dumps(spec))
        cases = []
        for text in TEXTS:
            t.encode_special_tokens = True
            case = {"text": text, "plain": t.encode(text, add_special_tokens=False).ids}
            t.encode_special_tokens = False
            case["parsed"] = t.encode(text, add_special_tokens=False).ids
            case["marked"] = t.encode(text).ids
            case["decoded"] = t.decode(case["marked"])
            case["decoded_special"] = t.decode(case["marked"], skip_special_tokens=False)
            cases.append(case)
        lines = ",\n".join(json.dumps(c) for c in cases)
        (folder / f"{name}.json").write_text(f'{{"tokenizer": {json.dumps(spec)},\n"cases": [\n{lines}\n]}}\n')


main()
