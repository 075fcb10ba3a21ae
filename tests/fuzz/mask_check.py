#!/usr/bin/env python3
"""Holds masks against llguidance's, token by token, over GPT-2's vocabulary:

    mask_check.py MASK_BATCH MODEL.gguf [WALKS [SEED]]

Each grammar's texts are followed (those of bench/grammar_cases.py, and more here), then WALKS texts are
drawn from what both allow. At each step all masks are compared; a token that differs is put down to one of
the reasons in docs/grammars.md, or printed. Needs the packages llguidance 1.9.0, gguf, numpy, tiktoken
(bench/grammar.sh installs them).
SPDX-License-Identifier: MIT
"""
import json
import os
import random
import re
import subprocess
import sys

import numpy
from llguidance import LLMatcher
from llguidance.gbnf_to_lark import any_to_lark

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "bench"))
import grammar_cases  # noqa: E402
from grammar_peer import peer_tokenizer  # noqa: E402
from grammar_vocab import byte_tokens  # noqa: E402

SPACES = b" \t\r\n"
REGEXES = [("[a-c]{2,5}|x+", ["abc", "xxx"]), ("[A-Z][a-z]+( [A-Z][a-z]+){0,3}", ["Ada Lovelace"]), ("[0-9]{4}-[01][0-9]-[0-3][0-9]", ["2024-02-29"]),
           ("(é|日本|[\\u0400-\\u04FF])+ ?!*", ["日本é", "Москва !"]), ("(\"([^\"\\\\]|\\\\.)*\",? ?)+", ["\"a\\\"b\", \"c\""]),
           (".{0,20}", ["any text, really"]), ("(a|ab)(c|bcd)(d*)", ["abcd", "abcdd"]), ("-?(0|[1-9][0-9]*)(\\.[0-9]+)?([eE][-+]?[0-9]{1,2})?", ["-12.5e+3", "0"])]
SCHEMAS = [
    ({"enum": ["red", "green", "blue", "re\"d", 12, None, True]}, ['"red"', '"re\\"d"', "12"]),
    ({"type": "array", "items": {"type": "integer", "minimum": -5, "maximum": 120}, "maxItems": 9}, ["[1,-5,120, 7]"]),
    ({"type": "number", "minimum": -1.5, "exclusiveMaximum": 10}, ["-1.25", "9.99"]),
    ({"type": "string", "pattern": "^(ab|cd)+[^x]$"}, ['"ababy"']),
    ({"type": "string", "minLength": 2, "maxLength": 5}, ['"abcd"', '"日本é"']),
    ({"type": "string", "format": "date"}, ['"2024-02-28"']),
    ({"type": "string", "format": "ipv4"}, ['"192.168.0.1"']),
    ({"type": ["string", "null", "boolean"]}, ['"x"', "null", "false"]),
    ({"type": "array", "prefixItems": [{"type": "string"}, {"type": "integer"}], "items": False, "minItems": 2}, ['["a", 5]']),
    ({"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "string"}, "c": {"type": "boolean"}}, "required": ["b"],
      "additionalProperties": False}, ['{"b": "x"}', '{"a": 1, "b": "", "c": true}'])]


