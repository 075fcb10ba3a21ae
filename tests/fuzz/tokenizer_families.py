#!/usr/bin/env python3
"""The tokenizer.json of known families, written from their published vocabularies, on their reference lines.

    tokenizer_families.py BATCH [FOLDER] [--write OUT]

BATCH is the program built from tokenizer_batch.c; FOLDER holds NAME.gguf with NAME.inp (~/.cache/weft-text/vocab). For each
family below a tokenizer.json is written with the normalizer, pre-tokenizer, post-processor and decoder that the family's own
file has (the expressions are facts about these models). Compared on every reference line and on some with special tokens in
them: PyPI's `tokenizers`, weft on the json, weft on its description, weft on the GGUF. Needs `tokenizers` and `gguf` of
PyPI. SPDX-License-Identifier: MIT
"""
import argparse
import json
import pathlib
import sys

import gguf
import tokenizers

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from tokenizer_diff import Weft  # noqa: E402

NORMAL, UNKNOWN, CONTROL, USER, UNUSED, BYTE = range(1, 7)
SPACE = "\u2581"
LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|"
          r"\s+(?!\S)|\s+")


def split(regex, behavior="Isolated", invert=False):
    return {"type": "Split", "pattern": {"Regex": regex}, "behavior": behavior, "invert": invert}


def byte_level(use_regex=False):
    return {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": use_regex}


def digits(individual):
    return {"type": "Digits", "individual_digits": individual}


def sequence(*parts):
    return {"type": "Sequence", "pretokenizers": list(parts)}


def bpe(pre, normalizer=None, **options):
    return {"pre_tokenizer": pre, "normalizer": normalizer, "decoder": byte_level(True),
            "post_processor": byte_level(True), "options": options}


SPM = {
    "normalizer": {"type": "Sequence", "normalizers": [
        {"type": "Prepend", "prepend": SPACE},
        {"type": "Replace", "pattern": {"String": " "}, "content": SPACE}]},
    "pre_tokenizer": None,
    "post_processor": "bos",
    "decoder": {"type": "Sequence", "decoders": [
        {"type": "Replace", "pattern": {"String": SPACE}, "content": " "}, {"type": "ByteFallback"}, {"type": "Fuse"},
        {"type": "Strip", "content": " ", "start": 1, "stop": 0}]},
    "options": {"byte_fallback": True, "fuse_unk": True},
}
BERT = {
    "normalizer": {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True, "strip_accents": None,
                   "lowercase": True},
    "pre_tokenizer": {"type": "BertPreTokenizer"},
    "post_processor": "bert",
    "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": True},
    "options": {},
}
QWEN2 = LLAMA3.replace("{1,3}", "")
FAMILIES = {
    "gpt-2": bpe(byte_level(True)),
    "mpt": bpe(byte_level(True), {"type": "NFC"}),
    "llama-bpe": bpe(sequence(split(LLAMA3), byte_level()), ignore_merges=True),
    "qwen2": bpe(sequence(split(QWEN2), byte_level()), {"type": "NFC"}),
    "starcoder": bpe(sequence(digits(True), byte_level(True))),
    "refact": bpe(sequence(digits(True), byte_level(True))),
    "command-r": bpe(sequence(digits(True), byte_level(True)), {"type": "NFC"}),
    "falcon": bpe(sequence({"type": "Punctuation", "behavior": "Contiguous"}, byte_level(True), digits(False),
                           split("[0-9][0-9][0-9]"))),
    "deepseek-coder": bpe(sequence(split("[\r\n]"), split(r"\s?\p{L}+"), split(r"\s?\p{P}+"),
                                   split("[\u4e00-\u9fa5\u0800-\u4e00\uac00-\ud7ff]+"), digits(True), byte_level())),
    "llama-spm": SPM,
    "phi-3": {**SPM, "strips": True},
    "bert-bge": BERT,
}


def read_vocabulary(path):
    fields = gguf.GGUFReader(path).fields

    def get(key, default=None):
        return fields["tokenizer.ggml." + key].contents() if "tokenizer.ggml." + key in fields else default

    tokens = get("tokens")
    return {"tokens": tokens, "kinds": get("token_type", [NORMAL] * len(tokens)), "merges": get("merges", []),
            "scores": get("scores"), "bos": get("bos_token_id"), "unk": get("unknown_token_id"),
            "cls": get("cls_token_id"), "sep": get("seperator_token_id")}


def spm_merges(tokens, scores, kinds):
    """As `transformers` makes merges of a SentencePiece model: every pair of tokens that makes a token."""
    ids = {t: i for i, t in enumerate(tokens) if kinds[i] == NORMAL}
    merges = []
    for token, i in ids.items():
        for k in range(1, len(token)):
            if token[:k] in ids and token[k:] in ids:
                merges.append((scores[i], len(token[:k]), len(token[k:]), token[:k], token[k:]))
    merges.sort(key=lambda m: (-m[0], -m[1], -m[2]))
    return [[m[3], m[4]] for m in merges]