class Ours:
    def __init__(self, batch, model, n_tokens):
        self.n_tokens, self.n_bytes = n_tokens, (n_tokens + 31) // 32 * 4
        self.p = subprocess.Popen([batch, model], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def send(self, **command):
        self.p.stdin.write(json.dumps(command).encode() + b"\n")
        self.p.stdin.flush()

    def line(self, **command):
        self.send(**command)
        return self.p.stdout.readline().decode().strip()

    def mask(self, **command):
        self.send(**command)
        return bits(self.p.stdout.read(self.n_bytes), self.n_tokens)


def bits(data, n):
    return numpy.unpackbits(numpy.frombuffer(data, dtype=numpy.uint8), bitorder="little")[:n]


def peer_grammar(kind, source):
    """Without forced tokens, which would hide what else is allowed; spaces between JSON tokens as here, as far as can be said."""
    if kind == "json-schema":
        schema = json.loads(source)
        schema["x-guidance"] = {"whitespace_pattern": "( |\\n[ \\t]{0,32})", "json_allow_general_unicode_escapes": True}
        return LLMatcher.grammar_from_lark('%llguidance {"no_forcing": true}\nstart: %json ' + json.dumps(schema))
    lark = any_to_lark(source) if kind == "gbnf" else "start: /" + source.replace("/", "\\/") + "/"
    return LLMatcher.grammar_from_lark('%llguidance {"no_forcing": true}\n' + lark)


def without_spaces(text, token):
    """The token without its white space outside JSON strings, given the text before it."""
    in_string = escaped = False
    out = bytearray()
    for i, byte in enumerate(text + token):
        if in_string:
            in_string, escaped = (escaped or byte != 0x22), (not escaped and byte == 0x5C)
        elif byte == 0x22:
            in_string = True
        elif byte in SPACES:
            continue
        if i >= len(text):
            out.append(byte)
    return bytes(out)


class Check:
    def __init__(self, batch, model):
        self.tokens = byte_tokens(model)[0]
        self.peer_tokens = peer_tokenizer(model)
        self.ours = Ours(batch, model, len(self.tokens))
        self.end = len(self.tokens) - 1
        self.by_byte = {t[0]: i for i, t in enumerate(self.tokens) if len(t) == 1}
        self.counts, self.steps, self.n_tokens, self.n_allowed = {}, 0, 0, 0

    def peer_may(self, data):
        if not data:
            return True
        tokens = [self.by_byte[b] for b in data]
        return self.peer.validate_tokens(tokens) == len(tokens)

    def reason(self, token, ours):
        data, after = self.tokens[token], self.text + self.tokens[token]
        if self.kind == "json-schema":
            less = without_spaces(self.text, data)
            if less != data:
                mine = not less or self.ours.line(**{"try": less.hex()}) == "yes"
                if mine == self.peer_may(less):
                    return "white space"
            if not ours and self.text[-1:] in SPACES and less[:1] in (b",", b":"):
                return "white space"
            if ours and b"\x7f" in data:
                return "DEL in a string"
            if ours and b"\\/" in self.text[-1:] + data:
                return "\\/ in a string"
            if ours and b"\\u" in self.text[-12:] + data:
                return "\\u in a string"
            if not ours and re.search(rb"[0-9.]+[eE][-+]?[0-9]+$", after.rstrip(b",]} \n")):
                return "exponents of three digits"
            if not ours and '"format": "date' in self.source:
                return "dates: the year 0000, second 60, small letters"
            if ours and '"minimum": -1.5' in self.source and re.search(rb"1\.50+$|0$", after if token != self.end else self.text):
                return "zeros at the end of a bound"
        if self.kind == "regex" and not ours and "." in self.source and re.search("[\r\u2028\u2029]", after.decode("utf-8", "ignore")):
            return "what . leaves out"
        if self.kind == "gbnf" and ours and re.search(rb"(^|\n)(if|return)$", self.text):
            return "a name spelt like a literal"
        return None

    def compare(self, mine):
        theirs = bits(self.peer.compute_bitmask(), len(self.tokens))
        self.steps += 1
        self.n_tokens += len(mine)
        self.n_allowed += int(mine.sum())
        for token in numpy.nonzero(mine != theirs)[0]:
            why = self.reason(int(token), bool(mine[token]))
            key = (self.name if why is None else self.kind, why or "?", "only here" if mine[token] else "only there")
            self.counts[key] = self.counts.get(key, 0) + 1
            if self.counts[key] <= (4 if why is None else 1):
                print(f"{self.name}: after {bytes(self.text[-40:])!r}: {self.tokens[token]!r} {key[2]}: {why or 'not explained'}")
        return mine & theirs

    def begin(self):
        self.text = b""
        self.peer = LLMatcher(self.peer_tokens, self.grammar)
        return self.compare(self.ours.mask(rollback=0))

    def step(self, token):
        mine = self.ours.mask(accept=int(token))
        self.text += self.tokens[token]
        if not self.peer.consume_token(int(token)):
            print(self.name, "llguidance stops:", self.peer.get_error()[:200])
        return self.compare(mine)

    def run(self, name, kind, source, texts, walks, r):
        self.name, self.kind, self.source = name, kind, source
        said = self.ours.line(kind=kind, grammar=source)
        self.grammar = peer_grammar(kind, source)
        error = LLMatcher(self.peer_tokens, self.grammar).get_error()
        if said != "ok" or error:
            print(f"{name}: not compared: {said if said != 'ok' else 'llguidance: ' + error.strip().splitlines()[0][:150]}")
            return
        for text in texts:
            both = self.begin()
            for token in self.peer_tokens.tokenize_str(text):
                if not both[token]:
                    print(f"{name}: {self.tokens[token]!r} of a text is not allowed by both after {bytes(self.text[-40:])!r}")
                    break
                both = self.step(token)
        for _ in range(walks):
            both = self.begin()
            for _ in range(40):
                both[self.end] = 0
                allowed = numpy.nonzero(both)[0]
                if not len(allowed):
                    break
                both = self.step(r.choice(allowed))


def main():
    check = Check(sys.argv[1], sys.argv[2])
    walks, r = int(sys.argv[3]) if len(sys.argv) > 3 else 8, random.Random(int(sys.argv[4]) if len(sys.argv) > 4 else 1)
    cases = list(grammar_cases.cases(2))
    cases += [(f"schema {i}", "json-schema", json.dumps(s), t) for i, (s, t) in enumerate(SCHEMAS)]
    cases += [(f"regex {p}", "regex", p, t) for p, t in REGEXES]
    for case in cases:
        check.run(*case, walks, r)
    print(f"{len(cases)} grammars, {check.steps} masks, {check.n_tokens} tokens of which {check.n_allowed} are allowed here")
    for key, n in sorted(check.counts.items()):
        print(f"  {n:8} {key[2]}: {key[0]}: {key[1]}")
    return any(k[1] == "?" for k in check.counts)


if __name__ == "__main__":
    sys.exit(main())