def write(vocabulary, family):
    tokens, kinds = vocabulary["tokens"], vocabulary["kinds"]
    added = [{"id": i, "content": tokens[i], "single_word": False, "lstrip": False,
              "rstrip": family.get("strips", False) and tokens[i] not in ("<unk>", "<s>", "<|endoftext|>"),
              "normalized": False, "special": kinds[i] != USER} for i in range(len(tokens)) if kinds[i] in (UNKNOWN, CONTROL, USER)]
    model = {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None,
             "end_of_word_suffix": None, "fuse_unk": False, "byte_fallback": False, "ignore_merges": False}
    post = family["post_processor"]
    if post == "bert":
        def spell(i, token):
            if kinds[i] != NORMAL:
                return token
            return token[1:] if token.startswith(SPACE) else "##" + token
        tokens = [spell(i, t) for i, t in enumerate(tokens)]
        model = {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
                 "max_input_chars_per_word": 100}
        at = {t: tokens.index(t) for t in ("[CLS]", "[SEP]")}
        post = {"type": "BertProcessing", "sep": ["[SEP]", at["[SEP]"]], "cls": ["[CLS]", at["[CLS]"]]}
        added = [{"id": i, "content": t, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False,
                  "special": True} for i, t in enumerate(tokens) if t in ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")]
    elif vocabulary["scores"] and not vocabulary["merges"]:
        model["merges"] = spm_merges(tokens, vocabulary["scores"], kinds)
        model["unk_token"] = "<unk>"
    else:
        model["merges"] = [m.split(" ") for m in vocabulary["merges"]]
    if post == "bos":
        bos = tokens[vocabulary["bos"]]
        single = [{"SpecialToken": {"id": bos, "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}]
        post = {"type": "TemplateProcessing", "single": single,
                "pair": single + [{"Sequence": {"id": "B", "type_id": 1}}],
                "special_tokens": {bos: {"id": bos, "ids": [vocabulary["bos"]], "tokens": [bos]}}}
    model["vocab"] = {t: i for i, t in enumerate(tokens)}
    model.update(family["options"])
    return {"version": "1.0", "truncation": None, "padding": None, "added_tokens": added,
            "normalizer": family["normalizer"], "pre_tokenizer": family["pre_tokenizer"], "post_processor": post,
            "decoder": family["decoder"], "model": model}


def texts_of(path, added):
    lines = path.read_text().split("\n__ggml_vocab_test__\n")
    mixed = [f"{a} one{a}{a}\ttwo {a} " for a in added[:20]] + ["".join(added[:50]), " ".join(added[:50])]
    return lines, mixed


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("batch")
    parser.add_argument("folder", nargs="?", default=pathlib.Path.home() / ".cache/weft-text/vocab", type=pathlib.Path)
    parser.add_argument("--write", type=pathlib.Path)
    parser.add_argument("--only")
    args = parser.parse_args()
    weft = Weft(args.batch)
    bad = 0
    for name, family in FAMILIES.items():
        if args.only and name != args.only:
            continue
        vocabulary = read_vocabulary(args.folder / f"{name}.gguf")
        spec = write(vocabulary, family)
        text = json.dumps(spec, ensure_ascii=False)
        if args.write:
            (args.write / f"{name}.json").write_text(text)
        reference = tokenizers.Tokenizer.from_str(text)
        plain, mixed = texts_of(args.folder / f"{name}.inp", [a["content"] for a in spec["added_tokens"]])
        result = []
        for way, data in (("open", text.encode()), ("describe", text.encode()),
                          ("gguf", str(args.folder / f"{name}.gguf").encode())):
            status, message = weft.open(way, data)
            if status:
                result.append(f"{way}: {message}")
                bad += 1
                continue
            wrong = []
            for line in plain + mixed:
                flags = 3 if line in mixed else 1
                if way == "gguf":
                    flags -= 1
                want = reference.encode(line, add_special_tokens=bool(flags & 1)).ids
                if len(want) > 1 and want[0] == want[1] == vocabulary["bos"]:
                    want = want[1:]
                got = weft.encode(line.encode(), flags)
                if want != got:
                    wrong.append((line, want, got))
            for line, want, got in wrong[:3]:
                print(f"  {name} {way}: {line!r}\n    tokenizers {want}\n    weft       {got}")
            result.append(f"{way}: {len(wrong)} of {len(plain + mixed)} differ")
            bad += len(wrong)
        print(f"{name}: " + "; ".join(result), flush=True)
    return bad > 0


if __name__ == "__main__":
    sys.exit(main())
